// Slabs: threads that go straight through, and what each token looks at.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const { sideOf } = await load("weave_slabs");
const side = {
  ...{
    side: "decoder",
    slabs: [
      { x: 100, wide: 80 },
      { x: 200, wide: 80 },
    ],
    rows: [20, 60, 100],
    height: 120,
  },
  maps: [
    [[1], [0.9, 0.1], [0.02, 0.5, 0.48]],
    [[1], [0, 1], [0, 0, 1]],
  ],
  ...{ from: 90, to: 300, lit: 2, narrow: false, shown: 3, cut: {} },
};
const count = (svg, text) => svg.split(text).length - 1;

test("a crossing for each pair that looks at the other with a weight that is seen", () => {
  const svg = sideOf(side);
  assert.equal(count(svg, 'class="w-cross'), 2); // 0.9 and 0.5; 0.02 is too faint, and a token is no pair
  assert.equal(count(svg, 'class="w-cross w-lit"'), 1);
  assert.equal(count(svg, "w-thread"), 3);
  assert.equal(count(svg, "w-diamond"), 6);
  assert.ok(svg.includes('data-part="decoder.0.attention"')); // where there is no pointer, a slab is pressed
});

test("what is not written yet has no thread, and a rail no crossings", () => {
  assert.equal(count(sideOf({ ...side, shown: 1 }), "w-thread"), 1);
  assert.equal(count(sideOf({ ...side, narrow: true }), "w-cross"), 0);
});

test("what is cut is drawn otherwise", () => {
  assert.equal(count(sideOf({ ...side, cut: { skip: true } }), "w-severed"), 6);
  assert.equal(count(sideOf({ ...side, cut: { norm: true } }), "w-slab w-gone"), 2);
  assert.equal(count(sideOf({ ...side, cut: { feed: true } }), "w-diamond w-gone"), 6);
});
