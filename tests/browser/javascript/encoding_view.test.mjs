// The encoding, its wavelengths and its dot products against torch's.

import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const encoding = await load("encoding_view");

test("sinusoids is the encoding, row after row", () => {
  for (const { shape, table } of fixtures.tables) assertClose(encoding.sinusoids(...shape), table);
});

test("wavelength of every pair", () => {
  for (const {
    shape: [, d],
    waves,
  } of fixtures.tables)
    assertClose(
      waves.map((_, pair) => encoding.wavelength(pair, d)),
      waves,
    );
});

test("products of one row with every row", () => {
  for (const { table, shape, row, products } of fixtures.products)
    assertClose(encoding.products(table, shape, row), products);
});
