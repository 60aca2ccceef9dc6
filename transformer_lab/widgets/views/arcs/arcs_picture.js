// The picture of the arcs: where words, arcs, weights and vectors stand, and how they are painted. A sentence runs from
// left to right where there is room, else from top to bottom, with its arcs at the left.

import { clamp } from "../../shared/numbers.js";
import { MEANINGS, NOW, SANS } from "../../shared/palette.js";

export const FAMILY = SANS;
const KNOWN = 0.1; // a weight above it is printed in bold

const sum = (all) => all.reduce((a, b) => a + b, 0);

// options: width; measure(text) in pixels, at 1 pixel a letter's height; least, the smallest side of a word; features,
// how many numbers a vector has (0: none is shown); named, whether sentences have names.
export function layout(sentences, options) {
  const wide = options.width >= 900;
  const sizes = wide ? { size: 20, small: 15, gaps: [8, 26] } : { size: 15, small: 13, gaps: [6, 16] };
  const { size, small } = sizes;
  const least = Math.max(options.least, Math.ceil(2.7 * small)); // a weight stands below each word
  const across = (token) => Math.max(least, Math.ceil(options.measure(token) * size + 1.2 * size));
  const plan = { ...sizes, ...options, chip: Math.max(options.least, 2 * size + 4), row: Math.round(1.7 * small) };
  Object.assign(plan, { words: sentences.map((tokens) => tokens.map(across)), top: options.named ? plan.row : 0 });
  Object.assign(plan, { cell: 4.3 * small, high: 2 * small, names: 5.7 * small }); // of vectors, and beside them
  const beside = options.features ? 40 + plan.names + plan.cell * options.features : 0;
  const needed = Math.max(...plan.words.map((all) => sum(all) + plan.gaps[0] * (all.length - 1)));
  return needed + beside + 4 <= options.width ? inLines(plan, beside) : inColumns(plan);
}

function inLines(plan, beside) {
  const { words, width, chip, top, row, high, cell, names } = plan;
  const spare = words.map((all) => (width - beside - 4 - sum(all)) / Math.max(all.length - 1, 1));
  const gap = clamp(Math.min(...spare), ...plan.gaps);
  const longest = Math.max(...words.map((all) => sum(all) + gap * (all.length - 1)));
  const lift = 30 + Math.min(0.24 * longest, 130);
  const over = top + Math.ceil(0.75 * lift + 6);
  const band = over + chip + row + 16;
  const places = words.map((all, i) => {
    const base = i * band + over;
    let left = 2;
    const boxes = all.map((width) => ({ left: (left += width + gap) - width - gap, top: base, width, height: chip }));
    const along = boxes.map((box) => box.left + box.width / 2);
    const numbers = along.map((x) => ({ x, y: base + chip + row / 2 + 1, align: "center" }));
    const vector = { x: longest + 40, y: base + chip - row - 2 * high - 8, cell, names };
    const arcs = { across: true, base: base - 3, low: 30, high: lift, span: longest, thick: 18 };
    return { boxes, along, numbers, vector, arcs, name: { x: 2, y: i * band + 10 }, line: i ? i * band - 4 : null };
  });
  return { ...plan, width: Math.min(width, longest + beside + 4), height: band * words.length - 8, places };
}

function inColumns(plan) {
  const { words, width, chip, top, features, row, high } = plan;
  const [step, names] = [chip + 6, 64]; // from word to word
  const widest = clamp(Math.max(...words.flat()), 0, width - 44 - 40);
  const needed = Math.max(44 + widest + 40, features && names + 36 * features);
  const count = clamp(Math.floor((width + 12) / (needed + 12)), 1, words.length);
  const column = Math.min((width - 12 * (count - 1)) / count, 290);
  const room = clamp(column - widest - 40, 40, 120);
  const most = Math.max(...words.map((all) => all.length));
  const tall = top + step * most + (features ? row + 2 * high + 14 : 0) + 12;
  const places = words.map((all, i) => {
    const [left, start] = [(i % count) * (column + 12), Math.floor(i / count) * tall + top];
    const boxes = all.map((_, t) => ({ left: left + room, top: start + t * step, width: widest, height: chip }));
    const along = boxes.map((box) => box.top + chip / 2);
    const numbers = along.map((y) => ({ x: left + room + widest + 6, y, align: "left" }));
    const cell = features && Math.min(56, (column - names) / features);
    const vector = { x: left, y: start + step * most + 4, cell, names };
    const span = step * (all.length - 1);
    const arcs = { across: false, base: left + room - 3, low: 0.45 * room, high: (room - 8) / 0.75, span, thick: 12 };
    return { boxes, along, numbers, vector, arcs, name: { x: left, y: start - top + 8 }, line: null };
  });
  return { ...plan, size: Math.min(plan.size, 15), height: tall * Math.ceil(words.length / count), places };
}

