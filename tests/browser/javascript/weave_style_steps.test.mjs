// The style of a part that was opened is its own, in colours of the palette.

import assert from "node:assert/strict";
import test from "node:test";

import { load, selectorsOf } from "./support.mjs";

const [{ STEPS }, { PAPER }] = await Promise.all(["weave_style_steps", "palette"].map(load));

test("every colour that is used is one of the palette, and no letters are smaller than 12 pixels", () => {
  const used = new Set([...STEPS.matchAll(/var\(--tl-([a-z-]+)\)/g)].map(([, name]) => name));
  const known = new Set([...Object.keys(PAPER.light), "serif", "sans", "target", "v"]); // v: how much of a bar
  assert.deepEqual(
    [...used].filter((name) => !known.has(name)),
    [],
  );
  const sizes = [...STEPS.matchAll(/font(?:-size)?: (?:\d+ )?([\d.]+)px/g)].map(([, size]) => Number(size));
  assert.ok(sizes.length > 5 && Math.min(...sizes) >= 12);
});

test("every rule is the machine's own", () => {
  const selectors = selectorsOf(STEPS);
  assert.ok(selectors.length > 10);
  assert.deepEqual(
    selectors.filter((one) => !one.startsWith(".tl-machine")),
    [],
  );
});
