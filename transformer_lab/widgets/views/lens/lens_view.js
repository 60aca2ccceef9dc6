// Logit lens: the sentence stands in columns, and from the embedding up each layer writes what it would say next. A
// guess rises until it locks: from there on up no layer says anything else.

import {
  bar,
  button,
  canvas,
  choice,
  clamp,
  eachFrame,
  element,
  onKeys,
  readout,
  resetButton,
  slider,
  tableSwitch,
  tensor,
  watch,
  widthOf,
} from "../../shared/ui.js";
import { drawBars, drawLines } from "../../shared/chart.js";
import { player } from "../../shared/motion.js";
import { MEANINGS, NOW, SANS, SERIF, inkOn, rgbOf } from "../../shared/palette.js";

const SHADES = ["of the most probable token", "of the true next token"];
const HEIGHT = 210; // of the charts
const FONT = `13px ${SANS}`;
const [LEAST, MOST, ROW] = [22, 56, 46]; // how wide a column is, and how high a row
const RISE = 900; // milliseconds for which a layer is seen when they play

// A token as it can be seen.
export function visible(name) {
  return name === "" ? "pad" : name.replaceAll("\n", "⏎").replaceAll(" ", "␣");
}

// The position where the true next token gains the most between the first place and the last; truth[place][position].
export function mostGained(truth) {
  const gains = truth[0].map((first, t) => truth.at(-1)[t] - first);
  return gains.indexOf(Math.max(...gains));
}

// From which place on the guesses at each position are the last one's: tokens[place][position].
export function locks(tokens) {
  return tokens.at(-1).map((last, t) => tokens.findLastIndex((row) => row[t] !== last) + 1);
}

// The rows of a tensor of two axes, or of its first entry in a third one.
export function rowsOf({ data, shape: [n, m, k = 1] }, entry = 0) {
  return Array.from({ length: n }, (_, i) => Array.from({ length: m }, (_, j) => data[(i * m + j) * k + entry]));
}

export default {
  render({ model, el }) {
    const [places, names] = [model.get("places"), model.get("names").map(visible)];
    const read = Array.from(tensor(model.get("read")).data, (token) => names[token]);
    const [best, chances] = [tensor(model.get("best")), tensor(model.get("probabilities"))];
    const [truth, rank] = [rowsOf(tensor(model.get("truth"))), rowsOf(tensor(model.get("rank")))];
    const [T, k] = [read.length, best.shape[2]];
    const tops = rowsOf(best).map((row) => row.map((token) => names[token]));
    const shades = [rowsOf(chances), truth.map((row) => [...row, NaN])];
    const start = { shade: 0, position: mostGained(truth), place: places.length - 1, upTo: places.length - 1 };
    const now = { ...start };
    const next = (t) => read[t + 1] ?? null;
    const five = (i, t) =>
      Array.from({ length: k }, (_, j) => {
        const at = (i * T + t) * k + j;
        return { name: names[best.data[at]], p: chances.data[at] };
      });

    const locked = locks(tops);
    const says = readout();
    const table = tableSwitch(() => draw());
    const sketch = canvas("What each layer would say next.", { how: "Arrow keys move over the guesses." });
    const room = element("div", { class: "tl-columns" }, sketch.node); // a long sentence is scrolled
    const below = canvas("The chosen guess’s most probable tokens, and the true next token from place to place.", {
      keys: false,
    });

    const draw = eachFrame(() => {
      const { shade, position: t, place: i } = now;
      const ink = getComputedStyle(el).color;
      const top = five(i, t);
      el.values = {
        shade: shades[shade],
        tokens: tops,
        position: t,
        place: i,
        best: top.map(({ name }) => name),
        probabilities: top.map(({ p }) => p),
        truth: next(t) === null ? [] : truth.map((row) => row[t]),
      };
      const words = describe([i, t], { places, read, five, truth, rank, next });
      paint(sketch, { el, places, read, next, tops, locked, shade: shades[shade], now, ink });
      charts(below, { el, places, truth, top, now, next, read, ink });
      says.say(words);
      sketch.describe(`What each layer would say next. ${words}`);
      table.fill(() => [
        ["place", ...read],
        ...shades[shade].map((row, place) => [places[place], ...row.map((p) => (Number.isNaN(p) ? "" : p.toFixed(3)))]),
      ]);
    });
    const change = (what) => {
      Object.assign(now, what);
      position.set(now.position);
      draw();
    };
    const move = ([place, t]) => {
      rise.stop();
      change({ place, position: t, upTo: places.length - 1 });
    };
    const point = (event) => {
      const cell = cellAt(sketch.node.layout, sketch.at(event));
      if (cell) move(cell);
    };
    Object.assign(sketch.node, {
      onpointerdown: point,
      onpointermove: point,
      onfocus: () => {
        if (!sketch.node.byPointer) move([0, 0]);
      },
      onkeydown: onKeys((key) => {
        const { place, position: t } = now;
        const to = {
          ArrowLeft: [place, t - 1],
          ArrowRight: [place, t + 1],
          ArrowUp: [place + 1, t],
          ArrowDown: [place - 1, t],
          Home: [place, 0],
          End: [place, T - 1],
        }[key];
        if (!to) return false;
        move([clamp(to[0], 0, places.length - 1), clamp(to[1], 0, T - 1)]);
      }),
    });
    const position = slider(
      "position",
      { min: 0, max: T - 1, step: 1, value: start.position, show: (t) => `${t}: ${read[t]}` },
      (t) => move([now.place, t]),
    );
    const rise = player({
      button,
      at: () => now.upTo,
      last: () => places.length - 1,
      go: (upTo) => change({ upTo, place: upTo }),
      milliseconds: RISE,
    });
    const shade = choice("width: the probability", SHADES, (i) => change({ shade: i }));
    const reset = resetButton([shade, position, table], () => {
      rise.stop();
      change(start);
    });
    el.append(
      element("style", {}, STYLE),
      bar(rise.node, shade.node, position.node),
      room,
      element(
        "div",
        { class: "tl-note" },
        "A thread is as wide as the guess is probable. Amber: it is locked, no layer above says anything else. " +
          "Underlined: it is the true next token. Dashed: the model’s last word is wrong.",
      ),
      says,
      below.node,
      bar(table.button, reset),
      table.room,
    );
    return watch(el, draw);
  },
};

