// What becomes of a token in a part that is no head of an attention, as a picture: additions as bands and arrows;
// positions as clocks; what a feed-forward network turns into what; the shares from which the next word is chosen; and
// what the causal mask shuts.
//   const flow = flowOf({ state, machine, oncell });  // oncell([row, column]): the number whose sum is seen
//   flow.show(at, { cell, names }) → { says, draw }   // `at` is the place of a part, as `state.partOf` gives it

import { bandsOf, bandsPicture, barsFrom, sayBands } from "./machine_bands.js";
import { clocksPicture } from "./machine_clocks.js";
import { likeliest } from "../computing/machine_products.js";
import { outputPicture } from "./machine_output.js";
import { sayShutters, shuttersPicture } from "./machine_shutters.js";
import { sayThought, thoughtPicture } from "./machine_thought.js";
import { pushed } from "../computing/machine_pushes.js";
import { bare } from "../weave/weave_layout.js";
import { meanOf } from "../weave/weave_seen.js";
import { element } from "../../shared/ui.js";

// The mask of a decoder has a picture of its own; what a head of an attention sees is another's.
export const isMask = ({ part }) => part.key.endsWith(".mask");

// What is seen of a part, in two sentences, and how it is drawn in a width.
export function flowSeen({ state, machine, at: { side, box, part }, cell: [t, column], names }) {
  const { run } = state;
  const rowOf = (name) => run.at.get(name).rows[t];
  const tokens = side === "encoder" ? names.source : names.fed;
  if (box.kind === "attention") {
    const mean = (of) => meanOf(of, box.name, machine.n_heads, state.now.off);
    const leaks = state.now.off.has(part.off) ? mean({ at: run.at }) : null;
    const look = { rows: mean(run), tokens: names, at: state.now.at, leaks };
    return { says: sayShutters(look), draw: (width) => shuttersPicture(look, width) };
  }
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
      "Two numbers are the sine and cosine of an angle, as of a clock’s hand. From word to word " +
        "the first hand turns far, the last hardly at all.",
    ];
    return { says, draw: (width) => clocksPicture({ tokens, rows, at: t }, width) };
  }
  const { adds, rows } = bandsOf(box, t, (name) => run.at.get(name).how);
  const bands = rows.map((band) => ({ ...band, values: [...rowOf(band.tab.name)] }));
  const look = { kind: box.kind, adds, bands, t, column };
  return { says: sayBands(box, tokens[t], bands), draw: (width) => bandsPicture({ ...look, width }), bands, adds };
}

export function flowOf({ state, machine, oncell }) {
  const node = element("div", { class: "tl-flow tl-bands" });
  const show = (at, { cell, names }) => {
    node.hidden = at.box.kind === "attention" && !isMask(at);
    if (node.hidden) return null;
    const seen = flowSeen({ state, machine, at, cell, names });
    const width = Math.floor(node.clientWidth) || 900;
    node.innerHTML = seen.draw(width).svg;
    // A press on the picture chooses the number of that column, where all bands have the same ones.
    node.onclick = ({ offsetX }) => {
      const from = barsFrom(width);
      const n = seen.adds ? seen.bands[0].values.length : 0;
      const column = Math.floor(((offsetX - from) * n) / (width - from));
      if (column >= 0 && column < n) oncell([cell[0], column]);
    };
    return seen;
  };
  return { node, show };
}
