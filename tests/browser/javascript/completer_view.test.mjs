// Texts as tokens, and the tokens with bars, as the package has them.

import assert from "node:assert/strict";
import test from "node:test";

import { fixtures, load } from "./support.mjs";

const completer = await load("completer_view");

test("a text becomes the tokens of the package", () => {
  assert.deepEqual(completer.encoder(fixtures.symbols)(fixtures.text), fixtures.ids);
  assert.deepEqual(completer.encoder(fixtures.symbols)(""), []);
});

test("the most probable tokens", () => {
  fixtures.rows.forEach((row, i) => assert.deepEqual(completer.largest(row, 4), fixtures.largest[i]));
  assert.deepEqual(completer.largest([0.2, 0.4, 0.4], 5), [1, 2, 0]);
});

test("tokens that can be seen", () => {
  assert.deepEqual(["", "\n", " ", "a"].map(completer.visible), ["pad", "⏎", "␣", "a"]);
});
