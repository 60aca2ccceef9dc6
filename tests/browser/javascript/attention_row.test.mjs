// A row under its words: weights are parts of one bar, scores are bars up and down.

import assert from "node:assert/strict";
import test from "node:test";

import { fakePage, load, notedCanvas } from "./support.mjs";

fakePage();
const { bars, poured } = await load("attention_row");
const place = (s) => (s + 0.5) * 60;

function drawn(draw, row) {
  const { context, calls, texts } = notedCanvas();
  draw(context, row, { step: 60, place, most: Math.max(...row) });
  return { calls, texts: texts() };
}

test("the parts of the bar lie side by side, each as wide as its weight, and make up the whole", () => {
  const { calls, texts } = drawn(poured, [0.125, 0.25, 0.625]);
  const parts = calls.filter(([name]) => name === "fillRect").map(([, [x, , wide]]) => [x, wide]);
  assert.deepEqual(parts, [
    [0, 22.5],
    [22.5, 45],
    [67.5, 112.5],
  ]);
  assert.deepEqual(texts, ["0.13", "0.25", "0.63", "= 1"]);
});

test("a row that may see nothing pours nothing", () => {
  const { calls, texts } = drawn(poured, [0, 0, 0]);
  assert.equal(calls.filter(([name]) => name === "fillRect").length, 0);
  assert.equal(texts.at(-1), "= 0");
});

test("a score above 0 stands on the line, one below hangs from it, and what is hidden has no bar", () => {
  const { calls, texts } = drawn(bars, [2, -1, NaN]);
  const [up, down, line, ...more] = calls.filter(([name]) => name === "fillRect").map(([, all]) => all);
  assert.equal(up[1] + up[3], line[1]);
  assert.equal(down[1], line[1]);
  assert.equal(up[3], 2 * down[3]);
  assert.deepEqual(more, []);
  assert.deepEqual(texts, ["2.00", "−1.00", "hidden"]);
});
