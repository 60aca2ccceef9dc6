// What the map says of itself, and of its marks.

import assert from "node:assert/strict";
import test from "node:test";

import { fakePage, load } from "./support.mjs";

fakePage();
const { legendOf } = await load("machine_legend");

test("the sentence and the amber band name the word that is written; a change has a mark of its own", () => {
  const legend = legendOf();
  legend.show({ written: "ein", changed: false });
  assert.match(legend.sentence.textContent, /^The same sentence through every matrix of the model\..* ein$/);
  const keys = legend.keys.children;
  assert.equal(keys[1].textContent, "how much “ein” looks at a word");
  assert.ok(keys.at(-1).hidden);
  legend.show({ written: "vier", changed: true });
  assert.ok(!keys.at(-1).hidden && keys[1].textContent.includes("vier"));
});
