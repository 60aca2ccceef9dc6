// The small marks of a weave.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const { bracket, clock, diamond, escaped, fittedSize, isSpecial, label, pill, sureness, wideOf, word } =
  await load("weave_marks");

test("a token cannot end the picture", () => {
  assert.equal(escaped('<b> & "'), "&lt;b> &amp; &quot;");
  assert.match(word("<x", 1, 2, { size: 20 }), />&lt;x<\/text>$/);
  assert.match(label("a & b", 1, 2), />a &amp; b</);
});

test("a word is as large as it fits, and special tokens are told apart", () => {
  assert.equal(fittedSize("abcd", 25, 100), 25);
  assert.ok(Math.abs(wideOf("siebenhundert") * fittedSize("siebenhundert", 25, 80) - 80) < 1e-9);
  assert.ok(wideOf("wann") > wideOf("nnnn") && wideOf("filt") < wideOf("nnnn"));
  assert.ok(isSpecial("end") && !isSpecial("ein"));
  assert.match(word("end", 0, 0, { size: 20 }), /w-special/);
});

test("a hand has turned by as many radians as the position, and points up at first", () => {
  const end = (t) =>
    clock(0, 0, t, 10, false)
      .match(/x2="([-\d.]+)" y2="([-\d.]+)"/)
      .slice(1)
      .map(Number);
  assert.deepEqual(end(0), [0, -7.8]);
  end(2).forEach((x, i) => assert.ok(Math.abs(x - 7.8 * [Math.sin(2), -Math.cos(2)][i]) < 0.006));
  assert.doesNotMatch(clock(0, 0, 1, 10, true), /w-hand/);
});

test("numbers have two places; a bar is as long as the probability", () => {
  assert.match(pill(0.6543, 0, 0), />0\.65</);
  assert.match(sureness(0.5, 100, 0, 60), />0\.50<.*width="60".*width="30"/);
  assert.doesNotMatch(sureness(0.5, 100, 0, 0), /<rect/);
});

test("what is cut is drawn otherwise, and a bracket says its word", () => {
  assert.match(diamond(5, 5, 4, true), /w-gone/);
  assert.match(bracket("thirty", 50, 10, 60, 15), />thirty</);
});
