// The cells of a map, the key to their colours, and how one map becomes another.

import { stripes } from "./ui.js";
import { SANS, amounts, css, inkOn, mixed } from "./palette.js";
import { staggered } from "./motion.js";

const FONT = `12px ${SANS}`;
const SMALL = `11px ${SANS}`;
const NEAR = 18; // pixels across a cell that may have a painter of its own
const HATCH = 0.5; // from so far on a cell that becomes masked is hatched

// Where a value stands within a range: 0 … 1, and in the middle where all are equal.
export function shareOf(value, [low, high]) {
  return high > low ? (value - low) / (high - low) : 0.5;
}

export function numberIn(value) {
  return value
    .toFixed(2)
    .replace("-", "−")
    .replace(/^−0\.00$/, "0.00");
}

// Cells of an array of rows. NaN is masked, and hatched; where `blank(t, s)` it is an empty frame. colours(0 … 1) gives
// [r, g, b] for the range. `before`, { values, colours, range }, is what the map was, and `share` how far it has become
// what it is: cell by cell, from the corner at the left of the top. `cell(context, { x, y, size, value, t, s })` paints
// a large cell in its own way, and `hidden(context, box)` one that is masked, in the key.
export function paintCells(context, values, box, options) {
  const { colours = amounts, range, print = false, ink, before = null, share = 1, blank = () => false } = options;
  const { left, top, size, first = [0, 0], shown = [values.length, values[0].length] } = box;
  const colour = (value) => colours(shareOf(value, range));
  if (options.cell && size >= NEAR) {
    for (let t = 0; t < shown[0]; t += 1) {
      for (let s = 0; s < shown[1]; s += 1) {
        const [i, j] = [first[0] + t, first[1] + s];
        options.cell(context, {
          x: left + s * size,
          y: top + t * size,
          size: size - 1,
          value: values[i][j],
          t: i,
          s: j,
        });
      }
    }
    return;
  }
  if (size < 8) return paintImage(context, values, { left, top, size, first, shown }, colour, ink);
  const [hidden, empty] = [[], []];
  const last = shown[0] + shown[1] - 1;
  for (let t = 0; t < shown[0]; t += 1) {
    for (let s = 0; s < shown[1]; s += 1) {
      const [i, j] = [first[0] + t, first[1] + s];
      const [x, y, value] = [left + s * size, top + t * size, values[i][j]];
      const far = before && share < 1 ? staggered(share, t + s, last) : 1;
      const cell = far < 1 ? between(before.values[i][j], value, { before, colour, far }) : cellOf(value, colour);
      if (Number.isNaN(value) && far > HATCH) (blank(i, j) ? empty : hidden).push([x, y]);
      if (!cell) continue;
      context.globalAlpha = cell.alpha;
      context.fillStyle = css(cell.rgb);
      context.fillRect(x, y, size - 1, size - 1);
      if (print) {
        Object.assign(context, {
          fillStyle: inkOn(cell.rgb),
          textAlign: "center",
          textBaseline: "middle",
          font: SMALL,
        });
        context.fillText(numberIn(cell.value), x + (size - 1) / 2, y + (size - 1) / 2, size - 4);
      }
      context.globalAlpha = 1;
    }
  }
  if (hidden.length) hatch(context, hidden, { left, top, size, shown }, ink);
  if (empty.length) frames(context, empty, size, ink);
}

const cellOf = (value, colour) => (Number.isNaN(value) ? null : { value, rgb: colour(value), alpha: 1 });

// A cell on the way from one number to another; what is masked fades.
function between(old, value, { before, colour, far }) {
  const was = Number.isNaN(old) ? null : before.colours(shareOf(old, before.range));
  if (Number.isNaN(value)) return was && { value: old, rgb: was, alpha: 1 - far };
  if (!was) return { value, rgb: colour(value), alpha: far };
  return { value: old + (value - old) * far, rgb: mixed(was, colour(value), far), alpha: 1 };
}

function hatch(context, cells, { left, top, size, shown }, ink) {
  context.save();
  context.beginPath();
  for (const [x, y] of cells) context.rect(x, y, size - 1, size - 1);
  context.clip();
  stripes(context, left, top, size * shown[1], size * shown[0], ink, 0.6);
  context.restore();
}

function frames(context, cells, size, ink) {
  Object.assign(context, { strokeStyle: ink, lineWidth: 0.5, globalAlpha: 0.4 });
  for (const [x, y] of cells) context.strokeRect(x + 0.5, y + 0.5, size - 2, size - 2);
  context.globalAlpha = 1;
}

// Cells too small for gaps, as one picture; what is masked stays clear and shows the stripes behind.
function paintImage(context, values, { left, top, size, first, shown: [T, S] }, colour, ink) {
  const image = new ImageData(S, T);
  let masked = false;
  for (let t = 0; t < T; t += 1) {
    for (let s = 0; s < S; s += 1) {
      const value = values[first[0] + t][first[1] + s];
      if (Number.isNaN(value)) masked = true;
      else {
        const [r, g, b] = colour(value);
        const i = 4 * (t * S + s);
        [image.data[i], image.data[i + 1], image.data[i + 2], image.data[i + 3]] = [r, g, b, 255];
      }
    }
  }
  if (masked) stripes(context, left, top, S * size, T * size, ink);
  const small = new OffscreenCanvas(S, T);
  small.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, left, top, S * size, T * size);
}

// ── the key: what the colours mean, from the least number to the largest, and what is hatched ──

const RAMP = 96;
const ends = (range) => range.map((x) => String(Number(x.toPrecision(3))).replace("-", "−"));

export function keyWidth(context, { range, name, masked }) {
  context.font = FONT;
  const wide = (text) => context.measureText(text).width;
  return (
    ends(range).reduce((sum, text) => sum + wide(text) + 6, RAMP) + wide(name) + 8 + (masked ? wide(masked) + 38 : 0)
  );
}

export function paintKey(context, { x, y }, { colours = amounts, range, name, masked, hidden, ink }) {
  const [low, high] = ends(range);
  Object.assign(context, { font: FONT, fillStyle: ink, textAlign: "left", textBaseline: "middle" });
  const write = (text, gap) => {
    context.fillStyle = ink;
    context.fillText(text, x, y + 6);
    x += context.measureText(text).width + gap;
  };
  write(low, 6);
  const gradient = context.createLinearGradient(x, 0, x + RAMP, 0);
  for (let i = 0; i <= 10; i += 1) gradient.addColorStop(i / 10, css(colours(i / 10)));
  context.fillStyle = gradient;
  context.fillRect(x, y, RAMP, 12);
  x += RAMP + 6;
  write(high, 8);
  write(name, 20);
  if (!masked) return;
  if (hidden) hidden(context, { x, y: y - 1, size: 14 });
  else {
    Object.assign(context, { strokeStyle: ink, lineWidth: 0.5 });
    stripes(context, x, y, 12, 12, ink, 0.6);
    context.strokeRect(x + 0.5, y + 0.5, 11, 11);
  }
  x += 18;
  write(masked, 0);
}
