// The picture of a shift: two paper strips with the encoding of every position, of which the lower one, turned by M_k,
// lies k places on; or a ruler with a query and a key; and below them an arrow for each pair of features.

import { drawLines } from "../../shared/chart.js";
import { write } from "../../shared/drawing.js";
import { MEANINGS, NOW, SANS } from "../../shared/palette.js";
import { clamp } from "../../shared/ui.js";

const FONT = `13px ${SANS}`;
const EDGE = 14; // left and right of the positions
const [LINE, TOP] = [28, 44]; // how high a pair is on a strip, and what stands above the strips
const [STRIPS, RULER] = [80, 160]; // the last position on the strips and on the ruler

// Where position 0 stands, and how wide a position is.
export function scaleOf(width, last) {
  return { left: EDGE, unit: (width - 2 * EDGE) / last };
}

// A strip that was moved by so many pixels lies so many places on, within what may be.
export function placesOf(pixels, { unit }, [low, high]) {
  return clamp(pixels / unit, low, high);
}

// How high the picture above the arrows is, for so many pairs.
export const highOf = (tab, pairs) => (tab === "shift" ? TOP + 2 * stripOf(pairs) + 36 : 108);
const stripOf = (pairs) => Math.max(pairs, 2) * (pairs > 4 ? LINE * 0.72 : LINE) + 8;

// What a pointer takes hold of: { what, from }, `from` is where it stands now in positions; null where nothing is.
export function heldAt([x, y], { tab, width, pairs, now, lies }) {
  if (y > highOf(tab, pairs)) return null;
  const { left, unit } = scaleOf(width, tab === "shift" ? STRIPS : RULER);
  if (tab === "shift") return y > TOP + stripOf(pairs) ? { what: "offset", from: lies } : { what: "position" };
  const [query, key] = [now.query + now.both, now.key + now.both].map((at) => Math.abs(left + at * unit - x));
  if (Math.min(query, key) > 22) return { what: "both", from: now.both };
  return query <= key ? { what: "query", from: now.query } : { what: "key", from: now.key };
}

// Paints it all; returns the cells of the pairs.
export function paint(sketch, { width, ink, now, shown, curve, strips }) {
  const pairs = shown.arrows[0].x.length / 2;
  const lines = Math.ceil(pairs / Math.floor(width / 126));
  const across = Math.ceil(pairs / lines);
  const wide = width / across;
  const radius = Math.min(wide * 0.4, 72);
  const high = 2 * radius + 68;
  const above = highOf(now.tab, pairs);
  const top = above + 30 + (width < 520 ? 20 : 0);
  const context = sketch.resize(width, top + lines * high + (curve ? 210 : 0));
  if (strips) paintStrips(context, { width, pairs, ink, ...strips });
  else paintRuler(context, { width, ink, now });
  legend(context, shown, ink, { narrow: width < 520, y: above + 12 });
  const longest =
    Math.max(
      ...shown.arrows.flatMap(({ x }) => Array.from({ length: pairs }, (_, i) => Math.hypot(x[2 * i], x[2 * i + 1]))),
    ) || 1;
  const cells = Array.from({ length: pairs }, (_, i) => ({
    x: (i % across) * wide,
    y: top + Math.floor(i / across) * high,
    width: wide,
    height: high,
  }));
  cells.forEach((cell, i) =>
    clock(context, cell, { i, shown, unit: radius / longest, radius, ink, chosen: now.pair === i }),
  );
  if (curve) {
    const ticks = [-60, -40, -20, 0, 20, 40, 60].map((offset) => [offset, signed(offset)]);
    drawLines(
      context,
      { x: 0, y: top + lines * high + 6, width, height: 200 },
      {
        title: "Score by distance",
        x: { name: "position of the query − position of the key", ticks },
        series: [{ name: "score", xs: curve.offsets, ys: curve.scores, colour: NOW["amber-edge"] }],
        at: curve.at,
        ink,
      },
    );
  }
  return cells;
}

const signed = (x) => String(x).replace("-", "−");

// ── the strips ──

