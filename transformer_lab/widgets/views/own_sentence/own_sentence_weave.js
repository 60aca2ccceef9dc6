// A translation as a weave: the words that were read at the left, those that were written at the right, and a ribbon
// from word to word as thick as its weight. Those into the chosen word are lit and bear their numbers.

import { ribbon, write } from "../../shared/drawing.js";
import { NOW } from "../../shared/palette.js";
import { clamp } from "../../shared/ui.js";

const [TOP, FAINT, SAID] = [44, 0.02, 0.1]; // a weight below FAINT is not drawn, one below SAID bears no number

export function argmax(row) {
  return row.indexOf(Math.max(...row));
}

// Where the words stand: `middle(side, i)` is the height of a word, and ribbons go from `left` to `right`.
export function layoutOf(width, n_source, n_target) {
  const most = Math.max(n_source, n_target);
  const row = clamp(560 / most, 22, 52);
  const words = Math.min(170, width * 0.3);
  const counts = { source: n_source, target: n_target };
  const middle = (side, i) => TOP + ((most - counts[side]) / 2 + i + 0.5) * row;
  return { width, row, counts, left: words, right: width - words, middle, high: TOP + most * row + 8 };
}

// Where the ribbons of a map begin and end, in rows: into each target they are stacked, together 1 high; a source gives
// from the room of its row, and where it is asked for more, all that it gives is squeezed alike.
export function stacked(rows) {
  const received = rows[0].map((_, s) => rows.reduce((sum, row) => sum + row[s], 0));
  const given = received.map(() => 0);
  return rows.map((row) => {
    let taken = 0;
    return row.map((weight, s) => {
      const squeeze = Math.min(1, 1 / received[s]);
      const ends = {
        from: (given[s] + weight / 2 - received[s] / 2) * squeeze,
        to: taken + weight / 2 - 0.5,
        weight,
      };
      given[s] += weight;
      taken += weight;
      return ends;
    });
  });
}

// The word at a place: { side, place }, of neither side in the middle.
export function placeAt({ left, right, row, counts, middle }, [x, y]) {
  const side = x < left + 30 ? "source" : x > right - 30 ? "target" : null;
  if (!side) return { side, place: null };
  const place = Math.round((y - middle(side, 0)) / row);
  return place < 0 || place >= counts[side] ? { side: null, place: null } : { side, place };
}

// Paints it, and returns the layout.
export function paint(sketch, { width, rows, source, target, at, from }) {
  const layout = layoutOf(width, source.length, target.length);
  const context = sketch.resize(width, layout.high);
  const { left, right, row, middle } = layout;
  const thick = row * 0.84;
  const quiet = { size: 13, colour: NOW.soft };
  write(context, "reads", left - 10, 16, { ...quiet, align: "right" });
  const looked = right - left > 200 ? "where it looked for each word" : "looked at";
  write(context, looked, (left + right) / 2, 16, {
    ...quiet,
    align: "center",
    room: right - left,
  });
  write(context, "writes", right + 10, 16, quiet);
  const lit = [];
  stacked(rows).forEach((ends, t) =>
    ends.forEach(({ from: start, to: end, weight }, s) => {
      if (weight < FAINT) return;
      const path = [
        [left, middle("source", s) + start * thick],
        [right, middle("target", t) + end * thick],
        Math.max(0.8, weight * thick),
      ];
      if (t === at) return void lit.push({ path, weight, s });
      Object.assign(context, { fillStyle: NOW.amber, globalAlpha: 0.24 });
      ribbon(context, ...path);
    }),
  );
  context.globalAlpha = 1;
  for (const { path, s } of lit) {
    Object.assign(context, { fillStyle: NOW.amber, strokeStyle: NOW["amber-edge"], lineWidth: s === from ? 3 : 1 });
    ribbon(context, ...path);
    context.stroke();
  }
  lit.filter(({ weight, s }) => weight >= SAID || s === from).forEach((one) => paintNumber(context, one));
  paintWords(context, layout, { rows, source, target, at, from });
  return layout;
}

// The weight, where its ribbon is near the words that it comes from.
function paintNumber(context, { path: [[x0, y0], [x1, y1]], weight }) {
  const share = 0.26; // of the way, of which a ribbon has risen by much less
  const [x, y] = [x0 + (x1 - x0) * share, y0 + (y1 - y0) * (3 * share ** 2 - 2 * share ** 3)];
  Object.assign(context, { fillStyle: NOW.paper, strokeStyle: NOW["amber-edge"], lineWidth: 1.5 });
  context.beginPath();
  context.roundRect(x - 20, y - 10, 40, 20, 10);
  context.fill();
  context.stroke();
  write(context, weight.toFixed(2), x, y + 0.5, { align: "center", bold: true, colour: NOW["amber-ink"] });
}

function paintWords(context, { left, right, row, middle, width }, { rows, source, target, at, from }) {
  const size = clamp(row * 0.5, 14, 24);
  const look = { serif: true, size };
  source.forEach((word, s) => {
    const [weight, y] = [rows[at][s], middle("source", s)];
    const bold = weight >= SAID;
    write(context, word, left - 22, y, { ...look, align: "right", bold, room: left - 26 });
    Object.assign(context, { fillStyle: NOW["amber-edge"], strokeStyle: NOW.ink, lineWidth: 2 });
    context.beginPath();
    context.arc(left - 11, y, 1.5 + 6 * Math.sqrt(weight), 0, 2 * Math.PI);
    context.fill();
    if (s === from) context.stroke();
  });
  target.forEach((word, t) => {
    const y = middle("target", t);
    write(context, word, right + 12, y, { ...look, bold: t === at, room: width - right - 18 });
    if (t !== at) return;
    Object.assign(context, { strokeStyle: NOW.ink, lineWidth: 2 });
    context.beginPath();
    context.roundRect(right + 2, y - row * 0.46, width - right - 4, row * 0.92, 8);
    context.stroke();
  });
}
