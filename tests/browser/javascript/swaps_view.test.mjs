// The cost of a block with swaps against Python's model.

import assert from "node:assert/strict";
import test from "node:test";

import { fixtures, load } from "./support.mjs";

const swaps = await load("swaps_view");

test("parameters, FLOPs and cache are those of the model that Python builds", () => {
  for (const { on, size, length, cost } of fixtures.costs) {
    assert.deepEqual({ ...swaps.costOf(on, size, length) }, cost, JSON.stringify([on, size, length]));
  }
});

test("a combination has the number whose bits are its swaps", () => {
  for (const { number, on } of fixtures.costs) assert.equal(swaps.numberOf(on), number);
});
