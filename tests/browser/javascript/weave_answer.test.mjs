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
  { tokenizerOf },
  { weightsOf },
  { unpacked },
] = await Promise.all(
  [
    ...["weave_answer", "weave_layout", "weave_seen", "weave_cuts", "machine_state"],
    ...["machine_tokenizer", "machine_weights", "ui"],
  ].map(load),
);
const tokenizer = tokenizerOf(fixtures.tokenizer);
const machine = { ...(await weightsOf(await unpacked(fixtures.model))), symbols: fixtures.tokenizer.symbols };
const state = stateOf({ machine, tokenizer, text: "ten two" });
const answer = (lacks = []) => answerTo({ state, machine, nameOf: tokenizer.name, lacks });

test("it names the token that is looked at most in the layer that is seen", () => {
  for (const layer of [0, 1]) {
    state.change({ at: 1, layer });
    const shares = meanOf(state.run, `decoder.layers.${layer}.cross_attention`, 2)[1];
    const most = shares.indexOf(Math.max(...shares));
    const looks = `looks most at “${bare(state.names().source[most])}”: ${shares[most].toFixed(2)} of its attention`;
    assert.ok(answer().includes(looks) && answer().includes(`layer ${layer}`), answer());
  }
});

test("of a cut it says what is lacking, and what was before", () => {
  const [positions] = cutsOf(state.ids);
  state.change({ at: 0, off: new Set(positions.ids) });
  const said = answer(lacksOf(state, [positions], []));
  assert.match(said, /^Without the input's positions it looks most at .*Before it wrote /);
  state.change({ off: new Set() });
});

test("of many parts their number is said", () => {
  const cuts = cutsOf(state.ids);
  assert.deepEqual(lacksOf(state, cuts.slice(0, 1), ["to_logits"]), ["the input's positions", "linear & softmax"]);
  assert.deepEqual(lacksOf(state, cuts.slice(0, 3), []), ["3 parts"]);
});
