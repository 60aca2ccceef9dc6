// The weights of softmax saturation against torch's.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const saturation = await load("saturation_view");

test("weightsAt divides by √d_k or does not", () => {
  for (const { scores, width, scaled, weights } of fixtures.widths) {
    assertClose(saturation.weightsAt(Float32Array.from(scores), width, scaled), weights);
  }
});

test("a tube glows most when it is half full, and not at all when it is full or empty", () => {
  assert.deepEqual([0, 0.5, 1].map(saturation.glowOf), [0, 1, 0]);
});
