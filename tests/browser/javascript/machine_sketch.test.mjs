// The drawing in a page: what it says, and where keys lead.

import assert from "node:assert/strict";
import test from "node:test";

import { fakePage, fakePictures, fixtures, load, notedCanvas } from "./support.mjs";

fakePage();
fakePictures();
const [{ sketchOf }, { stopsOf }, { stateOf }, { tokenizerOf }, { weightsOf }, { unpacked }] = await Promise.all(
  ["machine_sketch", "machine_route", "machine_state", "machine_tokenizer", "machine_weights", "ui"].map(load),
);
const tokenizer = tokenizerOf(fixtures.tokenizer);
const machine = { ...(await weightsOf(await unpacked(fixtures.model))), symbols: fixtures.tokenizer.symbols };

function drawn() {
  const state = stateOf({ machine, tokenizer, text: "ten two" });
  const [pressed, followed, picked] = [[], [], []];
  const change = (what) => {
    state.change(what);
    paint();
  };
  const press = ({ part }) => pressed.push(part.key);
  const sketch = sketchOf({ state, machine, change, press, follow: (...row) => picked.push(row) });
  const [[, words, beads, spot], says] = [sketch.room.children[0].children, sketch.room.children[1]];
  const noted = notedCanvas();
  Object.assign(sketch.node, { getContext: () => noted.context });
  spot.scrollIntoView = () => followed.push(state.now.cursor);
  globalThis.window = { devicePixelRatio: 1 };
  const paint = () => sketch.paint({ names: state.names(), shares: state.shares() });
  paint();
  const key = (name) => sketch.node.onkeydown({ key: name, preventDefault() {}, stopPropagation() {}, ctrlKey: false });
  return { state, sketch, key, change, pressed, followed, picked, words, beads, spot, says: () => says.textContent };
}

test("it says which part is under the cursor", () => {
  const { state, key, says } = drawn();
  assert.match(says(), /^A row is a word: bars are its numbers/);
  key("End");
  assert.equal(says(), "linear & softmax.");
  state.change({ off: new Set(["src_embedding.positions"]) });
  key("Home");
  key("ArrowRight");
  assert.equal(
    says(),
    "encoder, positional encoding of the input, switched off. A full bar is ±1.0. Changed by 100 % of its size.",
  );
});

test("the name stands under the part, and the page follows keys but not the mouse", () => {
  const { sketch, key, change, followed, spot } = drawn();
  assert.ok(spot.hidden);
  key("End");
  const { items } = sketch.node.layout;
  const { x, y } = items.at(-1);
  assert.ok(!spot.hidden);
  assert.deepEqual([spot.textContent, spot.style.left, spot.style.top], ["linear & softmax", `${x}px`, `${y}px`]);
  change({ cursor: 3 });
  assert.deepEqual(followed, [items.length - 1]);
  assert.equal(spot.style.left, `${items[3].x}px`);
  change({ cursor: null });
  assert.ok(spot.hidden);
});

test("the places to begin have their numbers over their parts, at the right and clear of every title", () => {
  const { sketch, beads } = drawn();
  const { items } = sketch.node.layout;
  const steps = beads.querySelectorAll("b");
  assert.deepEqual(
    steps.map((one) => one.textContent),
    ["1", "2", "3"],
  );
  stopsOf(machine.n_layers).forEach((key, i) => {
    const { x, y } = items.find(({ part }) => part.key === key);
    const up = key === "src_embedding.tokens" ? 30 : 16; // "word" and "place" leave no room beside them
    assert.ok(parseFloat(steps[i].style.left) > x + 60 && parseFloat(steps[i].style.top) === y - up);
  });
});

test("until a part is opened the matrix of the first band that looks most is marked", () => {
  const { state, sketch, change, beads } = drawn();
  const marks = () => beads.querySelectorAll("u");
  const row = state.shares().indexOf(Math.max(...state.shares()));
  const most = ({ part }) => Math.max(...state.run.at.get(part.thumb).rows[row]);
  const { items } = sketch.node.layout;
  const heads = items.filter(
    ({ side, part }) => side === "encoder" && part.thumb?.includes("layers.0.self_attention.weights"),
  );
  const [mark] = marks();
  const marked = items.find(({ x, y }) => `${x}px` === mark.style.left && `${y}px` === mark.style.top);
  assert.ok(heads.length > 1);
  heads.forEach((one) => assert.ok(most(marked) >= most(one)));
  change({ at: 1 });
  assert.equal(marks().length, 1);
});

test("the names have the room that the longest of them needs", () => {
  const { sketch, state } = drawn();
  const short = sketch.node.layout.labels;
  const { fed, ...names } = state.names();
  sketch.paint({ names: { ...names, fed: fed.with(0, "siebenhundertneunzig") }, shares: state.shares() });
  assert.ok(sketch.node.layout.labels > short && short >= 100);
});

test("Enter presses what is under the cursor", () => {
  const { key, pressed } = drawn();
  key("End");
  key("Enter");
  key("Home");
  key(" ");
  assert.deepEqual(pressed, ["to_logits", "src_embedding.tokens"]);
});

test("the words stand beside their rows, and one that is pressed is to be followed", () => {
  const { state, sketch, change, words, beads, picked } = drawn();
  const { source, fed } = state.names();
  const { bands } = sketch.node.layout;
  const all = () => words.querySelectorAll("span");
  const lit = () => all().flatMap((one, i) => (one.classes.has("tl-lit") ? [i] : []));
  assert.equal(all().length, source.length + 2 * fed.length);
  assert.equal(beads.querySelectorAll("i").length, bands.length);
  change({ at: 1 });
  const [first] = lit();
  assert.deepEqual(
    lit().slice(1),
    [1, 1 + fed.length].map((t) => t + source.length),
  );
  assert.equal(first, state.shares().indexOf(Math.max(...state.shares())));
  change({ open: "src_embedding.tokens", cell: [2, 0] });
  assert.equal(lit()[0], 2, "of the input that of the part which is open");
  all()[1].onclick();
  all().at(-1).onclick();
  assert.deepEqual(picked, [
    ["encoder", 1],
    ["decoder", fed.length - 1],
  ]);
});
