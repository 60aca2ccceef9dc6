// The three places at which a reader begins: what they say of a run, and what they open.

import assert from "node:assert/strict";
import test from "node:test";

import { fakePage, fixtures, load } from "./support.mjs";

fakePage();
const [{ mostLost, routeOf, stopsOf }, { bare }, { stateOf }, { tokenizerOf }, { weightsOf }, { unpacked }] =
  await Promise.all(
    ["machine_route", "weave_layout", "machine_state", "machine_tokenizer", "machine_weights", "ui"].map(load),
  );
const tokenizer = tokenizerOf(fixtures.tokenizer);
const machine = { ...(await weightsOf(await unpacked(fixtures.model))), symbols: fixtures.tokenizer.symbols };

function shown(...changes) {
  const state = stateOf({ machine, tokenizer, text: "ten two" });
  const opened = [];
  const outcome = ({ target }) => String(target);
  const route = routeOf({ state, machine, open: (key) => opened.push(key), outcome });
  changes.forEach((what) => state.change(what));
  const look = { names: state.names(), shares: state.shares(), hint: "Press a part." };
  if (state.run === state.intact && !state.now.mode) delete look.hint;
  route.show(look);
  return { state, opened, look, title: route.title.textContent, buttons: route.node.querySelectorAll("button") };
}

test("it follows the word that is written: what is read, where it looks, and how sure it is", () => {
  const { state, look, title, buttons } = shown({ at: 1 });
  const share = Math.max(...look.shares);
  const [read, written] = [look.names.source[look.shares.indexOf(share)], look.names.written[1]].map(bare);
  assert.match(title, new RegExp(`^Every number behind “${written}”, from left to right. Press a matrix or a word.$`));
  const sure = state.run.steps[1][state.run.target[1]].toFixed(2);
  assert.deepEqual(
    buttons.map((one) => one.textContent),
    [
      `1“${read}” becomes ${machine.d_model} numbers`,
      `2to write “${written}” it looks most at “${read}”: ${share.toFixed(2)}`,
      `3“${written}” is written, ${sure} sure`,
    ],
  );
});

test("each place is a part of the machine, which a press opens and which is marked while it is open", () => {
  const { state, opened, buttons } = shown({ zoomed: true, open: "to_logits" });
  buttons.forEach((one) => one.onclick());
  assert.deepEqual(opened, stopsOf(machine.n_layers));
  assert.ok(opened.every((key) => state.partOf(key)));
  assert.deepEqual(
    buttons.map((one) => one.getAttribute("aria-pressed")),
    ["false", "false", "true"],
  );
});

test("where all heads are off it looks at no word", () => {
  const heads = [0, 1].map((head) => `decoder.layers.${machine.n_layers - 1}.cross_attention.head.${head}`);
  const { buttons } = shown({ off: new Set(heads) });
  assert.match(buttons[1].textContent, /it looks at no word$/);
});

test("where a press changes a part it is said what to press", () => {
  assert.equal(shown({ mode: 1 }).title, "Press a part.");
});

const HEADS = [0, 1].map((head) => `decoder.layers.0.self_attention.head.${head}`);

test("what is changed says at once what was said before and what is said now", () => {
  const all = stateOf({ machine, tokenizer, text: "ten two" });
  const differs = all.ids.find((id) => String(all.without([id]).target) !== String(all.intact.target));
  const { state, title } = shown({ off: new Set([differs]) });
  const [before, after] = [state.intact, state.run].map(({ target }) => String(target));
  assert.ok(title.startsWith(`${before} → ${after} without this `), title);
});

test("where the same is said the word that has lost most is found, and a loss that is none is not told", () => {
  const { state, title } = shown({ off: new Set([HEADS[0]]) });
  assert.equal(String(state.run.target), String(state.intact.target));
  const [run, intact] = [state.run, state.intact].map(({ steps, target }) => target.map((id, t) => steps[t][id]));
  const lost = intact.map((was, t) => was - run[t]);
  const t = lost.indexOf(Math.max(...lost));
  const [was, is] = [intact[t].toFixed(2), run[t].toFixed(2)];
  assert.deepEqual(mostLost(state), { t, was, is });
  assert.ok(title.startsWith(`Still ${state.run.target} without this head, `), title);
  if (was <= is) assert.match(title, /, and as sure as before\.$/);
});

test("it is said which word of the answer that is, and what became of the one that is followed", () => {
  const intact = { target: [3, 4, 5], steps: [{ 3: 0.9 }, { 4: 0.97 }, { 5: 0.99 }] };
  const run = { target: [3, 4, 5], steps: [{ 3: 0.9 }, { 4: 0.93 }, { 5: 0.98 }] };
  const titled = (at) => {
    const state = { run, intact, now: { at, off: new Set(), swaps: [{}], open: "", zoomed: false } };
    const route = routeOf({ state, machine, open: () => {}, outcome: () => "34" });
    const [title, caption] = route.says(["·drei", "·vier", "·fünf"]);
    assert.match(caption, / Purple marks: the taller, the more changed\.$/);
    return title;
  };
  const most = "Still 34 with this swap, but less sure, most of all of its second word, “vier”: 0.93 of 1, before 0.97";
  assert.equal(titled(1), `${most}.`);
  assert.equal(titled(2), `${most}; “fünf” 0.98, before 0.99.`);
});

test("several changes are told together, and no loss as none", () => {
  const { title } = shown({ off: new Set(HEADS) });
  assert.match(title, / with all these changes/);
  const run = { target: [3, 4], steps: [{ 3: 0.9 }, { 4: 0.8 }] };
  const intact = { target: [3, 5], steps: [{ 3: 0.7 }, { 4: 0.95, 5: 0.2 }] };
  assert.deepEqual(mostLost({ run, intact }), { t: 1, was: "0.95", is: "0.80" }, "of what is new none is counted");
});
