// Which page has the machine's address, and what an address sets.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const { pageOf, settingsOf } = await load("weave_page");
const SET = { text: "two", at: 1, layer: 0, off: [], open: "" };

function browser(owns, hash = "") {
  const did = [];
  globalThis.location = { hash };
  globalThis.window = { addEventListener: (name) => did.push(name) };
  const go = (kind) => (_, __, address) => (did.push(kind), (location.hash = address));
  globalThis.history = { pushState: go("push"), replaceState: go("replace") };
  return { did, page: pageOf({ isConnected: true, closest: () => (owns ? {} : null) }, { onback: () => {} }) };
}

test("a page that is not the machine's keeps its address, and asks nothing of it", () => {
  const { did, page } = browser(false, "#s=one");
  assert.equal(page.asked(), null);
  page.write(SET);
  assert.deepEqual([did, location.hash], [[], "#s=one"]);
});

test("opening a part is a step of the history, all else is none", () => {
  const { did, page } = browser(true, "#s=one&t=1");
  assert.equal(page.asked().text, "one");
  page.write(SET);
  page.write({ ...SET, at: 2 });
  page.write({ ...SET, open: "to_logits" });
  page.write({ ...SET, open: "to_logits" });
  page.write(SET);
  assert.deepEqual(did, ["popstate", "replace", "replace", "push", "replace"]);
});

test("an address sets what there is, and nothing else", () => {
  const there = {
    cuts: [{ key: "mask", ids: ["a.mask", "b.mask"] }],
    ids: ["a.mask", "b.mask", "c.norm"],
    n_layers: 2,
  };
  const asked = { text: "two".repeat(200), at: undefined, layer: 7, off: ["mask", "c.norm", "nonsense"], open: "" };
  const set = settingsOf(asked, there);
  assert.deepEqual([set.at, set.layer, set.text.length], [0, 1, 300]);
  assert.deepEqual([...set.off], ["a.mask", "b.mask", "c.norm"]);
});
