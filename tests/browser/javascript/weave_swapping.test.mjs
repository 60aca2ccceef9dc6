// A word and its replacement, picked in two presses.

import assert from "node:assert/strict";
import test from "node:test";

import { fakePage, load } from "./support.mjs";

fakePage();
const { swappingOf, swapsIn } = await load("weave_swapping");
const apart = (text) => (text.includes("thirty") ? [...text.split(/\W/).keys()].filter((i) => i === 1) : []);

test("a word is offered only where the other text has its tokens in the same places", () => {
  const found = swapsIn("thirty-four", apart);
  assert.deepEqual(
    found.map(({ word }) => word),
    ["four"],
  );
  assert.deepEqual(found[0].others[0], { to: "one", text: "thirty-one", positions: [1] });
});

test("the second press puts it in; the link leads to the parts; leaving gives the focus back", () => {
  const did = [];
  const swapping = swappingOf({
    ...{ state: { reads: "thirty-four", apart }, put: (what) => did.push(what) },
    ...{ parts: () => did.push("parts"), changed: () => did.push("drawn") },
  });
  const opener = document.createElement("button");
  assert.equal(swapping.open(opener), true);
  const named = (name) => swapping.node.querySelectorAll("button").find((one) => one.textContent === name);
  assert.equal(named("four").attributes["aria-pressed"], "true");
  named("six").onclick();
  assert.deepEqual(did, ["drawn", "drawn", { text: "thirty-six", positions: [1] }]);
  assert.equal(swapping.at, null);
  swapping.open(opener);
  named("heads and other parts →").onclick();
  assert.equal(did.at(-1), "parts");
  swapping.open(opener);
  named("leave").onclick();
  assert.equal(document.activeElement, opener);
});

test("a text in which no word has another opens nothing", () => {
  const swapping = swappingOf({ state: { reads: "zero", apart }, put: () => {}, parts: () => {}, changed: () => {} });
  assert.equal(swapping.open(null), false);
  assert.equal(swapping.at, null);
});

test("the words follow the sentence: another has its own, and one without any closes the card", () => {
  const state = { reads: "thirty-four", apart };
  const swapping = swappingOf({ state, put: () => {}, parts: () => {}, changed: () => {} });
  swapping.open(document.createElement("button"));
  const words = () => swapping.node.children[1].children.map((one) => one.textContent);
  const [four] = swapping.node.children[1].children;
  swapping.follow();
  assert.equal(swapping.node.children[1].children[0], four, "of the same sentence nothing is made anew");
  state.reads = "thirty-nine";
  swapping.follow();
  assert.deepEqual(words(), ["nine"]);
  state.reads = "zero";
  swapping.follow();
  assert.equal(swapping.at, null);
});
