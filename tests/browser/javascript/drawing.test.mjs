// Ribbons begin and end where they should, as thick as they should.

import assert from "node:assert/strict";
import test from "node:test";

import { load, notedCanvas } from "./support.mjs";

const { pour, ribbon, write } = await load("drawing");
const { SANS, SERIF } = await load("palette");

// The corners of the one shape that was filled.
function corners(draw) {
  const { context, calls } = notedCanvas();
  draw(context);
  assert.equal(calls.at(-1)[0], "fill");
  return calls.flatMap(([name, all]) => (["moveTo", "lineTo", "bezierCurveTo"].includes(name) ? [all.slice(-2)] : []));
}

test("a ribbon has the same thickness at both of its ends", () => {
  const ends = corners((context) => ribbon(context, [10, 40], [90, 20], 6));
  assert.deepEqual(ends, [
    [10, 37],
    [90, 17],
    [90, 23],
    [10, 43],
  ]);
});

test("what is poured is as wide as its spout at the top and as its place at the bottom", () => {
  const ends = corners((context) => pour(context, [10, 0, 4], [50, 30, 20]));
  assert.deepEqual(ends, [
    [8, 0],
    [40, 30],
    [60, 30],
    [12, 0],
  ]);
});

test("words are written in the serif, and labels are not", () => {
  for (const serif of [true, false]) {
    const { context, calls } = notedCanvas();
    write(context, "bank", 1, 2, { size: 17, serif, bold: true });
    const [name, all, { font }] = calls.at(-1);
    assert.deepEqual([name, all.slice(0, 3)], ["fillText", ["bank", 1, 2]]);
    assert.equal(font, `650 17px ${serif ? SERIF : SANS}`);
  }
});
