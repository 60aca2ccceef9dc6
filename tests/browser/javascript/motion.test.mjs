// What moves by itself: from 0 to 1, and not at all where the reader wants no motion.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const { motion, player, staggered } = await load("motion");

let frames = [];
let reduced = false;
globalThis.matchMedia = () => ({ matches: reduced });
globalThis.requestAnimationFrame = (act) => frames.push(act);
globalThis.cancelAnimationFrame = () => {
  frames = [];
};
const frame = (now) => frames.splice(0).forEach((act) => act(now));

test("a motion goes from 0 to 1 in its time, draws at each frame, and then rests", () => {
  const seen = [];
  const me = motion(() => seen.push(me.share), 1000);
  assert.equal(me.share, 1);
  me.start();
  for (const now of [5000, 5250, 5500, 6100]) frame(now);
  assert.deepEqual(seen, [0, 0, 0.25, 0.5, 1]);
  assert.equal(frames.length, 0);
  assert.equal(me.running, false);
});

test("a motion that is stopped is at its end", () => {
  const me = motion(() => {}, 1000);
  me.start();
  frame(1000);
  me.stop();
  assert.deepEqual([me.share, me.running, frames.length], [1, false, 0]);
});

test("where the reader wants no motion, it is at its end at once and drawn once", () => {
  reduced = true;
  let drawn = 0;
  const me = motion(() => (drawn += 1), 1000);
  me.start();
  assert.deepEqual([me.share, me.running, drawn, frames.length], [1, false, 1, 0]);
  reduced = false;
});

test("parts begin one after the other, and all have come at the end", () => {
  const at = (share) => [0, 1, 2, 3].map((i) => staggered(share, i, 4));
  assert.deepEqual(at(0), [0, 0, 0, 0]);
  assert.deepEqual(at(1), [1, 1, 1, 1]);
  const halfway = at(0.5);
  assert.equal(halfway[0], 1);
  assert.equal(halfway[3], 0);
  assert.ok(halfway[1] > halfway[2] && halfway[2] > 0);
  assert.equal(staggered(1, 0, 1), 1);
});

test("a player goes step by step to the last, begins anew from there, and can be paused", ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const button = (text, onclick, more) => ({ textContent: text, onclick, isConnected: true, ...more });
  let step = 1;
  const me = player({ button, at: () => step, last: () => 3, go: (to) => (step = to), milliseconds: 5 });
  assert.equal(me.node.class, "tl-primary", "it is what is to be pressed first");
  const wait = (steps) => Array.from({ length: steps }, () => mock.timers.tick(5));
  me.node.onclick();
  assert.match(me.node.textContent, /pause/);
  wait(5);
  assert.equal(step, 3);
  assert.match(me.node.textContent, /play/);
  me.node.onclick();
  assert.equal(step, 0);
  me.node.onclick();
  wait(5);
  assert.equal(step, 0);
});
