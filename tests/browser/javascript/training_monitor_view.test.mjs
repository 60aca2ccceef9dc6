// Where a step stands among others, the ticks of a logarithmic axis, and durations as people say them.

import assert from "node:assert/strict";
import test from "node:test";

import { fixtures, load } from "./support.mjs";

const monitor = await load("training_monitor_view");

test("lastAt finds the last number that is at most x", () => {
  for (const { x, at } of fixtures.places) assert.equal(monitor.lastAt(fixtures.steps, x), at);
  assert.equal(monitor.lastAt([], 1), -1);
});

test("halfway of what is new, and all of a single step", () => {
  const history = (...steps) => Float32Array.from(steps.flatMap((step) => [step, 0, 0, NaN]));
  const shown = (before, ...steps) => monitor.halfway(history(...steps), before) / 4;
  assert.equal(shown(2, 1, 2, 3, 4, 5, 6), 4);
  assert.equal(shown(2, 1, 2, 3), 3);
  assert.equal(shown(2, 1, 2, 3, 4), 3);
  assert.equal(shown(0, 1), 1);
  assert.equal(shown(8, 2, 4, 6, 8, 10, 12), 5); // a long history keeps every second step
});

test("logTicks are round, and few", () => {
  const names = (low, high) => monitor.logTicks(low, high).map(([, name]) => name);
  assert.deepEqual(names(0.4, 6), ["0.5", "1", "2", "5"]);
  assert.deepEqual(names(0.03, 6), ["0.1", "1"]);
  assert.deepEqual(names(0.0004, 60), ["0.001", "0.01", "0.1", "1", "10"]);
  for (const [value, name] of monitor.logTicks(0.4, 6)) assert.ok(Math.abs(value - Number(name)) < 1e-12);
});

test("duration in seconds, and from a minute on in minutes", () => {
  assert.deepEqual([0.4, 59.4, 59.6, 125].map(monitor.duration), ["0 s", "59 s", "1 min 0 s", "2 min 5 s"]);
});

test("a translation letter by letter: what belongs to the right one, and what does not", () => {
  const read = (said, target) =>
    monitor
      .mended(said, target)
      .map(([letter, right]) => (right ? letter : letter.toUpperCase()))
      .join("");
  assert.equal(read("vier", "vier"), "vier");
  assert.equal(read("vxier", "vier"), "vXier");
  assert.equal(read("dreizehn", "dreißig"), "dreiZEHN");
  assert.equal(read("abc", ""), "ABC");
  assert.equal(read("", "abc"), "");
});

test("what a model did not write is said", () => {
  assert.deepEqual(["", " \n", "\nthree", "teen\n"].map(monitor.silence), [
    "(it wrote nothing)",
    "(it wrote nothing)",
    "(it ended the line)",
    "",
  ]);
});
