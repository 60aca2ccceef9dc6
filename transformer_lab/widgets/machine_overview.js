// The drawing of the machine: the paper's Figure 1, encoder at the left, decoder at the right, from the bottom up, with
// the matrices of a run as small pictures in their places.
//   const boxes = { encoder: boxesOf("encoder", …), decoder: … };
//   const plan = layoutOf({ boxes, width, rows: [S, T] });  // where each box and each part stands
//   paintMachine(context, plan, { run, intact, off, … });

import { FONT, diverging } from "./grid.js";
import { cividis, css, stripes } from "./ui.js";

export const HUES = {
  embedding: "#cc79a7",
  attention: "#e69f00",
  feed: "#0072b2",
  residual: "#7f8c99",
  output: "#009e73",
};
const [ACCENT, BLUE] = ["#d55e00", "#0072b2"];
const SMALL = "11px system-ui, sans-serif";
const [PAD, TITLE, GAP] = [8, 19, 9];

// ── where things stand ──

// { width, height, columns: [{ side, left, width, top, items: [{ box, part, x, y, width, height }], frames }], items }
export function layoutOf({ boxes, width, rows }) {
  const between = width < 480 ? 22 : 44; // room for the memory's arrow
  const side = width < 480 ? 10 : 16; // … and for the residual connections
  const wide = (width - between - 2 * side) / 2;
  const columns = ["encoder", "decoder"].map((name, i) => ({
    side: name,
    left: side + i * (wide + between),
    width: wide,
    boxes: boxes[name].map((box) => ({ box, height: heightOf(box, wide, rows[i]) })),
  }));
  const tall = columns.map(({ boxes: all }) => all.reduce((sum, { height, box }) => sum + height + gapUnder(box), 0));
  const height = Math.max(...tall) + 26;
  for (const column of columns) {
    let y = height - 8;
    for (const one of column.boxes) {
      y -= one.height;
      Object.assign(one, { x: column.left, y, width: column.width });
      one.parts = partsIn(one);
      y -= gapUnder(one.box);
    }
    column.top = column.boxes.at(-1).y;
  }
  const items = columns.flatMap(({ side: name, boxes: all }) =>
    all.flatMap(({ box, parts }) => parts.map((place) => ({ side: name, box, ...place }))),
  );
  return { width, height, columns, items, side, between };
}

// A sub-layer and the norm that follows it stand close together.
function gapUnder({ kind }) {
  return kind === "attention" || kind === "feed" ? 3 : GAP;
}

function heightOf({ kind, parts }, width, rows) {
  if (kind === "embedding") return TITLE + Math.min(Math.max(rows, 4) * 13, 210) + 26 + PAD;
  if (kind === "attention") {
    const heads = parts.filter(({ thumb }) => thumb).length;
    return TITLE + Math.min(Math.max((width - 2 * PAD) / heads - 6, 30), 62) + PAD;
  }
  return kind === "output" ? TITLE + 5 * 16 + PAD : TITLE + 24 + PAD;
}

// The parts of a box, each with the rectangle of its picture.
function partsIn({ box, x, y, width, height }) {
  const inner = { x: x + PAD + 4, y: y + TITLE, width: width - 2 * PAD - 4, height: height - TITLE - PAD };
  const [first, second] = box.parts;
  if (box.kind === "embedding") {
    const label = Math.min(84, inner.width * 0.38);
    const main = {
      ...inner,
      x: inner.x + label,
      y: inner.y + 26,
      width: inner.width - label,
      height: inner.height - 26,
    };
    const strip = { ...main, y: inner.y, height: 20, name: label < 60 ? "+ pos." : "+ position" };
    return [
      { part: first, ...main, labels: label },
      { part: second, ...strip },
    ];
  }
  if (box.kind === "residual") {
    const half = (inner.width - 8) / 2;
    return [
      { part: first, ...inner, width: half },
      { part: second, ...inner, x: inner.x + half + 8, width: half },
    ];
  }
  const heads = box.parts.filter(({ thumb }) => thumb);
  const each = (inner.width + 6) / heads.length;
  const places = heads.map((part, i) => ({ part, ...inner, x: inner.x + i * each, width: each - 6 }));
  const mask = box.parts.find(({ thumb }) => !thumb);
  // The mask is a small triangle in the title's line.
  if (mask) places.push({ part: mask, x: x + width - 30, y: y + 3, width: 24, height: 14 });
  return places;
}

