// Both sentences, and whether one is the other's number.

import assert from "node:assert/strict";
import test from "node:test";

import { fakePage, fixtures, load } from "./support.mjs";

fakePage();
const [
  { anotherOf, fitted, judged, sayMistake, topOf, widthIn },
  { OTHERS },
  { stateOf },
  { tokenizerOf },
  { weightsOf },
  { unpacked },
] = await Promise.all(
  ["weave_top", "machine_hints", "machine_state", "machine_tokenizer", "machine_weights", "ui"].map(load),
);
const tokenizer = tokenizerOf(fixtures.tokenizer);
const machine = { ...(await weightsOf(await unpacked(fixtures.model))), symbols: fixtures.tokenizer.symbols };

test("a translation is right if it is the number that was read", () => {
  const says = (english, german) => judged(english, german);
  assert.deepEqual(says("thirty-four", "vierunddreißig"), { asked: 34, said: 34, right: true });
  assert.deepEqual(says("thirty-four", "dreiundvierzig"), { asked: 34, said: 43, right: false });
  assert.deepEqual(says("thirty-four", "vierund"), { asked: 34, said: null, right: false });
  assert.equal(says("hello", "zwei").right, null);
});

test("a wrong answer is said beside the right one, with what it has learned", () => {
  const comma = sayMistake({ number: 999999, spelling: "…" }, 999099, "a comma");
  assert.equal(comma, "It says 999\u202f099, not 999\u202f999. It has learned such numbers");
  assert.match(sayMistake({ number: 21, spelling: "…" }, 20, ""), /It has learned to read$/);
  assert.equal(
    sayMistake({ number: 21, spelling: null }, null, ""),
    "It says no number, not 21. Here it has not learned enough.",
  );
});

test("letters are as large as there is room, from the largest to the least", () => {
  assert.deepEqual([fitted(10, 1000), fitted(20, 500), fitted(100, 500)], [35, 25, 17]);
  assert.equal(widthIn("abcd", "serif"), 2);
});

test("each number leads to another, in a circle", () => {
  assert.equal(anotherOf("no such number"), OTHERS[0]);
  assert.equal(anotherOf(OTHERS.at(-1)), OTHERS[0]);
});

test("what is followed is marked, what a cut has changed stands beside what was, and a part of it while it plays", () => {
  const state = stateOf({ machine, tokenizer, text: "ten two" });
  state.change({ at: 0 });
  const input = document.createElement("input");
  const top = topOf({ state, change: () => {}, tokenizer, input, eos: machine.eos });
  const show = (shown = Infinity) => top.show({ room: 600, shown, family: "serif" });
  const spans = () =>
    top.node.querySelectorAll("span").filter((one) => !/^tl-(hint|why|lacks)/.test(one.getAttribute("class")));
  show();
  assert.equal(input.value, "ten two");
  assert.equal(
    spans()
      .map((one) => one.textContent)
      .join(""),
    tokenizer.decode(state.run.target),
  );
  assert.match(spans()[0].getAttribute("class"), /tl-at/);
  show(1);
  const [, later] = spans();
  assert.equal(later.getAttribute("class"), "tl-later"); // what is not yet written has its room, unseen
  assert.equal(spans()[0].textContent + later.textContent, tokenizer.decode(state.run.target));
  state.change({ off: new Set(["src_embedding.positions", "encoder.layers.0.residual_1.norm"]) });
  show();
  assert.ok(
    spans().some((one) => /tl-new/.test(one.getAttribute("class"))),
    "the example shows nothing",
  );
  const written = spans().filter((one) => /^(tl-new)? (tl-at)?$/.test(one.getAttribute("class")));
  assert.ok(written.length > 1);
  written.forEach((one, t) => {
    const isNew = /tl-new/.test(one.getAttribute("class"));
    assert.equal(isNew, state.replaced[t] !== null, `the sentence and the list agree on token ${t}`);
  });
});
