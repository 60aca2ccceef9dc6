// What the marks of the map mean.

import assert from "node:assert/strict";
import test from "node:test";

import { fakePage, load } from "./support.mjs";

fakePage();
const { legendOf } = await load("machine_legend");

test("the amber band names the word that is written", () => {
  const legend = legendOf();
  legend.show("ein");
  const [, { children: keys }] = legend.node.children;
  assert.equal(keys[1].textContent, "how much “ein” looks at a word");
  legend.show("vier");
  assert.ok(keys[1].textContent.includes("vier"));
});

test("it is folded until it is asked for; Escape shuts it before it leads anywhere else", () => {
  const { node } = legendOf();
  const press = (key) => {
    let stopped = false;
    node.onkeydown({ key, preventDefault() {}, stopPropagation: () => (stopped = true) });
    return stopped;
  };
  assert.equal(node.children[0].textContent, "what the colours mean");
  node.open = true;
  assert.deepEqual([press("Tab"), node.open], [false, true]);
  assert.deepEqual([press("Escape"), node.open], [true, false]);
  assert.equal(press("Escape"), false);
});
