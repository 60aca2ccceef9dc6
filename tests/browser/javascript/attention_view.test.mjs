// The maps of the attention explorer against torch's.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const attention = await load("attention_view");

for (const { name, scores, T, S, options, map } of fixtures.maps) {
  test(`stageMap, ${name}`, () => {
    const rows = attention.stageMap(Float32Array.from(scores), T, S, options);
    assert.equal(rows.length, T);
    rows.forEach((row, t) => assertClose(row, map[t]));
  });
}

test("the fixtures have every stage", () => {
  assert.deepEqual(new Set(fixtures.maps.map(({ options }) => options.stage)), new Set(attention.STAGES));
});

test("the last query is chosen at first, unless it only ends a text", () => {
  assert.equal(attention.lastWord(["the", "cat", "saw", "the", "cat"]), 4);
  assert.equal(attention.lastWord(["begin", "ein", "zig", "end"]), 2);
  assert.equal(attention.lastWord(["end"]), 0);
});
