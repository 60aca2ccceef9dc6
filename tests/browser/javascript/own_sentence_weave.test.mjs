// A weave against torch's weights: what is largest, where ribbons begin and end, and how thick they are.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load, notedCanvas } from "./support.mjs";

const weave = await load("own_sentence_weave");
const { rows, largest } = fixtures;

test("argmax finds the largest weight, of equals the first", () => {
  assert.deepEqual(rows.map(weave.argmax), largest);
  assert.equal(weave.argmax([0.5, 0.5]), 0);
});

test("the ribbons into a word fill its row, and those from a word stay in its row", () => {
  const all = weave.stacked(rows);
  for (const ends of all) {
    assertClose([ends[0].to - ends[0].weight / 2, ends.at(-1).to + ends.at(-1).weight / 2], [-0.5, 0.5], 1e-5);
    ends.slice(1).forEach((one, i) => {
      assertClose([one.to - ends[i].to], [(one.weight + ends[i].weight) / 2]); // one upon the other
    });
  }
  for (const { from } of all.flat()) assert.ok(Math.abs(from) <= 0.5);
});

test("a place tells the word of a side, and nothing in the middle or beyond the last word", () => {
  for (let width = 280; width <= 720; width += 40) {
    const layout = weave.layoutOf(width, 5, 7);
    assert.ok(layout.left < layout.right && layout.high > layout.middle("target", 6));
    assert.deepEqual(weave.placeAt(layout, [10, layout.middle("source", 3)]), { side: "source", place: 3 });
    assert.deepEqual(weave.placeAt(layout, [width - 10, layout.middle("target", 6)]), { side: "target", place: 6 });
    assert.equal(weave.placeAt(layout, [width / 2, layout.middle("source", 3)]).side, null);
    assert.equal(weave.placeAt(layout, [10, layout.middle("source", 5)]).side, null);
  }
});

test("the chosen word's ribbons are lit, as thick as their weights, and the large ones are numbered", () => {
  const { context, calls, texts } = notedCanvas();
  const words = { source: [..."abcde"], target: [..."uvwxyz"] };
  const { row } = weave.paint({ resize: () => context }, { width: 600, rows, ...words, at: 2, from: null });
  const shown = rows.flat().filter((weight) => weight >= 0.02);
  const ribbons = calls.filter(([name]) => name === "bezierCurveTo");
  assert.equal(ribbons.length, 2 * shown.length);
  const lines = calls.filter(([name]) => name === "lineTo").slice(-rows[2].filter((weight) => weight >= 0.02).length);
  const upper = lines.map(([, [, y]], i) => y - ribbons[ribbons.length - 2 * lines.length + 2 * i][1][5]);
  assertClose(
    upper,
    rows[2].filter((weight) => weight >= 0.02).map((weight) => weight * row * 0.84),
  );
  for (const weight of rows[2]) assert.equal(texts().includes(weight.toFixed(2)), weight >= 0.1);
});
