// The picture of the tiles: a large pale sheet of scores, a small bright desk with the tile that is in fast memory and
// what its queries remember, and both once more to scale for a long text.

import { write } from "../../shared/drawing.js";
import { WORDS, diverging, fit } from "../../shared/grid.js";
import { MEANINGS, NOW, css, inkOn, mixed, rgbOf } from "../../shared/palette.js";
import { stripes } from "../../shared/ui.js";

const LARGEST = 52; // pixels across a score, on the sheet and on the desk, where there is room
const SMALLEST = 400; // how wide the desk is at least beside the sheet, where there is room
const NUMBERS = 168; // how wide what a query remembers is: m, ℓ and ×
const FOOT = 74; // how high the bar of the desk's bytes is, with its words
const HEAD = 58; // from the top of the desk to its first row

export const number = (x) => (Number.isFinite(x) ? x.toFixed(2).replace("-", "−") : "−∞");
export const within = (i, [from, to]) => i >= from && i < to;

// How wide the widest of the names is.
export function widest(names) {
  const context = new OffscreenCanvas(1, 1).getContext("2d");
  context.font = `bold ${WORDS}`;
  return Math.max(...names.map((name) => context.measureText(name).width));
}

// Beside a sheet of S keys with names so wide: how much room the desk gets, so that a score is as large on both.
export function roomOf(total, { name, S, tile }) {
  const left = Math.min(name, 126) + 34;
  const desk = 60 + Math.min(name, 90) + NUMBERS;
  const size = Math.min(LARGEST, (total - left - desk - 8) / (S + tile));
  return {
    width: Math.max(desk + tile * size, total - left - 8 - S * LARGEST),
    desk: Math.max(desk + tile * size, SMALLEST),
  };
}

// The sides, in pixels, of two squares whose areas are to each other as these bytes; the larger has this side.
export function scaled(desk, sheet, side) {
  const most = Math.max(desk, sheet);
  return { desk: side * Math.sqrt(desk / most), sheet: side * Math.sqrt(sheet / most) };
}

// ── the sheet ──

// How much of its colour a score has on the sheet: all of it while it is in memory, a ghost of it otherwise.
const STRENGTH = { here: 1, read: 0.42, coming: 0.17 };

// What tokenMap paints in place of a cell of the sheet: nothing is written there, and what is of the future is hatched.
export function sheetCell(context, { x, y, size }, { score, most, state, ink }) {
  const full = diverging((score / most + 1) / 2);
  context.fillStyle = state === "future" ? NOW.slab : css(mixed(rgbOf(NOW.paper), full, STRENGTH[state]));
  context.fillRect(x, y, size, size);
  if (state === "future") stripes(context, x, y, size, size, ink, 0.6);
}

// Thin lines around all tiles of the walk, a tick in those that were read, and the window of the one in memory.
export function tilesOn(context, { left, top, size }, walk, step) {
  const box = ({ rows, columns }) => [
    left + columns[0] * size - 0.5,
    top + rows[0] * size - 0.5,
    (columns[1] - columns[0]) * size,
    (rows[1] - rows[0]) * size,
  ];
  walk.forEach((one, i) => {
    const [x, y, width, height] = box(one);
    Object.assign(context, { strokeStyle: NOW.edge, lineWidth: 1 }).strokeRect(x, y, width, height);
    if (i < step) write(context, "✓", x + width / 2, y + height / 2, { align: "center", size: 15 });
  });
  const [x, y, width, height] = box(walk[step]);
  Object.assign(context, { strokeStyle: NOW.ink, lineWidth: 3 }).strokeRect(x, y, width, height);
  return [x, y, width, height];
}

// ── the desk ──

export const deskHeight = (rows, size) => HEAD + rows * size + FOOT;

// The desk within a box, { x, y, width, size }. Returns where on its edge the lines from the sheet end.
export function paintDesk(context, { x, y, width, size }, { here, scores, most, found, names, hidden, bytes }) {
  const [T, S] = [here.rows[1] - here.rows[0], here.columns[1] - here.columns[0]];
  const high = deskHeight(T, size);
  context.save();
  Object.assign(context, { fillStyle: NOW.dark ? NOW.slab : NOW.paper });
  Object.assign(context, { shadowColor: "rgb(0 0 0 / 18%)", shadowBlur: 14, shadowOffsetY: 4 });
  context.beginPath();
  context.roundRect(x + 1, y + 1, width - 2, high - 2, 12);
  context.fill();
  context.restore();
  Object.assign(context, { strokeStyle: NOW.ink, lineWidth: 2 }).stroke();
  write(context, "The desk: fast memory", x + 16, y + 20, { bold: true, size: 14, room: width - 32 });
  const named = Math.min(Math.max(...names.rows.slice(...here.rows).map((name) => widest([name]))), 90);
  const [left, top] = [x + 16 + named + 20, y + HEAD];
  for (let s = 0; s < S; s += 1)
    keyName(context, names.columns[here.columns[0] + s], left + (s + 0.5) * size, top - 9, size);
  for (let t = 0; t < T; t += 1) {
    const [row, middle] = [here.rows[0] + t, top + (t + 0.5) * size];
    write(context, "●", x + 14, middle, { colour: MEANINGS.query, size: 11 });
    context.font = WORDS;
    write(context, fit(context, names.rows[row], named + 2), left - 8, middle, {
      serif: true,
      size: 14,
      align: "right",
    });
    for (let s = 0; s < S; s += 1) {
      const column = here.columns[0] + s;
      const cell = [left + s * size, top + t * size, size - 1];
      if (hidden(row, column)) stripes(context, cell[0], cell[1], cell[2], cell[2], NOW.ink, 0.6);
      else score(context, cell, scores[row][column], most);
    }
    remembers(context, left + S * size + 14, middle, {
      found,
      t,
      size,
      keys: names.columns.length,
      first: t === 0,
      top,
    });
  }
  inBytes(context, { x: x + 16, y: top + T * size + 16, width: width - 32 }, bytes);
  return { left: x, top, height: T * size };
}

