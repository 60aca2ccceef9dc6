// A map of numbers with names on both axes, a cell cursor, a readout and a table; long maps get an overview and a lens.
//   const describe = (values, cell) => "…";  // what the readout says
//   const map = tokenMap({ el, label, rows, columns, axes: ["query", "key"], describe, redraw });
//   el.append(map.beside(bar(...map.buttons)), map.table);  // or map.node, map.note and map.says, each by itself
//   map.show(values, { name: "weight", range: [0, 1] });  // in `redraw`, which the map calls when its cursor moves
// `values` is an array of rows; NaN is hatched. More options stand at `tokenMap`; the parts below it draw by
// themselves, the cells in cells.js.

import { button, canvas, clamp, element, onKeys, onLeave, readout, sideBySide, tableSwitch, widthOf } from "./ui.js";
import { MEANINGS, NOW, SANS, SERIF, amounts } from "./palette.js";
import { motion } from "./motion.js";
import { keyWidth, paintCells, paintKey } from "./cells.js";

export { paintCells } from "./cells.js";
export { diverging } from "./palette.js";

export const FONT = `13px ${SANS}`;
export const WORDS = `14px ${SERIF}`; // of names, which most often are words that a model reads
export const SMALL = `11px ${SANS}`;
const LENSES = [8, 12, 16, 24, 32]; // cells across, from near to far
const NEAREST = 12; // pixels across a cell; a map whose cells would be smaller gets an overview and a lens
const [FARTHEST, TALLEST] = [52, 660]; // the largest cell, and how high a map may be if its cells can be smaller
const KEY = 28; // how high the key to the colours is
const MORPH = 1100; // milliseconds from one map to the next
const NAMED = 8; // rows that the label tells of

// Where a key leads from a cell of T × S; undefined for keys that move no cursor.
export function keyCursor(key, [t, s], T, S) {
  const to = {
    ArrowLeft: [t, s - 1],
    ArrowRight: [t, s + 1],
    ArrowUp: [t - 1, s],
    ArrowDown: [t + 1, s],
    Home: [t, 0],
    End: [t, S - 1],
    PageUp: [0, s],
    PageDown: [T - 1, s],
  }[key];
  return to && [clamp(to[0], 0, T - 1), clamp(to[1], 0, S - 1)];
}

// k × k cells become one: the largest of them, or their mean. Masked cells do not count; NaN where all are masked.
export function pooled(values, k, mean) {
  return Array.from({ length: Math.ceil(values.length / k) }, (_, i) => {
    const rows = values.slice(i * k, (i + 1) * k);
    return Array.from({ length: Math.ceil(rows[0].length / k) }, (_, j) => {
      let [count, sum, most] = [0, 0, -Infinity];
      for (const row of rows) {
        for (let s = j * k; s < Math.min((j + 1) * k, row.length); s += 1) {
          if (Number.isNaN(row[s])) continue;
          count += 1;
          sum += row[s];
          if (row[s] > most) most = row[s];
        }
      }
      if (!count) return NaN;
      return mean ? sum / count : most;
    });
  });
}

