// Where a weave's rows and columns stand.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, load } from "./support.mjs";

const { apart, bare, rowsOf, weaveOf, wordsOf } = await load("weave_layout");
const weights = (outputs, inputs) => Array.from({ length: outputs }, () => Array(inputs).fill(1 / inputs));

test("columns stand in their order, within the width, on a phone as on a desk", () => {
  for (const width of [296, 366, 640, 784, 1000, 1336]) {
    for (const layers of [1, 2, 3]) {
      const { columns } = weaveOf({ width, cross: weights(7, 8), layers });
      const places = [columns.name, columns.encoder[0].x, columns.from, columns.to, columns.writes, width];
      places.slice(1).forEach((x, i) => assert.ok(x > places[i], `${width}, ${layers} layers: ${places}`));
      assert.ok(columns.to - columns.from > 40, `${width}, ${layers}: room for ribbons`);
      const last = columns.decoder.at(-1);
      assert.ok(last.x + last.wide < columns.writes);
    }
  }
});

test("every row is within the height, however long the sentence, and has a least height", () => {
  for (const n of [1, 2, 8, 31]) {
    const plan = weaveOf({ width: 1336, cross: weights(n, 8), layers: 2 });
    assert.ok(plan.pitch >= 24 && plan.height >= 400);
    for (const y of [...plan.left, ...plan.right])
      assert.ok(y - plan.pitch / 2 >= -1e-9 && y + plan.pitch / 2 <= plan.height + 1e-9);
    for (const { from, to, wide } of plan.ribbons)
      assert.ok(Math.min(from, to) >= -1e-9 && Math.max(from, to) + wide <= plan.height + 1e-9);
  }
});

test("the fewer tokens are in the middle", () => {
  assertClose(rowsOf(2, 10, 40), [15, 25]);
});

test("a sentence of up to eight tokens has the same height as any other", () => {
  const heights = [1, 4, 8].map((n) => weaveOf({ width: 900, cross: weights(n, n), layers: 2 }).height);
  assert.deepEqual(heights, [400, 400, 400]);
});

test("tokens of one word belong together, and neither a space nor a hyphen nor the end joins", () => {
  const tokens = ["th", "irty-", "four", "·thousand", "·twenty-", "o", "ne", "end"];
  assert.deepEqual(wordsOf(tokens), [
    { first: 0, last: 1, text: "thirty" },
    { first: 5, last: 6, text: "one" },
  ]);
  assert.deepEqual([bare("·and"), bare("·"), bare("end")], ["and", "·", "end"]);
});

test("labels are kept apart, in their order", () => {
  assert.deepEqual(apart([10, 12, 60], 20), [10, 30, 60]);
});

test("a phone that lies on its side has the whole weave in its window", () => {
  const cross = Array.from({ length: 7 }, () => Array(8).fill(0.125));
  for (const width of [640, 844]) {
    const plan = weaveOf({ width, cross, layers: 2, low: true });
    assert.ok(plan.height <= 260 && !plan.narrow);
    assert.ok(plan.size >= 15);
  }
});
