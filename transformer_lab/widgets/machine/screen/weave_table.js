// The weave's numbers as a table: for each output token how much it looks at each input token, and how sure it is.

import { headsOn, meanOf, ofHeads } from "../weave/weave_seen.js";
import { tableSwitch } from "../../shared/ui.js";

export function weaveTable({ state, machine, redraw }) {
  const table = tableSwitch(redraw);
  table.show = () => table.fill(() => linesOf(state, machine));
  return table;
}

export function linesOf({ now, run, names }, { n_heads }) {
  const { source, written } = names();
  const name = `decoder.layers.${now.layer}.cross_attention`;
  const cross = meanOf(run, name, n_heads, now.off);
  const heads = ofHeads(headsOn(name, n_heads, now.off).length, n_heads);
  const head = [`layer ${now.layer}, mean of ${heads}`, ...source, "probability"];
  const lines = run.target.map((id, t) => [
    written[t],
    ...cross[t].map((weight) => weight.toFixed(2)),
    run.steps[t][id].toFixed(2),
  ]);
  return [head, ...lines];
}
