// What is said of a text, and the numbers in which a change is looked for.

import assert from "node:assert/strict";
import test from "node:test";

import { fixtures, load } from "./support.mjs";

const [{ OTHERS, hintsOn, refusalOf }, { stateOf }, { tokenizerOf }, { weightsOf }, { unpacked }] = await Promise.all(
  ["machine_hints", "machine_state", "machine_tokenizer", "machine_weights", "ui"].map(load),
);
const { named, examples, shipped, small } = fixtures;
const tokenizer = tokenizerOf(shipped.tokenizer);
const stranger = tokenizerOf(small.tokenizer);
const machine = { ...(await weightsOf(await unpacked(shipped.model))), symbols: shipped.tokenizer.symbols };
const translationOf = (text) => stateOf({ machine, tokenizer, text }).written();

test("names of numbers need no hint, in capitals neither", () => {
  for (const text of [...named, ...examples]) {
    assert.deepEqual(hintsOn(text, tokenizer), [], text);
    assert.equal(refusalOf(text), null, text);
  }
  assert.deepEqual(hintsOn("Twenty-One", tokenizer), []);
  assert.equal(translationOf("Twenty-One"), "einundzwanzig");
});

test("a missing hyphen is said", () => {
  assert.deepEqual(hintsOn("two hundred and Twenty  one", tokenizer), ["Write “twenty-one” with a hyphen."]);
});

test("words of numbers that name none are said to be so, once they may be whole", () => {
  const said = ["It has learned no number of this name, and answers all the same."];
  for (const text of ["twenty thirty", "five thousand thousand", "hundred"])
    assert.deepEqual(hintsOn(text, tokenizer), said, text);
  for (const text of ["", "seven hundred and", "seven thousand,", "thirty-"])
    assert.deepEqual(hintsOn(text, tokenizer), [], text);
});

test("what is too large, not whole, empty or no number is refused, and something else offered", () => {
  for (const text of ["1000000", "1 000 000", "1,000,000", "two million"])
    assert.deepEqual(refusalOf(text), {
      says: "That is too large: it has learned numbers below a million.",
      offer: "999 999",
    });
  for (const text of ["3.14", "1,5", "-5", "−5"]) assert.match(refusalOf(text).says, /whole numbers only/, text);
  for (const text of ["", "  ", "!"]) assert.match(refusalOf(text).says, /^Type a number below a million/, text);
  for (const text of ["999999", "0999 999", "34,021", "34.021", "34 021", "Twenty-One", "forty-two!", "nine hundred 7"])
    assert.equal(refusalOf(text), null, text);
});

test("of other words it is said what it would say to them, of one that is begun how it may go on", () => {
  assert.equal(
    refusalOf("hello two", () => "11").says,
    "It knows only numbers, and “hello” is none. Made to answer all the same, it would say 11.",
  );
  assert.equal(refusalOf("hello").says, "It knows only numbers, and “hello” is none.");
  assert.equal(refusalOf("twenty-f").says, "Go on: “four”, “five”, “forty” …");
  assert.match(refusalOf("fort knox").says, /“fort” is none/);
});

test("of what cannot be translated the last sentence stays, and nothing is said of another number", () => {
  const state = stateOf({ machine, tokenizer, text: "forty-two" });
  const { intact } = state;
  state.change({ text: "hello world", at: null }, true);
  assert.deepEqual([state.intact, state.run, state.kept, state.reads], [intact, intact, "forty-two", "forty-two"]);
  assert.match(state.refused.says, /“hello” is none/);
  state.change({ text: "7", at: null }, true);
  assert.deepEqual([state.refused, state.kept, state.written()], [null, "7", "sieben"]);
  const first = stateOf({ machine, tokenizer, text: "hello" });
  assert.ok(first.refused && first.run.target.length, "a page may begin so");
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
  state.change({ text: "thousand thousand" }, true);
  assert.equal(state.mistake(), null, "what is no number has no right answer");
});

test("a machine that has learned something else says nothing of numbers", () => {
  assert.equal(stateOf({ machine, tokenizer, text: "hello" }).refused.offer, "42");
  assert.deepEqual(hintsOn("hello 21 twenty one", stranger), []);
});

test("a change that shows in no token of one number shows in one that is tried", () => {
  assert.deepEqual(OTHERS, examples);
  const state = stateOf({ machine, tokenizer, text: "two hundred and twenty-one" });
  const intact = state.written();
  for (const name of ["src_embedding.positions", "mask"]) {
    const ids = state.ids.filter((id) => id.endsWith(name));
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
