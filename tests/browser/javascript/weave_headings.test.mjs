// What stands over the columns.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const [{ fitting, headings }, { weaveOf }] = await Promise.all(["weave_headings", "weave_layout"].map(load));
const over = (width) => headings(weaveOf({ width, cross: [[1]], layers: 2 }), { encoder: [[], []] }, { layer: 1 });
const texts = (svg) => [...svg.matchAll(/>([^<]+)<\/text>/g)].map(([, text]) => text);

test("columns have names, the ribbons their layer, and it is said that they are a mean of heads", () => {
  const said = texts(over(1300)).join(" | ");
  for (const text of ["reads", "encoder", "cross-attention, layer 1", "mean of the heads", "decoder", "writes"])
    assert.ok(said.includes(text), text);
});

// From the drawn labels, with letters as wide as they are in the widest of the fonts.
const spans = (svg) =>
  [...svg.matchAll(/x="([\d.]+)" y="(-\d+)" font-size="(\d+)" text-anchor="(\w+)">([^<]+)</g)].map(
    ([, x, y, size, anchor, text]) => {
      const wide = text.length * (size === "15" ? 8.3 : 6.8);
      const from = Number(x) - wide * { start: 0, middle: 0.5, end: 1 }[anchor];
      return { y, from, to: from + wide, text };
    },
  );

test("no text over a column lies over another, at any width", () => {
  for (let width = 620; width <= 1400; width += 4)
    for (const y of ["-31", "-13"]) {
      const line = spans(over(width)).filter((one) => one.y === y);
      line.slice(1).forEach(({ from, text }, i) => assert.ok(from > line[i].to, `${width}: ${line[i].text} | ${text}`));
      assert.ok(line.at(-1).to <= width + 1, `${width}: ${line.at(-1).text}`);
      if (y === "-31") assert.equal(line.length, 5, `${width}: each column keeps a name`);
    }
});

test("of two that meet the wider one gives way, and one that is alone keeps all that it says", () => {
  const column = (at, ...texts) => ({ at, anchor: "middle", texts });
  assert.deepEqual(fitting([column(50, "abcdefghij", "ab"), column(110, "abc")], 10, 200), ["ab", "abc"]);
  assert.deepEqual(fitting([column(100, "abcdefghij", "ab")], 10, 200), ["abcdefghij"]);
  assert.deepEqual(fitting([column(50, "abcdefgh"), column(60, "ab")], 10, 200), ["", "ab"]);
});

test("where there is less room less is said", () => {
  assert.ok(texts(over(800)).join("").length < texts(over(1300)).join("").length);
  assert.deepEqual(texts(over(366)), ["reads · encoder", "attention", "decoder · writes"]);
});