// An arc from one place along a sentence to another: its start, two handles and its end. To itself it is a loop, the
// wider the thicker it is.
export function arcOf({ across, base, low, high, span }, from, to, weight = 0) {
  const far = Math.abs(to - from);
  const [loop, way] = [clamp(1 - far / 40, 0, 1), from <= to ? 1 : -1];
  const lift = low + (high - low) * (span ? Math.min(far / span, 1) : 0) + low * loop * (0.5 + 0.3 * weight);
  const point = (along, above) => (across ? [along, base - above] : [base - above, along]);
  const [foot, lean] = [9, 21].map((x) => x * loop * way * (1 + 0.5 * weight));
  return [point(from - foot, 0), point(from - lean, lift), point(to + lean, lift), point(to + foot, 0)];
}

// Where a word stands along its sentence; between two words it is in between, as it is while the arcs glide.
export function placeOf(along, word) {
  const low = Math.min(Math.floor(word), along.length - 1);
  const high = Math.min(low + 1, along.length - 1);
  return along[low] + (along[high] - along[low]) * (word - low);
}

// looks: for each sentence { word, weights, before, after }; most: the largest number of a vector.
export function paint(context, plan, looks, { names, features, most, ink }) {
  const font = (look = "") => `${look} ${plan.small}px ${FAMILY}`.trim();
  Object.assign(context, { lineCap: "round", textBaseline: "middle" });
  plan.places.forEach((place, i) => {
    if (place.line) rule(context, plan, place.line, ink);
    if (names) write(context, names[i], place.name, { ink, font: font("italic"), align: "left", alpha: 0.8 });
    paintArcs(context, place, looks[i]);
    looks[i].weights.forEach((weight, s) => {
      const style = weight > KNOWN ? { font: font("bold") } : { font: font(), alpha: 0.75 };
      write(context, weight.toFixed(2), place.numbers[s], { ink, ...style });
    });
    if (features.length) paintVectors(context, plan, place.vector, looks[i], { features, most, ink, font });
  });
}

function paintArcs(context, { arcs, along }, { word, weights }) {
  const from = placeOf(along, word);
  weights.forEach((weight, s) => {
    const [start, one, two, end] = arcOf(arcs, from, along[s], weight);
    Object.assign(context, {
      strokeStyle: NOW["amber-edge"],
      globalAlpha: Math.min(weight / 0.02, 0.5) + 0.5 * Math.sqrt(weight),
    });
    context.lineWidth = 1 + arcs.thick * weight;
    context.beginPath();
    context.moveTo(...start);
    context.bezierCurveTo(...one, ...two, ...end);
    context.stroke();
  });
  context.globalAlpha = 1;
}

// What the word was alone, and below it what it has become.
function paintVectors(context, { row, high }, { x, y, cell, names }, look, { features, most, ink, font }) {
  features.forEach((name, j) => {
    const place = { x: x + names + cell * (j + 0.5) - 1, y: y + row / 2 - 2 };
    write(context, name, place, { ink, font: font(), alpha: 0.8, room: cell - 3 });
  });
  [look.before, look.after].forEach((vector, i) => {
    const top = y + row + i * (high + 4);
    const middle = top + high / 2;
    write(context, i ? "in context" : "alone", { x, y: middle }, { ink, font: font(), align: "left", room: names - 6 });
    vector.forEach((value, j) => {
      const left = x + names + cell * j;
      Object.assign(context, { fillStyle: MEANINGS.value, globalAlpha: 0.08 + (0.5 * Math.abs(value)) / most });
      context.fillRect(left, top, cell - 2, high);
      const place = { x: left + cell / 2 - 1, y: middle };
      write(context, numberOf(value), place, { ink, font: font(i ? "bold" : ""), room: cell - 4 });
    });
  });
}

export function numberOf(value) {
  return value.toFixed(2).replace("-", "−");
}

function rule(context, { width }, y, ink) {
  Object.assign(context, { fillStyle: ink, globalAlpha: 0.2 }).fillRect(0, y, width, 1);
  context.globalAlpha = 1;
}

function write(context, text, { x, y, align = "center" }, { ink, font, alpha = 1, room, ...more }) {
  Object.assign(context, { font, fillStyle: ink, textAlign: more.align ?? align, globalAlpha: alpha });
  context.fillText(text, x, y, ...(room ? [room] : []));
  context.globalAlpha = 1;
}
