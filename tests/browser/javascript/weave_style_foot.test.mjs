// The style of what stands under a weave is its own, in colours of the palette.

import assert from "node:assert/strict";
import test from "node:test";

import { load, selectorsOf } from "./support.mjs";

const [{ FOOT }, { PAPER }] = await Promise.all(["weave_style_foot", "palette"].map(load));

test("every colour that is used is one of the palette, and no letters are smaller than 12 pixels", () => {
  const used = new Set([...FOOT.matchAll(/var\(--tl-([a-z-]+)\)/g)].map(([, name]) => name));
  const known = new Set([...Object.keys(PAPER.light), "serif", "sans", "target"]);
  assert.deepEqual(
    [...used].filter((name) => !known.has(name)),
    [],
  );
  const sizes = [...FOOT.matchAll(/font(?:-size)?: (?:\d+ )?([\d.]+)px/g)].map(([, size]) => Number(size));
  assert.ok(sizes.length > 5 && Math.min(...sizes) >= 12);
});

test("every rule is the machine's own", () => {
  const selectors = selectorsOf(FOOT);
  assert.ok(selectors.length > 10);
  assert.deepEqual(
    selectors.filter((one) => !one.startsWith(".tl-machine")),
    [],
  );
});
