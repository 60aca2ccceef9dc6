// Encoding explorer: a clock for each pair of features, the table on its side, two of its rows as curves, and dot
// products, all over the same positions.

import {
  bar,
  button,
  canvas,
  clamp,
  css,
  eachFrame,
  onKeys,
  onLeave,
  ramp,
  readout,
  resetButton,
  slider,
  tableSwitch,
  tensor,
  watch,
  widthOf,
} from "../../shared/ui.js";
import { numbersIn } from "../../shared/numbers.js";
import { drawLines, evenTicks } from "../../shared/chart.js";
import { write } from "../../shared/drawing.js";
import { NOW, SANS } from "../../shared/palette.js";
import { keyCursor } from "../../shared/grid.js";

const FONT = `13px ${SANS}`;
const colours = ramp("#67001f", "#d6604d", "#f7f7f7", "#4393c3", "#053061"); // as in the static figures
const KEPT = 3; // so many pairs stay to be compared

// The sinusoidal encoding, row after row: sines of p / 10000^(2i/d) in the even columns, cosines in the odd ones.
export function sinusoids(length, d) {
  return Float64Array.from({ length: length * d }, (_, at) => {
    const [p, feature] = [Math.floor(at / d), at % d];
    const angle = (2 * Math.PI * p) / wavelength(Math.floor(feature / 2), d);
    return feature % 2 ? Math.cos(angle) : Math.sin(angle);
  });
}

export function wavelength(pair, d) {
  return 2 * Math.PI * 10000 ** ((2 * pair) / d);
}

// The dot product of one position's row with the row of every position.
export function products(table, [length, d], position) {
  return Array.from({ length }, (_, q) => {
    let sum = 0;
    for (let j = 0; j < d; j += 1) sum += table[q * d + j] * table[position * d + j];
    return sum;
  });
}

export default {
  render({ model, el }) {
    const shape = model.get("shape");
    const [length, d] = shape;
    const waves = model.get("waves");
    const table = model.get("table") ? tensor(model.get("table")).data : sinusoids(length, d);
    const column = (feature) => Array.from({ length }, (_, p) => table[p * d + feature]);
    const start = { position: Math.floor(length / 2), pair: 0, kept: [], hover: null };
    const now = { ...start };
    const image = picture(table, shape);

    const sketch = canvas("Position encoding.", {
      how: "Left and right arrow keys choose the position, up and down the pair of features.",
    });
    sketch.node.style.touchAction = "pan-y";
    const says = readout();
    let boxes = null;
    const draw = eachFrame(() => {
      const features = [2 * now.pair, 2 * now.pair + 1];
      const shown = {
        position: now.position,
        features,
        curves: features.map(column),
        products: products(table, shape, now.position),
        wavelength: waves ? wavelength(now.pair, d) : null,
      };
      el.values = shown;
      boxes = paint(sketch, {
        el,
        image,
        table,
        shape,
        now,
        shown,
        kept: now.kept.map((pair) => ({ feature: 2 * pair, ys: column(2 * pair) })),
      });
      sketch.node.layout = boxes;
      says.say(describe(shown, now, { table, d }));
      sketch.describe(describe(shown, { ...now, hover: null }, { table, d }));
      keep.setAttribute("aria-pressed", now.kept.includes(now.pair));
      numbers.fill(() => tableOf(shown));
    });
    const choose = (what) => {
      Object.assign(now, what);
      position.set(now.position);
      pair.set(now.pair);
      draw();
    };

    const position = slider(
      "position",
      { min: 0, max: length - 1, step: 1, value: start.position, show: String },
      (x) => choose({ position: x }),
    );
    const pair = slider(
      "pair",
      { min: 0, max: d / 2 - 1, step: 1, value: 0, show: (i) => `${i}: features ${2 * i}, ${2 * i + 1}` },
      (x) => choose({ pair: x }),
    );
    const keep = button(
      "keep the curve",
      () => {
        const others = now.kept.filter((one) => one !== now.pair);
        choose({ kept: others.length < now.kept.length ? others : [...others, now.pair].slice(-KEPT) });
      },
      { title: `it stays while you choose another pair; up to ${KEPT} do` },
    );
    const keptAs = (text) =>
      choose({
        kept: numbersIn(text)
          .filter((one) => one < d / 2)
          .slice(-KEPT),
      });
    el.kept = { curves: { get: () => now.kept.join("."), set: keptAs } };
    const numbers = tableSwitch(draw);
    const reset = resetButton([numbers], () => choose(start));

    let pressed = false;
    const follow = (event) => {
      const clock = clockAt(sketch.at(event), boxes);
      if (clock !== null) {
        if (pressed) choose({ hover: null, pair: clock });
        return;
      }
      const at = place(sketch.at(event), boxes, shape);
      if (!pressed) return choose({ hover: at });
      choose({ hover: null, position: at.position, pair: at.feature === null ? now.pair : Math.floor(at.feature / 2) });
    };
    Object.assign(sketch.node, {
      onpointerdown: (event) => {
        pressed = true;
        sketch.node.setPointerCapture?.(event.pointerId);
        follow(event);
      },
      onpointermove: follow,
      onpointerup: () => {
        pressed = false;
      },
      onpointercancel: () => {
        pressed = false;
      },
      onpointerleave: onLeave(() => choose({ hover: null })),
      onkeydown: onKeys((key) => {
        const to = keyCursor(key, [now.pair, now.position], d / 2, length);
        if (!to) return false;
        choose({ pair: to[0], position: to[1] });
      }),
    });
    el.append(bar(position.node, pair.node), sketch.node, says, bar(keep, numbers.button, reset), numbers.room);
    return watch(el, draw);
  },
};