// Options: `label` names the map, and `state(values)` says what is seen in it, where "largest in each row" is not it;
// `describe(values, cell)` is the readout (cell is null without a cursor); `redraw` is called when anything here has
// changed; `room()` is how wide the map may be, if not as wide as the view; `farthest` is how wide a cell may be;
// `onmove(cell)`, and `onpress(cell, first)` for a press, a drag (first is false), Enter and Space.
export function tokenMap({
  el,
  room = () => widthOf(el),
  farthest = FARTHEST,
  label,
  state,
  rows,
  columns,
  axes,
  describe,
  redraw,
  onmove,
  onpress,
}) {
  const [T, S] = [rows.length, columns.length];
  const sketch = canvas(label, { how: "Arrow keys move over the cells." });
  const says = readout();
  const note = element("div", { class: "tl-note" });
  const table = tableSwitch(redraw);
  const nearer = button("zoom in", () => zoom(-1));
  const farther = button("zoom out", () => zoom(1));
  const pool = button("overview of means", () => {
    me.mean = !me.mean;
    redraw();
  });
  const start = { cursor: null, mean: false, lens: 2, first: [0, 0] };
  const me = { node: sketch.node, says, note, table: table.room, ...start };
  const measure = new OffscreenCanvas(1, 1).getContext("2d");
  const wide = [rows, columns].map((names) => widest(measure, names));
  let [drawn, before] = [{}, null];
  const becoming = motion(redraw, MORPH);

  // What is shown next is not there at once: the map that is seen now becomes it, cell by cell.
  me.morph = () => {
    before = drawn.cells ? { values: drawn.cells, colours: drawn.colours, range: drawn.range } : null;
    if (before) becoming.start();
  };
  me.beside = (...more) => sideBySide(sketch.node, note, says, ...more);

  const zoom = (by) => {
    me.lens = clamp(me.lens + by, 0, LENSES.length - 1);
    follow(me.cursor ?? me.first);
    redraw();
  };
  // The lens moves just as far as it must to have the cell in it, or around it if it comes from the overview.
  const follow = ([t, s], around = false) => {
    const n = LENSES[me.lens];
    me.first = [
      [t, T],
      [s, S],
    ].map(([at, total], axis) => {
      const first = around ? at - Math.floor(n / 2) : clamp(me.first[axis], at - n + 1, at);
      return clamp(Math.floor(first), 0, Math.max(total - n, 0));
    });
  };
  me.move = (cell, around = false) => {
    me.cursor = cell;
    if (cell) follow(cell, around);
    onmove?.(cell);
    redraw();
  };
  me.reset = () => {
    Object.assign(me, start);
    becoming.stop();
    table.reset();
    onmove?.(null);
    redraw();
  };

  me.show = (values, options = {}) => {
    const ink = getComputedStyle(el).color;
    const cells = withMask(values, options.masked);
    const full = { colours: amounts, name: "", ...options, range: options.range ?? extent(cells) };
    const hidden = anyHidden(cells, options.blank);
    const key = { ...full, masked: hidden && (options.maskedName ?? "masked"), ink };
    const plan = layout({
      total: room(),
      T,
      S,
      wide,
      me,
      farthest,
      beside: options.beside?.width ?? 0,
      key: keyWidth(measure, key),
    });
    const context = sketch.resize(plan.width, plan.height);
    drawn = { ...plan, values, cells, colours: full.colours, range: full.range };
    sketch.node.layout = { ...plan.lens, T, S, overview: plan.overview, key: plan.key };
    if (plan.overview) overview(context, cells, plan, { ...full, me, rows, columns, axes, ink });
    const move = becoming.running ? { before, share: becoming.share } : {};
    paint(context, cells, plan.lens, { ...full, ...move, rows, columns, axes, ink, cursor: me.cursor });
    paintKey(context, plan.key, key);
    sketch.describe(`${label} ${(state ?? largestIn)(values, { rows, columns })}`);
    note.textContent = plan.overview ? noteOn(plan, full, me) : "";
    says.say(describe(values, me.cursor));
    pool.setAttribute("aria-pressed", me.mean);
    for (const [node, on] of [
      [nearer, plan.overview],
      [farther, plan.overview],
      [pool, plan.overview?.k > 1],
    ])
      node.hidden = !on;
    table.fill(() => asTable(values, plan.lens, { rows, columns, axes }));
  };

  let pressed = null;
  const point = (event) => {
    const found = cellIn(drawn, ...sketch.at(event));
    me.move(found?.cell ?? null, found?.around);
    return found && !found.named ? found.cell : null; // a name is read, and not pressed
  };
  Object.assign(sketch.node, {
    onpointerdown: (event) => {
      const cell = point(event);
      if (!onpress || !cell) return;
      pressed = String(cell);
      sketch.node.setPointerCapture?.(event.pointerId);
      onpress(cell, true);
    },
    onpointermove: (event) => {
      const cell = point(event);
      if (pressed === null || !cell || String(cell) === pressed) return;
      pressed = String(cell);
      onpress(cell, false);
    },
    onpointerup: () => {
      pressed = null;
    },
    onpointercancel: () => {
      pressed = null;
    },
    onpointerleave: onLeave(() => {
      pressed = null;
      me.move(null);
    }),
    onfocus: () => {
      if (!me.cursor && !sketch.node.byPointer) me.move([...me.first]);
    },
    onkeydown: onKeys((key) => {
      const cell = me.cursor ?? me.first;
      const to = keyCursor(key, cell, T, S);
      if (to) me.move(to);
      else if (drawn.overview && "+-".includes(key)) zoom(key === "+" ? -1 : 1);
      else if (onpress && (key === "Enter" || key === " ")) onpress(cell, true);
      else return false;
    }),
  });
  return Object.assign(me, { buttons: [nearer, farther, pool, table.button] });
}