// The part at a point, with a little room around it.
export function partAt({ items }, px, py) {
  const near = ({ x, y, width, height, labels = 0 }) =>
    px >= x - labels - 3 && px <= x + width + 3 && py >= y - 3 && py <= y + height + 3;
  return items.findLast(near) ?? null;
}

// The next part from one of them in the direction of an arrow key: beside it in its row, or, from the end of the row,
// as they are counted; upwards and downwards the nearest in the next row.
export function neighbour(items, at, key) {
  const [cx, cy] = centre(items[at]);
  const across = { ArrowLeft: -1, ArrowRight: 1 }[key];
  const next = Math.min(Math.max(at + (across ?? 0), 0), items.length - 1);
  let [best, least] = [across ? next : at, Infinity];
  items.forEach((item, i) => {
    const [dx, dy] = [centre(item)[0] - cx, centre(item)[1] - cy];
    const ahead = across ? dx * across : dy * (key === "ArrowUp" ? -1 : 1);
    const overlap = item.x < items[at].x + items[at].width && items[at].x < item.x + item.width;
    const aside = across ? Math.abs(dy) : overlap ? 0 : Math.abs(dx);
    if (ahead < 4 || (across && aside > 12)) return;
    const cost = ahead + 3 * aside;
    if (cost < least) [best, least] = [i, cost];
  });
  return best;
}

const centre = ({ x, y, width, height }) => [x + width / 2, y + height / 2];

// ── drawing ──

// `names`: the tokens of both sides; `at`: the output token that is looked at; `shares`: how much each input token is
// looked at; `chosen`: the part that is open; `cursor`: the one under the mouse or the keys; `change(name)`: 0 … 1.
export function paintMachine(context, plan, look) {
  const ink = { ink: look.ink, dim: look.dim };
  paintLines(context, plan, look);
  paintKey(context, plan, look);
  for (const column of plan.columns) {
    paintFrames(context, column, look);
    for (const one of column.boxes) paintBox(context, one, column, look, ink);
  }
  for (const [item, colour, width] of [
    [look.chosen, look.dark ? "#56b4e9" : BLUE, 2],
    [look.cursor, ACCENT, 2],
  ]) {
    if (!item) continue;
    Object.assign(context, { strokeStyle: colour, lineWidth: width });
    context.strokeRect(item.x - 2.5, item.y - 2.5, item.width + 5, item.height + 5);
  }
}

function rounded(context, x, y, width, height, radius) {
  context.beginPath();
  context.roundRect(x, y, width, height, radius);
}

// A frame around the boxes of each layer, which the paper draws once and calls N×.
function paintFrames(context, { side, boxes, left, width }, { ink }) {
  const layers = new Set(boxes.map(({ box }) => box.layer).filter((layer) => layer !== undefined));
  for (const layer of layers) {
    const own = boxes.filter(({ box }) => box.layer === layer);
    const top = own.at(-1).y - 4;
    const bottom = own[0].y + own[0].height + 4;
    context.globalAlpha = 0.06;
    context.fillStyle = ink;
    rounded(context, left - 4, top, width + 8, bottom - top, 7);
    context.fill();
    context.globalAlpha = 1;
  }
  const top = boxes.at(-1).y;
  Object.assign(context, { fillStyle: ink, font: `600 ${FONT}`, textAlign: "left", textBaseline: "bottom" });
  context.fillText(side, left, top - 5);
}

