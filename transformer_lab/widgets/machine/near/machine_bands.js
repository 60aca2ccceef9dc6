// What becomes of a token by an addition, as bands of bars, one below the other, and as arrows: token + position = what
// goes in, around + found = the sum.
//   bandsPicture({ kind, adds, bands, t, column, width }) → { svg, tall, from }: the bars begin at x = `from`

import { arrowsPicture, planeOf } from "./machine_arrows.js";
import { barsOf, svgOf } from "./machine_guess.js";
import { bare } from "../weave/weave_layout.js";
import { clock, label, saidWide } from "../weave/weave_marks.js";
import { r } from "../weave/weave_ribbons.js";

const [STACKED, WHOLE, ARROWS] = [900, 404, 190]; // a width below which the bars stand under the arrows; heights
const KINDS = ["w-was", "w-added", "w-now", "w-now"];

// The bands of a box: { adds, rows: [{ sign, title, more, tab, gone }] }; `adds` where the first two make the third.
export function bandsOf({ kind, parts }, t, how) {
  const band = (tab, sign, title, more = "") => ({ tab, sign, title, more, gone: false });
  if (kind === "embedding") {
    const [tokens, positions, sum] = parts[0].tabs;
    const rows = [
      band(tokens, "", "what it is", tokens.title.replace("rows", "its row")),
      band(positions, "+", "where it stands", `the encoding of place ${t}`),
      band(sum, "=", "what goes in", "number by number"),
    ];
    return { adds: true, rows };
  }
  const [sum, around, found] = parts[0].tabs;
  const [normed] = parts[1].tabs;
  const rows = [
    { ...band(around, "", "what it was", "around the sub-layer"), gone: !how(sum.name).parts.includes(around.name) },
    band(found, "+", "what was found", "by the sub-layer"),
    band(sum, "=", "what it is now", "number by number"),
    band(normed, "→", "normed", how(normed.name).kind === "norm" ? "mean 0, deviation 1, scaled" : "cut: as it was"),
  ];
  return { adds: !rows[0].gone, rows };
}

// What bands show, and what the part is for; `behind` is the sub-layer whose numbers are added. A picture that is kept
// has the first two of the sentences.
export function sayBands({ kind, behind }, token, bands) {
  const name = `“${bare(token)}”`;
  const arrows = "The arrows have their true lengths and angles.";
  if (kind === "embedding") {
    const placed = bands[1].values.some((x) => x !== 0);
    const n = bands[2].values.length;
    return [
      `${name} ${placed ? "and its place become" : "without its place becomes"} ${n} numbers`,
      "What a word is and where it stands are added, number by number.",
      `From here on the machine sees only the sum. ${arrows}`,
    ];
  }
  const turned = planeOf(bands[0].values, bands[1].values).turned.toFixed(0);
  const who = behind[0].toUpperCase() + behind.slice(1);
  return [
    bands[0].gone ? `Of ${name} only what was found goes on` : `${who} turns ${name} by ${turned}°`,
    "What was found is added to what was there, so a part writes only what is new.",
    `The norm then keeps numbers in measure. ${arrows}`,
  ];
}

export const barsFrom = (width) => (width < STACKED ? 0 : Math.round(0.37 * width));

export function bandsPicture({ kind, adds, bands, t, column, width }) {
  const stacked = width < STACKED;
  const x = barsFrom(width);
  const wide = width - x - 1;
  const head = 24;
  const step = stacked ? 82 : WHOLE / bands.length;
  const tall = step - head - 10;
  const above = stacked ? ARROWS + 10 : 0;
  const sizes = bands.map(({ values }) => Math.max(...values.map(Math.abs)) || 1);
  const shared = Math.max(...sizes.slice(0, 3));
  const at = x + ((column + 0.5) * wide) / bands[0].values.length;
  const sum = adds && Math.abs(bands[0].values[column] + bands[1].values[column] - bands[2].values[column]) < 1e-6;
  const titles = bands.map(({ sign, title }) => `${sign} ${title}`.trim());
  const mores = bands.map(({ more }, i) => (stacked ? 0 : 0.88 * saidWide(titles[i], true) + 8 + saidWide(more)));
  const beside = stacked ? saidWide(titles[1], true) + 14 : mores[1] + 18;
  const hands = kind === "embedding" ? beside : 0;
  const after = x + 16 + Math.max(hands + 10, ...mores, ...titles.slice(0, 3).map((text) => saidWide(text, true)));
  const drawn = bands.map(({ values, sign, more, gone }, i) => {
    const top = above + i * step + head;
    const most = adds && i < 3 ? shared : sizes[i];
    const place = { x, wide, y: top + tall / 2, up: tall / 2, down: tall / 2, most };
    const says = [label(titles[i], x, top - 8, { more: "w-strong w-halo" })];
    if (!stacked) says.push(label(more, x + 0.88 * saidWide(titles[i], true) + 8, top - 8));
    if (hands && i === 1) says.push(clock(x + hands, top - 13, t, 9));
    // Its number stands over the band, on no bar, and behind what is said there.
    const number = (i ? `${sign} ` : "") + values[column]?.toFixed(2).replace("-", "−");
    const anchor = at > x + wide - 70 ? "end" : "start";
    const there = anchor === "end" ? at + 3 : Math.max(at - 3, after);
    const value = sum && i < 3 ? label(number, there, top - 8, { anchor, more: "w-strong w-sum" }) : "";
    const line = `<line class="w-zero" x1="${x}" x2="${r(x + wide)}" y1="${r(place.y)}" y2="${r(place.y)}"/>`;
    const through =
      value && `<line class="w-through" x1="${r(at)}" x2="${r(at)}" y1="${r(top)}" y2="${r(top + tall)}"/>`;
    const body = `${says.join("")}${through}${line}${barsOf(values, place)}${value}`;
    return `<g class="w-band ${KINDS[i]}${gone ? " w-out-of-use" : ""}">${body}</g>`;
  });
  const whole = above + bands.length * step;
  const plane = planeOf(bands[0].values, bands[1].values);
  const room = stacked ? { width, tall: ARROWS } : { width: x - 24, tall: WHOLE, size: 15 };
  const arrows = arrowsPicture({ plane, names: titles.slice(0, 3), gone: bands[0].gone }, room);
  return { svg: svgOf(width, r(whole), drawn.join("") + arrows), tall: whole };
}
