// What becomes of one token in a part: each has its picture, and a press on the bars of an addition chooses a number.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fakePage, fixtures, load } from "./support.mjs";

fakePage();
const [{ flowOf, flowSeen }, { stateOf }, { tokenizerOf }, { weightsOf }, { unpacked }] = await Promise.all(
  ["machine_flow", "machine_state", "machine_tokenizer", "machine_weights", "ui"].map(load),
);
const tokenizer = tokenizerOf(fixtures.tokenizer);
const machine = { ...(await weightsOf(await unpacked(fixtures.model))), symbols: fixtures.tokenizer.symbols };
const begun = () => stateOf({ machine, tokenizer, text: "ten two" });

test("each part has its own picture and its sentence", () => {
  const state = begun();
  const names = state.names();
  const said = (key) => {
    const at = state.partOf(key);
    const { says, draw } = flowSeen({ state, machine, at, cell: [0, 0], names });
    for (const width of [366, 1336]) assert.doesNotMatch(draw(width).svg, /NaN|undefined|width="-/, key);
    return says[0];
  };
  assert.match(said("encoder.layers.1.feed_forward"), /^Feed-forward (turns|makes|moves|leaves) /);
  assert.match(said("src_embedding.positions"), /^“ten” stands at place 0/);
  const best = Math.max(...state.run.steps[0]).toFixed(2);
  assert.equal(said("to_logits"), `After “begin” it writes “${names.written[0].replace("·", "")}”: ${best} sure`);
  assert.match(said("src_embedding.tokens"), /^“ten” and its place become \d+ numbers$/);
});

test("a press on the bars chooses a number where they add up, and an attention has no picture here", () => {
  const state = begun();
  const pressed = [];
  const flow = flowOf({ state, machine, oncell: (cell) => pressed.push(cell) });
  const names = state.names();
  flow.show(state.partOf("src_embedding.tokens"), { cell: [1, 3], names });
  flow.node.onclick({ offsetX: 899 });
  assert.deepEqual(pressed, [[1, machine.d_model - 1]]);
  flow.show(state.partOf("to_logits"), { cell: [0, 3], names });
  flow.node.onclick({ offsetX: 899 });
  assert.equal(pressed.length, 1);
  flow.show(state.partOf("decoder.layers.0.cross_attention.head.0"), { cell: [0, 0], names });
  assert.ok(flow.node.hidden);
});
