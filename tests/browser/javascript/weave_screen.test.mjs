// The first screen: what a press on it does, and that it says what is so.

import assert from "node:assert/strict";
import test from "node:test";

import { fakePage, fixtures, load } from "./support.mjs";

fakePage();
const [{ screenOf }, { stateOf }, { tokenizerOf }, { weightsOf }, { unpacked }] = await Promise.all(
  ["weave_screen", "machine_state", "machine_tokenizer", "machine_weights", "ui"].map(load),
);
const tokenizer = tokenizerOf(fixtures.tokenizer);
const machine = { ...(await weightsOf(await unpacked(fixtures.model))), symbols: fixtures.tokenizer.symbols };

function screen() {
  const state = stateOf({ machine, tokenizer, text: "ten two" });
  const show = () => me.show({ family: "serif", width: 1300 });
  const change = (what, anew) => {
    state.change(what, anew);
    show();
  };
  const parts = { input: document.createElement("input"), open: () => {}, swap: () => {}, tools: [], redraw: show };
  const me = screenOf({ state, machine, tokenizer, change, ...parts });
  show();
  const find = (kind) => me.node.querySelectorAll("button").filter((one) => one.getAttribute("class")?.includes(kind));
  const says = () =>
    me.node.querySelectorAll("div").find((one) => one.getAttribute("class")?.includes("tl-answer")).textContent;
  return { state, me, find, says };
}

test("every breaker cuts all of its parts, leads to the first token that changes, and mends them again", () => {
  const { state, me, find, says } = screen();
  assert.deepEqual(
    me.cuts.map(({ key }) => key),
    ["positions", "residual", "norm", "cross", "mask", "feed"],
  );
  find("tl-breaker").forEach((one, i) => {
    one.onclick();
    assert.deepEqual([...state.now.off].sort(), [...me.cuts[i].ids].sort());
    const [now, old] = [state.run, state.intact].map(({ target }) => target);
    const differ = now.findIndex((id, t) => id !== old[t]);
    if (differ >= 0) assert.equal(state.now.at, differ);
    assert.match(says(), /^Without /);
    assert.match(one.textContent, /says |never stops/);
    one.onclick();
    assert.equal(state.run, state.intact);
  });
  assert.equal(me.outcomes.known.size, 6, "what was found stays");
});

test("a guess is judged when the breaker is opened", () => {
  const { me, find } = screen();
  me.guess = { wanted: "no such answer", said: "" };
  find("tl-breaker")[0].onclick();
  assert.match(me.guess.said, /^Not no such answer: without the input’s positions /);
  assert.equal(me.guess.wanted, null);
});

test("what is cut has a button that mends it alone, and hands the focus to the weave", () => {
  const { state, me, find } = screen();
  find("tl-breaker")[0].onclick();
  find("tl-breaker")[4].onclick();
  const chips = find("tl-gone");
  assert.deepEqual(
    chips.map((one) => one.textContent),
    ["positions ✕", "mask ✕"],
  );
  chips[0].onclick();
  assert.deepEqual([...state.now.off], me.cuts[4].ids);
  assert.equal(document.activeElement, me.stage.node);
  find("tl-plain")
    .find((one) => one.textContent === "mend all")
    .onclick();
  assert.equal(state.now.off.size, 0);
});

test("the bar goes from token to token and no further, and any touch ends what plays", () => {
  const { state, me } = screen();
  const [back, play, on] = me.node.querySelectorAll("button").filter((one) => /[‹›▶]/.test(one.textContent));
  play.onclick();
  assert.ok(me.player.playing());
  on.onclick();
  assert.deepEqual([me.player.playing(), state.now.at], [false, 1]);
  for (let i = 0; i < 5; i += 1) on.onclick();
  assert.equal(state.now.at, state.run.target.length - 1);
  for (let i = 0; i < 9; i += 1) back.onclick();
  assert.equal(state.now.at, 0);
});