// Where a pointer is: its position, and its feature if it is over the map.
function place([x, y], { map }, [length, d]) {
  const feature = Math.floor(((y - map.y) / map.height) * d);
  return {
    position: clamp(Math.floor(((x - map.x) / map.width) * length), 0, length - 1),
    feature: feature >= 0 && feature < d ? feature : null,
  };
}

// The pair whose clock is at a pointer.
function clockAt([x, y], { clocks: { radius, step, many, first, left, bottom } }) {
  const i = Math.floor((x - left + radius + 6) / step);
  return y < bottom && i >= 0 && i < many ? first + i : null;
}

function describe({ position, features, curves, products: all, wavelength: long }, { pair, hover }, { table, d }) {
  const said = features.map((feature, i) => `feature ${feature} is ${signed(curves[i][position])}`);
  const here = `Position ${position}: ${said.join(", ")}.`;
  const wave =
    long === null ? "" : ` Wavelength of pair ${pair}: 2π · 10000^(${2 * pair}/${d}) = ${number(long)} positions.`;
  if (!hover) return here + wave;
  const { position: q, feature } = hover;
  const cell = feature === null ? "" : ` feature ${feature} is ${signed(table[q * d + feature])},`;
  const rest = `distance ${signed(q - position, 0)}, dot product ${signed(all[q], 2)}`;
  return `${here}${wave} Under the pointer: position ${q},${cell} ${rest}.`;
}

function signed(x, digits = 3) {
  return x.toFixed(digits).replace("-", "−");
}

function number(x) {
  return x < 100 ? x.toFixed(2) : Math.round(x).toLocaleString("en");
}

function tableOf({ position, features, curves, products: all }) {
  const top = [...features.map((feature) => `feature ${feature}`), `distance from ${position}`, "dot product"];
  const numbers = (product, q) => [
    signed(curves[0][q]),
    signed(curves[1][q]),
    signed(q - position, 0),
    signed(product),
  ];
  return [["position", ...top], ...all.map((product, q) => [`${q}`, ...numbers(product, q)])];
}

// The whole table as a picture of one pixel a number, positions to the right; colours part at 0.
function picture(table, [length, d]) {
  const limit = table.reduce((most, x) => Math.max(most, Math.abs(x)), 0) || 1;
  const image = new ImageData(length, d);
  for (let p = 0; p < length; p += 1) {
    for (let j = 0; j < d; j += 1)
      image.data.set([...colours((table[p * d + j] / limit + 1) / 2), 255], 4 * (j * length + p));
  }
  const small = new OffscreenCanvas(length, d);
  small.getContext("2d").putImageData(image, 0, 0);
  return { small, limit };
}

const [LEFT, RIGHT, PLOT] = [44, 18, 92]; // margins, and how high a plot of curves is

