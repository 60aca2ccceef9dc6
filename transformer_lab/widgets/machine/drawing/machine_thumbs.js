// The small pictures in the machine's drawing: attention weights as shades, all other numbers as waves on their token's
// thread, the mask, the words that are written, and the marks on what is switched off or swapped.

import { amounts, css, stripes } from "../../shared/ui.js";
import { LINE } from "./machine_layout.js";
import { NOW, SANS, SERIF } from "../../shared/palette.js";

export const SMALL = `12px ${SANS}`;
const PALE = 0.4; // what is not followed

// The attention weights of a run as one picture, one below the other, made once: { picture, places: name → { top, rows,
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
  for (const [name, { top }] of places)
    run.at.get(name).rows.forEach((row, t) =>
      row.forEach((weight, j) => {
        if (weight === weight) image.data.set([...amounts(weight), 255], 4 * ((top + t) * width + j));
      }),
    );
  const picture = new OffscreenCanvas(width, height);
  picture.getContext("2d").putImageData(image, 0, 0);
  atlases.set(run, { picture, places, theme: NOW.paper });
  return atlases.get(run);
}

// An attention's weights in their place, the followed row in its full colour; what a mask hides is hatched.
export function paintMatrix(context, name, { x, y, width, height }, { atlas, run, rows, lit }) {
  const { top, columns } = atlas.places.get(name);
  context.fillStyle = NOW.paper;
  context.fillRect(x, y, width, height);
  stripes(context, x, y, width, height, NOW.edge);
  context.imageSmoothingEnabled = false;
  run.at.get(name).rows.forEach(({ length }, t) => {
    const place = [x, rows[t].y, (width * length) / columns, rows[t].high];
    context.fillRect(...place);
    context.globalAlpha = t === lit ? 1 : PALE;
    context.drawImage(atlas.picture, 0, top + t, length, 1, ...place);
    context.globalAlpha = 1;
  });
  Object.assign(context, { strokeStyle: NOW.ink, lineWidth: 1 });
  if (rows[lit]) context.strokeRect(x, rows[lit].y, width, rows[lit].high);
}

// The numbers of each row as bars on its thread, up what is above 0 and down what is below: of neighbours for which
// there is one place the largest.
export function paintWaves(context, name, { x, width }, { run, rows, lit }) {
  const all = run.at.get(name).rows;
  const most = topOf(all);
  all.forEach((numbers, t) => {
    const { y, high } = rows[t];
    const bars = Math.min(numbers.length, Math.floor(width / 2));
    const [each, step] = [numbers.length / bars, width / bars];
    context.beginPath();
    for (let i = 0; i < bars; i += 1) {
      let v = 0;
      for (let j = Math.floor(i * each); j < Math.floor((i + 1) * each); j += 1)
        if (Math.abs(numbers[j]) > Math.abs(v)) v = numbers[j];
      const long = Math.max(-0.48, Math.min(0.48, (0.48 * v) / most)) * high;
      context.rect(x + i * step, y + high / 2, step * 0.7, -long);
    }
    Object.assign(context, { fillStyle: NOW.ink, globalAlpha: t === lit ? 1 : PALE });
    context.fill();
  });
  context.globalAlpha = 1;
}

// The number that fills a bar: 2.6 times the root mean square of all.
export function topOf(rows) {
  let [sum, n] = [0, 0];
  for (const row of rows) {
    for (let j = 0; j < row.length; j += 1) sum += row[j] * row[j];
    n += row.length;
  }
  return 2.6 * Math.sqrt(sum / n) || 1;
}

export function paintMask(context, place, gone) {
  const size = 5;
  for (let t = 0; t < 3; t += 1) {
    for (let s = 0; s < 4; s += 1) {
      context.fillStyle = css(amounts(gone || s <= t ? 0.85 : 0.1));
      context.fillRect(place.x + s * (size + 1), place.y + t * size, size, size - 1);
    }
  }
  if (gone) crossed(context, place);
}

// What each row writes, with a bar behind it that is as long as the machine is sure.
export function paintWritten(context, { x, width }, { run, names, rows, lit, replaced }) {
  const every = Math.ceil(LINE / rows[lit ? 0 : rows.length - 1].high);
  run.target.forEach((id, t) => {
    const [{ y, high }, here, sure] = [rows[t], t === lit, run.steps[t][id]];
    Object.assign(context, { fillStyle: NOW.paper, globalAlpha: 1 });
    context.fillRect(x, y, width, high);
    Object.assign(context, { fillStyle: NOW.ink, globalAlpha: here ? 0.22 : 0.09 });
    context.fillRect(x, y + 1, width * sure, high - 2);
    context.globalAlpha = 1;
    if ((t % every && !here) || high < 10) return;
    context.font = `${here ? "700 16" : `400 ${Math.min(14, Math.max(12, high - 2))}`}px ${SERIF}`;
    context.fillStyle = replaced[t] ? NOW.change : NOW.ink;
    Object.assign(context, { textAlign: "left", textBaseline: "middle" });
    context.fillText(names.written[t], x + 5, y + high / 2, width - (here ? 40 : 8));
    if (!here) return;
    Object.assign(context, { font: SMALL, textAlign: "right" });
    context.fillText(sure.toFixed(2), x + width - 4, y + high / 2);
  });
}

// By how much of its size a matrix has changed: a bar beside it.
export function paintChange(context, { x, y, width, height }, by) {
  if (by <= 0.005) return;
  context.fillStyle = NOW.change;
  const tall = Math.max(3, height * Math.min(1, by));
  context.fillRect(x + width, y + height - tall, 3, tall);
}

// Switched off: a thick cross over a veil of the page's shade.
export function crossed(context, { x, y, width, height }) {
  Object.assign(context, { fillStyle: NOW.paper, globalAlpha: 0.65 });
  context.fillRect(x, y, width, height);
  Object.assign(context, { strokeStyle: NOW.change, lineWidth: 2.5, globalAlpha: 1 });
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
