// A broken function as a picture that asks where its faults are: with numbers at its lines, by which one may answer.

import { framed, keepsake, whereFrom } from "./frame.js";

const [SIZE, ROW, EDGE, NUMBERS] = [15, 26, 16, 36];

function pictured(lines, { title, said }) {
  const page = getComputedStyle(document.documentElement);
  const colour = (name) => page.getPropertyValue(name).trim();
  const font = `${SIZE}px ${colour("--code")}`;
  const measure = Object.assign(document.createElement("canvas").getContext("2d"), { font });
  const width = NUMBERS + 2 * EDGE + Math.max(...lines.map((line) => measure.measureText(line).width));
  const height = lines.length * ROW + EDGE;
  const draw = (context, left, top) => {
    context.save();
    Object.assign(context, { font, fillStyle: colour("--shade") }).fillRect(left, top, width, height);
    lines.forEach((line, i) => {
      const y = top + EDGE / 2 + (i + 0.7) * ROW;
      Object.assign(context, { fillStyle: colour("--soft"), textAlign: "right" });
      context.fillText(String(i + 1), left + NUMBERS - 4, y);
      Object.assign(context, { fillStyle: colour("--ink"), textAlign: "left" });
      context.fillText(line, left + NUMBERS + EDGE, y);
    });
    context.restore();
  };
  return framed({ draw, width, height }, { title, said, from: whereFrom() });
}

export const riddle = (name, lines, asks) =>
  keepsake(() => pictured(lines, asks), `${name}.png`, `${asks.title} ${asks.said}`);
