// The weave's numbers as a table.

import assert from "node:assert/strict";
import test from "node:test";

import { fakePage, fixtures, load } from "./support.mjs";

fakePage();
const [{ linesOf, weaveTable }, { stateOf }, { tokenizerOf }, { weightsOf }, { unpacked }] = await Promise.all(
  ["weave_table", "machine_state", "machine_tokenizer", "machine_weights", "ui"].map(load),
);
const tokenizer = tokenizerOf(fixtures.tokenizer);
const machine = { ...(await weightsOf(await unpacked(fixtures.model))), symbols: fixtures.tokenizer.symbols };
const state = stateOf({ machine, tokenizer, text: "ten two" });

test("a line for each output token: the weights add up to one, and the probability stands at its end", () => {
  const [head, ...lines] = linesOf(state, machine);
  assert.deepEqual(head.slice(1), [...state.names().source, "probability"]);
  assert.equal(lines.length, state.run.target.length);
  lines.forEach(([name, ...numbers], t) => {
    assert.equal(name, state.names().written[t]);
    assert.equal(numbers.at(-1), state.run.steps[t][state.run.target[t]].toFixed(2));
    const sum = numbers.slice(0, -1).reduce((all, x) => all + Number(x), 0);
    assert.ok(Math.abs(sum - 1) <= 0.005 * numbers.length);
  });
});

test("it is there when it is asked for", () => {
  const table = weaveTable({ state, machine, redraw: () => table.show() });
  table.show();
  assert.ok(table.room.hidden);
  table.button.onclick();
  assert.equal(table.room.querySelectorAll("tr").length, state.run.target.length + 1);
});
