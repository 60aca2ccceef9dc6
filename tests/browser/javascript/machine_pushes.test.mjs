// What a feed-forward network turns into what, and how much each hidden feature pushes: torch's own numbers.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fakePage, fixtures, load } from "./support.mjs";

fakePage();
const [{ behind, pushed }, { stateOf }, { tokenizerOf }, { weightsOf }, { unpacked }] = await Promise.all(
  ["machine_pushes", "machine_state", "machine_tokenizer", "machine_weights", "ui"].map(load),
);
const machine = { ...(await weightsOf(await unpacked(fixtures.model))), symbols: fixtures.tokenizer.symbols };
const begun = () => stateOf({ machine, tokenizer: tokenizerOf(fixtures.tokenizer), text: "one two ten" });

test("guesses and pushes are torch's", () => {
  const { run } = begun();
  assert.deepEqual([...run.src], fixtures.src);
  for (const { name, token, before, after, pushes } of fixtures.pushed) {
    const found = pushed(run, machine, name, 1);
    assert.equal(found.token, token);
    assertClose(found.before, before);
    assertClose(found.after, after);
    assertClose(found.pushes, pushes);
  }
});

test("with what was there before and both biases the pushes make the whole score", () => {
  const { run } = begun();
  const name = "decoder.layers.1.feed_forward";
  const { token, pushes, direction } = pushed(run, machine, name, 1);
  const scores = [...run.at.get("to_logits").rows[1]];
  const along = (row) => direction.reduce((sum, d, j) => sum + d * row[j], 0);
  const { data, rows, columns } = machine.weights.get("to_logits");
  const bias = machine.weights.get(`${behind(name)}.norm.bias`);
  let shift = 0;
  for (let j = 0; j < columns; j += 1) {
    let mean = 0;
    for (let k = 0; k < rows; k += 1) mean += data[k * columns + j] / rows;
    shift += bias[j] * (data[token * columns + j] - mean);
  }
  const parts = [
    along(run.at.get("decoder.layers.1.residual_2").rows[1]),
    along(machine.weights.get(`${name}.w_2.bias`)),
  ];
  const whole = pushes.reduce((a, b) => a + b, 0) + parts[0] + parts[1] + shift;
  assertClose([whole], [scores[token] - scores.reduce((a, b) => a + b, 0) / scores.length], 1e-9);
});

test("a network that is switched off pushes nothing, and a norm that is cut scales nothing", () => {
  const state = begun();
  const name = "encoder.layers.1.feed_forward";
  state.change(state.flipped(name));
  assert.ok(pushed(state.run, machine, name, 0).pushes.every((x) => x === 0));
  state.change(state.flipped(name));
  state.change(state.flipped(`${behind(name)}.norm`));
  const { token, direction } = pushed(state.run, machine, name, 0);
  const { data, rows, columns } = machine.weights.get("to_logits");
  const mean = Array.from({ length: rows }, (_, k) => data[k * columns]).reduce((a, b) => a + b, 0) / rows;
  assertClose([direction[0]], [data[token * columns] - mean], 1e-12);
});