const STYLE = `
.tl-lens .tl-columns { overflow-x: auto; max-width: 100%; }
`;

// ── drawing ──

// The place and the position at a point.
function cellAt({ left, top, size, tall, n, T }, [x, y]) {
  const [t, up] = [Math.floor((x - left) / size), Math.floor((y - top) / tall)];
  return t >= 0 && t < T && up >= 0 && up < n ? [n - 1 - up, t] : null;
}

// From bottom to top: the token read, the guess at each place in a thread that is as wide as the guess is probable,
// and what in truth came next.
function paint(sketch, { el, places, read, next, tops, locked, shade, now, ink }) {
  const [n, T] = [places.length, read.length];
  const measure = sketch.node.getContext("2d");
  measure.font = FONT;
  const left = Math.max(...[...places, "came next"].map((name) => measure.measureText(name).width)) + 14;
  const size = clamp((widthOf(el) - left - 4) / T, LEAST, MOST);
  const tall = clamp(300 / n, 30, ROW);
  const top = 40;
  const floor = top + n * tall;
  const context = sketch.resize(left + T * size + 4, floor + 34);
  sketch.node.layout = { left, top, size, tall, n, T };
  Object.assign(context, { textAlign: "right", textBaseline: "middle", fillStyle: ink, font: FONT });
  const rowOf = (i) => floor - (i + 0.5) * tall;
  ["came next", "reads"].forEach((name, k) => context.fillText(name, left - 12, k ? floor + 18 : 16));
  places.forEach((name, i) => {
    context.font = i === now.place ? `bold ${FONT}` : FONT;
    context.fillText(name, left - 12, rowOf(i));
  });
  context.textAlign = "center";
  for (let t = 0; t < T; t += 1)
    column(context, t, { n, left, size, tall, rowOf, floor, next, tops, locked, shade, now, ink });
  for (let t = 0; t < T; t += 1) {
    Object.assign(context, { fillStyle: ink, font: t === now.position ? `bold 17px ${SERIF}` : `17px ${SERIF}` });
    context.fillText(cut(context, read[t], size - 2), left + (t + 0.5) * size, floor + 18);
  }
  const frame = [left + now.position * size + 1, rowOf(now.place) - tall / 2 + 1, size - 2, tall - 2];
  context.beginPath();
  context.roundRect(...frame, 6);
  Object.assign(context, { strokeStyle: MEANINGS.cursor, lineWidth: 2 }).stroke();
}

