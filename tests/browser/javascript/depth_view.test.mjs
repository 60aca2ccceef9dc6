// The axis of residual flow: whole powers of ten, with a tick at 1.

import assert from "node:assert/strict";
import test from "node:test";

import { fixtures, load } from "./support.mjs";

const depth = await load("depth_view");
const chart = await load("chart");

test("range takes in all values, from power to power", () => {
  for (const { values, low, high } of fixtures.ranges) {
    const found = depth.range(values);
    assert.ok(
      Math.abs(found.low / low - 1) < 1e-9 && Math.abs(found.high / high - 1) < 1e-9,
      `${values}: ${found.low}, ${found.high}`,
    );
  }
});

test("a tick of the axis stands at 1", () => {
  for (const { values } of fixtures.ranges) {
    const { low, high } = depth.range(values);
    assert.ok(
      chart.powers(low, high, 10).some(([value]) => value === 1),
      `${values}`,
    );
  }
});
