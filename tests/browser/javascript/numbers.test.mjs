// Small arithmetic that views share.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const { clamp, entropy, numbersIn, softmax } = await load("numbers");

test("clamp keeps a number within its limits", () => {
  assert.deepEqual(
    [-1, 0.5, 7].map((x) => clamp(x, 0, 3)),
    [0, 0.5, 3],
  );
});

test("softmax of equal scores is even, and its entropy the most there can be", () => {
  assert.deepEqual(softmax([2, 2, 2, 2]), [0.25, 0.25, 0.25, 0.25]);
  assert.equal(entropy(softmax([2, 2, 2, 2])), 2);
});

test("the whole numbers in a text are found, and nothing else is", () => {
  assert.deepEqual(numbersIn("3.0.12"), [3, 0, 12]);
  assert.deepEqual(numbersIn("none"), []);
});
