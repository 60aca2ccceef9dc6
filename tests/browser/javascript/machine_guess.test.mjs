// Words with their bars: as long as the numbers say, and below zero to the left.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const { barsOf, guessRows } = await load("machine_guess");
const bars = (svg) =>
  [...svg.matchAll(/class="w-bar" x="([-\d.]+)" y="[-\d.]+" width="([\d.]+)"/g)].map(([, x, w]) => [+x, +w]);

test("a bar fills its share of the room", () => {
  const rows = [
    { word: "ein", value: "0.50", share: 0.5 },
    { word: "·zwei", value: "0.25", share: 0.25 },
  ];
  const svg = guessRows(rows, { x: 10, y: 0, name: 80, wide: 338, pitch: 30, size: 16 });
  assert.deepEqual(bars(svg), [
    [100, 100],
    [100, 50],
  ]);
  assert.match(svg, />zwei</);
});

test("what is below zero goes to the left of it", () => {
  const row = { word: "x", value: "−1", share: -0.25 };
  assert.deepEqual(bars(guessRows([row], { x: 0, y: 0, name: 0, wide: 148, pitch: 20, size: 16, zero: 0.5 })), [
    [25, 25],
  ]);
});

test("bars go up and down by as much as the numbers say", () => {
  const svg = barsOf([1, -2, 0], { x: 0, wide: 30, y: 50, up: 40, down: 40, most: 2 });
  const tall = [...svg.matchAll(/v(-?[\d.]+)/g)].map(([, size]) => Number(size));
  assert.deepEqual(tall, [-20, 40]);
});
