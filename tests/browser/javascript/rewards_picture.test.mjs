// At which door each answer ends, how thick the threads are, and what is written.

import assert from "node:assert/strict";
import test from "node:test";

import { fixtures, load, notedCanvas } from "./support.mjs";

globalThis.Path2D = class {
  roundRect() {}
};
const picture = await load("rewards_picture");
const { steps, advantages } = fixtures;

test("every answer ends at one door: right, rewarded though wrong, or not rewarded", () => {
  const step = { rewards: [1, 1, 0, 0, 1], exact: [1, 0, 1, 0, 0] };
  const doors = picture.doorsOf(step);
  assert.deepEqual(
    doors.map(({ name, open }) => [name, open]),
    [
      ["right", [0]],
      ["side", [1, 4]],
      ["wall", [2, 3]],
    ],
  );
});

test("at every width the doors are inside, none overlaps, and threads end within theirs", () => {
  for (const step of steps) {
    for (let width = 280; width <= 1100; width += 20) {
      const { doors, ends, group, from, to, right, high } = picture.layoutOf(width, step);
      assert.ok(from < to && to < right && group <= width);
      let free = 0;
      for (const { open, box } of doors.filter((door) => door.open.length)) {
        assert.ok(box.y >= free && box.x + box.width <= group && box.y + box.height <= high);
        free = box.y + box.height;
        for (const i of open) assert.ok(ends[i] > box.y && ends[i] < free);
      }
    }
  }
});

test("a thread is as thick as its answer is probable, and each answer is written with its mark", () => {
  const { context, calls, texts } = notedCanvas();
  const sketch = { node: {}, resize: () => context };
  const step = { ...steps[2], before: [0, -1, -2, -3, -1, -1], after: [-1, 0, -2, -3, -1, -1] };
  picture.paint(sketch, { width: 1000, steps: [step, step], at: 0, step, advantages: advantages[2] });
  const curves = calls.filter(([name]) => name === "bezierCurveTo").map(([, all]) => all);
  const threads = curves.slice(step.texts.length); // behind those that hang from the problem
  step.texts.forEach((_, i) => {
    const [, first, , , , left] = threads[4 * i]; // the upper side begins as thick as before
    const [, , , , , low] = threads[4 * i + 3]; // and the lower side ends so
    assert.ok(Math.abs(low - first - 32 * Math.exp(step.before[i])) < 1e-9);
    const [, lower] = threads[4 * i + 2].slice(4);
    assert.ok(Math.abs(lower - left - 32 * Math.exp(step.after[i])) < 1e-9);
  });
  const written = texts();
  assert.equal(written.filter((text) => text === "✓").length, step.exact.filter(Boolean).length);
  assert.ok(written.some((text) => text.startsWith("1 → 0.368")));
  assert.ok(written.includes("99⏎<9"));
});

test("the side door is named where a fifth of all answers goes through it, and nowhere else", () => {
  const gaps = (...all) => all.map((gap) => ({ rewarded: 0.3 + gap, right: 0.3 }));
  assert.equal(picture.widestGap(gaps(0, 0.1, 0.3, 0.25)), 2);
  assert.equal(picture.widestGap(gaps(0, 0.1)), null);
});

test("small probabilities keep two digits", () => {
  assert.deepEqual([0.51742, 0.00873, 0.00041, 2.2e-7].map(picture.small), ["0.517", "0.00873", "4.1e−4", "2.2e−7"]);
});