// ── where things stand ──

function widest(context, names) {
  context.font = `bold ${WORDS}`; // as the name of the cell that is read is written
  return Math.max(...names.map((name) => context.measureText(name).width));
}

// What is seen in a map whose rows say where something looks.
export function largestIn(values, { rows, columns }) {
  const said = rows.slice(0, NAMED).map((row, t) => {
    const most = values[t].reduce((best, value, s) => (value > (values[t][best] ?? -Infinity) ? s : best), -1);
    return most < 0 ? `${row}: nothing` : `${row}: ${columns[most]} (${values[t][most].toFixed(2)})`;
  });
  const more = rows.length > NAMED ? ` and ${rows.length - NAMED} rows more` : "";
  return `Largest in each row: ${said.join(", ")}${more}.`;
}

function layout({ total, T, S, wide, me, farthest, beside, key }) {
  const left = Math.min(wide[0], 126) + 34;
  const natural = (total - left - beside - 8) / S;
  if (natural >= NEAREST && T * NEAREST <= 720) {
    const size = Math.min(farthest, natural, Math.max(NEAREST, TALLEST / T));
    const upright = wide[1] + 4 > size;
    const top = (upright ? Math.min(wide[1], 120) : 14) + 30;
    const lens = { left, top, size, upright, room: [left, top], first: [0, 0], shown: [T, S] };
    const width = Math.max(left + size * S + beside + 8, Math.min(total, left + key + 8));
    const bottom = top + size * T;
    return {
      width,
      height: bottom + KEY,
      lens,
      key: { x: Math.max(2, Math.min(left, width - key - 4)), y: bottom + 9 },
    };
  }
  // The overview is at the left of the lens, or above it where that leaves too little room.
  const room = [Math.min(wide[0], 80) + 34, Math.min(wide[1], 80) + 30];
  const aside = total >= 600;
  const side = aside
    ? Math.min((total - 2 * room[0] - beside - 20) / 2, 340)
    : Math.min(total - room[0] - beside - 8, 360);
  const size = side / Math.max(T, S);
  const k = 2 ** Math.max(0, Math.ceil(Math.log2(3 / size)));
  const over = { left: room[0], top: room[1], size, upright: true, room, first: [0, 0], shown: [T, S], k };
  const shown = [T, S].map((n) => Math.min(n, LENSES[me.lens]));
  const lens = {
    left: room[0] + (aside ? side + 12 + room[0] : 0),
    top: room[1] + (aside ? 0 : T * size + room[1] + 8),
    size: Math.min(FARTHEST, side / Math.max(...shown)),
    upright: true,
    room,
    first: me.first,
    shown,
  };
  const bottom = Math.max(over.top + T * size, lens.top + lens.size * shown[0]);
  const width = aside
    ? Math.max(lens.left + lens.size * shown[1] + beside + 8, Math.min(total, over.left + key))
    : total;
  const place = { x: Math.max(2, Math.min(over.left, width - key - 4)), y: bottom + 9 };
  return { width, height: bottom + KEY, lens, overview: over, key: place };
}

// The cell at a point, or where its name leads, and whether the lens shall stand around it.
function cellIn({ lens, overview, values, cells }, x, y) {
  const cell = lens && inBox(lens, x, y);
  if (cell) return { cell };
  const named = lens && namedCell(cells, lens, x, y);
  if (named) return { cell: named, named: true };
  const far = overview && inBox(overview, x, y);
  return far && { cell: largestNear(values, far, overview.k), around: true };
}