function paintBox(context, { box, x, y, width, height, parts }, { side }, look) {
  const { ink, dim, paper } = look;
  context.fillStyle = paper;
  rounded(context, x, y, width, height, 5);
  context.fill();
  Object.assign(context, { strokeStyle: dim, lineWidth: 0.7 });
  context.stroke();
  context.fillStyle = HUES[box.kind];
  rounded(context, x, y, 4, height, [5, 0, 0, 5]);
  context.fill();
  Object.assign(context, { fillStyle: ink, font: SMALL, textAlign: "left", textBaseline: "middle" });
  context.fillText(titleOf(box, width), x + PAD + 4, y + 10);
  if (box.last) {
    Object.assign(context, { fillStyle: dim, textAlign: "right" });
    context.fillText(`layer ${box.layer}`, x + width - 8, y + 10);
  }
  parts.forEach((place, i) => paintPart(context, { ...place, first: i === 0 }, side, look));
}

// The title, shorter where there is little room.
function titleOf({ kind, title }, width) {
  if (width > 190) return title;
  return kind === "attention" && title.startsWith("masked") ? "masked self-att." : title.replace("attention", "att.");
}

function paintPart(context, { part, x, y, width, height, labels, name, first }, side, look) {
  const { run, off, swaps, ink } = look;
  const gone = off.has(part.off);
  if (!part.thumb) return paintMask(context, { x, y, width, height }, gone, look);
  if (part.thumb === "probabilities") return paintOutput(context, { x, y, width, height }, look);
  const rows = run.at.get(part.thumb).rows;
  const weights = part.thumb.includes(".weights.");
  const columns = weights ? Math.max(...rows.map((row) => row.length)) : rows[0].length;
  if (weights) stripes(context, x, y, width, height, look.dim);
  const place = { x, y, width, height };
  if (weights) thumb(context, rows, columns, place, OF_WEIGHTS, [0, 1]);
  else thumb(context, rows, columns, place, OF_NUMBERS, rangeOf(rows));
  if (labels) paintTokens(context, { x, y, height, labels }, side, look);
  if (name) {
    Object.assign(context, { fillStyle: ink, font: SMALL, textAlign: "right", textBaseline: "middle" });
    context.fillText(name, x - 5, y + height / 2);
  }
  if (side === "decoder" && first && !name) here(context, { x, y, width, height }, rows.length, look.at);
  const by = look.change(part.thumb);
  if (by > 0.005) {
    context.fillStyle = ACCENT;
    const tall = Math.max(3, height * Math.min(1, by));
    context.fillRect(x + width + 1.5, y + height - tall, 3, tall);
  }
  if (gone) crossed(context, { x, y, width, height });
  if (swaps.some((swap) => swap.key === part.key)) swapped(context, { x, y, width, height });
}

// 256 shades as the bytes of pixels.
const shadesOf = (colour) =>
  Uint32Array.from({ length: 256 }, (_, i) => {
    const [r, g, b] = colour(i / 255);
    return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
  });
const [OF_WEIGHTS, OF_NUMBERS] = [shadesOf(cividis), shadesOf(diverging)];

// The range of colours for numbers of both signs: their root mean square tells how large they are.
function rangeOf(rows) {
  let [sum, n] = [0, 0];
  for (const row of rows) {
    for (let j = 0; j < row.length; j += 1) sum += row[j] * row[j];
    n += row.length;
  }
  const most = 2.5 * Math.sqrt(sum / n) || 1;
  return [-most, most];
}

// Rows of numbers as one picture; where a row is short, it is clear.
function thumb(context, rows, columns, { x, y, width, height }, shades, [low, high]) {
  const image = new ImageData(columns, rows.length);
  const pixels = new Uint32Array(image.data.buffer);
  const scale = 255.999 / (high - low);
  rows.forEach((row, t) => {
    for (let j = 0; j < row.length; j += 1) {
      const shade = (row[j] - low) * scale;
      if (shade === shade) pixels[t * columns + j] = shades[shade < 0 ? 0 : shade > 255 ? 255 : shade | 0];
    }
  });
  const small = new OffscreenCanvas(columns, rows.length);
  small.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = width < columns;
  context.drawImage(small, x, y, width, height);
}

