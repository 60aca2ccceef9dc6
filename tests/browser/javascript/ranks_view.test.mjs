// What each rank does at a moment, and which weights are gathered, against what Python finds.

import assert from "node:assert/strict";
import test from "node:test";

import { fixtures, load } from "./support.mjs";

const [view, { lengthOf, schedule }] = [await load("ranks_view"), await load("ranks_schedule")];

test("what each rank does at a moment", () => {
  for (const [way, moments] of Object.entries(fixtures.moments)) {
    const tasks = schedule(way, fixtures.step);
    for (const { moment, does } of moments) {
      const found = does.map((_, rank) => view.doing(tasks, rank, moment));
      assert.deepEqual(
        found.map(({ computes, sends }) => `${computes ?? ""}|${sends ?? ""}`),
        does,
      );
    }
  }
});

test("which layers' weights all ranks have", () => {
  const tasks = schedule("sharded", fixtures.step);
  fixtures.gathered.forEach((layers, i) => {
    assert.deepEqual(view.gathered(tasks, (i / fixtures.gathered.length) * lengthOf(tasks)), layers);
  });
  assert.ok(fixtures.gathered.some((layers) => layers.length > 0));
});

test("times have three digits and a unit", () => {
  assert.equal(view.inTime(0), "0 ms");
  assert.equal(view.inTime(0.28184), "282 ms");
  assert.equal(view.inTime(1.264), "1.26 s");
});