function inBox({ left, top, size, first, shown }, x, y) {
  const [t, s] = [Math.floor((y - top) / size), Math.floor((x - left) / size)];
  return t >= 0 && t < shown[0] && s >= 0 && s < shown[1] ? [first[0] + t, first[1] + s] : null;
}

// From the name of a row to the largest of its cells that are shown, and so from that of a column.
export function namedCell(cells, { left, top, size, first, shown, room = [left, top] }, x, y) {
  const [t, s] = [Math.floor((y - top) / size), Math.floor((x - left) / size)];
  const ofRow = t >= 0 && t < shown[0] && x < left && x >= left - room[0];
  if (!ofRow && !(s >= 0 && s < shown[1] && y < top && y >= top - room[1])) return null;
  const cell = (i) => [first[0] + (ofRow ? t : i), first[1] + (ofRow ? i : s)];
  let [most, best] = [-Infinity, cell(0)];
  for (let i = 0; i < shown[ofRow ? 1 : 0]; i += 1) {
    const [row, column] = cell(i);
    if (cells[row][column] > most) [most, best] = [cells[row][column], [row, column]];
  }
  return best;
}

// Within the pooled cell that a cell belongs to, the cell with the largest number.
function largestNear(values, [t, s], k) {
  let best = [t, s];
  for (let i = t - (t % k); i < Math.min(t - (t % k) + k, values.length); i += 1) {
    for (let j = s - (s % k); j < Math.min(s - (s % k) + k, values[i].length); j += 1) {
      if (!(values[best[0]][best[1]] >= values[i][j])) best = [i, j];
    }
  }
  return best;
}

function anyHidden(cells, blank) {
  for (let t = 0; t < cells.length; t += 1) {
    const row = cells[t];
    for (let s = 0; s < row.length; s += 1) if (Number.isNaN(row[s]) && !blank?.(t, s)) return true;
  }
  return false;
}

function withMask(values, masked) {
  return masked ? values.map((row, t) => row.map((value, s) => (masked(t, s) ? NaN : value))) : values;
}