function keyName(context, name, x, y, size) {
  context.font = WORDS;
  const text = fit(context, name, size - 12);
  const wide = context.measureText(text).width + 11;
  write(context, "■", x - wide / 2, y, { colour: MEANINGS.key, size: 9 });
  write(context, text, x - wide / 2 + 11, y, { serif: true, size: 14 });
}

function score(context, [x, y, size], value, most) {
  const rgb = diverging((value / most + 1) / 2);
  context.fillStyle = css(rgb);
  context.fillRect(x, y, size, size);
  if (size >= 30) write(context, number(value), x + size / 2, y + size / 2, { align: "center", colour: inkOn(rgb) });
}

// Of a query: its largest score so far, its sum with a bar, as long as the share of the keys, and what mended the sum.
function remembers(context, x, y, { found, t, size, keys, first, top }) {
  const places = [x + 40, x + 94, x + 152];
  if (first)
    ["m", "ℓ", "×"].forEach((name, i) =>
      write(context, name, places[i], top - 9, { align: "right", italic: true, size: 14, colour: NOW.soft }),
    );
  const mends = found.factor[t] > 0 && found.factor[t] < 1;
  const low = size >= 34 ? 4 : 0;
  write(context, number(found.maximum[t]), places[0], y, { align: "right" });
  write(context, number(found.total[t]), places[1], y - low, { align: "right" });
  write(context, number(found.factor[t]), places[2], y, {
    align: "right",
    bold: mends,
    colour: mends ? NOW.change : NOW.ink,
  });
  if (mends) {
    const wide = context.measureText(number(found.factor[t])).width;
    Object.assign(context, { strokeStyle: NOW.change, lineWidth: 1.5 });
    context.setLineDash([4, 3]);
    context.strokeRect(places[2] - wide - 5, y - 11, wide + 10, 22);
    context.setLineDash([]);
  }
  if (!low || !Number.isFinite(found.maximum[t])) return;
  context.fillStyle = NOW.amber;
  context.fillRect(places[1] - 40, y + 8, (40 * found.total[t]) / keys, 4);
  Object.assign(context, { strokeStyle: NOW["amber-edge"], lineWidth: 1 });
  context.strokeRect(places[1] - 40, y + 8, 40, 4);
}

// What lies on the desk, as long as it has bytes.
function inBytes(context, { x, y, width }, { tile, d_head, all }) {
  const rows = tile * d_head;
  const parts = [
    ["● q", rows, MEANINGS.query],
    ["■ k", rows, MEANINGS.key],
    ["▲ v", rows, MEANINGS.value],
    ["output", rows, NOW.thread],
    ["", tile * tile + 2 * tile, NOW["amber-edge"]],
  ];
  const numbers = parts.reduce((sum, [, n]) => sum + n, 0);
  let left = x;
  for (const [name, n, colour] of parts) {
    const wide = (width * n) / numbers;
    context.fillStyle = colour;
    context.fillRect(left, y, Math.max(wide - 1, 1), 8);
    if (name) write(context, name, left, y + 20, { colour, size: 12, room: wide - 2 });
    left += wide;
  }
  const rest = `${all.toLocaleString("en")} bytes, for any length of text`;
  write(context, rest, x, y + 42, { bold: true, room: width - 112 });
  write(context, "scores, m, ℓ", x + width, y + 42, { align: "right", size: 12, colour: NOW["amber-ink"] });
}

// From the window on the sheet to the desk.
export function lead(context, [x, y, width, height], to) {
  const right = x + width + 1.5;
  Object.assign(context, { strokeStyle: NOW.ink, lineWidth: 1 });
  for (const [from, end] of [
    [y, to.top],
    [y + height, to.top + to.height],
  ]) {
    context.beginPath();
    context.moveTo(right, from);
    context.bezierCurveTo((right + to.left) / 2, from, (right + to.left) / 2, end, to.left, end);
    context.stroke();
  }
}

// ── both to scale ──

export const SIDE = 236;

export function paintScale(sketch, width, { desk, sheet, length, words }) {
  const context = sketch.resize(width, SIDE + 58);
  const sides = scaled(desk, sheet, SIDE);
  write(context, `To scale: a text of ${length.toLocaleString("en")} tokens`, 0, 10, { bold: true, size: 14 });
  const top = 28;
  Object.assign(context, { fillStyle: NOW.slab, strokeStyle: NOW.edge, lineWidth: 1 });
  context.fillRect(0.5, top + 0.5, sides.sheet, sides.sheet);
  context.strokeRect(0.5, top + 0.5, sides.sheet, sides.sheet);
  const small = Math.max(sides.desk, 2); // one that is smaller than that could not be seen
  const [x, y] = sides.desk < sides.sheet ? [24, top + 24] : [0.5, top + 0.5];
  if (sides.desk < sides.sheet) {
    context.fillStyle = NOW.ink;
    context.fillRect(x, y, small, small);
  } else {
    Object.assign(context, { strokeStyle: NOW.ink, lineWidth: 2 }).strokeRect(x, y, small, small);
  }
  if (small < 60) {
    Object.assign(context, { strokeStyle: NOW.ink, lineWidth: 1 });
    context.beginPath();
    context.arc(x + small / 2, y + small / 2, small / 2 + 9, 0, 2 * Math.PI);
    context.stroke();
    write(context, "the desk", x + small + 16, y + small / 2, { room: SIDE - small - 40 });
  }
  write(context, words, 0, top + SIDE + 18, { colour: NOW.soft, room: width });
}
