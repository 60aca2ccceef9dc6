// What is proposed for a swap.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const { choicesIn, otherOf } = await load("weave_swap");

test("the first unit becomes the next, and a ten where there is no unit", () => {
  const found = otherOf("thirty-four thousand and twenty-one");
  assert.deepEqual(found, { from: "four", to: "five", text: "thirty-five thousand and twenty-one" });
  assert.equal(otherOf("fourteen and forty").text, "fourteen and fifty"); // no unit within a word
  assert.equal(otherOf("ninety-nine").text, "ninety-one");
});

test("of what is no number nothing is proposed", () => assert.equal(otherOf("hello"), null));

test("a word that could be another is offered all of its kind", () => {
  const found = choicesIn("thirty-four thousand and eleven");
  assert.deepEqual(
    found.map(({ word, others }) => [word, others.length]),
    [
      ["thirty", 7],
      ["four", 8],
      ["eleven", 9],
    ],
  );
  assert.deepEqual(found[1].others[4], { to: "six", text: "thirty-six thousand and eleven" });
});
