// Number words as numerals, and what is no number.

import assert from "node:assert/strict";
import test from "node:test";

import { fixtures, load } from "./support.mjs";

const { numeral, readEnglish, readGerman } = await load("machine_numerals");

test("every name of a number is read as that number, in both languages", () => {
  for (const [n, english, german] of fixtures.named) {
    assert.equal(readEnglish(english), n, english);
    assert.equal(readGerman(german), n, german);
  }
});

test("what is no number is none", () => {
  for (const text of [
    "",
    "and",
    "four twenty",
    "twenty four",
    "twenty-ten",
    "ten-one",
    "one thousand thousand",
    "forty-",
  ])
    assert.equal(readEnglish(text), null, text);
  const strange = [
    "",
    "viertausendausendnuzig",
    "einein",
    "zehnundzwanzig",
    "einundzehn",
    "hundertneunundhundert",
    "undzwanzig",
  ];
  for (const text of strange) assert.equal(readGerman(text), null, text);
});

test("thousands stand apart", () => {
  assert.deepEqual([7, 999, 1000, 34021, 987654].map(numeral), [
    "7",
    "999",
    "1\u202f000",
    "34\u202f021",
    "987\u202f654",
  ]);
});
