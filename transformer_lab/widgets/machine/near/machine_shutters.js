// The causal mask as shutters: a row for each token that is written, a column for each that it may look at. Open cells
// say how much is looked at there, on the mean of the heads; what is written later is shut.
//   shuttersPicture({ rows, tokens: { fed, written }, at, leaks }, width) → { svg, tall }; sayShutters(…) → sentences
// `leaks`, where the mask is cut, has the finished sentence's rows, in which all cells are open.

import { bare } from "../weave/weave_layout.js";
import { fittedSize, label, word } from "../weave/weave_marks.js";
import { r } from "../weave/weave_ribbons.js";
import { svgOf } from "./machine_guess.js";

const [NARROW, LEAST, MOST] = [620, 12, 12]; // pixels, of the smallest letters, and the rows that are drawn at once

export function sayShutters({ tokens: { written }, at, leaks }) {
  const name = `“${bare(written[at])}”`;
  if (leaks)
    return [
      "Without the mask each token sees what comes after it",
      "Dashed is what should be shut. In training the machine has never seen it, so there it is misled.",
    ];
  const says = at
    ? `To write ${name} it may look back at ${at + 1} tokens`
    : `To write ${name} it may look at “begin” alone`;
  return [
    says,
    "What comes later is shut, because in training it is there, and would be copied.",
    "The numbers are the mean of the heads.",
  ];
}

export function shuttersPicture({ rows, tokens: { fed, written }, at, leaks }, width) {
  const narrow = width < NARROW;
  const first = Math.max(0, Math.min(at - MOST + 3, written.length - MOST));
  const shown = [...written.keys()].slice(first, first + MOST);
  const left = narrow ? 84 : Math.min(190, 0.2 * width);
  const each = Math.min(narrow ? 60 : 118, (width - left - 2) / shown.length);
  const step = Math.max(30, Math.min(narrow ? 36 : 49, 384 / shown.length));
  const size = narrow ? 14 : 20;
  // Where a word would be too small over its column, every second one stands higher.
  const high = shown.some((s) => fittedSize(bare(fed[s]), size, each - 6) < LEAST) ? 18 : 0;
  const head = (narrow ? 40 : 54) + high;
  const x = (i) => left + i * each;
  const y = (i) => head + i * step;
  const cell = (t, s, i, k) => {
    const place = `x="${r(x(k) + 1.5)}" y="${r(y(i) + 1.5)}" width="${r(each - 3)}" height="${r(step - 3)}" rx="5"`;
    const later = s > t;
    const share = (later ? leaks?.[t]?.[s] : rows[t]?.[s]) ?? 0;
    const says =
      share >= 0.05 && each >= 34
        ? `<text class="w-label w-strong${share > 0.5 && !later ? " w-onto" : ""}" x="${r(x(k) + each / 2)}" ` +
          `y="${r(y(i) + step / 2 + 4.5)}" font-size="${narrow ? 12 : 15}" text-anchor="middle">` +
          `${share.toFixed(2)}</text>`
        : "";
    if (later && !leaks) return `<rect class="w-shut" ${place}/>${slats(x(k), y(i))}`;
    const fill = `<rect class="w-poured" ${place} fill-opacity="${r(0.08 + 0.92 * share)}"/>`;
    return `<rect class="${later ? "w-open w-leaks" : "w-open"}" ${place}/>${share >= 0.01 ? fill : ""}${says}`;
  };
  const slats = (x0, y0) => {
    const lines = [0.26, 0.5, 0.74].map((part) => `M${r(x0 + 7)} ${r(y0 + part * step)}h${r(each - 14)}`);
    return `<path class="w-slats" d="${lines.join("")}"/>`;
  };
  const cells = shown.flatMap((t, i) => shown.map((s, k) => cell(t, s, i, k)));
  const names = shown.flatMap((t, i) => {
    const loud = t === at ? "w-loud" : "";
    return [
      word(written[t], left - 12, y(i) + step / 2, { size, anchor: "end", more: loud, room: left - 14 }),
      word(fed[t], x(i) + each / 2, head - 16 - high * ((i + 1) % 2), {
        ...{ size: high ? LEAST : size, anchor: "middle", room: each * (high ? 1.9 : 1) - 6 },
        more: t <= at ? "w-loud" : "",
      }),
    ];
  });
  const end = x(shown.length);
  const row = shown.indexOf(at);
  const seen = leaks ? shown.length : row + 1;
  const frame = `x="${r(left)}" y="${r(y(row))}" width="${r(seen * each)}" height="${r(step)}"`;
  // Beside the picture what its cells mean.
  const key = (i, kind, text) =>
    `<rect class="${kind}" x="${r(end + 32)}" y="${r(y(i) + 6)}" width="30" height="20" rx="5"/>` +
    label(text, end + 72, y(i) + 20.5);
  const room = width - end > 250;
  const keys = room
    ? key(0, "w-poured", "looked at: the fuller, the more") +
      key(1, "w-open", "open, and hardly looked at") +
      key(2, leaks ? "w-open w-leaks" : "w-shut", leaks ? "should be shut" : "shut: written later")
    : "";
  const titles =
    label("to write", left - 12, 14, { anchor: "end", more: "w-strong" }) +
    label("it may look at", left, 14 - (high ? 2 : 0), { more: "w-strong" });
  const tall = y(shown.length) + 6;
  const body = `${cells.join("")}<rect class="w-frame" ${frame} rx="7"/>${names.join("")}${keys}${high ? "" : titles}`;
  return { svg: svgOf(width, r(tall), body), tall };
}
