// What is proposed for a swap.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const { otherOf } = await load("weave_swap");

test("the first unit becomes the next, and a ten where there is no unit", () => {
  const found = otherOf("thirty-four thousand and twenty-one");
  assert.deepEqual(found, { from: "four", to: "five", text: "thirty-five thousand and twenty-one" });
  assert.equal(otherOf("fourteen and forty").text, "fourteen and fifty"); // no unit within a word
  assert.equal(otherOf("ninety-nine").text, "ninety-one");
});

test("of what is no number nothing is proposed", () => assert.equal(otherOf("hello"), null));
