// The small pictures in the machine's drawing: matrices, tokens beside them, the mask, the most probable tokens, and
// the marks on what is switched off or swapped.

import { diverging } from "../../shared/grid.js";
import { amounts, css, stripes } from "../../shared/ui.js";
import { NOW, SANS, SERIF } from "../../shared/palette.js";

export const SMALL = `12px ${SANS}`;

// 256 shades as the bytes of pixels.
const shadesOf = (colour) =>
  Uint32Array.from({ length: 256 }, (_, i) => {
    const [r, g, b] = colour(i / 255);
    return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
  });

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

// The matrices of a run as one picture, one below the other, made once: { picture, places: name → { top, rows,
// columns } }. Where a row is short, it is clear. Each theme has its own.
const atlases = new WeakMap();
export function atlasOf(run, names) {
  if (atlases.get(run)?.theme === NOW.paper) return atlases.get(run);
  const places = new Map();
  let [height, width] = [0, 0];
  for (const name of names) {
    const { rows } = run.at.get(name);
    const columns = rows.reduce((most, row) => Math.max(most, row.length), 0);
    places.set(name, { top: height, rows: rows.length, columns });
    height += rows.length;
    width = Math.max(width, columns);
  }
  const image = new ImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const shades = [shadesOf(amounts), shadesOf(diverging)];
  for (const [name, { top }] of places)
    colour(pixels, top * width, width, run.at.get(name).rows, isWeights(name), shades);
  const picture = new OffscreenCanvas(width, height);
  picture.getContext("2d").putImageData(image, 0, 0);
  atlases.set(run, { picture, places, theme: NOW.paper });
  return atlases.get(run);
}

const isWeights = (name) => name.includes(".weights.");

function colour(pixels, first, width, rows, weights, [ofWeights, ofNumbers]) {
  const [low, high] = weights ? [0, 1] : rangeOf(rows);
  const [shades, scale] = [weights ? ofWeights : ofNumbers, 255.999 / (high - low)];
  for (let t = 0; t < rows.length; t += 1) {
    const row = rows[t];
    for (let j = 0; j < row.length; j += 1) {
      const shade = (row[j] - low) * scale;
      if (shade === shade) pixels[first + t * width + j] = shades[shade < 0 ? 0 : shade > 255 ? 255 : shade | 0];
    }
  }
}

// A matrix of an atlas in its place; what a mask hides of attention weights is hatched.
export function paintMatrix(context, { picture, places }, name, { x, y, width, height }, dim) {
  const { top, rows, columns } = places.get(name);
  if (isWeights(name)) stripes(context, x, y, width, height, dim);
  context.imageSmoothingEnabled = width < columns;
  context.drawImage(picture, 0, top, columns, rows, x, y, width, height);
}

// The row of the output token that is looked at, as a notch.
export function here(context, { x, y, height }, n, at) {
  context.fillStyle = NOW.ink;
  if (at < n) context.fillRect(x - 5, y + (at * height) / n, 4, height / n);
}

export function paintTokens(context, { x, y, height, labels }, side, { names, at, shares, ink, changedInput }) {
  const tokens = side === "encoder" ? names.source : names.fed;
  const tall = height / tokens.length;
  const every = Math.ceil(9.5 / tall);
  tokens.forEach((token, t) => {
    const [top, middle] = [y + t * tall, y + (t + 0.5) * tall];
    if (side === "encoder" && shares[t] >= 0.05) {
      context.fillStyle = NOW.amber;
      context.globalAlpha = 0.1 + 0.35 * shares[t];
      context.fillRect(x - labels, top + 0.5, labels - 4, tall - 1);
      context.globalAlpha = 1;
    }
    if (t % every) return;
    const bold = side === "decoder" && t === at;
    const font = `${Math.min(12, Math.max(9, tall - 1))}px ${SERIF}`;
    const colour = changedInput(side, t) ? NOW.change : ink;
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

export function paintMask(context, { x, y, width, height }, gone, { dim, dark }) {
  const size = 5;
  for (let t = 0; t < 3; t += 1) {
    for (let s = 0; s < 4; s += 1) {
      const seen = gone || s <= t;
      Object.assign(context, { fillStyle: css(amounts(seen ? 0.85 : 0.1)) });
      context.fillRect(x + s * (size + 1), y + t * size, size, size - 1);
    }
  }
  Object.assign(context, { strokeStyle: dim, lineWidth: 0.6 });
  context.strokeRect(x - 0.5, y - 0.5, width, height + 1);
  if (gone) crossed(context, { x, y, width, height }, dark);
}

// The five most probable tokens.
export function paintOutput(context, { x, y, width, height }, { best, ink, target }) {
  const tall = height / 5;
  const room = Math.min(92, width * 0.42);
  best.forEach(({ name, p, key }, i) => {
    const middle = y + (i + 0.5) * tall;
    Object.assign(context, { font: key === target ? `bold ${SMALL}` : SMALL, fillStyle: ink, textAlign: "right" });
    context.textBaseline = "middle";
    context.fillText(fitted(context, name, room - 8), x + room - 6, middle);
    const wide = Math.max(1, (width - room - 34) * p);
    context.fillStyle = ink;
    context.globalAlpha = key === target ? 1 : 0.55;
    context.fillRect(x + room, middle - tall / 2 + 2, wide, tall - 4);
    context.globalAlpha = 1;
    Object.assign(context, { fillStyle: ink, font: SMALL, textAlign: "left" });
    context.fillText(p >= 0.995 ? "1.00" : p.toFixed(2), x + room + wide + 5, middle);
  });
}

// By how much of its size a matrix has changed: a bar beside it.
export function paintChange(context, { x, y, width, height }, by) {
  if (by <= 0.005) return;
  context.fillStyle = NOW.change;
  const tall = Math.max(3, height * Math.min(1, by));
  context.fillRect(x + width + 1.5, y + height - tall, 3, tall);
}

// Switched off: a thick cross over a veil of the page's shade.
export function crossed(context, { x, y, width, height }, dark) {
  context.fillStyle = dark ? "rgb(0 0 0 / .65)" : "rgb(255 255 255 / .55)";
  context.fillRect(x, y, width, height);
  Object.assign(context, { strokeStyle: NOW.change, lineWidth: 2.5 });
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

export function swapped(context, { x, y, width, height }) {
  Object.assign(context, { strokeStyle: NOW.change, lineWidth: 2.5 });
  context.setLineDash([5, 3]);
  context.strokeRect(x, y, width, height);
  context.setLineDash([]);
}
