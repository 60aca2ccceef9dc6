// What five designs keep and know, against Python's numbers, and whether they are drawn to scale.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const view = await load("designs_view");
const { designs, lengths, ages } = fixtures;

test("what is kept of a text", () => {
  for (const { parts, numbers, reaches } of designs) {
    parts.forEach((part, i) => {
      assertClose(
        lengths.map((length) => view.numbersOf(part, length)),
        numbers[i],
      );
      assert.equal(view.reachOf(part), reaches[i]);
    });
  }
});

test("what is known of a token", () => {
  for (const { parts, known } of designs) {
    parts.forEach((part, i) => {
      assertClose(
        ages.map((age) => view.known(part, age, 0.999, 0.3)),
        known[i],
      );
    });
  }
});

test("the area of a number is the same in all designs, and nothing is too high", () => {
  const five = designs.slice(0, 5);
  for (const length of lengths) {
    const scale = view.scaleOf(five, length, 1000, 112);
    assert.ok(length <= scale.most && scale.most * scale.token === 1000);
    for (const { parts } of five) {
      let high = 0;
      for (const part of parts) {
        const block = view.blockOf(part, length, scale);
        const area = block.side === undefined ? (block.to - block.from) * block.high : block.side ** 2;
        const expected = view.numbersOf(part, length) * scale.token * scale.number;
        assert.ok(Math.abs(area / expected - 1) < 1e-9);
        high += block.high ?? 0;
        assert.ok((block.side ?? 0) < 112.001);
      }
      assert.ok(high < 112.001);
    }
  }
});

test("words for what is known", () => {
  const window = { n_layers: 2, numbers: 4, window: 8, state: 0 };
  assert.deepEqual(
    [7, 8, 14, 15].map((age) => view.inWords(window, age, view.known(window, age))),
    ["everything", "at second hand", "at second hand", "nothing"],
  );
  assert.equal(view.inWords({ state: 9, d_key: 3 }, 1, 0.25), "25.0 %");
  assert.equal(view.inWords({ numbers: 576, whole: 40960, window: 0 }, 9, 1), "everything, in 1/71 of the numbers");
});
