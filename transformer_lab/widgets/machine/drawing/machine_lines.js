// The lines of the machine's drawing: a thread for each token, the followed one lit; where a self-attention looks; the
// residual connections; and the memory.

import { BETWEEN, HEAD } from "./machine_layout.js";
import { SMALL } from "./machine_thumbs.js";
import { NOW } from "../../shared/palette.js";

// The threads of a band. `lit`: the row that is followed. Of the input each row is as amber as it is looked at.
export function paintThreads(context, { left, right, rows, side }, { lit, shares }) {
  rows.forEach(({ y: top, high }, t) => {
    const y = top + high / 2;
    const amber = side === "encoder" ? shares[t] : 0;
    if (t === lit || amber >= 0.02) {
      Object.assign(context, { fillStyle: amber ? NOW.amber : NOW.ink, globalAlpha: amber ? 0.08 + 0.4 * amber : 0.1 });
      context.fillRect(left, top, right - left, high);
    }
    Object.assign(context, { globalAlpha: t === lit ? 1 : 0.45, strokeStyle: t === lit ? NOW.ink : NOW.thread });
    context.lineWidth = t === lit ? 2 : 1;
    line(context, [left, y], [right, y]);
    context.globalAlpha = 1;
  });
}

// Before a self-attention: from which rows the followed one takes, as wide as its heads' mean weight.
export function paintLooks(context, { x, weights, rows, lit }) {
  const [from, to] = [x - BETWEEN * 2, x - 2];
  const middle = ({ y, high }) => y + high / 2;
  const end = middle(rows[lit]);
  Object.assign(context, { strokeStyle: NOW.amber, lineCap: "round" });
  weights.forEach((weight, s) => {
    if (weight < 0.03) return;
    const start = middle(rows[s]);
    context.lineWidth = Math.max(1.2, weight * rows[lit].high * 0.5);
    context.beginPath();
    context.moveTo(from, start);
    context.bezierCurveTo(from + 12, start, to - 12, end, to, end);
    context.stroke();
  });
  context.lineCap = "butt";
}

// Residual connections, under the boxes that they lead around, from band to band; and the memory.
export function paintLines(context, { bands, width }, { off }) {
  for (const { boxes, left, top, tall } of bands) {
    boxes.forEach(({ box, x, parts }, i) => {
      if (box.kind !== "residual") return;
      const gone = off.has(box.parts[0].off);
      const [from, to, y] = [(boxes[i - 1]?.x ?? left) - 5, x + parts[0].width / 2, top + tall];
      Object.assign(context, { strokeStyle: gone ? NOW.change : NOW.thread, lineWidth: 1.5 });
      if (gone) context.setLineDash([2, 4]);
      line(context, [from, y - 2], [from, y + 9], [to, y + 9]);
      arrow(context, [to, y + 9], [to, y + 1]);
      context.setLineDash([]);
    });
  }
  const encoder = bands.findLast(({ side }) => side === "encoder");
  Object.assign(context, { strokeStyle: NOW["amber-edge"], lineWidth: 1.5 });
  const right = width - 4;
  let from = [[encoder.right, encoder.top + encoder.tall / 2]];
  for (const { boxes, top } of bands) {
    const cross = boxes.find(({ box }) => box.title === "cross-attention");
    if (!cross) continue;
    const [x, y] = [cross.x + cross.width - 8, top - HEAD - 3];
    line(context, ...from, [right, from[0][1]], [right, y], [x, y]);
    arrow(context, [x, y], [x, top - 16]);
    from = [[right, y]];
    Object.assign(context, { font: SMALL, textAlign: "right", textBaseline: "top", fillStyle: NOW.soft });
    context.fillText("what the encoder wrote ↓", x - 8, y + 2);
  }
}

function line(context, ...points) {
  context.beginPath();
  points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.stroke();
}

function arrow(context, from, [x, y]) {
  line(context, from, [x, y]);
  const back = y > from[1] ? -5 : 5;
  context.fillStyle = context.strokeStyle;
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x - 3.5, y + back);
  context.lineTo(x + 3.5, y + back);
  context.fill();
}
