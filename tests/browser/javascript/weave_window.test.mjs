// Of a text without end some rows are drawn.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const { windowed } = await load("weave_window");

const square = (n) => Array.from({ length: n }, (_, t) => Array.from({ length: n }, (_, s) => 100 * t + s));
const seenOf = (n) => ({
  ...{ cross: Array.from({ length: n }, (_, t) => [t, 1 - t]), decoder: [square(n)], leaks: [null] },
  ...{ target: Array.from({ length: n }, (_, t) => ({ text: String(t) })), encoder: [square(3)], source: ["a"] },
});

test("a short text is whole", () => {
  const seen = windowed(seenOf(7), { at: 3, most: 16 });
  assert.deepEqual([seen.first, seen.of, seen.target.length], [0, 7, 7]);
  assert.deepEqual(seen.decoder, [square(7)]);
});

test("of a long text the rows around the followed token are there, with what they see of each other", () => {
  for (const [at, first] of [
    [0, 0],
    [10, 6],
    [30, 23],
  ]) {
    const seen = windowed(seenOf(31), { at, most: 8 });
    assert.deepEqual([seen.first, seen.of], [first, 31]);
    assert.deepEqual(
      seen.target.map(({ text }) => Number(text)),
      Array.from({ length: 8 }, (_, i) => first + i),
    );
    assert.ok(at >= first && at < first + 8);
    assert.deepEqual(seen.cross[2], [first + 2, -1 - first]);
    assert.equal(seen.decoder[0][1][2], 100 * (first + 1) + first + 2);
    assert.deepEqual(seen.leaks, [null]);
  }
});

test("another run is seen from the same first row", () => {
  const seen = windowed(seenOf(7), { at: 5, most: 8, first: 4 });
  assert.deepEqual([seen.first, seen.target.map(({ text }) => text)], [4, ["4", "5", "6"]]);
});
