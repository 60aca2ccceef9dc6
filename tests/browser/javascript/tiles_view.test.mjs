// The walk of the tiles and what queries remember, against torch's softmax.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const tiles = await load("tiles_view");

for (const { shape, scores, steps } of fixtures.cases) {
  const [T, S, tile, causal] = shape;
  const walk = tiles.tilesOf(T, S, tile, causal);

  test(`the walk, ${shape}`, () => {
    assert.deepEqual(
      walk,
      steps.map(({ rows, columns }) => ({ rows, columns })),
    );
  });

  test(`what is remembered at each step, ${shape}`, () => {
    steps.forEach(({ maximum, total, factor }, step) => {
      const found = tiles.remembered(scores, walk, step, causal);
      assertClose(found.maximum, maximum);
      assertClose(found.total, total);
      assertClose(found.factor, factor);
    });
  });
}

test("the bytes of a tile", () => {
  assert.equal(tiles.tileBytes(2, 64), fixtures.cases[0].steps[0].bytes);
});

test("a walk is first seen in its middle, at a tile before which one of its row was read", () => {
  const starts = [
    [6, 6, 2, false],
    [8, 8, 2, false],
    [7, 7, 3, true],
    [4, 4, 4, false],
  ];
  const seen = starts.map((shape) => tiles.amid(tiles.tilesOf(...shape)));
  assert.deepEqual(seen, [4, 9, 4, 0]);
});

test("a score was read, is in memory or is to come, and the future is hidden", () => {
  const walk = tiles.tilesOf(4, 4, 2, false);
  const row = (t, causal) => [0, 1, 2, 3].map((s) => tiles.stateOf(walk, 1, causal, t, s));
  assert.deepEqual(row(0, false), ["read", "read", "here", "here"]);
  assert.deepEqual(row(3, false), ["coming", "coming", "coming", "coming"]);
  assert.deepEqual(row(0, true), ["read", "future", "future", "future"]);
});
