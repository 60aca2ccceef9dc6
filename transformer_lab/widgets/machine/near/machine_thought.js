// A feed-forward network at one token, as one picture: what would be written before it, which of its hidden features
// fire, what they push towards, and what would be written after it.
//   thoughtPicture({ ...pushed(…), names }, width) → { svg, tall }; sayThought(…) → sentences, the title first

import { bare } from "../weave/weave_layout.js";
import { label, wideOf } from "../weave/weave_marks.js";
import { curveOf, r } from "../weave/weave_ribbons.js";
import { guessRows, svgOf } from "./machine_guess.js";
import { likeliest, ranked } from "../computing/machine_products.js";
import { signed } from "../weave/weave_steps.js";

const [NARROW, LOUD] = [620, 5]; // guesses, and features that are named

export function sayThought({ before, after, token, active, pushes, names, fed, own }) {
  const first = likeliest(before);
  const [was, is] = [first, token].map((k) => `“${bare(names[k])}”`);
  const [p, q] = [before[token], after[token]].map((x) => x.toFixed(2));
  const n = active.filter((x) => x > 0).length;
  const sum = pushes.reduce((a, b) => a + b, 0);
  const change = after[token] - before[token];
  // What the network adds and what becomes of the share may differ, because the norm behind it rescales all scores.
  const yet = p !== q && sum * change < 0 ? `; yet behind the norm its share ${change < 0 ? "falls" : "grows"}` : "";
  const adds = `they add ${signed(sum, 1)} to the score of ${is}${yet}`;
  const by = `${own ? "At" : "After"} “${bare(fed)}” ${n} of ${active.length} hidden features fire; ${adds}.`;
  const whose = own ? "what its numbers are most like" : "what the machine would write if it stopped";
  const more = [n ? by : "It is switched off: none fires.", `The bars show ${whose} before this layer, and after it.`];
  if (first !== token) return [`Feed-forward turns ${was} into ${is}: ${p} → ${q}`, ...more];
  const grows = p === q ? "leaves" : after[token] > before[token] ? "makes sure of" : "moves away from";
  return [`Feed-forward ${grows} ${is}: ${p} → ${q}`, ...more];
}

// The features that push most, and what all others push together.
export function loudest(pushes, most = LOUD) {
  const order = [...pushes.keys()].filter((i) => pushes[i]).sort((a, b) => Math.abs(pushes[b]) - Math.abs(pushes[a]));
  const named = order.slice(0, most);
  return { named, rest: order.slice(most).reduce((sum, i) => sum + pushes[i], 0), others: order.length - named.length };
}

export function thoughtPicture({ before, after, active, token, pushes, names, own }, width) {
  const narrow = width < NARROW;
  const [pitch, head, wide] = narrow ? [28, 24, width / 2 - 10] : [70, 30, width * 0.27];
  const most = narrow ? 4 : 5;
  const look = { y: head, wide, pitch, size: narrow ? 16 : 25, name: narrow ? 86 : 132 };
  const rows = (shares) =>
    ranked(shares, most).map((k) => ({ word: names[k], value: shares[k].toFixed(2), share: shares[k] }));
  const [right, foot] = [width - wide, head + most * pitch];
  const comb = narrow ? 88 : 210; // pixels of the longest bar
  // Its hidden features stand between both lists, or under them.
  const slot = right - 144;
  const [x0, room, base] = narrow
    ? [0, width, foot + 68 + comb]
    : [0.3 * width, Math.min(0.31 * width, slot - 14 - 0.3 * width), foot + 14];
  const each = room / active.length;
  const full = Math.max(...active, 1e-9);
  const topOf = (i) => base - (comb * active[i]) / full;
  const middleOf = (i) => x0 + (i + 0.5) * each;
  const { named, rest, others } = loudest(pushes);
  const sum = pushes.reduce((a, b) => a + b, 0);
  const bars = [...active].map((x, i) => {
    const loud = named.includes(i);
    const tall = x > 0 ? Math.max(2, base - topOf(i)) : 1;
    const thick = Math.max(loud ? 3 : 1, each * 0.6);
    const place = `x="${r(middleOf(i) - thick / 2)}" y="${r(base - tall)}" width="${r(thick)}" height="${r(tall)}"`;
    return `<rect class="${loud ? "w-pushes" : x > 0 ? "w-fires" : "w-quiet"}" ${place}/>`;
  });
  // From the tops of the loudest bars, past what each pushes, to the word that they push; none crosses another.
  const first = head + pitch / 2;
  const end = narrow ? [right + 96, foot + 26] : [right - 4, first];
  const lines = [...named]
    .sort((a, b) => a - b)
    .map((i, k) => {
      const [x, y] = [r(middleOf(i)), r(topOf(i) - 3)];
      const thick = r(1.5 + 6 * Math.abs(pushes[i] / pushes[named[0]]));
      const path = (d) => `<path class="w-push${pushes[i] < 0 ? " w-against" : ""}" stroke-width="${thick}" d="${d}"/>`;
      if (narrow) return path(`M${x} ${y}C${x} ${y - 50} ${end[0]} ${foot + 50} ${end.join(" ")}`);
      const at = head + 12 + k * 30;
      const says = label(signed(pushes[i], 2, true), slot + 28, at + 4.5, { anchor: "middle", more: "w-strong" });
      return path(`M${x} ${y}C${x} ${at} ${x} ${at} ${slot} ${at}`) + path(curveOf(slot + 56, at, ...end)) + says;
    });
  const word = right + 124 - 25 * wideOf(bare(names[token]));
  if (!narrow && named.length && word > right)
    lines.push(`<path class="w-push" stroke-width="7" d="M${right - 4} ${first}H${r(word)}"/>`);
  const together = `${signed(sum, 1, true)} for “${bare(names[token])}”`;
  const says = [
    label(own ? "before: most like" : "before this layer", 0, 13, { more: "w-strong" }),
    label(own ? "after: most like" : "after it", right, 13, { more: "w-strong" }),
    label(
      `${active.length} hidden features, as tall as they fire`,
      x0,
      narrow ? base + 19 : 13,
      narrow ? {} : { more: "w-strong" },
    ),
    narrow
      ? label(together, end[0], foot + 20, { anchor: "middle", more: "w-strong w-halo" })
      : label(`${signed(rest, 2, true)} by ${others} others`, slot - 6, head + 18 + named.length * 30),
  ];
  const tall = narrow ? base + 26 : base + 8;
  const lists =
    guessRows(rows(before), { ...look, x: 0, tall: narrow ? 8 : 14 }) +
    guessRows(rows(after), { ...look, x: right, tall: narrow ? 8 : 14 });
  return { svg: svgOf(width, tall, lists + lines.join("") + bars.join("") + says.join("")), tall };
}
