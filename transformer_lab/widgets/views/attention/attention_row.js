// One row of the attention: what a query thinks of each key, aligned under the words. Scores are bars up and down;
// weights are poured into one bar, of which they are the parts.

import { canvas } from "../../shared/ui.js";
import { pour, write } from "../../shared/drawing.js";
import { numberIn } from "../../shared/cells.js";
import { NOW, SERIF } from "../../shared/palette.js";

const [HIGH, BASE, BAR, WIDEST] = [156, 92, 112, 72]; // where bars of scores begin and the bar of weights, a column
const BARS = 30; // pixels of the longest bar to either side

export function attentionRow(keys) {
  const sketch = canvas("One row.", { keys: false });
  const show = (row, { query, weights, width, heading }) => {
    const step = Math.min(WIDEST, (width - 34) / keys.length);
    const context = sketch.resize(width, HIGH);
    write(context, heading, 0, 9, { size: 12, colour: NOW.soft, room: width });
    const most = Math.max(...row.map((x) => (Number.isNaN(x) ? -Infinity : x)));
    const place = (s) => (s + 0.5) * step;
    row.forEach((value, s) => {
      const bold = value === most;
      Object.assign(context, { font: `16px ${SERIF}` });
      write(context, keys[s], place(s), 32, { size: 16, serif: true, bold, align: "center", room: step - 4 });
    });
    if (weights) poured(context, row, { step, place, most });
    else bars(context, row, { step, place });
    sketch.describe(
      `The row of ${query}: ${row.map((x, s) => `${keys[s]} ${Number.isNaN(x) ? "hidden" : numberIn(x)}`).join(", ")}.`,
    );
  };
  return { node: sketch.node, show };
}

export function poured(context, row, { step, place, most }) {
  const whole = step * row.length;
  let taken = 0;
  row.forEach((weight, s) => {
    const wide = weight * whole;
    const middle = (taken + weight / 2) * whole;
    taken += weight;
    const bold = weight === most;
    const colour = bold ? NOW["amber-ink"] : NOW.soft;
    write(context, weight.toFixed(2), place(s), 54, { size: 12, bold, align: "center", colour });
    if (wide < 0.4) return;
    Object.assign(context, { fillStyle: NOW.amber, globalAlpha: bold ? 0.9 : 0.45 });
    pour(context, [place(s), 64, Math.max(1, weight * step * 0.5)], [middle, BAR, wide]);
    context.fillRect(middle - wide / 2, BAR, wide, 22);
    context.globalAlpha = 1;
    Object.assign(context, { strokeStyle: NOW["amber-edge"], lineWidth: 1 });
    context.strokeRect(middle - wide / 2 + 0.5, BAR + 0.5, Math.max(0, wide - 1), 21);
  });
  write(context, taken > 0.5 ? "= 1" : "= 0", whole + 8, BAR + 11, { bold: true });
}

export function bars(context, row, { step, place }) {
  const most = Math.max(...row.map((x) => (Number.isNaN(x) ? 0 : Math.abs(x)))) || 1;
  row.forEach((value, s) => {
    const [x, wide] = [place(s), Math.min(30, step * 0.6)];
    Object.assign(context, { strokeStyle: NOW.edge, lineWidth: 1 });
    if (Number.isNaN(value)) {
      context.setLineDash([4, 3]);
      context.strokeRect(x - wide / 2, BASE - 16, wide, 32);
      context.setLineDash([]);
      write(context, "hidden", x, BASE + 28, { size: 12, align: "center", colour: NOW.soft, room: step - 2 });
      return;
    }
    const long = (value / most) * BARS;
    Object.assign(context, { fillStyle: NOW.ink, globalAlpha: value === most ? 1 : 0.62 });
    context.fillRect(x - wide / 2, BASE - Math.max(long, 0), wide, Math.max(1, Math.abs(long)));
    context.globalAlpha = 1;
    const y = value < 0 ? BASE - long + 10 : BASE - long - 9;
    write(context, numberIn(value), x, y, { size: 12, align: "center", room: step - 2 });
  });
  Object.assign(context, { fillStyle: NOW.edge }).fillRect(0, BASE, step * row.length, 1);
}
