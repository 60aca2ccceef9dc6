// How one head looks: its scores, its weights, and the sum behind a score.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fakePage, fixtures, load } from "./support.mjs";

fakePage();
const [{ stepsOf, waterfallOf }, { headsSeen }, { stateOf }, { tokenizerOf }, { weightsOf }, { unpacked }] =
  await Promise.all(
    ["weave_steps", "weave_heads", "machine_state", "machine_tokenizer", "machine_weights", "ui"].map(load),
  );
const tokenizer = tokenizerOf(fixtures.tokenizer);
const machine = { ...(await weightsOf(await unpacked(fixtures.model))), symbols: fixtures.tokenizer.symbols };
const state = stateOf({ machine, tokenizer, text: "ten two" });
const name = "decoder.layers.1.cross_attention";
const seen = headsSeen({ run: state.run, names: state.names(), at: 1, name, n_heads: 2 });

test("a waterfall's steps follow one another from nothing to the whole sum, the largest first", () => {
  const terms = [0.5, -3, 2, 0.25, 1, -0.125, 4].map((product) => ({ product }));
  const { lines, total } = waterfallOf(terms, 3);
  assert.deepEqual(
    lines.map(({ from, to, n }) => [from, to, n]),
    [
      [0, 4, undefined],
      [4, 1, undefined],
      [1, 3, undefined],
      [3, 4.625, 4],
    ],
  );
  assert.equal(total, 4.625);
});

test("scores and weights are the run's, and the sum's factors lead to where they come from", () => {
  const went = [];
  const steps = stepsOf({ state, machine, goto: (number) => went.push(number) });
  steps.show(state.partOf(`${name}.head.1`), seen);
  const buttons = steps.node.querySelectorAll("button");
  const columns = buttons.filter((one) => one.attributes["aria-pressed"] !== undefined);
  const [weights, scores] = ["weights", "scores"].map((kind) => [...state.run.at.get(`${name}.${kind}.1`).rows[1]]);
  assert.equal(columns.length, weights.length);
  columns.forEach((one, s) => {
    const said = one.attributes["aria-label"];
    assert.ok(said.endsWith(`weight ${weights[s].toFixed(2)}`), said);
    assert.ok(said.includes(`score ${scores[s] < 0 ? "−" : ""}${Math.abs(scores[s]).toFixed(1)}`), said);
  });
  const pressed = columns.findIndex((one) => one.attributes["aria-pressed"] === "true");
  assert.equal(pressed, weights.indexOf(Math.max(...weights)));
  const factors = buttons.filter((one) => one.attributes["aria-pressed"] === undefined);
  factors[0].onclick({});
  assert.equal(went[0].name, `${name}.w_q`);
  assertClose([went[0].cell[0]], [1], 0);
});

test("a head that is off has no scores and no sum, and says so; on again, it has them", () => {
  const steps = stepsOf({ state, machine, goto: () => {} });
  const part = state.partOf(`${name}.head.1`);
  steps.show(part, { ...seen, on: [0] });
  assert.match(steps.node.textContent, /^Head 1 is off\. It writes zeros for /);
  assert.equal(steps.node.querySelectorAll("button").length, 0);
  steps.show(part, seen);
  assert.ok(steps.node.querySelectorAll("button").length > 2);
});

test("what is no attention has no steps", () => {
  const steps = stepsOf({ state, machine, goto: () => {} });
  steps.show(state.partOf("to_logits"), null);
  assert.ok(steps.node.hidden);
});
