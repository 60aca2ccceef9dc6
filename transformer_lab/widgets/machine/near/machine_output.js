// How the next word is chosen, as one picture: the last 128 numbers, how well each word's row of the table fits them,
// and the shares that softmax makes of these scores.
//   outputPicture({ reads, logits, shares, names }, width) → { svg, tall }

import { barsOf, guessRows, svgOf } from "./machine_guess.js";
import { ranked } from "../computing/machine_products.js";
import { label, saidWide } from "../weave/weave_marks.js";
import { signed } from "../weave/weave_steps.js";

const MOST = 6;
// What stands over the scores, where there is room for it beside what stands over the shares.
const SCORES = ["score: how well the word’s own row fits them", "score: how well its row fits"];

export function outputPicture({ reads, logits, shares, names }, width) {
  const narrow = width < 620;
  const best = ranked(shares, MOST);
  const [pitch, name, size] = narrow ? [32, 84, 17] : [58, 160, 25];
  const [x, head] = narrow ? [0, 118] : [0.3 * width, 30];
  const middle = x + name + 10 + (narrow ? 0.42 : 0.44) * (width - x - name);
  const [least, most] = best.reduce(([a, b], k) => [Math.min(a, logits[k]), Math.max(b, logits[k])], [0, 1e-9]);
  const zero = -least / (most - least);
  const scores = best.map((k) => ({ word: names[k], value: signed(logits[k], 1), share: logits[k] / (most - least) }));
  const sure = best.map((k) => ({ word: "", value: shares[k].toFixed(2), share: shares[k] }));
  const look = { y: head, pitch, size };
  const numbers = {
    x: 0,
    wide: narrow ? width : 0.25 * width,
    y: narrow ? 54 : head + 180,
    up: narrow ? 28 : 150,
    down: narrow ? 28 : 150,
  };
  const others = shares.length - best.length;
  const rest = 1 - best.reduce((sum, k) => sum + shares[k], 0);
  const more = `and ${others} others, together ${rest.toFixed(2)}`;
  const tall = head + MOST * pitch + 26;
  const says = [
    label(narrow ? "what it reads" : `what it reads: ${reads.length} numbers`, 0, 13, { more: "w-strong" }),
    label(SCORES.find((one) => saidWide(one, true) <= middle + 14 - (x + name)) ?? "score", x + name + 10, head - 17, {
      more: "w-strong",
    }),
    label(narrow ? "softmax" : "softmax: how sure it is", middle + 24, head - 17, { more: "w-strong" }),
    middle + 24 + saidWide(more) > width
      ? label(more, width, tall - 8, { anchor: "end" })
      : label(more, middle + 24, tall - 8),
  ];
  const body =
    barsOf(reads, { ...numbers, most: Math.max(...reads.map(Math.abs)) || 1 }) +
    guessRows(scores, { ...look, x, name, wide: middle - x, zero, tall: narrow ? 10 : 16 }) +
    guessRows(sure, { ...look, x: middle + 24, name: 0, wide: width - middle - 24, tall: narrow ? 10 : 16 }) +
    says.join("");
  return { svg: svgOf(width, tall, body), tall };
}
