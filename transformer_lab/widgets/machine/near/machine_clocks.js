// Positions as hands of clocks: each pair of an encoding's numbers is sine and cosine of an angle, which grows from
// place to place, in the first pairs fast and in the last ones slowly. No two places have the same hands.
//   clocksPicture({ tokens, rows, at }, width) → { svg, tall }; `rows` are the encodings

import { clock, fittedSize, label, word } from "../weave/weave_marks.js";
import { bare } from "../weave/weave_layout.js";
import { r } from "../weave/weave_ribbons.js";
import { svgOf } from "./machine_guess.js";

const PAIRS = [0, 4, 8, 12, 18, 26]; // of the 64: a word further they turn by 1, 0.56, 0.32, 0.18, 0.07, 0.02

const LEAST = 12; // pixels of the smallest letters that are read
const PACE = { 0: ": fast", 5: ": slow" };

export function clocksPicture({ tokens, rows, at }, width) {
  const narrow = width < 620;
  const left = narrow ? 0 : 150;
  const pairs = PAIRS.filter((pair) => 2 * pair < rows[0].length);
  const each = (width - left) / tokens.length;
  const radius = Math.min(narrow ? 15 : 25, each * 0.42);
  // Where a word would be too small to be read over its clocks, every second one stands higher.
  const most = narrow ? 14 : 20;
  const high = tokens.some((token) => fittedSize(bare(token), most, each - 6) < LEAST) ? 18 : 0;
  const size = high ? LEAST : most;
  const [head, step] = [34 + high, 2 * radius + 10];
  const x = (t) => left + (t + 0.5) * each;
  const y = (k) => head + (k + 0.5) * step;
  const tall = head + pairs.length * step + 8;
  const box = `x="${r(x(at) - each / 2 + 1)}" y="1" width="${r(each - 2)}" height="${r(tall - 2)}"`;
  const frame = `<rect class="w-frame" ${box} rx="8"/>`;
  const words = tokens.map((token, t) =>
    word(token, x(t), 17 + high * (1 - (t % 2)), {
      ...{ size, anchor: "middle", room: each * (high ? 1.9 : 1) - 6, more: t === at ? "w-loud w-halo" : "w-halo" },
    }),
  );
  const faces = rows.flatMap((row, t) =>
    pairs.map((pair, k) => clock(x(t), y(k), Math.atan2(row[2 * pair], row[2 * pair + 1]), radius, !row.some(Boolean))),
  );
  const says = narrow
    ? []
    : pairs.map((pair, k) => label(`numbers ${2 * pair}, ${2 * pair + 1}${PACE[k] ?? ""}`, 0, y(k) + 4.5));
  return { svg: svgOf(width, tall, frame + words.join("") + faces.join("") + says.join("")), tall };
}
