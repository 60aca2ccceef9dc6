// What the tests of the views' JavaScript share: test_javascript.py sets both variables, and starts them.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// The numbers that torch wrote for this module.
export const fixtures = JSON.parse(readFileSync(process.env.FIXTURES, "utf8"));

export const load = (name) => import(pathToFileURL(join(process.env.MODULES, `${name}.js`)));

// Equal to 1e-6; null stands for NaN.
export function assertClose(actual, expected, tolerance = 1e-6) {
  assert.equal(actual.length, expected.length);
  expected.forEach((number, i) => {
    if (number === null) assert.ok(Number.isNaN(actual[i]), `${i}: ${actual[i]} where the mask forbids`);
    else assert.ok(Math.abs(actual[i] - number) <= tolerance, `${i}: ${actual[i]}, torch: ${number}`);
  });
}