export function extent(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const row of values) {
    for (const value of row) {
      if (!Number.isFinite(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low > high ? [0, 1] : [low, high];
}

function noteOn({ lens, overview: { k } }, { range: [low, high] }, me) {
  const each =
    k > 1
      ? ` Each cell of the overview is the ${me.mean ? "mean" : "largest"} of ${k} × ${k}` +
        `${me.mean ? ", in colours of its own" : ""}.`
      : "";
  const near = `the framed ${lens.shown.join(" × ")} cells are seen near (zoom: + and −).`;
  return `Colours from ${round(low)} to ${round(high)}; ${near}${each}`;
}

function round(x) {
  return Number(x.toPrecision(3)).toString();
}

// ── drawing; a box is { left, top, size, first, shown }: where it stands, and which cells it shows ──

function paint(context, values, box, options) {
  const { print = true, rows, columns, axes, ink, cursor, beside } = options;
  paintNames(context, box, { rows, columns, axes, ink, cursor });
  paintCells(context, values, box, { ...options, print: print && box.size >= 30 });
  const { left, top, size, first, shown } = box;
  beside?.draw(context, { x: left + size * shown[1] + 12, top, size, first: first[0], count: shown[0], ink });
  if (cursor) paintCursor(context, box, cursor, ink);
}

// Names of rows at the left and of columns on top, upright where they are wider than a cell; the cursor's are bold.
function paintNames(context, box, { rows, columns, axes, ink, cursor }) {
  const { left, top, size, upright, first = [0, 0], shown = [rows.length, columns.length], room = [left, top] } = box;
  const every = Math.ceil(15 / size); // where cells are smaller than letters, every n-th has a name
  const named = (i, axis) =>
    (cursor && i === cursor[axis] - first[axis]) ||
    (i % every === 0 && !(cursor && Math.abs(i - (cursor[axis] - first[axis])) < every));
  const font = (on) =>
    Object.assign(context, { fillStyle: ink, font: on ? `bold ${WORDS}` : WORDS, textBaseline: "middle" });
  for (let t = 0; t < shown[0]; t += 1) {
    if (!named(t, 0)) continue;
    font(cursor?.[0] === first[0] + t).textAlign = "right";
    context.fillText(fit(context, rows[first[0] + t], room[0] - 30), left - 6, top + (t + 0.5) * size);
  }
  for (let s = 0; s < shown[1]; s += 1) {
    if (!named(s, 1)) continue;
    font(cursor?.[1] === first[1] + s);
    context.save();
    context.translate(left + (s + 0.5) * size, top - (upright ? 6 : 10));
    if (upright) context.rotate(-Math.PI / 2);
    context.textAlign = upright ? "left" : "center";
    context.fillText(fit(context, columns[first[1] + s], upright ? room[1] - 26 : Infinity), 0, 0);
    context.restore();
  }
  if (!axes) return;
  Object.assign(context, { font: `italic ${FONT}`, textAlign: "left", fillStyle: ink });
  context.fillText(`${axes[1]} →`, left, top - room[1] + 8);
  context.save();
  context.translate(left - room[0] + 8, top);
  context.rotate(-Math.PI / 2);
  context.textAlign = "right";
  context.fillText(`← ${axes[0]}`, 0, 0);
  context.restore();
}

// The text, or as much of its beginning as has room.
export function fit(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  let short = text.slice(0, 60); // of a very long name
  while (short && context.measureText(`${short}…`).width > room) short = short.slice(0, -1);
  return `${short}…`;
}

// A frame around the cursor's row, its column and its cell.
export function paintCursor(context, box, [row, column], ink) {
  const { left, top, size, first = [0, 0], shown } = box;
  const [t, s] = [row - first[0], column - first[1]];
  Object.assign(context, { strokeStyle: ink, lineWidth: 1 });
  if (t >= 0 && t < shown[0]) context.strokeRect(left - 1, top + t * size - 1, size * shown[1] + 1, size + 1);
  if (s >= 0 && s < shown[1]) context.strokeRect(left + s * size - 1, top - 1, size + 1, size * shown[0] + 1);
  Object.assign(context, { strokeStyle: MEANINGS.cursor, lineWidth: size < 8 ? 2 : 3 });
  if (t >= 0 && t < shown[0] && s >= 0 && s < shown[1])
    context.strokeRect(left + s * size, top + t * size, size - 1, size - 1);
}

function overview(context, values, { overview: box, lens }, options) {
  const { me, range, ink } = options;
  const cells = box.k > 1 ? pooled(values, box.k, me.mean) : values;
  paintNames(context, box, { ...options, cursor: null });
  const own = me.mean && box.k > 1 ? [range[0], extent(cells)[1]] : range;
  const small = { left: box.left, top: box.top, size: box.size * box.k };
  context.save();
  context.beginPath();
  context.rect(box.left, box.top, box.size * box.shown[1], box.size * box.shown[0]);
  context.clip();
  paintCells(context, cells, small, { colours: options.colours, range: own, ink });
  context.restore();
  const [t, s] = lens.first;
  Object.assign(context, { strokeStyle: NOW.paper, lineWidth: 4 });
  const frame = [box.left + s * box.size, box.top + t * box.size, lens.shown[1] * box.size, lens.shown[0] * box.size];
  context.strokeRect(...frame);
  Object.assign(context, { strokeStyle: MEANINGS.cursor, lineWidth: 2 });
  context.strokeRect(...frame);
}

// ── table ──

function asTable(values, { first: [top, left], shown: [height, width] }, { rows, columns, axes }) {
  const text = (value) => (Number.isNaN(value) ? "–" : value.toFixed(3));
  const line = (name, t) => [name, ...values[top + t].slice(left, left + width).map(text)];
  return [[axes.join(" \\ "), ...columns.slice(left, left + width)], ...rows.slice(top, top + height).map(line)];
}
