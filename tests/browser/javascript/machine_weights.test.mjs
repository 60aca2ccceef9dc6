// The machine's weights as they arrive.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const { weightsOf } = await load("machine_weights");
const { unpacked } = await load("ui");

test("every matrix and every vector arrives as torch has it", async () => {
  const { weights, n_heads } = await weightsOf(await unpacked(fixtures.model));
  assert.deepEqual([...weights.keys()].sort(), Object.keys(fixtures.arrived).sort());
  for (const [name, numbers] of Object.entries(fixtures.arrived)) {
    const found = weights.get(name);
    assertClose(Array.from(found.data ?? found), numbers, 1e-7);
    if (found.data) assert.equal(found.rows * found.columns, numbers.length);
  }
  assert.equal(n_heads, 2);
});
