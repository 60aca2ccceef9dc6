// The mask playground's masks, weights and verdicts against torch's.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const masks = await load("masks_view");

test("maskOf makes torch's tables", () => {
  for (const { settings, mask } of fixtures.patterns)
    assert.deepEqual(masks.maskOf(settings), mask, JSON.stringify(settings));
});

for (const { scores, mask, weights, twoLayers, leaks, leaked, blind, heard, wasted } of fixtures.painted) {
  const padding = mask.map((_, s) => s === mask.length - 1);
  const rows = masks.weightsOf(Float32Array.from(scores), mask);

  test(`weightsOf, ${mask.length} tokens: zeros where masked, and no NaN`, () => {
    rows.forEach((row, t) => assertClose(row, weights[t]));
  });

  test(`faults, ${mask.length} tokens`, () => {
    const found = masks.faults(mask, rows, { padding, known: 2 });
    assert.deepEqual([found.leaks, found.blind, found.heard], [leaks, blind, heard]);
    assertClose([found.leaked, found.wasted], [leaked, wasted]);
  });

  test(`twoLayers, ${mask.length} tokens: the boolean product`, () => {
    assert.deepEqual(masks.twoLayers(mask), twoLayers);
  });
}

test("where nothing is allowed nothing leaks", () => {
  const none = [
    [false, false],
    [false, false],
  ];
  const found = masks.faults(none, masks.weightsOf(Float32Array.of(1, 2, 3, 4), none), {
    padding: [false, true],
    known: 0,
  });
  assert.deepEqual(found, { leaks: [], leaked: 0, blind: [0, 1], heard: [], wasted: 0 });
});

test("the seal names the first thing that is wrong", () => {
  const found = { leaks: [], blind: [], heard: [] };
  assert.deepEqual(masks.sealOf(found), { right: true, said: "A sound mask" });
  const one = [[0, 1]];
  assert.deepEqual(masks.sealOf({ ...found, heard: one }), { right: false, said: "Padding is heard" });
  assert.equal(masks.sealOf({ ...found, heard: one, blind: [0] }).said, "A query sees nothing");
  assert.equal(masks.sealOf({ leaks: one, blind: [0], heard: one }).said, "The future leaks");
});