// The row of the output token that is looked at, as a notch.
function here(context, { x, y, height }, n, at) {
  context.fillStyle = BLUE;
  if (at < n) context.fillRect(x - 5, y + (at * height) / n, 4, height / n);
}

// What the colours mean, in the room above the encoder.
function paintKey(context, { columns: [{ left, width, top }] }, { ink }) {
  if (top < 190) return;
  const bar = Math.min(120, width - 30);
  const say = (text, x, y) => {
    Object.assign(context, { fillStyle: ink, font: SMALL, textAlign: "left", textBaseline: "middle" });
    context.fillText(text, x, y);
  };
  const shades = (y, colour, names) => {
    for (let i = 0; i < bar; i += 1) {
      context.fillStyle = css(colour(i / (bar - 1)));
      context.fillRect(left + i, y, 1.2, 10);
    }
    names.forEach((name, i) => {
      Object.assign(context, { fillStyle: ink, font: SMALL, textBaseline: "middle" });
      context.textAlign = ["left", "center", "right"][names.length === 2 ? 2 * i : i];
      context.fillText(name, left + (i * bar) / (names.length - 1), y + 18);
    });
  };
  say("attention weights", left, 14);
  shades(22, cividis, ["0", "1"]);
  say("other numbers", left, 60);
  shades(68, diverging, ["below 0", "above 0"]);
  context.fillStyle = BLUE;
  context.fillRect(left, 101, 4, 12);
  say("this output token", left + 10, 107);
  context.fillStyle = ACCENT;
  context.fillRect(left, 120, 4, 12);
  say(width > 190 ? "changed, by so much of its size" : "changed, by so much", left + 10, 126);
}

function paintTokens(context, { x, y, height, labels }, side, { names, at, shares, ink, changedInput }) {
  const tokens = side === "encoder" ? names.source : names.fed;
  const tall = height / tokens.length;
  const every = Math.ceil(9.5 / tall);
  tokens.forEach((token, t) => {
    const [top, middle] = [y + t * tall, y + (t + 0.5) * tall];
    if (side === "encoder" && shares[t] >= 0.05) {
      context.fillStyle = BLUE;
      context.globalAlpha = 0.15 + 0.55 * shares[t];
      context.fillRect(x - labels, top + 0.5, labels - 4, tall - 1);
      context.globalAlpha = 1;
    }
    if (t % every) return;
    const bold = side === "decoder" && t === at;
    const font = `${Math.min(12, Math.max(9, tall - 1))}px system-ui, sans-serif`;
    const colour = changedInput(side, t) ? ACCENT : ink;
    Object.assign(context, { font: bold ? `bold ${font}` : font, fillStyle: colour });
    Object.assign(context, { textAlign: "right", textBaseline: "middle" });
    context.fillText(fitted(context, token, labels - 10), x - 7, middle);
  });
}

function fitted(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  let short = text;
  while (short.length > 1 && context.measureText(`${short}…`).width > room) short = short.slice(0, -1);
  return `${short}…`;
}

function paintMask(context, { x, y, width, height }, gone, { dim }) {
  const size = 5;
  for (let t = 0; t < 3; t += 1) {
    for (let s = 0; s < 4; s += 1) {
      const seen = gone || s <= t;
      Object.assign(context, { fillStyle: css(cividis(seen ? 0.85 : 0.1)) });
      context.fillRect(x + s * (size + 1), y + t * size, size, size - 1);
    }
  }
  Object.assign(context, { strokeStyle: dim, lineWidth: 0.6 });
  context.strokeRect(x - 0.5, y - 0.5, width, height + 1);
  if (gone) crossed(context, { x, y, width, height });
}

