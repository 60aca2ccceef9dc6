// What is said of a text, and the numbers in which a change is looked for.

import assert from "node:assert/strict";
import test from "node:test";

import { fixtures, load } from "./support.mjs";

const [{ OTHERS, hintsOn, rangeOf }, { stateOf }, { tokenizerOf }, { weightsOf }, { unpacked }] = await Promise.all(
  ["machine_hints", "machine_state", "machine_tokenizer", "machine_weights", "ui"].map(load),
);
const { named, examples, shipped, small } = fixtures;
const tokenizer = tokenizerOf(shipped.tokenizer);
const stranger = tokenizerOf(small.tokenizer);
const machine = { ...(await weightsOf(await unpacked(shipped.model))), symbols: shipped.tokenizer.symbols };
const translationOf = (text) => stateOf({ machine, tokenizer, text }).written();

test("names of numbers need no hint, in capitals neither", () => {
  for (const text of [...named, ...examples]) assert.deepEqual(hintsOn(text, tokenizer), [], text);
  assert.deepEqual(hintsOn("Twenty-One", tokenizer), []);
  assert.equal(translationOf("Twenty-One"), "einundzwanzig");
});

test("a missing hyphen, numbers that are too large and other words are said", () => {
  assert.deepEqual(hintsOn("two hundred and Twenty  one", tokenizer), ["Write “twenty-one” with a hyphen."]);
  assert.deepEqual(hintsOn("1000000", tokenizer), ["It has learned numbers below a million."]);
  assert.deepEqual(hintsOn("hello two", tokenizer), ["“hello” is no word of the numbers that it has learned."]);
});

test("digits are read in words, and a mistake has its reason and the spelling that mends it", () => {
  const state = stateOf({ machine, tokenizer, text: "34 021" });
  assert.equal(state.reads, "thirty-four thousand and twenty-one");
  assert.deepEqual([state.written(), state.mistake()], ["vierunddreißigtausendeinundzwanzig", null]);
  const learned = "nine hundred and ninety-nine thousand, nine hundred and ninety-nine";
  state.change({ text: learned.replace(",", ""), at: null }, true);
  assert.deepEqual(state.mistake(), { number: 999999, spelling: learned });
  state.change({ text: learned }, true);
  assert.equal(state.mistake(), null);
  state.change({ text: "hello" }, true);
  assert.equal(state.mistake(), null, "what is no number has no right answer");
});

test("a machine that has learned something else says nothing of numbers", () => {
  assert.match(rangeOf(tokenizer), /below a million/);
  assert.equal(rangeOf(stranger), "");
  assert.deepEqual(hintsOn("hello 21 twenty one", stranger), []);
});

test("a change that shows in no token of one number shows in one that is tried", () => {
  assert.deepEqual(OTHERS, examples);
  const state = stateOf({ machine, tokenizer, text: "two hundred and twenty-one" });
  const intact = state.written();
  for (const { name, ids } of state.groups.slice(0, 2)) {
    state.change({ off: new Set(ids) });
    assert.equal(state.written(), intact, name);
    const text = state.example();
    const other = stateOf({ machine, tokenizer, text });
    const before = other.written();
    other.change({ off: new Set(ids) });
    assert.notEqual(other.written(), before, `${name}: ${text}`);
  }
  state.change({ off: new Set() });
  assert.equal(state.example(), undefined);
});
