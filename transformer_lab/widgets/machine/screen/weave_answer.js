// The sentence under a weave, from a state: where the followed token looks, and what a cut's part is for, or where it
// looked before a change.

import { PURPOSES } from "../weave/weave_cuts.js";
import { sayLook } from "../weave/weave_say.js";
import { headsOn, meanOf, ofHeads } from "../weave/weave_seen.js";

const MANY = 2; // cuts whose names are said; a single part has a long one

export function answerTo({ state, machine, nameOf, whole, single }) {
  const { now, run, intact } = state;
  const name = `decoder.layers.${now.layer}.cross_attention`;
  const shares = (one, off) => meanOf(one, name, machine.n_heads, off)[now.at] ?? [0];
  const old = intact.target[now.at];
  const before = { token: old === undefined ? undefined : nameOf(old), shares: shares(intact, new Set()) };
  return sayLook({
    ...{ token: nameOf(run.target[now.at]), p: run.steps[now.at][run.target[now.at]], names: state.names().source },
    puts: now.swaps.map(state.swapName).filter(Boolean),
    ...{
      shares: shares(run, now.off),
      layer: now.layer,
      heads: ofHeads(headsOn(name, machine.n_heads, now.off).length, machine.n_heads),
    },
    ...{ before: run === intact ? null : before, cuts: lacksOf(state, whole, single) },
    why: whole.length === 1 && !single.length && !now.swaps.length ? PURPOSES[whole[0].key].join(" ") : "",
  });
}

// What a run lacks, in words: whole cuts by what they take away, single parts by where they stand.
export function lacksOf(state, whole, single) {
  const all = [...whole.map(({ lack }) => lack), ...single.map((id) => state.partOf(id).path.join(" "))];
  return all.length > MANY || single.length > 1 ? [`${all.length} parts`] : all;
}
