// The controls above the drawing, and the way back.

import assert from "node:assert/strict";
import test from "node:test";

import { fakePage, fixtures, load } from "./support.mjs";

fakePage();
const [
  { changeChips, crumbsOf, exampleSearch, field, shortOf, tokenRows },
  { stateOf },
  { tokenizerOf },
  { weightsOf },
  { unpacked },
] = await Promise.all(["machine_controls", "machine_state", "machine_tokenizer", "machine_weights", "ui"].map(load));
const tokenizer = tokenizerOf(fixtures.tokenizer);
const machine = { ...(await weightsOf(await unpacked(fixtures.model))), symbols: fixtures.tokenizer.symbols };
const CROSS = "decoder.layers.1.cross_attention";

function controls() {
  const state = stateOf({ machine, tokenizer, text: "ten two" });
  state.change({ at: 0 });
  const home = document.createElement("canvas");
  const change = (what) => {
    state.change(what);
    show();
  };
  const rows = tokenRows({ state, nameOf: tokenizer.name, change });
  const chips = changeChips({ state, change, home: () => home });
  const crumbs = crumbsOf({ state, change, steppers: [], toMachine: () => change({ zoomed: false }) });
  const show = () => {
    rows.show({ source: state.names().source });
    chips.show();
    crumbs.show(state.partOf(state.now.open));
  };
  show();
  return { state, home, change, rows, chips, crumbs };
}
const texts = (node, name) => node.querySelectorAll(name).map((one) => one.textContent);

test("tokens are said, one is chosen by a press, and those that differ are marked", () => {
  const { state, change, rows } = controls();
  const spots = state.names().source.map((token, i) => `${i}: ${token}`);
  assert.deepEqual(texts(rows.spot, "option"), spots);
  const [, second] = rows.writes.querySelectorAll("button");
  second.onclick();
  const pressed = () => rows.writes.querySelectorAll("button").map((one) => one.attributes["aria-pressed"]);
  assert.equal(pressed().indexOf("true"), 1);
  change({ off: new Set(["src_embedding.positions", "encoder.layers.0.residual_1.norm", `${CROSS}.head.1`]) });
  const marked = rows.writes.querySelectorAll("button").map((one) => one.classes.has("tl-changed"));
  assert.deepEqual(
    marked,
    state.replaced.map((places) => places !== null),
  );
  assert.ok(marked.includes(true));
});

test("a field leaves small letters small", () => {
  const { autocapitalize, autocorrect, spellcheck } = field("text", () => {}).attributes;
  assert.deepEqual([autocapitalize, autocorrect, spellcheck], ["none", "off", "false"]);
});

function searching() {
  const { state, change } = controls();
  const [found, waits] = [[], []];
  const search = exampleSearch({ state, shows: (...what) => found.push(what), later: (act) => waits.push(act) });
  const [seek] = search.node.querySelectorAll("button");
  const [says] = search.node.querySelectorAll("span");
  search.show();
  assert.ok(search.node.hidden, "nothing is changed");
  change({ off: new Set(["decoder.layers.1.self_attention.mask"]) });
  search.show();
  assert.ok(!search.node.hidden);
  seek.onclick();
  assert.match(seek.textContent, /^trying \d+ numbers …$/, "it is said before it is done");
  return { state, found, seek, says, show: search.show, search: waits[0] };
}

test("a number is looked for where a change shows in no token, and the way back leads to the first", () => {
  const { state, found, seek, says, show, search } = searching();
  state.example = () => "ten";
  search();
  assert.deepEqual(found, [[{ text: "ten" }, true]]);
  const first = state.kept;
  state.change({ text: "ten" }, true);
  state.run = { ...state.run, target: [] }; // there it shows
  show();
  assert.equal(says.textContent, "In this number it shows.");
  assert.equal(seek.textContent, "back to the first number");
  seek.onclick();
  assert.deepEqual(found[1], [{ text: first }, true]);
});

test("where there is no such number a part is offered whose cut shows", () => {
  const { state, found, seek, says, search } = searching();
  search();
  const part = state.telling();
  assert.notDeepEqual(state.without([part]).target, state.intact.target);
  assert.match(says.textContent, /^None of \d+ numbers shows it\.$/);
  assert.equal(seek.textContent, `cut ${state.partOf(part).path.at(-1).split(" of ")[0]} instead`);
  seek.onclick();
  assert.deepEqual(found, [[{ off: new Set([part]) }]]);
});

test("where no part alone shows nothing is offered", () => {
  const { state, seek, says, search } = searching();
  state.telling = () => undefined;
  search();
  assert.match(says.textContent, /^None of/);
  assert.ok(seek.hidden);
});

test("what is changed has a button that takes it back, and hands the focus on", () => {
  const { state, home, change, chips } = controls();
  assert.ok(chips.node.hidden);
  change({ off: new Set([`${CROSS}.head.1`, "src_embedding.positions"]) });
  const [first, second, all] = chips.node.querySelectorAll("button");
  assert.equal(first.textContent, "dec 1 · cross · head 1 ✕");
  assert.equal(all.textContent, "all back");
  second.onclick();
  assert.deepEqual([...state.now.off], [`${CROSS}.head.1`]);
  assert.equal(document.activeElement, home);
  assert.equal(chips.node.querySelectorAll("button").length, 1);
});

test("the way back leads through what was followed", () => {
  const { state, change, crumbs } = controls();
  const [out, turn, back] = crumbs.node.querySelectorAll("button");
  assert.ok(back.hidden && crumbs.back === back);
  change(state.followed({ name: `${CROSS}.scores.0`, cell: [1, 2] }));
  assert.ok(!back.hidden);
  assert.deepEqual([state.now.tab, state.now.cell], [1, [1, 2]]);
  back.onclick();
  assert.ok(back.hidden);
  assert.equal(document.activeElement, out);
  turn.onclick();
  assert.equal(turn.textContent, "switch it on again");
  assert.match(crumbs.node.textContent, /head 0: switched off/);
  turn.onclick();
  assert.equal(turn.textContent, "switch this part off");
});

test("a chip has the short name of a part, and says its whole one", () => {
  assert.equal(shortOf("decoder, layer 0, masked self-attention, head 0"), "dec 0 · self · head 0");
  assert.equal(shortOf("encoder, layer 1, feed-forward"), "enc 1 · feed-forward");
  const { change, chips } = controls();
  change({ off: new Set([`${CROSS}.head.1`]) });
  const [chip] = chips.node.querySelectorAll("button");
  assert.equal(chip.textContent, "dec 1 · cross · head 1 ✕");
  assert.equal(chip.attributes["aria-label"], "decoder, layer 1, cross-attention, head 1 ✕");
});
