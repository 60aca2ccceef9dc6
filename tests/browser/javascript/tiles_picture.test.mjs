// The squares are to each other as the bytes, and the desk has room for what it shows.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const { deskHeight, number, roomOf, scaled } = await load("tiles_picture");

test("the areas of desk and sheet are to each other as their bytes, and the larger has the side", () => {
  for (const { desk, sheet } of fixtures.scales) {
    const sides = scaled(desk, sheet, 200);
    assertClose([sides.desk ** 2 / sides.sheet ** 2], [desk / sheet]);
    assert.equal(Math.max(sides.desk, sides.sheet), 200);
  }
});

test("a larger tile takes a larger desk", () => {
  const wide = (tile) => roomOf(1000, { name: 40, S: 8, tile }).desk;
  assert.ok(wide(8) > wide(4) && wide(4) >= wide(2));
  assert.ok(deskHeight(4, 50) - deskHeight(2, 50) === 100);
});

test("numbers have a minus, and before the first score there is none", () => {
  assert.deepEqual([-1.234, 0, -Infinity].map(number), ["−1.23", "0.00", "−∞"]);
});
