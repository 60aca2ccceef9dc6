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

test("pre-norm moves the norms in front, and has a last one", () => {
  const kinds = (on) => {
    const { start, layer, end } = swaps.partsOf(on, 192);
    return [start, layer, end].map((parts) => parts.map(([kind]) => kind).join(" "));
  };
  const none = Array(6).fill(false);
  assert.deepEqual(kinds(none), ["sine", "attention sum norm network sum norm", ""]);
  assert.deepEqual(kinds(none.with(0, true)), ["sine", "norm attention sum norm network sum", "norm"]);
  assert.deepEqual(kinds(none.with(3, true)), ["", "attention sum norm network sum norm", ""]);
});
