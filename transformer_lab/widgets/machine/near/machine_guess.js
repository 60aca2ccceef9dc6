// What could be written, as rows of a word, a bar and a number: before a layer and after it, or as scores and shares.
//   guessRows([{ word, value, share }], { x, y, name, wide, pitch, size }) → SVG; `share` is how full the bar is

import { label, word } from "../weave/weave_marks.js";
import { r } from "../weave/weave_ribbons.js";

const rect = (kind, x, y, wide, tall) =>
  `<rect class="${kind}" x="${r(x)}" y="${r(y)}" width="${r(wide)}" height="${tall}" rx="${Math.min(4, tall / 2)}"/>`;

// `name` is the room of the words, 0 for none; a share below 0 goes to the left of `zero`, a share of the bar's room.
export function guessRows(rows, { x, y, name, wide, pitch, size, tall = 8, zero = 0 }) {
  const left = x + name + (name && 10);
  const room = Math.max(1, wide - name - (name && 10) - 48);
  return rows
    .map(({ word: text, value, share }, i) => {
      const middle = y + (i + 0.5) * pitch;
      const loud = i ? "" : "w-loud";
      const says = name ? word(text, x + name, middle, { size, anchor: "end", more: loud, room: name }) : "";
      const from = left + zero * room;
      const long = Math.max(2, Math.abs(share) * room);
      const bars =
        rect("w-track", left, middle - tall / 2, room, tall) +
        rect("w-bar", share < 0 ? from - long : from, middle - tall / 2, long, tall);
      return says + bars + label(value, left + room + 10, middle + 4.5, { more: i ? "" : "w-strong" });
    })
    .join("");
}

// The bars of a band as two paths: those above the line and those below it.
export function barsOf(values, { x, wide, y, up, down, most }) {
  const each = wide / values.length;
  const [above, below] = [[], []];
  values.forEach((value, i) => {
    const size = (value / most) * (value < 0 ? -down : up);
    if (size < 0.05) return;
    const place = `M${r(x + i * each)} ${r(y)}h${r(Math.max(0.8, each * 0.78))}v${r(value < 0 ? size : -size)}`;
    (value < 0 ? below : above).push(`${place}h${r(-Math.max(0.8, each * 0.78))}Z`);
  });
  return `<path class="w-up" d="${above.join("")}"/><path class="w-down" d="${below.join("")}"/>`;
}

// A picture of this size.
export const svgOf = (width, tall, body) =>
  `<svg width="${width}" height="${tall}" viewBox="0 0 ${width} ${tall}" aria-hidden="true">${body}</svg>`;