// The five most probable tokens.
function paintOutput(context, { x, y, width, height }, { best, ink, target }) {
  const tall = height / 5;
  const room = Math.min(92, width * 0.42);
  best.forEach(({ name, p, key }, i) => {
    const middle = y + (i + 0.5) * tall;
    Object.assign(context, { font: key === target ? `bold ${SMALL}` : SMALL, fillStyle: ink, textAlign: "right" });
    context.textBaseline = "middle";
    context.fillText(fitted(context, name, room - 8), x + room - 6, middle);
    const wide = Math.max(1, (width - room - 34) * p);
    context.fillStyle = HUES.output;
    context.globalAlpha = key === target ? 1 : 0.55;
    context.fillRect(x + room, middle - tall / 2 + 2, wide, tall - 4);
    context.globalAlpha = 1;
    Object.assign(context, { fillStyle: ink, font: SMALL, textAlign: "left" });
    context.fillText(p >= 0.995 ? "1.00" : p.toFixed(2), x + room + wide + 5, middle);
  });
}

// Switched off: a thick cross over a veil.
function crossed(context, { x, y, width, height }) {
  context.fillStyle = "rgb(255 255 255 / .55)";
  context.fillRect(x, y, width, height);
  Object.assign(context, { strokeStyle: ACCENT, lineWidth: 2.5 });
  context.beginPath();
  for (const [from, to] of [
    [y, y + height],
    [y + height, y],
  ]) {
    context.moveTo(x, from);
    context.lineTo(x + width, to);
  }
  context.stroke();
}

function swapped(context, { x, y, width, height }) {
  Object.assign(context, { strokeStyle: ACCENT, lineWidth: 2.5 });
  context.setLineDash([5, 3]);
  context.strokeRect(x, y, width, height);
  context.setLineDash([]);
}

// Residual connections around the sub-layers, the way up, and the memory.
function paintLines(context, plan, { ink, off }) {
  Object.assign(context, { strokeStyle: ink, fillStyle: ink, lineWidth: 1.1 });
  context.globalAlpha = 0.75;
  for (const { side, boxes, left, width } of plan.columns) {
    const middle = left + width / 2;
    boxes.slice(1).forEach(({ y, height }, i) => arrow(context, [middle, boxes[i].y], [middle, y + height]));
    boxes.forEach(({ box, y, height }, i) => {
      if (box.kind !== "residual") return;
      const below = boxes[i - 1];
      const out = side === "encoder" ? left - plan.side + 4 : left + width + plan.side - 4;
      const edge = side === "encoder" ? left : left + width;
      const from = below.y + below.height + 5;
      const gone = off.has(box.parts[0].off);
      context.strokeStyle = gone ? ACCENT : ink;
      if (gone) context.setLineDash([2, 4]);
      line(context, [middle, from], [out, from], [out, y + height / 2], [edge, y + height / 2]);
      context.setLineDash([]);
      context.strokeStyle = ink;
    });
  }
  const [encoder, decoder] = plan.columns;
  const x = decoder.left - plan.between / 2;
  const start = encoder.left + encoder.width / 2;
  const cross = decoder.boxes.filter(({ box }) => box.title === "cross-attention");
  const up = encoder.top - 26;
  const last = cross.at(-1);
  line(context, [start, encoder.top], [start, up], [x, up], [x, last.y + last.height / 2]);
  for (const { y, height } of cross) {
    line(context, [x, up], [x, y + height / 2]);
    arrow(context, [x, y + height / 2], [decoder.left, y + height / 2]);
  }
  Object.assign(context, { font: `italic ${SMALL}`, textAlign: "right", textBaseline: "bottom" });
  context.fillText("memory", x - 6, up - 3);
  context.globalAlpha = 1;
}

function line(context, ...points) {
  context.beginPath();
  points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.stroke();
}

function arrow(context, from, to) {
  line(context, from, to);
  const angle = Math.atan2(to[1] - from[1], to[0] - from[0]);
  context.beginPath();
  context.moveTo(...to);
  for (const turn of [2.7, -2.7])
    context.lineTo(to[0] + 6 * Math.cos(angle + turn), to[1] + 6 * Math.sin(angle + turn));
  context.fill();
}
