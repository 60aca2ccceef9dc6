// What stands over a part: its sentences, the tokens of which one is followed, and the fold of all its numbers.

import assert from "node:assert/strict";
import test from "node:test";

import { fakePage, load } from "./support.mjs";

fakePage();
const { foldOf, leadOf } = await load("machine_lead");

test("a press on a token chooses its row", () => {
  const picked = [];
  const lead = leadOf({ pick: (t) => picked.push(t) });
  lead.show({ says: ["Title", "more.", "Press."], names: ["vier", "·ein"], t: 1, of: "to write" });
  const [rows, title, more] = lead.node.children;
  assert.deepEqual([title.textContent, more.textContent], ["Title", "more. Press."]);
  const buttons = rows.querySelectorAll("button");
  assert.deepEqual(
    buttons.map((one) => [one.textContent, one.attributes["aria-pressed"]]),
    [
      ["vier", "false"],
      ["ein", "true"],
    ],
  );
  buttons[0].onclick();
  assert.deepEqual(picked, [0]);
  lead.show({ says: ["", ""], names: ["vier", "·ein"], t: 0, of: "to write" });
  assert.equal(rows.querySelectorAll("button")[0], buttons[0], "they are not made anew, and keep the focus");
});

test("all numbers are folded away until one of them is asked for, and stay as one left them from head to head", () => {
  const fold = foldOf("numbers", () => {});
  const look = (more) =>
    fold.show({ open: "x.head.0", tab: 0, trail: [], titles: ["weights"], off: new Set(), ...more });
  assert.equal(look(), false);
  const [summary] = fold.node.children;
  assert.equal(summary.textContent, "All its numbers: weights");
  look({ off: new Set(["x.head.0"]) });
  assert.equal(summary.textContent, "All its numbers, although it is off: weights");
  assert.equal(look({ tab: 2 }), true);
  assert.equal(look(), true);
  assert.equal(look({ open: "x.head.1" }), true);
  assert.equal(look({ open: "to_logits" }), false);
  assert.equal(look({ open: "y.head.0", trail: [{}] }), true);
});
