// When ranks compute, send and wait, against what Python computes.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const ranks = await load("ranks_schedule");
const total = (tasks, name) => tasks.reduce((sum, task) => sum + task[name], 0);

for (const { way, step, ...wanted } of fixtures.cases) {
  test(`${way}, ${step.n} ranks, ${step.overlap ? "with" : "without"} overlap`, () => {
    const tasks = ranks.schedule(way, step);
    assert.deepEqual(
      tasks.map(({ name }) => name),
      wanted.names,
    );
    assertClose(
      tasks.map(({ start }) => start),
      wanted.starts,
    );
    assertClose(
      tasks.map(({ end }) => end),
      wanted.ends,
    );
    assertClose(
      ["bytes", "calls", "rounds"].map((name) => total(tasks, name)),
      [wanted.bytes, wanted.calls, wanted.rounds],
    );
    const uses = ranks.useOfTime(tasks, step.n);
    for (const [name, seconds] of Object.entries(wanted.uses)) assertClose(uses[name], seconds);
  });

  test(`what the ranks hold and read: ${way}, ${step.n} ranks`, () => {
    for (let rank = 0; rank < step.n; rank += 1) {
      assert.deepEqual(ranks.held(way, rank, step.n, step.n_layers), wanted.held[rank]);
      assert.deepEqual(ranks.reads(way, rank, step.n), wanted.reads[rank]);
    }
  });
}
