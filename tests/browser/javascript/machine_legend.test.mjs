// What the marks of the map mean.

import assert from "node:assert/strict";
import test from "node:test";

import { fakePage, load } from "./support.mjs";

fakePage();
const { legendOf } = await load("machine_legend");

test("the amber band names the word that is written; a change has a mark of its own", () => {
  const legend = legendOf();
  legend.show({ written: "ein", changed: false });
  const keys = legend.node.children;
  assert.equal(keys[1].textContent, "how much “ein” looks at a word");
  assert.ok(keys.at(-1).hidden);
  legend.show({ written: "vier", changed: true });
  assert.ok(!keys.at(-1).hidden && keys[1].textContent.includes("vier"));
});
