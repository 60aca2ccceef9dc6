// The drawing in a page: what it says, and where keys lead.

import assert from "node:assert/strict";
import test from "node:test";

import { fakePage, fakePictures, fixtures, load, notedCanvas } from "./support.mjs";

fakePage();
fakePictures();
const [{ inksOn, sketchOf }, { stateOf }, { tokenizerOf }, { weightsOf }, { unpacked }] = await Promise.all(
  ["machine_sketch", "machine_state", "machine_tokenizer", "machine_weights", "ui"].map(load),
);
const tokenizer = tokenizerOf(fixtures.tokenizer);
const machine = { ...(await weightsOf(await unpacked(fixtures.model))), symbols: fixtures.tokenizer.symbols };

function drawn() {
  const state = stateOf({ machine, tokenizer, text: "ten two" });
  const [pressed, followed] = [[], []];
  const change = (what) => {
    state.change(what);
    paint();
  };
  const press = ({ part }) => pressed.push(part.key);
  const sketch = sketchOf({ state, symbols: machine.symbols, change, press });
  const noted = notedCanvas();
  Object.assign(sketch.node, { getContext: () => noted.context });
  sketch.room.children[2].scrollIntoView = () => followed.push(state.now.cursor);
  globalThis.window = { devicePixelRatio: 1 };
  const paint = () => sketch.paint({ names: state.names(), shares: state.shares(), ink: "rgb(0, 0, 0)" });
  paint();
  const key = (name) => sketch.node.onkeydown({ key: name, preventDefault() {}, stopPropagation() {}, ctrlKey: false });
  const spot = sketch.room.children[2];
  return { state, sketch, key, change, pressed, followed, spot, says: () => sketch.room.children[1].textContent };
}

test("it says which part is under the cursor", () => {
  const { state, key, says } = drawn();
  assert.match(says(), /^Point at a part/);
  key("End");
  assert.equal(says(), "linear & softmax.");
  state.change({ off: new Set(["src_embedding.positions"]) });
  key("Home");
  key("ArrowUp");
  assert.equal(says(), "encoder, positional encoding of the input, switched off. Changed by 100 % of its size.");
});

test("the name stands over the part, and the page follows keys but not the mouse", () => {
  const { sketch, key, change, followed, spot } = drawn();
  assert.ok(spot.hidden);
  key("End");
  const { items } = sketch.node.layout;
  const { x, y } = items.at(-1);
  assert.ok(!spot.hidden);
  assert.deepEqual([spot.textContent, spot.style.left, spot.style.top], ["linear & softmax.", `${x}px`, `${y}px`]);
  change({ cursor: 3 });
  assert.deepEqual(followed, [items.length - 1]);
  assert.equal(spot.style.left, `${items[3].x}px`);
  change({ cursor: null });
  assert.ok(spot.hidden);
});

test("Enter presses what is under the cursor", () => {
  const { key, pressed } = drawn();
  key("End");
  key("Enter");
  key("Home");
  key(" ");
  assert.deepEqual(pressed, ["to_logits", "src_embedding.tokens"]);
});

test("the colours follow that of the text", () => {
  const [light, dark] = [inksOn("rgb(20, 20, 20)"), inksOn("rgba(255, 255, 255, 0.9)")];
  assert.deepEqual([light.dark, dark.dark, light.paper], [false, true, "#fff"]);
  assert.deepEqual([light.dim, dark.dim], ["rgba(20, 20, 20, .6)", "rgba(255, 255, 255, 0.9)"]);
});
