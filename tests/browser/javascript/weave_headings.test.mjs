// What stands over the columns.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const [{ headings }, { weaveOf }] = await Promise.all(["weave_headings", "weave_layout"].map(load));
const over = (width) => headings(weaveOf({ width, cross: [[1]], layers: 2 }), { encoder: [[], []] }, { layer: 1 });
const texts = (svg) => [...svg.matchAll(/>([^<]+)<\/text>/g)].map(([, text]) => text);

test("columns have names, the ribbons their layer, and it is said that they are a mean of heads", () => {
  const said = texts(over(1300)).join(" | ");
  for (const text of ["reads", "encoder", "cross-attention, layer 1", "mean of the heads", "decoder", "writes"])
    assert.ok(said.includes(text), text);
});

test("where there is less room less is said", () => {
  assert.ok(texts(over(800)).join("").length < texts(over(1300)).join("").length);
  assert.deepEqual(texts(over(366)), ["reads", "looks · layer 1", "writes"]);
});
