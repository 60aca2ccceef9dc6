// The sentence under a weave, of a state.

import assert from "node:assert/strict";
import test from "node:test";

import { fixtures, load } from "./support.mjs";

const [
  { answerTo, lacksOf },
  { bare },
  { meanOf },
  { cutsOf },
  { stateOf },
  { translated },
  { tokenizerOf },
  { weightsOf },
  { unpacked },
] = await Promise.all(
  [
    ...["weave_answer", "weave_layout", "weave_seen", "weave_cuts", "machine_state", "machine_model"],
    ...["machine_tokenizer", "machine_weights", "ui"],
  ].map(load),
);
const tokenizer = tokenizerOf(fixtures.tokenizer);
const machine = { ...(await weightsOf(await unpacked(fixtures.model))), symbols: fixtures.tokenizer.symbols };
const state = stateOf({ machine, tokenizer, text: "ten two" });
const answer = (whole = [], single = []) => answerTo({ state, machine, nameOf: tokenizer.name, whole, single });

test("it names the token that is looked at most in the layer that is seen", () => {
  for (const layer of [0, 1]) {
    state.change({ at: 1, layer });
    const shares = meanOf(state.run, `decoder.layers.${layer}.cross_attention`, 2)[1];
    const most = shares.indexOf(Math.max(...shares));
    const looks = `looks most at “${bare(state.names().source[most])}”: ${shares[most].toFixed(2)} of its attention`;
    assert.ok(answer().includes(looks) && answer().includes(`layer ${layer}`), answer());
  }
});

test("of a cut it says what is lacking and what that is for, of other changes what was before", () => {
  const [positions] = cutsOf(state.ids);
  state.change({ at: 0, off: new Set(positions.ids) });
  assert.match(
    answer([positions]),
    /^Without the input’s positions it looks most at .* Positions matter, because .*\.$/,
  );
  assert.match(answer([], positions.ids), /Before it wrote /);
  state.change({ off: new Set() });
});

test("without positions another order of the words is the same to it, as is said", () => {
  const [{ ids }] = cutsOf(state.ids);
  const [a, b, end] = state.run.src;
  const sure = (off) =>
    [
      [a, b, end],
      [b, a, end],
    ].map((src) => translated(machine, src, { off, swaps: [] }).steps[0]);
  const apart = ([one, other]) => Math.max(...one.map((p, i) => Math.abs(p - other[i])));
  assert.ok(apart(sure(new Set(ids))) < 1e-6);
  assert.ok(apart(sure(new Set())) > 1e-5);
});

test("of many parts their number is said", () => {
  const cuts = cutsOf(state.ids);
  assert.deepEqual(lacksOf(state, cuts.slice(0, 1), ["to_logits"]), ["the input’s positions", "linear & softmax"]);
  assert.deepEqual(lacksOf(state, cuts.slice(0, 3), []), ["3 parts"]);
});
