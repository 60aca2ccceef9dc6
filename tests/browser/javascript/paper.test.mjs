// Paper, ink and thread stand out from each other.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const { PAPER, inPaper } = await load("paper");

const luminance = (hex) => {
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255);
  const linear = [r, g, b].map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
};
const contrast = (one, other) => {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};

test("text stands out by 4.5 to 1 and an edge by 3, by day and by night, on paper and on a page of white or black", () => {
  for (const [theme, page] of [
    ["light", "#ffffff"],
    ["dark", "#111111"],
  ]) {
    const colours = PAPER[theme];
    for (const ground of [colours.paper, page]) {
      for (const text of ["ink", "soft", "amber-ink", "change"])
        assert.ok(contrast(colours[text], ground) >= 4.5, `${theme} ${text}`);
      for (const edge of ["edge", "amber-edge", "thread"])
        assert.ok(contrast(colours[edge], ground) >= 3, `${theme} ${edge}`);
    }
    for (const text of ["ink", "soft"])
      assert.ok(contrast(colours[text], colours.slab) >= 4.5, `${theme} ${text} on a slab`);
    assert.ok(contrast(colours.paper, colours.ink) >= 4.5);
  }
});

test("both themes have the same names, and a style has them as its properties", () => {
  assert.deepEqual(Object.keys(PAPER.light), Object.keys(PAPER.dark));
  assert.match(inPaper("dark"), /--tl-paper: #0e1217; /);
});
