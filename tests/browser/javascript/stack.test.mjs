// The map of a head, and the mean of all, against torch's.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const { mapOf } = await load("stack");

test("mapOf takes a head of a layer, or the mean of its heads", () => {
  const weights = { data: Float32Array.from(fixtures.weights), shape: fixtures.shape };
  for (const { layer, head, map } of fixtures.maps) {
    const found = mapOf(weights, { layer, head });
    assert.equal(found.length, map.length);
    map.forEach((row, t) => assertClose(found[t], row));
  }
});
