// The sentences under a weave.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const { listed, pieces, sayDiffers, sayGuess, sayLabel, sayLook } = await load("weave_say");
const look = {
  token: "ein",
  p: 0.99,
  names: ["·four", "one"],
  shares: [0.25, 0.65],
  layer: 1,
  heads: "4 heads",
  before: null,
  cuts: [],
};

test("where a token looks, with its share, its layer and of how many heads that is the mean", () => {
  const said =
    "To write “ein” (0.99) it looks most at “one”: 0.65 of its attention, on the mean of 4 heads in layer 1.";
  assert.equal(sayLook(look), said);
  assert.equal(sayLook({ ...look, shares: [0, 0] }), "To write “ein” (0.99) it looks at no input token.");
});

test("what a cut has changed, and what was before", () => {
  const cut = {
    ...look,
    token: "vier",
    shares: [0.51, 0.24],
    before: { token: "ein", shares: [0.2, 0.65] },
    cuts: ["positions"],
  };
  const now = "Without positions it looks most at “four”, 0.51, and writes “vier”. Before it ";
  assert.equal(sayLook(cut), `${now}wrote “ein” and looked most at “one”, 0.65.`);
  assert.equal(
    sayLook({ ...cut, before: { ...cut.before, token: "vier" } }),
    `${now}wrote the same and looked most at “one”, 0.65.`,
  );
  assert.match(sayLook({ ...cut, before: { token: undefined, shares: [0] } }), /Before the sentence had ended here\.$/);
  const why = "Norms keep numbers small.";
  assert.match(sayLook({ ...cut, why }), /and writes “vier”\. Norms keep numbers small\.$/);
  assert.match(sayLook({ ...cut, cuts: [] }), /^With the change it looks/);
  assert.match(sayLook({ ...cut, cuts: [], puts: ["four for one"] }), /^With four for one it looks/);
  assert.match(sayLook({ ...cut, puts: ["four for one"] }), /^Without positions, with four for one it looks/);
});

test("how many tokens differ", () => {
  assert.equal(sayDiffers([1, 2, 3], [1, 3, 3, 4]), "The change alters 2 of 4 tokens.");
  assert.equal(sayDiffers([1, 2, 3, 4], [2, 3, 4]), "The change alters 1 of 4 tokens.");
  assert.equal(sayDiffers([1, 2], [1, 2]), "The change alters numbers, but no token.");
});

test("a guess is right, or wrong, or was none", () => {
  const cut = { lack: "any norm" };
  assert.equal(sayGuess({ wanted: null, cut, label: "7" }), "Without any norm it says 7.");
  assert.equal(sayGuess({ wanted: "7", cut, label: "7" }), "Right: without any norm it says 7.");
  assert.equal(sayGuess({ wanted: "8", cut, label: "never stops" }), "Not 8: without any norm it never stops.");
  assert.equal(sayLabel("no number"), "it says no number");
});

test("names are listed, and quoted words stand apart", () => {
  assert.deepEqual([listed(["a"]), listed(["a", "b", "c"])], ["a", "a, b and c"]);
  assert.deepEqual(pieces("To “ein” it"), [
    ["To ", false],
    ["“ein”", true],
    [" it", false],
  ]);
});
