// The style of the machine's parts changes no other view.

import assert from "node:assert/strict";
import test from "node:test";

import { load, selectorsOf } from "./support.mjs";

const { STYLE } = await load("machine_style");

test("every rule is the machine's own", () => {
  const selectors = selectorsOf(STYLE);
  assert.ok(selectors.length > 10);
  assert.deepEqual(
    selectors.filter((one) => !one.startsWith(".tl-machine")),
    [],
  );
});