function paint(sketch, { el, image, table, shape: [length, d], now, shown, kept }) {
  const width = widthOf(el);
  const ink = getComputedStyle(el).color;
  const clocks = faces(d / 2, width, now.pair);
  const map = { x: LEFT, y: clocks.height + 42, width: width - LEFT - RIGHT, height: clamp(4 * d, 60, 130) };
  const wrapped = 1 + kept.length > 2 && width < 520;
  const middle = map.y + map.height + 12;
  const lower = middle + 20 + (wrapped ? 50 : 32) + PLOT + 50;
  const context = sketch.resize(width, lower + 20 + 10 + PLOT + 42);
  const heading = (text, y) => {
    Object.assign(context, {
      font: `bold ${FONT}`,
      fillStyle: ink,
      textAlign: "left",
      textBaseline: "middle",
    }).fillText(text, 0, y + 8, width);
  };

  paintClocks(context, clocks, { now, shape: [length, d], limit: image.limit, table });
  heading(width < 520 ? "All hands" : "All hands at all positions: position →, feature ↓", clocks.height + 18);
  scale(context, { x: width - RIGHT, y: clocks.height + 26, limit: image.limit, ink });
  context.imageSmoothingEnabled = false;
  context.drawImage(image.small, map.x, map.y, map.width, map.height);
  features(context, map, d, now.pair, ink);

  const wave = shown.wavelength === null ? "" : `: wavelength ${number(shown.wavelength)} positions`;
  heading(`Features ${shown.features.join(" and ")}${wave}`, middle);
  const names = shown.wavelength === null ? ["", ""] : [" (sine)", " (cosine)"];
  const xs = [...Array(length).keys()];
  const series = shown.features.map((feature, i) => ({
    name: `feature ${feature}${names[i]}`,
    xs,
    ys: shown.curves[i],
  }));
  series.push(
    ...kept
      .filter(({ feature }) => feature !== shown.features[0])
      .map(({ feature, ys }) => ({ name: `feature ${feature}`, xs, ys })),
  );
  const common = { context, width, length, at: now.position, ink };
  const { across } = lines(common, {
    y: middle + 20,
    height: lower - middle - 28,
    series,
    range: [-image.limit, image.limit],
    x: { name: "position" },
  });

  heading(`Dot product of position ${now.position} with every position`, lower);
  const [least, most] = [Math.min(0, ...shown.products), Math.max(0, ...shown.products)];
  const range = [least * 1.08, most * 1.08]; // room for the mark on the peak
  const ticks = distances(now.position, length, map.width);
  const last = lines(common, {
    y: lower + 20,
    height: 10 + PLOT + 42,
    series: [{ name: "dot product", xs, ys: shown.products }],
    range,
    x: { name: `distance from position ${now.position}`, ticks },
  });
  cursor(context, across(now.position), map, ink);
  if (now.hover) dotted(context, across(now.hover.position), map.y, last.y + last.height, ink);
  return { map, clocks };
}

// Where the clocks stand: one for each pair of features, or for so many as have room, around the pair that is chosen.
function faces(pairs, width, pair) {
  const radius = clamp(width / 22, 17, 30);
  const step = 2 * radius + 12;
  const many = Math.min(pairs, Math.max(1, Math.floor((width - 70) / step)));
  const first = clamp(pair - Math.floor(many / 2), 0, pairs - many);
  return {
    radius,
    step,
    many,
    first,
    left: 64 + radius,
    y: 34 + radius,
    height: 2 * radius + 78,
    bottom: 2 * radius + 56,
  };
}

// The hand of a pair points along its two features: sine to the right, cosine up. One crank turns all clocks.
function paintClocks(context, { radius, step, many, first, left, y }, { now, shape: [length, d], limit, table }) {
  const shaft = y + radius + 12;
  write(context, `Position ${now.position}: one crank turns all clocks`, 0, 10, {
    bold: true,
    room: left + many * step,
  });
  const turn = (2 * Math.PI * now.position) / Math.max(length - 1, 1);
  Object.assign(context, { strokeStyle: NOW.thread, lineWidth: 3, lineCap: "round" });
  line(context, 24, shaft, left + (many - 1) * step, shaft);
  Object.assign(context, { strokeStyle: NOW.ink, lineWidth: 4 });
  const [x1, y1] = [24 + 20 * Math.sin(turn), shaft - 20 * Math.cos(turn)];
  line(context, 24, shaft, x1, y1);
  dot(context, 24, shaft, 5, NOW.thread);
  dot(context, x1, y1, 6, NOW.ink);
  for (let i = 0; i < many; i += 1) {
    const [pair, x] = [first + i, left + i * step];
    const chosen = pair === now.pair;
    const [sine, cosine] = [0, 1].map((k) => table[now.position * d + 2 * pair + k] / limit);
    Object.assign(context, { strokeStyle: NOW.thread, lineWidth: 3 });
    line(context, x, y + radius, x, shaft);
    Object.assign(context, {
      fillStyle: NOW.paper,
      strokeStyle: chosen ? NOW.ink : NOW.edge,
      lineWidth: chosen ? 3 : 1.5,
    });
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
    Object.assign(context, { strokeStyle: NOW.edge, lineWidth: 1.5 });
    for (const [dx, dy] of QUARTERS)
      line(context, x + dx * (radius - 4), y + dy * (radius - 4), x + dx * radius, y + dy * radius);
    Object.assign(context, { strokeStyle: NOW.ink, lineWidth: chosen ? 3.5 : 2 });
    line(context, x, y, x + sine * (radius - 6), y - cosine * (radius - 6));
    dot(context, x, y, 2.5, NOW.ink);
    const name = many < d / 2 || step < 56 ? `${pair}` : `pair ${pair}`;
    write(context, name, x, shaft + 14, {
      size: 12,
      align: "center",
      bold: chosen,
      colour: chosen ? NOW.ink : NOW.soft,
    });
  }
  context.lineCap = "butt";
}

