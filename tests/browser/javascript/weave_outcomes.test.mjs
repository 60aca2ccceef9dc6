// What each cut makes a sentence become, worked out in quiet.

import assert from "node:assert/strict";
import test from "node:test";

import { fixtures, load } from "./support.mjs";

const [{ outcomesOf }, { cutsOf }, { stateOf }, { tokenizerOf }, { weightsOf }, { unpacked }] = await Promise.all(
  ["weave_outcomes", "weave_cuts", "machine_state", "machine_tokenizer", "machine_weights", "ui"].map(load),
);
const tokenizer = tokenizerOf(fixtures.tokenizer);
const machine = { ...(await weightsOf(await unpacked(fixtures.model))), symbols: fixtures.tokenizer.symbols };

function outcomes() {
  const state = stateOf({ machine, tokenizer, text: "ten two" });
  const waiting = [];
  const me = { state, waiting, done: 0, cuts: cutsOf(state.ids) };
  me.outcomes = outcomesOf({
    ...{ cuts: me.cuts, state, machine, decode: tokenizer.decode, done: () => (me.done += 1) },
    ...{ later: (act) => waiting.push(act), idle: (act) => waiting.push(act) },
  });
  me.work = () => {
    while (waiting.length) waiting.shift()();
  };
  return me;
}

test("each is that of the run in which the cut is made", () => {
  const me = outcomes();
  me.outcomes.follow();
  me.work();
  assert.equal(me.done, 1);
  for (const { key, ids } of me.cuts) {
    me.state.change({ off: new Set(ids) });
    const { text, changed } = me.outcomes.of.get(key);
    assert.equal(text, tokenizer.decode(me.state.run.target), key);
    assert.equal(changed, String(me.state.run.target) !== String(me.state.intact.target), key);
  }
  assert.ok(
    [...me.outcomes.of.values()].some(({ changed }) => changed),
    "the example shows nothing",
  );
});

test("another text begins anew, and what was begun for the one before is left", () => {
  const me = outcomes();
  me.outcomes.follow();
  me.waiting.shift()();
  me.state.change({ text: "one" }, true);
  me.outcomes.follow();
  assert.equal(me.outcomes.of.size, 0);
  me.waiting.shift()(); // of the first text
  assert.equal(me.outcomes.of.size, 0);
  me.work();
  assert.equal(me.outcomes.of.size, 6);
});

test("a cut that was made is known at once, the others are not", () => {
  const me = outcomes();
  me.outcomes.follow();
  me.state.change({ off: new Set(me.cuts[0].ids) });
  assert.equal(me.outcomes.see(me.cuts[0]).text, tokenizer.decode(me.state.run.target));
  me.work();
  assert.deepEqual([...me.outcomes.known], ["positions"]);
  assert.equal(me.outcomes.of.size, 6);
});
