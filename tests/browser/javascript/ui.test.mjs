// The shared computations against torch's numbers.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const ui = await load("ui");

for (const { name, scores, allowed, weights } of fixtures.softmax) {
  test(`softmax, ${name}`, () => {
    const numbers = scores.map((score) => score ?? -Infinity);
    assertClose(
      ui.softmax(numbers, (i) => allowed[i]),
      weights,
    );
    if (allowed.every(Boolean)) assertClose(ui.softmax(numbers), weights);
  });
}

test("softmax leaves its input alone and takes a Float32Array", () => {
  const scores = Float32Array.of(1, 2, 3);
  assertClose(ui.softmax(scores), [0.09003057, 0.24472847, 0.66524096]);
  assert.deepEqual([...scores], [1, 2, 3]);
});

test("entropy in bits", () => {
  assertClose(
    fixtures.entropy.map(({ p }) => ui.entropy(p)),
    fixtures.entropy.map(({ bits }) => bits),
  );
  assert.equal(ui.entropy([0, 1, 0]), 0);
  assert.equal(ui.entropy([0.25, 0.25, 0.25, 0.25]), 2);
});

test("tensor reads exactly the float32 numbers that Python packed", () => {
  for (const { packed, numbers, shape } of fixtures.packed) {
    const read = ui.tensor(packed);
    assert.deepEqual([...read.data], numbers);
    assert.deepEqual(read.shape, shape);
  }
});

test("css writes a colour as CSS reads it", () => {
  assert.equal(ui.css([1, 20, 255]), "rgb(1 20 255)");
});

test("eachFrame draws as soon as the event is dealt with, and at most once more with the next frame", async () => {
  const frames = [];
  globalThis.requestAnimationFrame = (act) => frames.push(act);
  let drawn = 0;
  const [draw, nextFrame] = [
    ui.eachFrame(() => {
      drawn += 1;
    }),
    () => frames.splice(0).forEach((act) => act()),
  ];
  const seen = async () => (await null, drawn);
  draw();
  draw();
  assert.equal(drawn, 0, "not before the event is dealt with");
  assert.equal(await seen(), 1, "at once, and once");
  draw();
  assert.equal(await seen(), 1, "what is asked for meanwhile waits for the frame");
  nextFrame();
  assert.equal(await seen(), 2);
  nextFrame();
  assert.equal(await seen(), 2, "nothing was asked for");
  draw();
  assert.equal(await seen(), 3);
  nextFrame();
  nextFrame();
  assert.equal(frames.length, 0, "a view that rests asks for no frames");
  assert.equal(await seen(), 3);
});

test("floats reads bytes from anywhere within a buffer", () => {
  const bytes = new Uint8Array(1 + 4 * fixtures.floats.length);
  bytes.set(new Uint8Array(Float32Array.from(fixtures.floats).buffer), 1);
  assert.deepEqual([...ui.floats(new DataView(bytes.buffer, 1))], fixtures.floats);
});
