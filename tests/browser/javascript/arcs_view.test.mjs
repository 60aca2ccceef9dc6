// Where a word looks and what it becomes, against torch; which words follow one that is chosen, and what is said.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const arcs = await load("arcs_view");

test("lookFrom gives torch's weights and vector at each sharpness", () => {
  for (const { weights, values, sharpness, row, after } of fixtures.looks) {
    const look = arcs.lookFrom({ weights, values }, 2, sharpness);
    assertClose(look.weights, row);
    assertClose(look.after, after);
    assertClose(look.before, values[2], 0);
  }
});

test("a word that may look at nothing gives nothing", () => {
  assert.deepEqual(arcs.sharpened([0, 0], 0), [0, 0]);
});

test("a look on its way to another is a share of both", () => {
  const [one, other] = [0, 4].map((x) => ({ word: x, weights: [1 - x / 4, x / 4], before: [x], after: [-x] }));
  assert.deepEqual(arcs.between(one, other, 0.25), { word: 1, weights: [0.75, 0.25], before: [1], after: [-1] });
});

test("other sentences follow a word that they have, and stay where they have it already", () => {
  const sentences = ["a b c", "b d b", "d e"].map((words) => words.split(" "));
  assert.deepEqual(arcs.followed(sentences, [0, 1, 1], [0, 1]), [1, 0, 1]);
  assert.deepEqual(arcs.followed(sentences, [0, 2, 1], [0, 1]), [1, 2, 1]);
  assert.deepEqual(arcs.followed(sentences, [0, 2, 1], [1, 1]), [0, 1, 0]);
});

test("what is said names the largest weights, and of the sentences those that show the word", () => {
  const sentences = [["a", "b", "c", "d"], ["a"]];
  const look = (word, weights) => ({ word, weights, before: [1], after: [-0.5] });
  const looks = [look(1, [0.15, 0.15, 0.3, 0.4]), look(0, [1])];
  const plain = { names: null, features: [], at: 0 };
  const said = arcs.describe(sentences, looks, plain);
  assert.equal(said.chosen, "Sentence 1: b looks at d (0.40), c (0.30).");
  assert.equal(said.all, `${said.chosen} Sentence 2: a looks at each word alike (1.00).`);
  const other = arcs.describe(sentences, looks, { names: ["x", "y"], features: ["f"], at: 1 });
  assert.equal(other.chosen, "y: a looks at each word alike (1.00); its vector (1.00) becomes (−0.50).");
});
