// The heads of an attention side by side, and their mean.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fakePage, fixtures, load } from "./support.mjs";

fakePage();
const [{ headsOf, headsSeen, sayHeads }, { stateOf }, { tokenizerOf }, { weightsOf }, { unpacked }] = await Promise.all(
  ["weave_heads", "machine_state", "machine_tokenizer", "machine_weights", "ui"].map(load),
);
const tokenizer = tokenizerOf(fixtures.tokenizer);
const machine = { ...(await weightsOf(await unpacked(fixtures.model))), symbols: fixtures.tokenizer.symbols };
const state = stateOf({ machine, tokenizer, text: "ten two" });
const NAMES = [
  "encoder.layers.0.self_attention",
  "decoder.layers.0.self_attention",
  "decoder.layers.1.cross_attention",
];
const seenOf = (name, at) => headsSeen({ run: state.run, names: state.names(), at, name, n_heads: 2 });

test("the mean is that of the numbers that are said, at the key that is looked at most", () => {
  for (const name of NAMES) {
    const seen = seenOf(name, 1);
    const own = seen.heads.map((rows) => rows[1][seen.most]);
    assertClose([seen.mean], [(own[0] + own[1]) / 2], 1e-12);
    const [title, more] = sayHeads(seen, name);
    assert.ok(title.endsWith(`: ${seen.mean.toFixed(2)}`), title);
    assert.ok(more.includes(own.map((x) => x.toFixed(2)).join(" and ")), more);
    assert.ok(more.endsWith(`, ${seen.mean.toFixed(2)} on average.`), more);
    for (let s = 0; s < seen.heads[0][1].length; s += 1)
      assert.ok((seen.heads[0][1][s] + seen.heads[1][1][s]) / 2 <= seen.mean + 1e-12);
  }
});

test("heads that are off have no part in the mean", () => {
  const off = new Set([`${NAMES[2]}.head.0`]);
  const seen = headsSeen({ run: state.run, names: state.names(), at: 1, name: NAMES[2], n_heads: 2, off });
  assert.deepEqual(seen.on, [1]);
  assertClose(seen.shares, seen.heads[1][1], 1e-12);
  assert.equal(sayHeads(seen, NAMES[2])[1], "One head is on. Head 0 is off and writes zeros.");
  off.add(`${NAMES[2]}.head.1`);
  const none = headsSeen({ run: state.run, names: state.names(), at: 1, name: NAMES[2], n_heads: 2, off });
  assert.match(sayHeads(none, NAMES[2])[0], /^No head looks for /);
});

test("a press opens a head, and what is no attention has none", () => {
  const opened = [];
  const heads = headsOf({ state, machine, open: (key) => opened.push(key) });
  heads.show(state.partOf(`${NAMES[2]}.head.1`), 0);
  const buttons = heads.node.querySelectorAll("button");
  assert.deepEqual(
    buttons.map((one) => one.attributes["aria-pressed"]),
    ["false", "true"],
  );
  buttons[0].onclick();
  assert.deepEqual(opened, [`${NAMES[2]}.head.0`]);
  heads.show(state.partOf("to_logits"), 0);
  assert.ok(heads.node.hidden);
});

test("in the decoder no word is offered that is written later", () => {
  assert.deepEqual(seenOf(NAMES[1], 0).keys, state.names().fed.slice(0, 1));
  assert.deepEqual(seenOf(NAMES[1], 1).keys, state.names().fed.slice(0, 2));
  assert.deepEqual(seenOf(NAMES[0], 0).keys, state.names().source);
});
