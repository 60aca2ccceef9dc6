// Maps: pooling against torch's, colours against matplotlib's, and where the keys lead.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const grid = await load("grid");

test("pooled gives the largest or the mean of k × k cells, and of what is left at the edges", () => {
  for (const { k, values, largest, mean } of fixtures.pooled) {
    for (const [means, expected] of [
      [false, largest],
      [true, mean],
    ]) {
      const rows = grid.pooled(values, k, means);
      assert.equal(rows.length, expected.length);
      rows.forEach((row, t) => assertClose(row, expected[t]));
    }
  }
});

test("masked cells do not count; where all are masked, so is the pooled one", () => {
  const values = [
    [NaN, NaN, 1, NaN],
    [NaN, NaN, NaN, 4],
  ];
  assert.deepEqual(grid.pooled(values, 2, false), [[NaN, 4]]);
  assert.deepEqual(grid.pooled(values, 2, true), [[NaN, 2.5]]);
});

test("diverging is the map of the static figures: white in the middle, red below and blue above", () => {
  const shades = Array.from({ length: 101 }, (_, i) => grid.diverging(i / 100));
  assert.deepEqual(
    [0, 50, 100].map((i) => shades[i]),
    [
      [103, 0, 31],
      [247, 247, 247],
      [5, 48, 97],
    ],
  );
  shades.forEach((rgb, i) => assertClose(rgb, fixtures.diverging[i], 4));
});

test("keys lead to cells and never out of the map", () => {
  const to = (key, cell) => grid.keyCursor(key, cell, 3, 5);
  assert.deepEqual(
    [to("ArrowRight", [1, 1]), to("ArrowDown", [1, 1]), to("ArrowLeft", [1, 1]), to("ArrowUp", [1, 1])],
    [
      [1, 2],
      [2, 1],
      [1, 0],
      [0, 1],
    ],
  );
  assert.deepEqual(
    [to("Home", [1, 3]), to("End", [1, 3]), to("PageUp", [1, 3]), to("PageDown", [1, 3])],
    [
      [1, 0],
      [1, 4],
      [0, 3],
      [2, 3],
    ],
  );
  assert.deepEqual(
    [to("ArrowRight", [2, 4]), to("ArrowDown", [2, 4]), to("ArrowLeft", [0, 0]), to("ArrowUp", [0, 0])],
    [
      [2, 4],
      [2, 4],
      [0, 0],
      [0, 0],
    ],
  );
  assert.equal(to("x", [0, 0]), undefined);
});

test("extent passes over what is masked or infinite", () => {
  assert.deepEqual(
    grid.extent([
      [NaN, 2],
      [-Infinity, -1],
    ]),
    [-1, 2],
  );
  assert.deepEqual(grid.extent([[NaN]]), [0, 1]);
});

test("the name of a row leads to its largest cell that is shown, and the name of a column to its own", () => {
  const cells = [
    [0, -1, 5, 9],
    [NaN, -3, -2, 9],
    [NaN, NaN, 7, 9],
  ];
  const box = { left: 50, top: 40, size: 10, first: [0, 0], shown: [3, 3] };
  const at = (x, y, more = {}) => grid.namedCell(cells, { ...box, ...more }, x, y);
  assert.deepEqual([at(20, 45), at(20, 55), at(20, 65)], [[0, 2], [1, 2], [2, 2]]); // prettier-ignore
  assert.deepEqual([at(55, 20), at(65, 20), at(75, 20)], [[0, 0], [0, 1], [2, 2]]); // prettier-ignore
  assert.deepEqual(at(20, 45, { first: [0, 1] }), [0, 3]);
  assert.deepEqual([at(20, 20), at(20, 75), at(85, 20), at(20, 45, { room: [10, 10] })], [null, null, null, null]);
});
