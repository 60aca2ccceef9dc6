// The same colour for the same thing in views and in the static figures.

import assert from "node:assert/strict";
import test from "node:test";

import { fixtures, load } from "./support.mjs";

const palette = await load("palette");

test("series have the colours of the figures, in their order", () => {
  assert.deepEqual(palette.COLOURS, fixtures.colours);
});

test("what has a colour of its own has the same one in the figures", () => {
  assert.deepEqual(palette.MEANINGS, fixtures.meanings);
});

test("a mixture begins and ends at its colours", () => {
  const [one, other] = [
    [0, 10, 200],
    [100, 20, 0],
  ];
  assert.deepEqual(palette.mixed(one, other, 0), one);
  assert.deepEqual(palette.mixed(one, other, 1), other);
  assert.deepEqual(palette.mixed(one, other, 0.5), [50, 15, 100]);
});
