// The picture of the swaps: the block in the middle, and from each card whose part is in it a thread to that part;
// below it the measured losses and the bytes of the cache.

import { drawLines, evenTicks } from "../../shared/chart.js";
import { write } from "../../shared/drawing.js";
import { NOW } from "../../shared/palette.js";

const [PRE_NORM, RMS_NORM, SWIGLU, ROPE, GROUPED, NO_BIASES] = [0, 1, 2, 3, 4, 5];

// The swaps from the top of the block to its foot, as their cards stand.
export const ORDER = [PRE_NORM, RMS_NORM, SWIGLU, GROUPED, ROPE, NO_BIASES];
export const [HEAD, ROW] = [56, 62]; // above the cards, and how high one is with its gap
export const HEIGHT = HEAD + ORDER.length * ROW;

// How high a part with a second line is, and the gap between parts; a narrow block breaks its second lines in two.
export const ROOMY = { high: 38, gap: 13, broken: false };
export const NARROW = { high: 50, gap: 10, broken: true };
const FITS = 160; // how wide a block is whose second lines fit

// How wide a card is, and the room of the block between the cards.
export function columnsOf(total) {
  const card = Math.min(Math.max(total * 0.26, 84), 230);
  const gap = total < 480 ? 20 : Math.min(90, total * 0.07);
  return { card, left: card + gap, width: total - 2 * (card + gap) };
}

// The middle of a card, from the top.
export const cardAt = (swap) => HEAD + (ORDER.indexOf(swap) + 0.5) * ROW - 4;

// The parts of a model from its input up: [kind, first line, second line, the swaps that it shows].
export function partsOf(on, d_ff) {
  const norm = ["norm", on[RMS_NORM] ? "RMSNorm" : "LayerNorm", "", [PRE_NORM, RMS_NORM]];
  const keys = on[GROUPED] ? "keys for two heads each" : "keys for each head";
  const attention = ["attention", `attention${on[ROPE] ? ", RoPE" : ""}`, keys, [ROPE, GROUPED, NO_BIASES]];
  const network = [
    "network",
    on[SWIGLU] ? "SwiGLU" : "ReLU network",
    `${on[SWIGLU] ? 3 : 2} matrices, ${d_ff.toLocaleString("en", { maximumFractionDigits: 0 })} wide`,
    [SWIGLU, NO_BIASES],
  ];
  const start = on[ROPE] ? [] : [["sine", "+ sine", "", [ROPE]]];
  const sums = [["sum", "+", "", []]];
  const layer = on[PRE_NORM]
    ? [norm, attention, ...sums, norm, network, ...sums]
    : [attention, ...sums, norm, network, ...sums, norm];
  return { start, layer, end: on[PRE_NORM] ? [["norm", `last ${norm[1]}`, "", [PRE_NORM, RMS_NORM]]] : [] };
}

const highOf = ([kind, , second], { high }) => (kind === "sum" || kind === "sine" ? 18 : second ? high : 24);

// Where each part of the block stands, from its input at the bottom up: { part, y, high }.
export function placesOf({ start, layer, end }, looks = ROOMY) {
  let y = HEIGHT - 62;
  return [...start, ...layer, ...end].map((part) => {
    const high = highOf(part, looks);
    y -= looks.gap + high;
    return { part, y, high };
  });
}

// Where the thread of each swap ends: at a part that shows it, and for the biases at the words below the block.
export function endsOf(places) {
  const find = (kind, nth = 0) => places.filter(({ part }) => part[0] === kind).at(-1 - nth);
  const middle = ({ y, high }) => y + high / 2;
  const attention = find("attention");
  return {
    [PRE_NORM]: middle(find("norm")),
    [RMS_NORM]: middle(find("norm", 1)),
    [SWIGLU]: middle(find("network")),
    [GROUPED]: middle(attention) - 8,
    [ROPE]: middle(find("sine") ?? attention) + (find("sine") ? 0 : 8),
    [NO_BIASES]: HEIGHT - 18,
  };
}

