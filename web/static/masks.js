// The masks of an exercise that is painted: what stands at their rows and columns, and how they look when they are not
// painted any more, in the page and as a picture to keep.

import { element } from "./elements.js";
import { framed, keepsake, whereFrom } from "./frame.js";
import { labelled } from "./grids.js";

const [CELL, GAP, TOP, LEFT] = [44, 36, 56, 44];
const flat = (mask) => (Array.isArray(mask[0][0]) ? mask.flatMap(flat) : [mask]);

// One board for each sentence of a case.
export function boardsOf({ label, given: { tokens, pad_id: pad } }, value) {
  return flat(value).map((mask, b) => {
    const named = tokens?.[b].map((token) => (token === pad ? "pad" : String(token)));
    const columns = named ?? mask[0].map((_, s) => String(s));
    return { label, mask, columns, rows: mask.length === columns.length ? columns : mask.map(() => "each") };
  });
}

// Masks as they are painted, to be looked at; where they differ from what is right, with a dashed edge.
export function tiles(one, value) {
  const right = flat(one.right);
  const boards = boardsOf(one, value).map(({ mask, rows, columns }, b) => {
    const tile = (on, t, s) => {
      const kind = `tile${on ? " on" : ""}${on === right[b][t][s] ? "" : " differs"}`;
      return element("i", { class: kind, role: "img", "aria-label": on ? "may attend" : "hidden" });
    };
    const cells = mask.map((row, t) => row.map((on, s) => tile(on, t, s)));
    return labelled({ rows, columns, cells });
  });
  return element("div", { class: "boards" }, ...boards);
}

function drawBoard(context, { label, mask, rows, columns }, left, top, colour) {
  const font = (size) => `500 ${size}px ${colour("--labels")}`;
  const write = (text, x, y, ink, size, textAlign = "center") => {
    Object.assign(context, { font: font(size), fillStyle: colour(ink), textAlign });
    context.fillText(text, x, y);
  };
  write(label, left, top + 14, "--ink", 15, "left");
  columns.forEach((name, s) => write(name, left + LEFT + (s + 0.5) * CELL, top + TOP - 8, "--key", 13));
  mask.forEach((row, t) => {
    const y = top + TOP + t * CELL;
    write(rows[t], left + LEFT - 8, y + CELL / 2 + 4, "--query", 13, "right");
    row.forEach((on, s) => drawTile(context, left + LEFT + s * CELL, y, on, colour));
  });
}

function drawTile(context, x, y, on, colour) {
  const [edge, size] = [2, CELL - 4];
  Object.assign(context, { fillStyle: colour(on ? "--weight" : "--sheet"), lineWidth: 1 });
  context.strokeStyle = colour(on ? "--weight-edge" : "--edge");
  context.beginPath();
  context.roundRect(x + edge, y + edge, size, size, 6);
  context.fill();
  context.stroke();
  if (!on) return;
  context.beginPath();
  context.arc(x + CELL / 2, y + CELL / 2, size / 5, 0, 2 * Math.PI);
  Object.assign(context, { fillStyle: colour("--ink") }).fill();
}

function pictured(table, said) {
  const page = getComputedStyle(document.documentElement);
  const colour = (name) => page.getPropertyValue(name).trim();
  const boards = table.cases.flatMap((one) => boardsOf(one, one.right));
  const wide = boards.map(({ label, columns }) => Math.max(LEFT + columns.length * CELL, label.length * 8));
  const width = wide.reduce((sum, x) => sum + x + GAP, -GAP);
  const height = TOP + CELL * Math.max(...boards.map(({ rows }) => rows.length));
  const draw = (context, left, top) => {
    let x = left;
    context.save();
    boards.forEach((board, b) => {
      drawBoard(context, board, x, top, colour);
      x += wide[b] + GAP;
    });
    context.restore();
  };
  const set = "A row for each query, a column for each key: filled is what may be attended to.";
  return framed({ draw, width, height }, { title: `I painted the ${table.name}`, said, set, from: whereFrom() });
}

// The masks as a picture to keep.
export const masksToKeep = (table, said) =>
  keepsake(() => pictured(table, said), `${table.name}.png`, `Your masks: ${said}`);