// `row(p)` is the encoding at a position, `moved(p)` what M_k makes of it; the lower strip lies `lies` places on.
function paintStrips(context, { width, pairs, ink, row, moved, lies, position, offset, names }) {
  const scale = scaleOf(width, STRIPS);
  const high = stripOf(pairs);
  const [upper, lower] = [TOP, TOP + high + 6];
  const at = (p) => scale.left + p * scale.unit;
  const bounds = [at(0) - 6, at(STRIPS) + 6];
  paper(context, [bounds[0], upper, bounds[1] - bounds[0], high], NOW.slab, false);
  ruler(context, { at, last: STRIPS, every: width < 520 ? 20 : 10, y: 14 });
  const column = Math.max(scale.unit, 9);
  const mark = (x, y, dash) => {
    Object.assign(context, { strokeStyle: ink, lineWidth: 1.5 });
    context.setLineDash(dash);
    context.strokeRect(x - column / 2, y + 3, column, high - 6);
    context.setLineDash([]);
  };
  waves(context, { at, from: 0, to: STRIPS, top: upper, high, pairs, values: row, colour: ink });
  context.save();
  context.beginPath();
  context.rect(bounds[0] - 4, lower - 10, bounds[1] - bounds[0] + 8, high + 24);
  context.clip();
  const shift = (p) => at(p + lies);
  paper(context, [shift(0) - 6, lower, shift(60) - shift(0) + 12, high], NOW.dark ? NOW.slab : NOW.paper, true);
  // What stands on the upper strip at these places, wherever the lower one has something else.
  const there = (p) => row(p + lies);
  const [from, to] = [Math.max(0, -lies), Math.min(60, STRIPS - lies)];
  const differ = (i) =>
    Array.from({ length: 61 }, (_, n) => from + (n * (to - from)) / 60).some((p) =>
      [2 * i, 2 * i + 1].some((j) => Math.abs(there(p)[j] - moved(p)[j]) > 0.02),
    );
  const lined = { at: shift, from, to, top: lower, high, pairs };
  waves(context, { ...lined, values: there, colour: NOW.change, dash: [4, 3], only: differ });
  waves(context, { ...lined, values: moved, colour: ink });
  mark(shift(position), lower, []);
  context.restore();
  mark(at(position + offset), upper, []);
  mark(at(position), upper, [3, 3]);
  write(context, names[0], clamp(at(position), 24, width - 24), 33, { align: "center", size: 12 });
  if (Math.abs(offset) * scale.unit > 44)
    write(context, names[2], clamp(at(position + offset), 24, width - 24), 33, { align: "center", size: 12 });
  const said = `↔ drag: ${names[1].replace(/ .*/, "")} has turned this strip, and it lies ${signed(offset)} places on`;
  write(context, said, clamp(shift(0) - 4, 6, 90), lower + high + 13, { size: 12, colour: NOW.soft, room: width - 96 });
}

function paper(context, [x, y, width, height], fill, floats) {
  context.save();
  context.fillStyle = fill;
  if (floats) Object.assign(context, { shadowColor: "rgb(0 0 0 / 22%)", shadowBlur: 8, shadowOffsetY: 3 });
  context.beginPath();
  context.roundRect(x, y, width, height, 4);
  context.fill();
  context.restore();
  Object.assign(context, { strokeStyle: NOW.edge, lineWidth: 1 }).stroke();
}

// Of each pair its sine, and thinner its cosine.
function waves(context, { at, from, to, top, high, pairs, values, colour, dash = [], only = () => true }) {
  const line = (high - 8) / Math.max(pairs, 2);
  const steps = Math.round((to - from) * 4);
  const rows = Array.from({ length: steps + 1 }, (_, n) => {
    const p = from + ((to - from) * n) / steps;
    return [at(p), values(p)];
  });
  context.strokeStyle = colour;
  context.setLineDash(dash);
  for (let j = 0; j < 2 * pairs; j += 1) {
    const i = Math.floor(j / 2);
    if (!only(i)) continue;
    context.lineWidth = j % 2 ? 0.8 : 1.8;
    context.beginPath();
    for (const [x, row] of rows) context.lineTo(x, top + 4 + (i + 0.5 - 0.4 * row[j]) * line);
    context.stroke();
  }
  context.setLineDash([]);
}

function ruler(context, { at, last, every, y }) {
  for (let p = 0; p <= last; p += every) {
    write(context, String(p), at(p), y, { align: "center", size: 12, colour: NOW.soft });
  }
}

// ── the ruler of RoPE: a query and a key, and how far apart they are ──

function paintRuler(context, { width, ink, now }) {
  const { left, unit } = scaleOf(width, RULER);
  const at = (p) => left + p * unit;
  const y = 62;
  ruler(context, { at, last: RULER, every: width < 520 ? 40 : 20, y: 88 });
  context.fillStyle = NOW.thread;
  context.fillRect(at(0), y - 1, at(RULER) - at(0), 2);
  for (let p = 0; p <= RULER; p += 10) context.fillRect(at(p) - 0.5, y - 5, 1, 10);
  const [query, key] = [now.query + now.both, now.key + now.both];
  const [from, to] = [at(Math.min(query, key)), at(Math.max(query, key))];
  Object.assign(context, { strokeStyle: ink, lineWidth: 2 });
  context.beginPath();
  context.moveTo(from, y - 14);
  context.lineTo(from, y - 24);
  context.lineTo(to, y - 24);
  context.lineTo(to, y - 14);
  context.stroke();
  const apart = `${signed(query - key)} apart`;
  write(context, apart, clamp((from + to) / 2, 34, width - 34), y - 36, { align: "center", bold: true });
  const drag = "↔ drag ● or ■, or both by the bracket";
  if (width >= 520) write(context, drag, width - EDGE, 12, { align: "right", size: 12, colour: NOW.soft });
  context.fillStyle = MEANINGS.key;
  context.fillRect(at(key) - 7, y - 7, 14, 14);
  context.fillStyle = MEANINGS.query;
  context.beginPath();
  context.arc(at(query), y, 8, 0, 2 * Math.PI);
  context.fill();
  if (query !== key) return;
  context.fillStyle = MEANINGS.key; // both at one place
  context.fillRect(at(key) - 3.5, y - 3.5, 7, 7);
}

