// A formula: its terms lead to steps, and each step lights its term.

import assert from "node:assert/strict";
import test from "node:test";

import { fakePage, load } from "./support.mjs";

fakePage();
const { formula } = await load("formula");

const STEPS = ["first", "second", "third"];
const PARTS = ["y = ", ["f", "third"], "(", ["x", "first"], ["+ 1", "second"], ")"];

test("a press on a term goes to its step, and each term says which that is", () => {
  const went = [];
  const { node } = formula("y", PARTS, STEPS, (step) => went.push(step));
  const terms = node.querySelectorAll("button");
  terms.forEach((term) => term.onclick());
  assert.deepEqual(went, ["third", "first", "second"]);
  const names = ["f: third", "x: first", "+ 1: second"];
  assert.deepEqual(
    terms.map((term) => term.attributes["aria-label"]),
    names,
  );
  assert.equal(node.textContent, "y = f(x+ 1)");
});

test("the present step is lit; those before it are done, and what does nothing is off", () => {
  const { node, show } = formula("y", PARTS, STEPS, () => {});
  const states = (...given) => {
    show(...given);
    return node
      .querySelectorAll("button")
      .map(({ attributes }) => [attributes["aria-pressed"], attributes["data-term"]]);
  };
  assert.deepEqual(states("second"), [["false", "later"], ["false", "done"], ["true", "now"]]); // prettier-ignore
  assert.deepEqual(states("third", ["second"]), [["true", "now"], ["false", "done"], ["false", "off"]]); // prettier-ignore
});
