// The sum behind every number of a run.

import assert from "node:assert/strict";
import test from "node:test";

import { fixtures, load } from "./support.mjs";

const { explained } = await load("machine_sums");
const { NOTHING, translated } = await load("machine_model");
const { weightsOf } = await load("machine_weights");
const { unpacked } = await load("ui");
const machine = { ...(await weightsOf(await unpacked(fixtures.model))), symbols: fixtures.tokenizer.symbols };
const OFF = [
  ...["src_embedding.positions", "encoder.layers.0.residual_1.norm", "encoder.layers.1.residual_2.skip"],
  ...[
    "decoder.layers.0.cross_attention.head.1",
    "decoder.layers.1.feed_forward",
    "decoder.layers.0.self_attention.mask",
  ],
];

const eachNumber = (run, visit) => {
  for (const [name, { rows }] of run.at)
    rows.forEach((row, t) => row.forEach((value, j) => visit(explained(run, machine, name, t, j), value, name, t, j)));
};

for (const [title, changes] of [
  ["of the whole machine", NOTHING],
  ["with parts switched off", { off: new Set(OFF), swaps: [] }],
]) {
  test(`products and the rest add up to every number ${title}`, () => {
    const run = translated(machine, fixtures.src, changes);
    const kinds = new Map();
    eachNumber(run, ({ terms, rest, steps, text }, value, name, t, j) => {
      assert.ok(text.length > 5 && !text.includes("undefined") && !/NaN/.test(text), `${name}: ${text}`);
      for (const { from } of [...terms, ...steps])
        assert.ok(run.at.get(from.name).rows[from.cell[0]].length > from.cell[1]);
      kinds.set(run.at.get(name).how.kind, terms.length);
      if (!terms.length) return;
      const sum = [...terms.map(({ product }) => product), ...rest.map((one) => one.value)].reduce((a, b) => a + b, 0);
      assert.ok(Math.abs(sum - value) < 1e-9, `${name} ${t} ${j}: ${sum} ${value}`);
      for (const { a, b, product } of terms) assert.ok(Math.abs(a * b - product) < 1e-12);
    });
    const { d_model, n_heads } = machine;
    assert.deepEqual([kinds.get("scores"), kinds.get("sum")].filter((n) => n > 0 && n <= d_model / n_heads).length, 2);
  });
}

test("a number behind a term is the number", () => {
  const run = translated(machine, fixtures.src);
  eachNumber(run, ({ terms }) => {
    for (const { a, from } of terms) assert.equal(run.at.get(from.name).rows[from.cell[0]][from.cell[1]], a);
  });
});

test("what was swapped says so", () => {
  const swap = {
    part: "encoder.layers.0.feed_forward",
    head: null,
    position: 1,
    value: new Float64Array(machine.d_model),
  };
  const run = translated(machine, fixtures.src, { off: new Set(), swaps: [swap] });
  assert.match(explained(run, machine, swap.part, 1, 0).text, /other sentence/);
  assert.doesNotMatch(explained(run, machine, swap.part, 0, 0).text, /other sentence/);
});
