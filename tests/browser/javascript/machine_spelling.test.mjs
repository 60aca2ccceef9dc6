// How numbers are spelled in what the machine has learned from.

import assert from "node:assert/strict";
import test from "node:test";

import { fixtures, load } from "./support.mjs";

const { differenceIn, englishOf, learnedSpelling, spelledOut } = await load("machine_spelling");
const LONG = "nine hundred and ninety-nine thousand, nine hundred and ninety-nine";

test("a number is spelled as in the pairs that the machine has learned", () => {
  for (const [n, name] of fixtures.named) assert.equal(englishOf(n), name);
});

test("digits become words, alone and among words, with their thousands apart or not", () => {
  for (const digits of ["34021", "34,021", "34 021", "34\u202f021", "34.021", "034021"])
    assert.equal(spelledOut(digits), "thirty-four thousand and twenty-one", digits);
  assert.equal(spelledOut("34 thousand and 21"), "thirty-four thousand and twenty-one");
  assert.equal(spelledOut("0"), "zero");
  assert.equal(spelledOut("1000000"), "1000000", "it has learned no millions");
  assert.equal(spelledOut("twelve"), "twelve");
});

test("whatever the spelling, a number has the one that was learned", () => {
  for (const text of [LONG, LONG.replace(",", ""), LONG.replaceAll("-", " "), LONG.replaceAll(" and ", " ")])
    assert.deepEqual(learnedSpelling(text), { number: 999999, text: LONG }, text);
  assert.equal(learnedSpelling("four twenty"), null);
});

test("what a text lacks is named where it is one thing", () => {
  assert.equal(differenceIn(LONG.replace(",", ""), LONG), "a comma");
  assert.equal(differenceIn("One thousand  one", "one thousand and one"), "“and”");
  assert.equal(differenceIn("twenty one", "twenty-one"), "a hyphen");
  assert.equal(differenceIn(LONG.replace(/[,-]/g, " "), LONG), "");
});
