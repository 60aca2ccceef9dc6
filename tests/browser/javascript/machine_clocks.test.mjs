// Positions as hands: each hand's angle is that of which the encoding's numbers are sine and cosine.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const [{ clocksPicture }, { encodingOf }] = await Promise.all(["machine_clocks", "machine_model"].map(load));
const tokens = ["one", "·two", "·ten"];
const rows = tokens.map((_, t) => encodingOf(t, 128));

test("a hand points where sine and cosine say", () => {
  for (const width of [366, 1336]) {
    const { svg } = clocksPicture({ tokens, rows, at: 1 }, width);
    assert.doesNotMatch(svg, /NaN|undefined/);
    const hands = [...svg.matchAll(/w-hand" x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)" y2="([\d.]+)"/g)];
    assert.equal(hands.length, 18);
    hands.forEach(([, ...place], i) => {
      const [x1, y1, x2, y2] = place.map(Number);
      const pair = [0, 4, 8, 12, 18, 26][i % 6];
      const [t, angle] = [Math.floor(i / 6), Math.atan2(x2 - x1, y1 - y2)];
      const turned = t / 10000 ** (pair / 64);
      assert.ok(Math.abs(Math.sin((angle - turned) / 2)) < 0.01, `place ${t}, pair ${pair}`);
    });
  }
});

test("without positions no clock has a hand", () => {
  const { svg } = clocksPicture({ tokens, rows: rows.map((row) => row.map(() => 0)), at: 0 }, 1336);
  assert.doesNotMatch(svg, /w-hand/);
  assert.equal(svg.split("w-clock w-gone").length - 1, 18);
});

test("on a phone words of a long sentence stay as large as can be read", () => {
  const long = ["begin", "·vier", "unddreißig", "·tausend", "ein", "undzwan", "zig", "end"];
  const { svg } = clocksPicture({ tokens: long, rows: long.map((_, t) => encodingOf(t, 128)), at: 3 }, 366);
  const sizes = [...svg.matchAll(/w-word[^>]* font-size="([\d.]+)"/g)].map(([, size]) => Number(size));
  assert.equal(sizes.length, 8);
  assert.ok(Math.min(...sizes) >= 12, String(sizes));
});
