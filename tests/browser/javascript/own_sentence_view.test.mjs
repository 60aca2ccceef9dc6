// How a weight is told.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const { describe } = await load("own_sentence_view");

test("describe says what a cell means, and where the row looks most", () => {
  const names = { source: ["one", "two"], target: ["eins", "zwei"] };
  const rows = [
    [0.75, 0.25],
    [0.125, 0.875],
  ];
  assert.equal(
    describe(rows, [0, 0], names),
    "To write “eins”, the decoder gives “one” a weight of 0.750, the largest of all.",
  );
  assert.equal(
    describe(rows, [1, 0], names),
    "To write “zwei”, the decoder gives “one” a weight of 0.125; the largest is that of “two”, 0.875.",
  );
});
