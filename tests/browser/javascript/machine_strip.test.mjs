// The map as a strip: a press opens what stands there, or pulls the map.

import assert from "node:assert/strict";
import test from "node:test";

import { fakePage, fakePictures, fixtures, load, notedCanvas } from "./support.mjs";

fakePage();
fakePictures();
const [{ stripOf }, { stateOf }, { tokenizerOf }, { weightsOf }, { unpacked }] = await Promise.all(
  ["machine_strip", "machine_state", "machine_tokenizer", "machine_weights", "ui"].map(load),
);
const tokenizer = tokenizerOf(fixtures.tokenizer);
const machine = { ...(await weightsOf(await unpacked(fixtures.model))), symbols: fixtures.tokenizer.symbols };

function drawn(width) {
  globalThis.window = { devicePixelRatio: 1 };
  const state = stateOf({ machine, tokenizer, text: "ten two" });
  const pan = document.createElement("div");
  Object.assign(pan, { clientWidth: width, scrollWidth: 1000, scrollLeft: 0 });
  const pressed = [];
  const strip = stripOf({ state, machine, pan, press: ({ part }) => pressed.push(part.key) });
  Object.assign(strip.node, {
    getContext: () => notedCanvas().context,
    getBoundingClientRect: () => ({ left: 0, top: 0 }),
  });
  strip.room.clientWidth = 306;
  const look = { run: state.run, off: new Set(), swaps: [], change: () => 0, before: state.intact.target };
  const more = { names: state.names(), shares: state.shares(), looks: () => state.run.src.map(() => [1]) };
  const show = () => strip.show({ ...look, ...more, lit: { encoder: 0, decoder: 0 } });
  show();
  return { state, pan, strip, pressed, show, port: strip.room.children[1] };
}

test("it is there where the map is wider than the page, and says what of it is in sight", () => {
  assert.ok(drawn(1000).strip.room.hidden);
  const { strip, pan, port, pressed } = drawn(250);
  assert.ok(!strip.room.hidden && !port.hidden);
  assert.deepEqual([port.style.left, port.style.width], ["0%", "25%"]);
  strip.node.onpointermove({ type: "pointermove", clientX: 150, clientY: 5, buttons: 0 });
  assert.equal(pan.scrollLeft, 0, "no finger is down");
  strip.node.onpointerdown({ type: "pointerdown", clientX: 150, clientY: 5, buttons: 1 });
  assert.equal(pan.scrollLeft, 375, "its middle is where the finger is");
  strip.node.onclick({ clientX: 1, clientY: 1 });
  assert.deepEqual(pressed, ["src_embedding.tokens"], "a press that pulls nothing opens what stands there");
  pan.onscroll();
  assert.equal(port.style.left, "37.5%");
});

test("beside a part that is open a press leads to another", () => {
  const { state, strip, pressed, show, port } = drawn(1000);
  state.change({ zoomed: true, open: "decoder.layers.0.self_attention.mask" });
  show();
  assert.ok(!strip.room.hidden && port.hidden);
  strip.node.onclick({ clientX: 1, clientY: 1 });
  strip.node.onclick({ clientX: 305, clientY: 400 });
  assert.deepEqual(pressed, ["src_embedding.tokens", "to_logits"]);
});
