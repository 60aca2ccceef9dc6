// A map of many columns: cells that are higher than wide, in as many bands as it takes, one below the other. It is used
// like a `tokenMap` (grid.js), and has the same keys, readout and table.

import { FONT, SMALL, WORDS, keyCursor } from "../../shared/grid.js";
import { frame, markCell } from "./machine_marks.js";
import { NOW } from "../../shared/palette.js";
import { canvas, css, element, onKeys, onLeave, readout, tableSwitch, widthOf } from "../../shared/ui.js";

const [NARROWEST, TALLEST] = [5, 22];

// Where the cells of T × S stand: `across` columns in each band.
export function bandsOf({ total, T, S, left }) {
  const room = total - left - 8;
  const bands = Math.ceil((S * NARROWEST) / room);
  const across = Math.ceil(S / bands);
  const tall = Math.min(TALLEST, Math.max(9, 200 / T));
  const step = T * tall + 34; // from one band to the next, with the names of the columns
  return { left, top: 22, bands, across, tall, step, wide: room / across, width: total, height: bands * step + 4 };
}

// The upper left corner of a cell; and the cell at a point.
export function cornerOf({ left, top, across, tall, step, wide }, [t, s]) {
  return [left + (s % across) * wide, top + Math.floor(s / across) * step + t * tall];
}

export function cellAt({ left, top, across, tall, step, wide }, x, y, T, S) {
  const band = Math.floor((y - top) / step);
  const [t, j] = [Math.floor((y - top - band * step) / tall), Math.floor((x - left) / wide)];
  const s = band * across + j;
  return t >= 0 && t < T && j >= 0 && j < across && s >= 0 && s < S ? [t, s] : null;
}

export function wideMap({ el, label, rows, columns, axes, describe, redraw, onpress }) {
  const [T, S] = [rows.length, columns.length];
  const sketch = canvas(`${label} Arrow keys move over the cells.`);
  const [says, table] = [readout(), tableSwitch(redraw)];
  const me = { node: sketch.node, says, note: element("div", { class: "tl-note" }), table: table.room, cursor: null };
  let plan = null;
  const move = (cell) => {
    if (String(cell) === String(me.cursor)) return;
    me.cursor = cell;
    redraw();
  };
  me.reset = () => {
    me.cursor = null;
    table.reset();
  };
  me.show = (values, { range: [low, high], colours, marked, writer }) => {
    const ink = getComputedStyle(el).color;
    const measure = sketch.node.getContext("2d");
    measure.font = FONT;
    const left = Math.min(110, Math.max(...rows.map((name) => measure.measureText(name).width)) + 12);
    plan = bandsOf({ total: widthOf(el), T, S, left });
    const context = sketch.resize(plan.width, plan.height);
    Object.assign(sketch.node, { layout: { ...plan, T, S } });
    values.forEach((row, t) =>
      row.forEach((value, s) => {
        const [x, y] = cornerOf(plan, [t, s]);
        context.fillStyle = css(colours((value - low) / (high - low)));
        context.fillRect(x, y, plan.wide - (plan.wide > 7 ? 1 : 0) + 0.3, plan.tall - 1);
      }),
    );
    paintNames(context, plan, { rows, columns, ink, cursor: me.cursor, T, S });
    for (let s = 0; writer && s < S; s += plan.across) {
      const [x, y] = cornerOf(plan, [writer.t, s]);
      frame(context, [x - 3, y - 3, Math.min(plan.across, S - s) * plan.wide + 5, plan.tall + 5]);
    }
    const around = (cell) => cornerOf(plan, cell).map((x) => x - 1);
    if (marked) markCell(context, [...around(marked), plan.wide + 1, plan.tall + 1]);
    if (me.cursor) {
      Object.assign(context, { strokeStyle: NOW.change, lineWidth: 2.5 });
      context.strokeRect(...around(me.cursor), plan.wide + 1, plan.tall + 1);
    }
    const most = Math.max(Math.abs(low), Math.abs(high));
    me.note.textContent =
      low < 0 ? `Red is below 0, blue above; the strongest are ±${Number(most.toPrecision(3))}.` : "";
    says.say(describe(values, me.cursor));
    table.fill(() => [
      [axes.join(" \\ "), ...columns],
      ...values.map((row, t) => [rows[t], ...row.map((value) => value.toFixed(3))]),
    ]);
  };
  const point = (event) => {
    const cell = plan && cellAt(plan, ...sketch.at(event), T, S);
    move(cell);
    return cell;
  };
  Object.assign(sketch.node, {
    onpointermove: point,
    onpointerdown: (event) => {
      const cell = point(event);
      if (cell) onpress(cell, true);
    },
    onpointerleave: onLeave(() => move(null)),
    onfocus: () => {
      if (!me.cursor) move([0, 0]);
    },
    onkeydown: onKeys((key) => {
      const cell = me.cursor ?? [0, 0];
      const to = keyCursor(key, cell, T, S);
      if (to) move(to);
      else if (key === "Enter" || key === " ") onpress(cell, true);
      else return false;
    }),
  });
  return Object.assign(me, { buttons: [table.button] });
}

// Names of the rows of each band, and of every so many columns.
function paintNames(context, plan, { rows, columns, ink, cursor, T, S }) {
  Object.assign(context, { fillStyle: ink, textBaseline: "middle" });
  const longest = columns.reduce((a, b) => (b.length > a.length ? b : a), "");
  const numbers = /^\d+$/.test(longest);
  const every = numbers ? 16 : Math.max(1, Math.ceil((longest.length * 7 + 8) / plan.wide));
  for (let band = 0; band < plan.bands; band += 1) {
    for (let t = 0; t < T; t += 1) {
      context.font = cursor?.[0] === t ? `bold ${WORDS}` : WORDS;
      context.textAlign = "right";
      const [x, y] = cornerOf(plan, [t, band * plan.across]);
      if (t % Math.ceil(11 / plan.tall) === 0) context.fillText(rows[t].slice(0, 13), x - 6, y + plan.tall / 2);
    }
    Object.assign(context, { font: SMALL, textAlign: "left" });
    for (let s = band * plan.across; s < Math.min(S, (band + 1) * plan.across); s += 1) {
      if ((numbers ? s : s - band * plan.across) % every) continue;
      const [x, y] = cornerOf(plan, [0, s]);
      context.fillText(columns[s], x, y - 9);
    }
  }
}
