// The lines of the machine's drawing: the way up, the residual connections, the memory; and what its colours mean.

import { diverging } from "../../shared/grid.js";
import { SMALL } from "./machine_thumbs.js";
import { NOW } from "../../shared/palette.js";
import { amounts, css } from "../../shared/ui.js";

// Residual connections around the sub-layers, the way up, and the memory.
export function paintLines(context, plan, { ink, off }) {
  Object.assign(context, { strokeStyle: ink, fillStyle: ink, lineWidth: 1.1 });
  context.globalAlpha = 0.75;
  for (const { side, boxes, left, width } of plan.columns) {
    const middle = left + width / 2;
    boxes.slice(1).forEach(({ y, height }, i) => arrow(context, [middle, boxes[i].y], [middle, y + height]));
    boxes.forEach(({ box, y, height }, i) => {
      if (box.kind !== "residual") return;
      const below = boxes[i - 1];
      const out = side === "encoder" ? left - plan.side + 4 : left + width + plan.side - 4;
      const edge = side === "encoder" ? left : left + width;
      const from = below.y + below.height + 5;
      const gone = off.has(box.parts[0].off);
      context.strokeStyle = gone ? NOW.change : ink;
      if (gone) context.setLineDash([2, 4]);
      line(context, [middle, from], [out, from], [out, y + height / 2], [edge, y + height / 2]);
      context.setLineDash([]);
      context.strokeStyle = ink;
    });
  }
  const [encoder, decoder] = plan.columns;
  const x = decoder.left - plan.between / 2;
  const start = encoder.left + encoder.width / 2;
  const cross = decoder.boxes.filter(({ box }) => box.title === "cross-attention");
  const up = encoder.top - 26;
  const last = cross.at(-1);
  line(context, [start, encoder.top], [start, up], [x, up], [x, last.y + last.height / 2]);
  for (const { y, height } of cross) {
    line(context, [x, up], [x, y + height / 2]);
    arrow(context, [x, y + height / 2], [decoder.left, y + height / 2]);
  }
  Object.assign(context, { font: `italic ${SMALL}`, textAlign: "right", textBaseline: "bottom" });
  context.fillText("memory", x - 6, up - 3);
  context.globalAlpha = 1;
}

function line(context, ...points) {
  context.beginPath();
  points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.stroke();
}

function arrow(context, from, to) {
  line(context, from, to);
  const angle = Math.atan2(to[1] - from[1], to[0] - from[0]);
  context.beginPath();
  context.moveTo(...to);
  for (const turn of [2.7, -2.7])
    context.lineTo(to[0] + 6 * Math.cos(angle + turn), to[1] + 6 * Math.sin(angle + turn));
  context.fill();
}

// What the colours mean, in the room above the encoder.
export function paintKey(context, { columns: [{ left, width, top }] }, { ink }) {
  if (top < 190) return;
  const bar = Math.min(120, width - 30);
  const say = (text, x, y) => {
    Object.assign(context, { fillStyle: ink, font: SMALL, textAlign: "left", textBaseline: "middle" });
    context.fillText(text, x, y);
  };
  const shades = (y, colour, names) => {
    for (let i = 0; i < bar; i += 1) {
      context.fillStyle = css(colour(i / (bar - 1)));
      context.fillRect(left + i, y, 1.2, 10);
    }
    names.forEach((name, i) => {
      Object.assign(context, { fillStyle: ink, font: SMALL, textBaseline: "middle" });
      context.textAlign = ["left", "center", "right"][names.length === 2 ? 2 * i : i];
      context.fillText(name, left + (i * bar) / (names.length - 1), y + 18);
    });
  };
  say("attention weights", left, 14);
  shades(22, amounts, ["0", "1"]);
  say("other numbers", left, 60);
  shades(68, diverging, ["below 0", "above 0"]);
  context.fillStyle = ink;
  context.fillRect(left, 101, 4, 12);
  say("this output token", left + 10, 107);
  context.fillStyle = NOW.change;
  context.fillRect(left, 120, 4, 12);
  say(width > 240 ? "change (full height: 100 % of its size)" : "change, in its size", left + 10, 126);
}
