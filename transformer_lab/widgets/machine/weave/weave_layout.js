// Where everything in a weave stands, for a width and a sentence: rows of tokens at both sides, the encoder's slabs,
// the ribbons, the decoder's slabs. Lengths are CSS pixels.
//   weaveOf({ width: 1336, cross, layers: 2 }) → { narrow, height, pitch, columns, left, right, unit, ribbons }
// `cross` has a row for each output token: how much it looks at each input token.

import { clamp } from "../../shared/numbers.js";
import { ribbonsOf } from "./weave_ribbons.js";

export const NARROW = 620; // below it slabs are rails, and a row has no bar
const BARRED = 1100; // from here on a probability is a bar, too
const [WIDE_ROWS, NARROW_ROWS] = [
  { room: 400, least: 24, most: 54, size: 25 },
  { room: 260, least: 26, most: 48, size: 19 },
];
const LOW = 250; // of a phone that lies on its side

export function weaveOf({ width, cross, layers, low = false }) {
  const narrow = width < NARROW;
  const { least, most, size, ...rows } = narrow ? NARROW_ROWS : WIDE_ROWS;
  const room = low ? Math.min(LOW, rows.room) : rows.room;
  const barred = width >= BARRED;
  const [inputs, outputs] = [cross[0].length, cross.length];
  const pitch = clamp(room / Math.max(inputs, outputs), least, most);
  const height = Math.max(room, pitch * Math.max(inputs, outputs));
  const [left, right] = [inputs, outputs].map((n) => rowsOf(n, pitch, height));
  const unit = 0.68 * pitch;
  const columns = narrow ? narrowColumns(width, layers) : wideColumns(width, layers);
  const ribbons = ribbonsOf({ cross, left, right, unit, height });
  return {
    narrow,
    width,
    height,
    pitch,
    size: Math.min(barred || narrow ? size : 21, 0.56 * pitch),
    barred,
    left,
    right,
    unit,
    columns,
    ribbons,
  };
}

// How many rows of a text without end are drawn.
export function mostRows(width) {
  return width < NARROW ? 10 : 16;
}

// The middles of n rows, the whole of them in the middle of a height.
export function rowsOf(n, pitch, height) {
  const top = (height - n * pitch) / 2;
  return Array.from({ length: n }, (_, i) => top + (i + 0.5) * pitch);
}

function wideColumns(width, layers) {
  const name = clamp(0.118 * width, 88, 158);
  const clock = name + clamp(0.036 * width, 26, 44);
  const start = clock + clamp(0.03 * width, 18, 34);
  const writes = width - clamp(0.205 * width, 176, 274);
  const wide = clamp((0.165 * width) / layers, 18, 104);
  return { name, clock, writes, ...slabs(start, writes - 12, wide, clamp(0.011 * width, 6, 14), layers) };
}

function narrowColumns(width, layers) {
  const name = clamp(0.25 * width, 74, 96);
  const writes = width - clamp(0.285 * width, 84, 110);
  return { name, clock: null, writes, ...slabs(name + 14, writes - 14, Math.min(12, 24 / layers), 3, layers) };
}

// The slabs of both sides, and where the ribbons between them begin and end.
function slabs(start, end, wide, gap, layers) {
  const whole = layers * wide + (layers - 1) * gap;
  const side = (from) => Array.from({ length: layers }, (_, i) => ({ x: from + i * (wide + gap), wide }));
  return { encoder: side(start), decoder: side(end - whole), from: start + whole, to: end - whole };
}

// Words that are made of several tokens, as { first, last, text }: what a space or a hyphen parts are two words.
export function wordsOf(tokens) {
  const words = [];
  tokens.forEach((token, i) => {
    const joined = i > 0 && !/^(·|end$)/.test(token) && !tokens[i - 1].endsWith("-");
    if (joined) Object.assign(words.at(-1), { last: i, text: words.at(-1).text + token });
    else words.push({ first: i, last: i, text: bare(token) });
  });
  return words
    .filter(({ first, last }) => last > first)
    .map((word) => ({ ...word, text: word.text.replace(/-$/, "") }));
}

// A token without the dot that stands for its space.
export function bare(token) {
  return token.length > 1 ? token.replace(/^·/, "") : token;
}

// Where labels of a height may stand that want these places, in their order: none covers another.
export function apart(places, least) {
  let last = -Infinity;
  return places.map((place) => (last = Math.max(place, last + least)));
}
