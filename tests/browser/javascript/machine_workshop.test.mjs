// A part seen near, and the map of all: test_view_machine.py goes through it in a browser.

import assert from "node:assert/strict";
import test from "node:test";

import { fakePage, fixtures, load } from "./support.mjs";

fakePage();
const [{ workshopOf }, { stateOf }, { tokenizerOf }, { weightsOf }, { unpacked }] = await Promise.all(
  ["machine_workshop", "machine_state", "machine_tokenizer", "machine_weights", "ui"].map(load),
);
const tokenizer = tokenizerOf(fixtures.tokenizer);
const machine = { ...(await weightsOf(await unpacked(fixtures.model))), symbols: fixtures.tokenizer.symbols };

function workshop(text) {
  const state = stateOf({ machine, tokenizer, text });
  let gone = 0;
  const el = document.createElement("div");
  const parts = { change: (what, anew) => state.change(what, anew), draw: () => {}, away: () => (gone += 1) };
  const me = workshopOf({ el, state, machine, tokenizer, ...parts });
  return {
    state,
    me,
    gone: () => gone,
    button: (name) => me.node.querySelectorAll("button").find((one) => one.textContent === name),
  };
}

test("a swap is proposed: the same sentence with one other word", () => {
  const { state, me, button } = workshop("ten two");
  button("swap").onclick();
  assert.deepEqual([state.now.other, state.hasOther()], ["ten three", true]);
  const [field] = me.node.querySelectorAll("input");
  assert.equal(field.value, "ten three");
  state.change({ other: "one" });
  button("swap").onclick();
  assert.equal(state.now.other, "one", "what was typed stays");
});

test("one step back at a time: from a number that was followed to the part, from there to the weave", () => {
  const { state, me, gone } = workshop("ten two");
  state.change(state.followed({ name: "decoder.layers.1.cross_attention.scores.0", cell: [0, 1] }));
  assert.equal(state.now.trail.length, 1);
  me.sketch.room.hidden = true;
  me.back();
  assert.deepEqual([state.now.trail.length, gone()], [0, 0]);
  me.back();
  assert.equal(gone(), 1);
});

test("a part that was opened from the map of all leads back to it where there is no room for both", () => {
  const { state, me, gone } = workshop("ten two");
  state.change({ zoomed: true, fromMap: true });
  me.sketch.room.hidden = true;
  me.back();
  assert.deepEqual([state.now.zoomed, gone()], [false, 0]);
});