function column(context, t, { n, left, size, tall, rowOf, floor, next, tops, locked, shade, now, ink }) {
  const x = left + (t + 0.5) * size;
  const wide = (i) => Math.max(2, (size - 6) * (shade[i][t] || 0));
  for (let i = 0; i <= now.upTo; i += 1) {
    const [low, high] = [rowOf(i) + tall / 2, rowOf(i) - tall / 2];
    const from = i ? (wide(i - 1) + wide(i)) / 2 : 2;
    const to = i < n - 1 ? (wide(i) + wide(i + 1)) / 2 : wide(i);
    context.fillStyle = i >= locked[t] ? NOW.amber : NOW.line;
    context.beginPath(); // it widens and narrows from row to row
    context.moveTo(x - from / 2, low);
    context.bezierCurveTo(x - wide(i) / 2, rowOf(i), x - wide(i) / 2, rowOf(i), x - to / 2, high);
    context.lineTo(x + to / 2, high);
    context.bezierCurveTo(x + wide(i) / 2, rowOf(i), x + wide(i) / 2, rowOf(i), x + from / 2, low);
    context.fill();
  }
  for (let i = 0; i <= now.upTo; i += 1)
    guess(context, tops[i][t], x, rowOf(i), {
      right: tops[i][t] === next(t),
      on: i >= locked[t],
      size,
      wide: wide(i),
      ink,
    });
  if (now.upTo < n - 1) return;
  const [came, said] = [next(t), tops[n - 1][t]];
  if (came === null) return;
  const wrong = came !== said;
  Object.assign(context, { fillStyle: wrong ? NOW.change : ink, font: `${wrong ? "" : "600 "}17px ${SERIF}` });
  context.fillText(cut(context, came, size - 2), x, 16);
  if (wrong) dash(context, x, rowOf(n - 1) + 12, Math.min(size - 2, 20));
}

// A letter of the guess: in pencil until it is locked, then in ink; underlined if it is the true one.
function guess(context, text, x, y, { right, on, size, wide, ink }) {
  context.font = `${on ? "600 18" : "15"}px ${SERIF}`;
  const short = cut(context, text, size - 4);
  const inside = wide >= 0.8 * context.measureText(short).width;
  context.fillStyle = inside && on ? inkOn(rgbOf(NOW.amber)) : ink;
  if (!inside) {
    Object.assign(context, { strokeStyle: NOW.paper, lineWidth: 3, lineJoin: "round" });
    context.strokeText(short, x, y);
  }
  context.fillText(short, x, y);
  if (right) context.fillRect(x - 6, y + 11, 12, 2);
}

// Below a word, and not through it, so that what the model said can still be read.
function dash(context, x, y, wide) {
  context.beginPath();
  context.moveTo(x - wide / 2, y);
  context.lineTo(x + wide / 2, y);
  Object.assign(context, { strokeStyle: NOW.paper, lineWidth: 5 }).stroke();
  context.setLineDash([4, 2]);
  Object.assign(context, { strokeStyle: NOW.change, lineWidth: 2.5 }).stroke();
  context.setLineDash([]);
}

function cut(context, text, room) {
  let short = text.slice(0, 12);
  while (short.length > 1 && context.measureText(short).width > room) short = short.slice(0, -1);
  return short;
}

function charts(sketch, { el, places, truth, top, now, next, read, ink }) {
  const total = widthOf(el);
  const aside = total >= 560;
  const wide = aside ? total / 2 - 10 : total;
  const context = sketch.resize(total, aside ? HEIGHT : 2 * HEIGHT);
  drawBars(
    context,
    { x: 0, y: 0, width: wide, height: HEIGHT },
    {
      title: `${places[now.place]}, after “${read[now.position]}”`,
      names: top.map(({ name }) => name.slice(0, 8)),
      y: { name: "probability", low: 0, high: 1 },
      series: [{ name: "probability", colour: NOW["amber-edge"], ys: top.map(({ p }) => p) }],
      at: top.findIndex(({ name }) => name === next(now.position)),
      ink,
    },
  );
  const second = { x: aside ? total / 2 + 10 : 0, y: aside ? 0 : HEIGHT, width: wide, height: HEIGHT };
  if (next(now.position) === null) {
    Object.assign(context, { font: FONT, fillStyle: ink, textAlign: "left" });
    context.fillText("Nothing follows the last token.", second.x, second.y + 12);
    return;
  }
  const short = (name) => name.replace("layer ", "");
  drawLines(context, second, {
    title: `the true next token, “${next(now.position)}”`,
    x: { name: "place", ticks: places.map((name, i) => [i, short(name)]) },
    y: { name: "probability", low: 0, high: 1 },
    series: [{ name: "true", xs: places.map((_, i) => i), ys: truth.map((row) => row[now.position]), colour: ink }],
    at: now.place,
    ink,
  });
}

function describe([i, t], { places, read, five, truth, rank, next }) {
  const said = five(i, t)
    .map(({ name, p }) => `“${name}” ${p.toFixed(3)}`)
    .join(", ");
  const start = `${places[i]}, after “${read[t]}” (position ${t}): ${said}.`;
  if (next(t) === null) return `${start} Nothing follows it.`;
  return `${start} The true next token is “${next(t)}”: probability ${truth[i][t].toFixed(3)}, rank ${rank[i][t]}.`;
}
