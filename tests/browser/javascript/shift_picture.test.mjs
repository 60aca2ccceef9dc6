// Where things stand in the picture of a shift, and what a hand takes hold of.

import assert from "node:assert/strict";
import test from "node:test";

import { fixtures, load } from "./support.mjs";

const { heldAt, highOf, placesOf, scaleOf } = await load("shift_picture");
const now = { query: 12, key: 5, both: 20, position: 3, offset: 5 };

test("a strip that is pulled by the width of three positions lies three places on, and within its bounds", () => {
  const scale = scaleOf(1000, 80);
  assert.equal(placesOf(3 * scale.unit, scale, [-20, 20]), 3);
  assert.equal(placesOf(900, scale, [-20, 20]), 20);
  assert.equal(scale.left + 80 * scale.unit, 1000 - scale.left);
});

test("a hand takes the lower strip, a place on the upper one, and nothing below them", () => {
  for (const pairs of fixtures.pairs) {
    const high = highOf("shift", pairs);
    const held = (y) => heldAt([300, y], { tab: "shift", width: 1000, pairs, now, lies: 5 });
    assert.deepEqual(held(high - 40), { what: "offset", from: 5 });
    assert.deepEqual(held(60), { what: "position" });
    assert.equal(held(high + 1), null);
  }
});

test("on the ruler it takes the query or the key, whichever is nearer, and both between or beside them", () => {
  const { left, unit } = scaleOf(1000, 160);
  const held = (place) => heldAt([left + place * unit, 60], { tab: "RoPE", width: 1000, pairs: 4, now, lies: 0 });
  assert.deepEqual(held(32), { what: "query", from: 12 });
  assert.deepEqual(held(25), { what: "key", from: 5 });
  assert.deepEqual(held(90), { what: "both", from: 20 });
});
