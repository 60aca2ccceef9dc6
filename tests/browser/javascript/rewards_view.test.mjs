// Advantages and right digits against torch's, and where a hole is found.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const view = await load("rewards_view");

test("advantages are torch's", () => {
  fixtures.rewards.forEach((rewards, i) => assertClose(view.advantagesOf(rewards), fixtures.advantages[i]));
});

test("the right digit", () => {
  assert.deepEqual(fixtures.problems.map(view.rightDigit), fixtures.digits);
});

test("a hole is found when more than a tenth is rewarded that is wrong", () => {
  const steps = [0, 0.1, 0.11, 0.5].map((gap) => ({ rewarded: 0.25 + gap, right: 0.25 }));
  assert.equal(view.holeFound(steps), 2);
  assert.equal(view.holeFound(steps.slice(0, 2)), null);
});
