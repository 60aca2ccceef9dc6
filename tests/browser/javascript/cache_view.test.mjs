// The cost of a cache against Python's formulas.

import assert from "node:assert/strict";
import test from "node:test";

import { fixtures, load } from "./support.mjs";

const cache = await load("cache_view");

test("bytes and FLOPs are those of Python, to the last digit", () => {
  for (const { size, length, bytes, work } of fixtures.costs) {
    assert.equal(cache.bytesOf(size, length, 3, 4), bytes);
    assert.deepEqual(cache.workOf(size, length), work, JSON.stringify([size, length]));
  }
});

test("units are decimal, with three digits", () => {
  const written = [0, 1, 999, 1000, 1536, 999_600, 37_748_736, 1e9, 2.5e21].map((value) => cache.inUnits(value, "B"));
  assert.deepEqual(written, ["0 B", "1 B", "999 B", "1 kB", "1.54 kB", "1 MB", "37.7 MB", "1 GB", "2.5 ZB"]);
});

test("a shelf is filled to scale, and a compartment that holds it all is opened", () => {
  const [laptop] = cache.shelves(4e9);
  assert.deepEqual(laptop, { capacity: 16e9, full: 16, laptops: 1 });
  const levels = cache.shelves(1e6);
  assert.equal(levels.length, 3);
  for (const { capacity, full } of levels) assert.ok(Math.abs((full / 64) * capacity - 1e6) < 1e-3);
  assert.deepEqual(cache.shelves(40e9), [{ capacity: 16e9, full: 64, laptops: 2.5 }]);
});
