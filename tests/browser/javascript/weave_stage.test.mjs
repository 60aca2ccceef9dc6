// The weave in a page: keys, presses, swipes.

import assert from "node:assert/strict";
import test from "node:test";

import { fakePage, fixtures, load } from "./support.mjs";

fakePage();
const [{ stageOf, swipes }, { stateOf }, { tokenizerOf }, { weightsOf }, { unpacked }] = await Promise.all(
  ["weave_stage", "machine_state", "machine_tokenizer", "machine_weights", "ui"].map(load),
);
const tokenizer = tokenizerOf(fixtures.tokenizer);
const machine = { ...(await weightsOf(await unpacked(fixtures.model))), symbols: fixtures.tokenizer.symbols };

function stage(wide = 900) {
  const state = stateOf({ machine, tokenizer, text: "ten two" });
  state.change({ at: 0 });
  const did = [];
  const note =
    (name) =>
    (what, row = {}) =>
      did.push(what === undefined ? name : [name, what?.id ?? what, ...("at" in row ? [row.at] : [])]);
  const names = ["step", "choose", "open", "cut", "play", "help", "swap", "moved", "ask"];
  const me = stageOf({ state, machine, act: Object.fromEntries(names.map((name) => [name, note(name)])) });
  me.node.clientWidth = wide;
  me.show({ shown: Infinity, cut: new Set(), again: false });
  const key = (name) => me.node.onkeydown({ key: name, preventDefault() {}, stopPropagation() {} });
  return { state, did, me, key };
}

test("keys go to tokens and parts, open, cut, play; others are left alone", () => {
  const { did, key, me } = stage();
  for (const name of [
    "ArrowDown",
    ",",
    ".",
    "End",
    "ArrowRight",
    "ArrowRight",
    "Enter",
    "x",
    " ",
    "?",
    "s",
    "Tab",
    "q",
  ])
    key(name);
  const first = [
    ["step", 1],
    ["step", -1],
    ["step", 1],
    ["choose", Infinity],
    ["moved", "cross"],
  ];
  assert.deepEqual(did, [
    ...first,
    ["moved", "decoder.0.attention"],
    ["open", "decoder.0.attention"],
    ["cut", "mask"],
    "play",
    "help",
    "swap",
  ]);
  let stopped = 0;
  me.node.onkeydown({ key: "q", preventDefault: () => (stopped += 1), stopPropagation: () => (stopped += 1) });
  assert.equal(stopped, 0);
});

test("a press chooses a token or opens a part, a ribbon at once for its own token", () => {
  const { did, me } = stage();
  const press = (part, t) => me.node.onclick({ target: { closest: () => ({ dataset: { part, t } }) } });
  press("writes", "1");
  press("cross", "1"); // a ribbon of another token
  press("cross", "0");
  press("encoder.0.feed");
  press("writes", "0"); // the word that is followed already stays so: it opens nothing
  me.node.onclick({ target: { closest: () => null } });
  assert.deepEqual(did, [
    ["choose", 1],
    ["open", "cross", 1],
    ["open", "cross", 0],
    ["open", "encoder.0.feed"],
    ["choose", 0],
  ]);
});

test("on a phone a press on rails asks which part of them, one between ribbons opens these", () => {
  const { did, me } = stage(360);
  for (const part of ["encoder.0.attention", "decoder.1.attention", "cross"])
    me.node.onclick({ target: { closest: () => ({ dataset: { part } }) } });
  assert.deepEqual(did, [
    ["ask", "encoder"],
    ["ask", "decoder"],
    ["open", "cross"],
  ]);
});

test("a ribbon under the pointer says what it joins, and a word does not", () => {
  const { me } = stage();
  const says = { innerHTML: "" };
  me.node.querySelectorAll = (name) => (name === ".w-says" ? [says] : []);
  const over = (dataset) => me.node.onpointerover({ pointerType: "mouse", target: { closest: () => ({ dataset }) } });
  over({ t: "0", s: "1" });
  const [, pair] = says.innerHTML.match(/>([^<]+): look inside</);
  assert.match(pair, /^.+ → .+ [01]\.\d\d$/);
  over({ t: "0" });
  assert.equal(says.innerHTML, "");
});

test("a cut keeps an outline of what the token looked at before", () => {
  const { state, me } = stage();
  assert.doesNotMatch(me.node.drawn, /w-old/);
  state.change({ off: new Set(["src_embedding.positions"]) });
  me.show({ shown: Infinity, cut: new Set(["positions"]), again: true });
  assert.match(me.node.drawn, /w-old/);
});

test("the outline ends at the token's own row, whether a cut makes more rows or fewer", () => {
  const { state, me } = stage();
  const [rows, at] = [new Set(), 1];
  for (const key of ["src_embedding.positions", "decoder.layers.0.feed_forward", "decoder.layers.1.cross_attention"]) {
    state.change({ off: new Set([key]), at });
    me.show({ shown: Infinity, cut: new Set(["positions"]), again: false });
    rows.add(me.plan.right.length);
    const ends = [...me.node.drawn.matchAll(/w-old" d="M[\d.]+ [\d.]+C[\d.]+ [\d.]+ [\d.]+ ([\d.]+)/g)];
    assert.ok(ends.length);
    for (const [, end] of ends) assert.ok(Math.abs(Number(end) - me.plan.right[at]) <= me.plan.unit / 2 + 0.01);
  }
  assert.ok(rows.size > 1);
});

test("a finger that goes sideways steps, and one that goes up and down does not", () => {
  const [steps, on] = [[], {}];
  swipes({ addEventListener: (name, act) => (on[name] = act) }, (by) => steps.push(by));
  const go = (x, y) => {
    on.touchstart({ touches: [{ clientX: 100, clientY: 100 }] });
    on.touchend({ changedTouches: [{ clientX: 100 + x, clientY: 100 + y }] });
  };
  for (const [x, y] of [
    [-60, 5],
    [60, 5],
    [-60, 50],
    [10, 0],
  ])
    go(x, y);
  assert.deepEqual(steps, [1, -1]);
});
