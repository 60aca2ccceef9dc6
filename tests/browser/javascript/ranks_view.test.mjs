// What each rank does at a moment, and which weights are gathered, against what Python finds.

import assert from "node:assert/strict";
import test from "node:test";

import { fixtures, load } from "./support.mjs";

const { doing, gathered, lengthOf, schedule } = await load("ranks_schedule");
const { atMoment } = await load("ranks_view");

test("what each rank does at a moment", () => {
  for (const [way, moments] of Object.entries(fixtures.moments)) {
    const tasks = schedule(way, fixtures.step);
    for (const { moment, does } of moments) {
      const found = does.map((_, rank) => doing(tasks, rank, moment));
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
    assert.deepEqual(gathered(tasks, (i / fixtures.gathered.length) * lengthOf(tasks)), layers);
  });
  assert.ok(fixtures.gathered.some((layers) => layers.length > 0));
});

test("a moment in words: ranks that do the same are named together", () => {
  const does = [
    { computes: "F2", sends: null },
    { computes: "F2", sends: null },
    { computes: null, sends: "gather F3" },
    { computes: null, sends: null },
  ];
  assert.equal(
    atMoment(does, 0.0979, "data"),
    "At 97.9 ms, ranks 0, 1 compute layer 2 forward; rank 2 is on the wire; rank 3 waits.",
  );
  assert.match(atMoment(does, 0, "pipeline"), /ranks 0, 1 compute micro-batch 2 forward/);
});
