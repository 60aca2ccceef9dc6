// What becomes of a token in a part that is no attention, as a picture: token + position = input, and around + found =
// sum, as bands of bars, one below the other; positions as clocks; what a feed-forward network turns into what; and the
// shares from which the next word is chosen.
//   const flow = flowOf({ state, machine, oncell });  // oncell([row, column]): the number whose sum is seen
//   flow.show(at, { cell, names }) → { says, draw }   // `at` is the place of a part, as `state.partOf` gives it

import { clocksPicture } from "./machine_clocks.js";
import { barsOf, svgOf } from "./machine_guess.js";
import { likeliest } from "../computing/machine_products.js";
import { outputPicture } from "./machine_output.js";
import { sayThought, thoughtPicture } from "./machine_thought.js";
import { pushed } from "../computing/machine_pushes.js";
import { bare } from "../weave/weave_layout.js";
import { clock, label, saidWide } from "../weave/weave_marks.js";
import { r } from "../weave/weave_ribbons.js";
import { element } from "../../shared/ui.js";

const [LABEL, NARROW] = [226, 620];

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

// What bands show, in a sentence, and what the part is for.
export function sayBands(kind, token, bands) {
  const name = `“${bare(token)}”`;
  if (kind === "embedding") {
    const placed = bands[1].values.some((x) => x !== 0);
    const n = bands[2].values.length;
    return [
      `${name} ${placed ? "and its place become" : "without its place becomes"} ${n} numbers`,
      "What a word is and where it stands are added, number by number. From here on the machine sees only the sum.",
    ];
  }
  const says = bands[0].gone ? `Of ${name} only what was found goes on` : `What was found is added to what ${name} was`;
  return [
    says,
    "So a part writes only what is new, and what was known goes around it. The norm keeps numbers in measure.",
  ];
}

export function bandsPicture({ kind, adds, bands, t, column, width }) {
  const narrow = width < NARROW;
  const [x, head, tall] = narrow ? [0, 22, 58] : [LABEL, 20, 76];
  const wide = width - x - 1;
  const step = tall + head + (narrow ? 12 : 6);
  const sizes = bands.map(({ values }) => Math.max(...values.map(Math.abs)) || 1);
  const shared = Math.max(...sizes.slice(0, 3));
  const at = x + ((column + 0.5) * wide) / bands[0].values.length;
  const sum = adds && Math.abs(bands[0].values[column] + bands[1].values[column] - bands[2].values[column]) < 1e-6;
  const drawn = bands.map(({ values, sign, title, more, gone }, i) => {
    const top = i * step + head;
    const most = adds && i < 3 ? shared : sizes[i];
    const place = { x, wide, y: top + tall / 2, up: tall / 2, down: tall / 2, most };
    const says = narrow
      ? [label(`${sign} ${title}`.trim(), 0, top - 7, { more: "w-strong w-halo" })]
      : [
          label(sign, 10, top + tall / 2 + 2, { size: 20, anchor: "middle" }),
          label(title, 28, top + tall / 2 - 3, { size: 15, more: "w-strong" }),
          label(more, 28, top + tall / 2 + 16),
        ];
    const mark =
      kind === "embedding" && i === 1
        ? clock(narrow ? saidWide(`+ ${title}`, true) + 14 : LABEL - 24, top + (narrow ? -12 : tall / 2 - 8), t, 9)
        : "";
    // Its number stands over the band, on no bar, and behind what a narrow picture says there.
    const number = (i ? `${sign} ` : "") + values[column]?.toFixed(2).replace("-", "−");
    const anchor = at > x + wide - 70 ? "end" : "start";
    const after = narrow ? Math.max(...bands.slice(0, 3).map((one) => saidWide(`+ ${one.title}`, true))) + 30 : 0;
    const there = anchor === "end" ? at + 3 : Math.max(at - 3, after);
    const value = sum && i < 3 ? label(number, there, top - 6, { anchor, more: "w-strong w-sum" }) : "";
    const line = `<line class="w-zero" x1="${x}" x2="${r(x + wide)}" y1="${r(place.y)}" y2="${r(place.y)}"/>`;
    const through = value && `<line class="w-through" x1="${r(at)}" x2="${r(at)}" y1="${top}" y2="${top + tall}"/>`;
    const drawn = `${says.join("")}${mark}${through}${line}${barsOf(values, place)}${value}`;
    return `<g class="w-band${gone ? " w-out-of-use" : ""}">${drawn}</g>`;
  });
  const whole = bands.length * step;
  return { svg: svgOf(width, whole, drawn.join("")), tall: whole };
}

// What is seen of a part, in two sentences, and how it is drawn in a width.
export function flowSeen({ state, machine, at: { side, box, part }, cell: [t, column], names }) {
  const { run } = state;
  const rowOf = (name) => run.at.get(name).rows[t];
  const tokens = side === "encoder" ? names.source : names.fed;
  if (box.kind === "feed") {
    const look = {
      ...pushed(run, machine, box.name, t),
      names: names.vocabulary,
      fed: tokens[t],
      own: side === "encoder",
    };
    return { says: sayThought(look), draw: (width) => thoughtPicture(look, width) };
  }
  if (box.kind === "output") {
    const [shares, logits, reads] = part.tabs.map(({ name }) => rowOf(name));
    const best = likeliest(shares);
    const says = [
      `After “${bare(tokens[t])}” it writes “${bare(names.vocabulary[best])}”: ${shares[best].toFixed(2)} sure`,
      `Each of ${shares.length} tokens has a row in the table. How well a row fits the last numbers is its score, ` +
        "and softmax makes shares of the scores.",
    ];
    return { says, draw: (width) => outputPicture({ reads, logits, shares, names: names.vocabulary }, width) };
  }
  if (part.key.endsWith(".positions")) {
    const { rows } = run.at.get(part.key);
    const gone = !rows.some((row) => row.some(Boolean));
    const says = [
      gone
        ? "Without positions all places are alike"
        : `“${bare(tokens[t])}” stands at place ${t}, and its hands say so`,
      "Two numbers are the sine and cosine of an angle, as of a clock's hand. From word to word it turns: " +
        "the first by much, the last by little.",
    ];
    return { says, draw: (width) => clocksPicture({ tokens, rows, at: t }, width) };
  }
  const { adds, rows } = bandsOf(box, t, (name) => run.at.get(name).how);
  const bands = rows.map((band) => ({ ...band, values: [...rowOf(band.tab.name)] }));
  const look = { kind: box.kind, adds, bands, t, column };
  return { says: sayBands(box.kind, tokens[t], bands), draw: (width) => bandsPicture({ ...look, width }), bands, adds };
}

export function flowOf({ state, machine, oncell }) {
  const node = element("div", { class: "tl-flow tl-bands" });
  const show = (at, { cell, names }) => {
    node.hidden = at.box.kind === "attention";
    if (node.hidden) return null;
    const seen = flowSeen({ state, machine, at, cell, names });
    const width = Math.floor(node.clientWidth) || 900;
    node.innerHTML = seen.draw(width).svg;
    // A press on the picture chooses the number of that column, where all bands have the same ones.
    node.onclick = ({ offsetX }) => {
      const from = width < NARROW ? 0 : LABEL;
      const n = seen.adds ? seen.bands[0].values.length : 0;
      const column = Math.floor(((offsetX - from) * n) / (width - from));
      if (column >= 0 && column < n) oncell([cell[0], column]);
    };
    return seen;
  };
  return { node, show };
}
