// The machine's sums against torch's.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const { likeliest, linear, mix, ranked, scoresOf, sharesOf } = await load("machine_products");
const list = (rows) => rows.map((row) => Array.from(row));

test("products of any number of rows, with an even and an odd number of results, from any row on", () => {
  for (const { x, weight, bias, y } of fixtures.products) {
    const matrix = { data: Float64Array.from(weight.flat()), rows: weight.length, columns: weight[0].length };
    for (let from = 0; from <= x.length; from += 1) {
      const found = list(linear(x, matrix, bias, from));
      assert.equal(found.length, x.length - from);
      found.forEach((row, t) => assertClose(row, y[from + t], 1e-12));
    }
    const plain = list(linear(x, matrix, null))[0];
    assertClose(
      plain,
      y[0].map((value, i) => value - bias[i]),
      1e-12,
    );
  }
});

test("a row is the same to the last bit, however many are worked out with it", () => {
  for (const { x, weight, bias } of fixtures.products) {
    const matrix = { data: Float64Array.from(weight.flat()), rows: weight.length, columns: weight[0].length };
    const whole = list(linear(x, matrix, bias));
    for (let from = 0; from < x.length; from += 1)
      assert.deepEqual(list(linear(x, matrix, bias, from)), whole.slice(from));
  }
});

test("scores of what is seen, their softmax, and the mixture of the values", () => {
  const { query, keys, values, seen, start, d, scores, shares, mixed } = fixtures.attention;
  const found = scoresOf(query, keys, seen, start, d);
  assertClose(Array.from(found), scores, 1e-12);
  assertClose(Array.from(sharesOf(found)), shares, 1e-12);
  const row = new Float64Array(query.length);
  mix(row, sharesOf(found), values, seen, start, d);
  assertClose(Array.from(row.slice(start, start + d)), mixed, 1e-12);
  assert.ok(row.every((x, j) => x === 0 || (j >= start && j < start + d)));
});

test("the first of the largest", () => {
  assert.equal(likeliest(Float64Array.of(0.1, 0.4, 0.1, 0.4)), 1);
});

test("the likeliest come first, so many or all", () => {
  assert.deepEqual(ranked([0.1, 0.6, 0.3], 2), [1, 2]);
  assert.deepEqual(ranked(Float64Array.of(0.1, 0.6, 0.3)), [1, 2, 0]);
});