// Paints the block and its threads; `grown` is how far the thread of each swap has come, from its card to its part.
export function paintBlock(sketch, { total, ink, on, d_ff, grown }) {
  const context = sketch.resize(total, HEIGHT);
  const { card, left: from, width } = columnsOf(total);
  const room = Math.min(width, 250);
  const left = from + (width - room) / 2 + 16;
  const box = { left, width: room - 16, middle: left + (room - 16) / 2 };
  const parts = partsOf(on, d_ff);
  const looks = box.width < FITS ? NARROW : ROOMY;
  const places = placesOf(parts, looks);
  const ends = endsOf(places);
  write(context, "your block", box.middle, 20, { bold: true, size: 16, align: "center" });
  on.forEach((yes, swap) => {
    const x = yes ? total - card : card;
    const loop = swap === NO_BIASES ? box.middle + (yes ? 56 : -56) : yes ? box.left + box.width : box.left;
    thread(context, [x, cardAt(swap)], [loop, ends[swap]], yes, grown(swap));
  });
  paintStack(context, { ...box, looks, ink, places, on, layer: parts.layer.length, start: parts.start.length });
  const biases = on[NO_BIASES] ? "no biases" : "with biases";
  write(context, biases, box.middle, HEIGHT - 18, { align: "center", colour: on[NO_BIASES] ? NOW.change : NOW.ink });
  return { places, ...box };
}

