// A tour in six steps.

import assert from "node:assert/strict";
import test from "node:test";

import { fakePage, load } from "./support.mjs";

fakePage();
const [{ STEPS, tourOf }, { partsOf }, { weaveOf }] = await Promise.all(
  ["weave_tour", "weave_parts", "weave_layout"].map(load),
);

test("six steps frame parts that there are, and the last leads to the breakers", () => {
  const plan = weaveOf({ width: 1336, cross: [[1]], layers: 2 });
  const ids = partsOf(plan, 1).map(({ id }) => id);
  assert.equal(STEPS.length, 6);
  assert.deepEqual(
    STEPS.slice(0, -1).filter(([part]) => !ids.includes(part)),
    [],
  );
  assert.equal(STEPS.at(-1)[0], null);
});

test("it goes from step to step and says whether it is open", () => {
  const framed = [];
  const parts = { begin: () => framed.push("begin"), cut: () => (framed.push("cut"), "It says 34 024.") };
  const tour = tourOf({ ...parts, frame: (id) => framed.push(id), done: () => {} });
  const open = () => tour.button.attributes["aria-expanded"];
  assert.equal(open(), "false");
  tour.button.onclick();
  const [back, on, leave] = tour.node.querySelectorAll("button");
  on.onclick();
  on.onclick();
  back.onclick();
  assert.deepEqual([tour.at, open()], [1, "true"]);
  leave.onclick();
  assert.deepEqual([tour.at, open()], [null, "false"]);
  assert.deepEqual(framed, ["begin", "reads", "positions", "encoder.0.attention", "positions", null]);
});

test("a thread is drawn on from step to step, and a finger turns the card", () => {
  const tour = tourOf({ begin: () => {}, cut: () => "", frame: () => {}, done: () => {} });
  tour.button.onclick();
  const [title] = tour.node.querySelectorAll("b");
  const swipe = (from, to) => {
    tour.node.ontouchstart({ touches: [{ clientX: from }] });
    tour.node.ontouchend({ changedTouches: [{ clientX: to }] });
    return [tour.at, title.attributes.style];
  };
  assert.deepEqual(swipe(200, 190), [0, "--far:0%"], "that was a press");
  assert.deepEqual(swipe(200, 100), [1, "--far:20%"]);
  assert.deepEqual(swipe(200, 100), [2, "--far:40%"]);
  assert.deepEqual(swipe(100, 200), [1, "--far:20%"]);
});

test("only where a finger drags is it said that it holds a word first", () => {
  const last = (coarse) => {
    globalThis.matchMedia = () => ({ matches: coarse, addEventListener() {} });
    const tour = tourOf({ begin: () => {}, cut: () => "", frame: () => {}, done: () => {} });
    tour.button.onclick();
    const [, on] = tour.node.querySelectorAll("button");
    STEPS.slice(1).forEach(() => on.onclick());
    return tour.node.textContent.includes("finger");
  };
  assert.deepEqual([last(false), last(true)], [false, true]);
});

test("on a phone it names nothing that is not drawn", () => {
  const parts = { begin: () => {}, cut: () => "", frame: () => {}, done: () => {}, narrow: () => true };
  const tour = tourOf(parts);
  tour.button.onclick();
  const [, on] = tour.node.querySelectorAll("button");
  on.onclick();
  assert.match(tour.node.textContent, /Positions tell where a token stands/);
  on.onclick();
  assert.match(tour.node.textContent, /by self-attention, then feed-forward follows\./);
});

test("its last step makes a cut and says what came of it, which the way back mends", () => {
  const did = [];
  const parts = { begin: () => did.push("begin"), cut: () => (did.push("cut"), "It says 34 024.") };
  const tour = tourOf({ ...parts, frame: () => {}, done: () => {} });
  tour.button.onclick();
  const [back, on] = tour.node.querySelectorAll("button");
  for (let i = 1; i < STEPS.length; i += 1) on.onclick();
  assert.match(tour.node.textContent, /It says 34 024\. Open another breaker/);
  assert.deepEqual(did, ["begin", "cut"]);
  back.onclick();
  assert.deepEqual([tour.at, did.at(-1)], [STEPS.length - 2, "begin"]);
});
