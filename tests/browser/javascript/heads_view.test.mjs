// The maps of the heads, their entropy and their diagonality against torch's.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const heads = await load("heads_view");

test("maps, entropies and diagonalities at each temperature", () => {
  for (const { scores, T, S, temperature, map, entropy, diagonality } of fixtures.heads) {
    const logs = Float64Array.from(scores, (score) => score ?? -Infinity);
    const rows = heads.headMap(logs, T, S, temperature);
    rows.forEach((row, t) => assertClose(row, map[t]));
    assertClose([heads.meanEntropy(rows), heads.diagonality(rows)], [entropy, diagonality]);
  }
});

test("diagonality by hand", () => {
  assert.equal(
    heads.diagonality([
      [1, 0],
      [0, 1],
    ]),
    1,
  );
  assert.equal(
    heads.diagonality([
      [0, 1],
      [1, 0],
    ]),
    0,
  );
  assert.equal(
    heads.diagonality([
      [0, 0, 1],
      [0, 1, 0],
    ]),
    0.25,
  ); // from 0 to 1, and from 1 to the middle
  assert.equal(
    heads.diagonality([
      [0, 0],
      [0, 1],
    ]),
    0.5,
  ); // a query that may see nothing counts 0
});
