// What the matrices of a part are called, row by row and column by column.

import assert from "node:assert/strict";
import test from "node:test";

import { fixtures, load } from "./support.mjs";

const { namesOf, valuesOf } = await load("machine_detail");
const { boxesOf } = await load("machine_parts");
const { translated } = await load("machine_model");
const { weightsOf } = await load("machine_weights");
const { unpacked } = await load("ui");
const machine = await weightsOf(await unpacked(fixtures.model));
const run = translated(machine, fixtures.src);
const symbols = fixtures.tokenizer.symbols;
const names = {
  source: run.src.map((id) => symbols[id]),
  fed: [machine.bos, ...run.target.slice(0, -1)].map((id) => symbols[id]),
  vocabulary: symbols,
};

test("every row and every column has a name", () => {
  assert.notEqual(names.source.length, names.fed.length);
  for (const side of ["encoder", "decoder"])
    for (const { parts } of boxesOf(side, machine))
      for (const tab of parts.flatMap((part) => part.tabs)) {
        const values = valuesOf(tab, run);
        const labels = namesOf(tab, values, names);
        assert.deepEqual([labels.rows.length, labels.columns.length], [values.length, values[0].length], tab.name);
        assert.ok(values.every((row) => row.length === values[0].length));
      }
});

test("a head's features are counted in the model, and masked weights are no numbers", () => {
  const query = { name: "decoder.layers.0.self_attention.w_q", columns: "features", from: 8, to: 16 };
  const values = valuesOf(query, run);
  assert.deepEqual(namesOf(query, values, names).columns, ["8", "9", "10", "11", "12", "13", "14", "15"]);
  assert.equal(values[1][2], run.at.get(query.name).rows[1][10]);
  const weights = valuesOf({ name: "decoder.layers.0.self_attention.weights.0", columns: "keys" }, run);
  weights.forEach((row, t) => row.forEach((x, s) => assert.equal(Number.isNaN(x), s > t)));
});