const QUARTERS = [
  [0, -1],
  [1, 0],
  [0, 1],
  [-1, 0],
];

function line(context, x0, y0, x1, y1) {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}

function dot(context, x, y, r, colour) {
  context.fillStyle = colour;
  context.beginPath();
  context.arc(x, y, r, 0, 2 * Math.PI);
  context.fill();
}

// Curves whose plot stands right below the map's columns, whatever room the ticks take.
function lines({ context, width, length, at, ink }, { y, height, series, range: [low, high], x }) {
  context.font = FONT;
  const ticks = evenTicks(low, high).filter((_, i, all) => all.length < 5 || i % 2 === 0 || all.length < 3);
  const room = Math.max(...ticks.map(([, text]) => context.measureText(text).width)) + 10;
  const box = { x: LEFT - room, y, width: width - LEFT + room, height };
  return drawLines(context, box, {
    x: { low: -0.5, high: length - 0.5, ticks: evenTicks(0, length - 1).filter(([at]) => at % 1 === 0), ...x },
    y: { low, high, ticks },
    series,
    at,
    ink,
  });
}

// Distances from a position, at round numbers.
function distances(position, length, width) {
  const step = [1, 2, 5, 10, 20, 50, 100].find((size) => (size * width) / length >= 40) ?? 200;
  const ticks = [];
  for (let q = position % step; q < length; q += step) ticks.push([q, signed(q - position, 0)]);
  return ticks;
}

// The numbers of the features at the left, and a frame around the pair that is chosen.
function features(context, { x, y, width, height }, d, pair, ink) {
  const size = height / d;
  const every = [1, 2, 4, 8, 16, 32, 64].find((step) => step * size >= 15);
  const chosen = (2 * pair + 1) * size;
  Object.assign(context, { font: FONT, fillStyle: ink, textAlign: "right", textBaseline: "middle" });
  for (let j = 0; j < d; j += every)
    if (Math.abs((j + 0.5) * size - chosen) > 15) context.fillText(j, x - 7, y + (j + 0.5) * size);
  context.font = `bold ${FONT}`;
  context.fillText(`${2 * pair},${2 * pair + 1}`, x - 7, y + chosen);
  for (const [colour, lineWidth] of [
    ["#fff", 4],
    ["#000", 2],
  ])
    Object.assign(context, { strokeStyle: colour, lineWidth }).strokeRect(x, y + 2 * pair * size, width, 2 * size);
}

function cursor(context, x, { y, height }, ink) {
  for (const [colour, lineWidth] of [
    ["#fff", 3],
    ["#000", 1],
  ])
    Object.assign(context, { strokeStyle: colour, lineWidth }).strokeRect(x, y, 0, height);
  context.fillStyle = ink;
  context.beginPath();
  for (const [dx, dy] of [
    [-5, -8],
    [5, -8],
    [0, -1],
  ])
    context.lineTo(x + dx, y + dy);
  context.fill();
}

function dotted(context, x, from, to, ink) {
  Object.assign(context, { strokeStyle: ink, lineWidth: 1 });
  context.setLineDash([2, 4]);
  context.strokeRect(x, from, 0, to - from);
  context.setLineDash([]);
}

// What the colours mean, ending at x.
function scale(context, { x, y, limit, ink }) {
  const most = Number(limit.toPrecision(2));
  Object.assign(context, { font: FONT, fillStyle: ink, textAlign: "right", textBaseline: "middle" });
  context.fillText(`${most}`, x, y);
  const end = x - context.measureText(`${most}`).width - 6;
  const shades = context.createLinearGradient(end - 80, 0, end, 0);
  for (let i = 0; i <= 8; i += 1) shades.addColorStop(i / 8, css(colours(i / 8)));
  context.fillText(`−${most}`, end - 86, y);
  Object.assign(context, { fillStyle: shades }).fillRect(end - 80, y - 6, 80, 12);
}
