// Encodings, shifts and rotary positions against torch's.

import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const shift = await load("shift_view");

test("encode gives one row of the encoding", () => {
  for (const { position, d, row } of fixtures.encodings) assertClose(shift.encode(position, shift.frequencies(d)), row);
});

test("with a frequency for each feature it gives the mistake", () => {
  for (const { position, table } of fixtures.broken)
    assertClose(shift.encode(position, shift.frequencies(table.length, true)), table);
});

test("turned multiplies by the shift matrix", () => {
  for (const { x, offset, moved } of fixtures.shifts) assertClose(shift.turned(x, offset), moved);
});

test("rotary turns a query and a key by their positions", () => {
  for (const { given, query, key, score } of fixtures.rotary) {
    const found = shift.rotary(given.query, given.key, given.at);
    assertClose(found.query, query);
    assertClose(found.key, key);
    assertClose([found.score], score);
  }
});