// ── the arrows ──

// Solid and dashed; a query and a key have their colours, an encoding is ink.
const stylesOf = ({ rings }) => [
  [rings ? NOW.thread : MEANINGS.query, []],
  [rings ? NOW.ink : MEANINGS.key, [6, 4]],
];

function clock(context, { x, y, width }, { i, shown, unit, radius, ink, chosen }) {
  const [cx, cy] = [x + width / 2, y + 24 + radius];
  const tip = (values) => [cx + unit * values[2 * i], cy - unit * values[2 * i + 1]];
  Object.assign(context, {
    font: `${chosen ? "bold " : ""}${FONT}`,
    fillStyle: ink,
    strokeStyle: ink,
    lineWidth: 1,
    textAlign: "center",
    textBaseline: "middle",
  });
  context.fillText(`pair ${i}`, cx, y + 9);
  context.font = FONT;
  shown.under(i).forEach((text, k) => context.fillText(text, cx, y + 2 * radius + 38 + 17 * k));
  context.globalAlpha = chosen ? 1 : 0.4;
  circle(context, cx, cy, radius);
  context.globalAlpha = 0.2;
  context.strokeRect(cx - radius, cy, 2 * radius, 0);
  context.strokeRect(cx, cy - radius, 0, 2 * radius);
  context.globalAlpha = 1;
  if (shown.arcs) arc(context, [cx, cy], radius * 0.36, ...shown.arcs(i), ink);
  shown.arrows.forEach(({ x: values, from }, k) => {
    const [colour, dash] = stylesOf(shown)[k];
    Object.assign(context, { strokeStyle: colour, fillStyle: colour });
    if (from) arrow(context, [cx, cy], tip(from), 1, dash);
    arrow(context, [cx, cy], tip(values), 3, dash);
  });
  if (!shown.rings) return;
  Object.assign(context, { strokeStyle: ink, lineWidth: 1.5 });
  circle(context, ...tip(shown.rings.x), 7);
}

function circle(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.stroke();
}

function arrow(context, [x, y], [tx, ty], lineWidth, dash) {
  const [angle, head] = [Math.atan2(ty - y, tx - x), Math.min(3 + 3 * lineWidth, Math.hypot(tx - x, ty - y))];
  context.lineWidth = lineWidth;
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(tx - head * 0.8 * Math.cos(angle), ty - head * 0.8 * Math.sin(angle));
  context.stroke();
  context.setLineDash([]);
  context.beginPath();
  for (const side of [0, 2.7, -2.7])
    context.lineTo(tx + (side ? head * Math.cos(angle + side) : 0), ty + (side ? head * Math.sin(angle + side) : 0));
  context.fill();
}

// The way from an arrow on, clockwise by an angle; whole turns are left out.
function arc(context, [cx, cy], radius, [x, y], angle, ink) {
  const from = Math.atan2(-y, x);
  const by = angle % (2 * Math.PI);
  Object.assign(context, { strokeStyle: ink, fillStyle: ink, lineWidth: 1 });
  context.beginPath();
  context.arc(cx, cy, radius, from, from + by, by < 0);
  context.stroke();
  if (Math.abs(by) < 0.25) return;
  const [tx, ty, along] = [
    cx + radius * Math.cos(from + by),
    cy + radius * Math.sin(from + by),
    from + by + (by < 0 ? -1 : 1) * (Math.PI / 2),
  ];
  context.beginPath();
  for (const side of [0, 2.6, -2.6])
    context.lineTo(tx + (side ? 7 * Math.cos(along + side) : 0), ty + (side ? 7 * Math.sin(along + side) : 0));
  context.fill();
}

function legend(context, shown, ink, { narrow, y }) {
  const { arrows, rings, axes } = shown;
  let x = 4;
  arrows.forEach(({ name }, k) => {
    const [colour, dash] = stylesOf(shown)[k];
    Object.assign(context, { strokeStyle: colour, fillStyle: colour });
    arrow(context, [x, y], [x + 34, y], 3, dash);
    write(context, name, x + 40, y);
    x += 58 + context.measureText(name).width;
  });
  if (rings) {
    Object.assign(context, { strokeStyle: ink, lineWidth: 1.5 });
    circle(context, x + 7, y, 7);
    write(context, rings.name, x + 20, y);
    x += 40 + context.measureText(rings.name).width;
  }
  write(context, axes, narrow ? 4 : x, narrow ? y + 20 : y, { italic: true, colour: NOW.soft });
}
