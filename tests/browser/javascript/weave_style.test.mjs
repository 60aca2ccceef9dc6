// The colours of a weave stand out from the paper, and its style is its own.

import assert from "node:assert/strict";
import test from "node:test";

import { load, selectorsOf } from "./support.mjs";

const [{ WEAVE }, { PAPER }] = await Promise.all(["weave_style", "palette"].map(load));

test("every colour that is used is one of the palette, and every rule is the machine's own", () => {
  const used = new Set([...WEAVE.matchAll(/var\(--tl-([a-z-]+)\)/g)].map(([, name]) => name));
  const known = new Set([...Object.keys(PAPER.light), "serif", "sans", "target"]);
  assert.deepEqual(
    [...used].filter((name) => !known.has(name)),
    [],
  );
  const selectors = selectorsOf(WEAVE);
  assert.ok(selectors.length > 10);
  assert.deepEqual(
    selectors.filter((selector) => !selector.startsWith(".tl-machine")),
    [],
  );
});

test("no letters are smaller than 12 pixels", () => {
  const sizes = [...WEAVE.matchAll(/font(?:-size)?: (?:\d+ )?([\d.]+)px/g)].map(([, size]) => Number(size));
  assert.ok(sizes.length > 5 && Math.min(...sizes) >= 12);
});
