// The weights of softmax saturation against torch's.

import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const saturation = await load("saturation_view");

test("weightsAt divides by √d_k or does not", () => {
  for (const { scores, width, scaled, weights } of fixtures.widths) {
    assertClose(saturation.weightsAt(Float32Array.from(scores), width, scaled), weights);
  }
});
