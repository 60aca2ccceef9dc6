// Which page has the machine's address, and what an address sets.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const [{ pageOf, setOf, settingsOf }, { addressOf, askedOf }] = await Promise.all(
  ["weave_page", "weave_address"].map(load),
);
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

test("the map, and a part that is opened, are steps of the history; all else is none", () => {
  const { did, page } = browser(true, "#s=one&t=1");
  assert.equal(page.asked().text, "one");
  page.write(SET);
  page.write({ ...SET, at: 2 });
  page.write({ ...SET, open: "to_logits" });
  page.write({ ...SET, open: "to_logits" });
  page.write(SET);
  page.write({ ...SET, view: "map" });
  page.write({ ...SET, view: "map", open: "to_logits" });
  page.write({ ...SET, view: "map" });
  const first = ["popstate", "replace", "replace", "push", "replace"];
  assert.deepEqual(did, [...first, "push", "push", "replace"]);
});

test("an address sets what there is, and nothing else", () => {
  const there = {
    cuts: [{ key: "mask", ids: ["a.mask", "b.mask"] }],
    ids: ["a.mask", "b.mask", "c.norm"],
    n_layers: 2,
    partOf: () => undefined,
  };
  const asked = {
    ...{ text: "two".repeat(200), at: undefined, layer: 7, off: ["mask", "c.norm", "nonsense"], open: "" },
    ...{ swaps: [{ key: "nonsense", position: 0 }], other: "", view: "", cell: null },
  };
  const set = settingsOf(asked, there);
  assert.deepEqual([set.at, set.layer, set.text.length, set.swaps.length, set.inside], [null, 1, 300, 0, false]);
  assert.deepEqual([...set.off], ["a.mask", "b.mask", "c.norm"]);
});

test("what an address says of a state is what it sets again: swaps, the map of all, a part and its number", () => {
  const tabs = [{}, {}, {}];
  const parts = { "a.norm": { part: { swap: { part: "a", head: null }, tabs } }, to_logits: { part: { tabs } } };
  const there = { cuts: [], ids: [], n_layers: 2, partOf: (key) => parts[key] };
  const base = { text: "two", at: 1, layer: 0, off: new Set(), other: "ten", trail: [], mode: 0, cell: null, tab: 0 };
  const swaps = [
    { key: "a.norm", part: "a", head: null, position: 2, from: 1 },
    { key: "a.norm", part: "a", head: null, position: 0 },
  ];
  const states = [
    { ...base, swaps: [], inside: false, zoomed: false, fromMap: false },
    { ...base, swaps, inside: true, zoomed: false, fromMap: true, mode: 2 },
    { ...base, swaps, inside: true, zoomed: true, fromMap: false, open: "to_logits", tab: 2, cell: [1, 7] },
  ];
  for (const now of states) {
    const asked = askedOf(`#${addressOf(setOf({ now, cut: [], single: [] }))}`);
    assert.deepEqual(settingsOf(asked, there), now);
  }
});