function thread(context, [x0, y0], [x1, y1], fresh, share) {
  const middle = (x0 + x1) / 2;
  const curve = (t) => {
    const [a, b, c, d] = [(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t ** 3];
    return [a * x0 + (b + c) * middle + d * x1, (a + b) * y0 + (c + d) * y1];
  };
  Object.assign(context, { strokeStyle: fresh ? NOW.change : NOW.thread, lineWidth: 2.5 });
  context.setLineDash(fresh ? [7, 4] : []);
  context.beginPath();
  for (let n = 0; n <= 40; n += 1) context.lineTo(...curve((share * n) / 40));
  context.stroke();
  context.setLineDash([]);
}

// The parts above each other: the thread of the residual stream goes through them, and around each branch.
function paintStack(context, { left, width, middle, looks, ink, places, on, layer, start }) {
  const foot = HEIGHT - 62;
  const line = (from, to) => {
    Object.assign(context, { strokeStyle: NOW.thread, lineWidth: 2 });
    context.beginPath();
    context.moveTo(middle, from);
    context.lineTo(middle, to);
    context.stroke();
  };
  const below = (i) => (i ? places[i - 1].y : foot);
  write(context, "tokens", middle, foot + 9, { align: "center", colour: NOW.soft });
  places.forEach(({ y, high }, i) => line(below(i), y + high));
  line(places.at(-1).y, places.at(-1).y - looks.gap);
  for (let i = start; i < start + layer; i += 3) {
    const sum = places.slice(i, i + 3).find(({ part }) => part[0] === "sum");
    around(context, { from: below(i) - looks.gap / 2, to: sum.y + 9, left: left - 10, middle });
  }
  for (const { part, y, high } of places) {
    const changed = part[3].some((swap) => on[swap]);
    paintPart(context, { left, width, y, high, middle, ink, looks }, part, changed);
  }
  const [top, bottom] = [places[start + layer - 1].y - 6, below(start) - looks.gap / 2 + 4];
  Object.assign(context, { strokeStyle: NOW.edge, lineWidth: 1 });
  context.strokeRect(left - 16.5, top + 0.5, width + 23, bottom - top);
}

function around(context, { from, to, left, middle }) {
  Object.assign(context, { strokeStyle: NOW.thread, lineWidth: 2 });
  context.beginPath();
  context.moveTo(middle, from);
  context.lineTo(left, from);
  context.lineTo(left, to);
  context.lineTo(middle - 9, to);
  context.stroke();
}

function paintPart(context, { left, width, y, high, middle, ink, looks }, [kind, first, second], changed) {
  Object.assign(context, { fillStyle: NOW.paper, strokeStyle: changed ? NOW.change : ink, lineWidth: 1.5 });
  if (kind === "sum") {
    context.beginPath();
    context.arc(middle, y + 9, 8, 0, 2 * Math.PI);
    context.fill();
    Object.assign(context, { strokeStyle: ink, lineWidth: 1 }).stroke();
    return write(context, "+", middle, y + 9.5, { align: "center" });
  }
  const box = kind === "sine" ? [middle - 34, y - 2, 68, high + 4] : [left, y, width, high];
  context.setLineDash(changed ? [7, 4] : []);
  context.beginPath();
  context.roundRect(...box, 6);
  context.fill();
  Object.assign(context, { lineWidth: changed ? 2.5 : 1.5 }).stroke();
  context.setLineDash([]);
  const room = box[2] - 8;
  const place = y + (second ? 12 : high / 2 + 0.5);
  write(context, first, middle, place, { align: "center", bold: changed && kind !== "sine", room });
  const lines = looks.broken ? halves(second) : [second];
  lines.forEach((text, i) => {
    write(context, text, middle, y + 27 + 13 * i, { align: "center", size: 12, colour: NOW.soft, room });
  });
}

// A text in two lines, broken at the space that is nearest to its middle.
export function halves(text) {
  const spaces = [...text].flatMap((letter, i) => (letter === " " ? [i] : []));
  const far = (i) => Math.abs(i - text.length / 2);
  const at = spaces.sort((i, j) => far(i) - far(j))[0];
  return at === undefined ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

// ── what was measured, and what it costs ──

export const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

export function paintLosses(sketch, { total, ink, losses, measured }) {
  const context = sketch.resize(total, 112);
  const every = losses.flat();
  const [low, high] = [Math.min(...every) - 0.01, Math.max(...every) + 0.01];
  const left = 64;
  const across = (loss) => left + ((loss - low) / (high - low)) * (total - left - 12);
  write(context, "Measured loss, nats a character", 0, 10, { bold: true, size: 14 });
  const rows = [
    ["2017", losses[0], false],
    ["yours", measured, true],
  ];
  rows.forEach(([name, values, filled], i) => {
    const y = 36 + 28 * i;
    write(context, name, 0, y);
    context.fillStyle = NOW.edge;
    losses.forEach((found) => dot(context, across(mean(found)), y, 2.5));
    context.fillStyle = ink;
    context.fillRect(across(mean(values)) - 1, y - 12, 2, 24);
    for (const loss of values) {
      Object.assign(context, { fillStyle: filled ? NOW.change : NOW.paper, strokeStyle: ink, lineWidth: 1.5 });
      dot(context, across(loss), y, 6);
      if (!filled) context.stroke();
    }
  });
  for (const [value, text] of evenTicks(low, high)) {
    context.fillStyle = ink;
    context.fillRect(across(value), 82, 1, 5);
    write(context, text, across(value), 97, { align: "center" });
  }
}

function dot(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

export function paintBytes(sketch, { total, ink, lengths, at, old, mine, inUnits }) {
  const context = sketch.resize(total, 230);
  const series = [
    { name: "2017", colour: NOW.thread, dash: [], marker: 0, xs: lengths, ys: old },
    { name: "yours", colour: NOW.change, dash: [7, 4], marker: 1, xs: lengths, ys: mine },
  ];
  const ends = [...old, ...mine];
  const powers = [];
  for (let k = Math.floor(Math.log10(Math.min(...ends))); k <= Math.ceil(Math.log10(Math.max(...ends))); k += 2)
    powers.push([10 ** k, inUnits(10 ** k, "B")]);
  const ticks = [1, 16, 256, 4096, 65536].map((n) => [n, n.toLocaleString("en")]);
  drawLines(
    context,
    { x: 0, y: 0, width: total, height: 226 },
    {
      title: "Bytes of the cache (float16)",
      x: { name: "tokens", log: 2, ticks },
      y: { log: 10, low: powers[0][0], high: Math.max(powers.at(-1)[0], ...ends), ticks: powers },
      series,
      at,
      ink,
    },
  );
}
