// The tables of the logit lens against torch's.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const lens = await load("lens_view");

test("the rows of a tensor of two axes, and of three", () => {
  const { cells, shape, third } = fixtures;
  lens.rowsOf({ data: cells, shape }, 2).forEach((row, i) => assertClose(row, third[i]));
  assert.deepEqual(lens.rowsOf({ data: [1, 2, 3, 4, 5, 6], shape: [2, 3] }), [
    [1, 2, 3],
    [4, 5, 6],
  ]);
});

test("where the true next token gains most", () => {
  assert.equal(lens.mostGained(fixtures.truth), fixtures.gained);
});

test("tokens that can be seen", () => {
  assert.deepEqual(["", "\n\n", " a b", "x"].map(lens.visible), ["pad", "⏎⏎", "␣a␣b", "x"]);
});
