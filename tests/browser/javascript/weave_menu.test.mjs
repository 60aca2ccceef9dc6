// The parts behind a phone's rails.

import assert from "node:assert/strict";
import test from "node:test";

import { fakePage, load } from "./support.mjs";

fakePage();
const [{ menuOf }, { weaveOf }] = await Promise.all(["weave_menu", "weave_layout"].map(load));
const plan = weaveOf({ width: 360, cross: [[1]], layers: 2 });

function menu() {
  const did = [];
  const me = menuOf({ open: (key) => did.push(key), back: () => did.push("back"), layers: 2 });
  return { me, did, buttons: () => me.node.querySelectorAll("button") };
}

test("it lists what a side's layers do, and a press opens the part", () => {
  const { me, did, buttons } = menu();
  assert.ok(me.node.hidden);
  me.show("encoder", plan);
  assert.deepEqual(
    buttons().map((one) => one.textContent),
    ["positions", "self-attention", "feed-forward", "self-attention", "feed-forward"],
  );
  assert.equal(document.activeElement, buttons()[0]);
  buttons()[4].onclick();
  assert.deepEqual([did, me.node.hidden], [["encoder.layers.1.feed_forward"], true]);
});

test("it stands beside the rails, and Escape or a press elsewhere shuts it", () => {
  const { me, did, buttons } = menu();
  me.show("decoder", plan);
  assert.equal(buttons().length, 6);
  assert.ok(plan.columns.to - 6 < 290, "beside the rails it would not fit");
  assert.equal(me.node.style.right, "70px");
  me.show("decoder", { columns: { ...plan.columns, to: 400 }, width: 560 });
  assert.equal(me.node.style.right, "166px");
  me.node.onkeydown({ key: "Escape", stopPropagation() {} });
  assert.deepEqual([did, me.node.hidden], [["back"], true]);
  me.show("encoder", plan);
  assert.equal(me.node.style.left, `${plan.columns.from + 6}px`);
  me.node.contains = (one) => one === "within";
  me.node.onfocusout({ relatedTarget: "within" });
  assert.equal(me.node.hidden, false);
  me.node.onfocusout({ relatedTarget: null });
  assert.equal(me.node.hidden, true);
});
