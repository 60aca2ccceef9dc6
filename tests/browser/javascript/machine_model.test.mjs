// The machine in the page against torch with the same weights.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const [{ translated, chosenAfter, encodingOf }, { weightsOf }] = [
  await load("machine_model"),
  await load("machine_weights"),
];
const { unpacked } = await load("ui");
const machineOf = async ({ model }) => weightsOf(await unpacked(model));
const small = await machineOf(fixtures.small);
const shipped = await machineOf(fixtures.shipped);
const list = (rows) => rows.map((row) => Array.from(row));

test("every matrix of a run", () => {
  for (const { src, target, matrices } of fixtures.runs) {
    const run = translated(small, src);
    assert.deepEqual(run.target, target);
    assert.ok(Object.keys(matrices).length > 60);
    for (const [name, rows] of Object.entries(matrices)) {
      const mine = list((run.at.get(name) ?? assert.fail(name)).rows);
      rows.forEach((row, t) => assertClose(mine[t], row.slice(0, mine[t].length), 1e-6)); // short: the past alone
    }
  }
});

const apart = (steps, others) =>
  Math.max(...steps.map((row, t) => Math.max(...row.map((p, i) => Math.abs(p - (others[t]?.[i] ?? 1))))));

// Each changed run, as torch has it; returns by how much it differs from the run without a change.
const asTorch = ({ src, off = [], swaps = [], target, steps }) => {
  const run = translated(small, src, { off: new Set(off), swaps });
  const label = [...off, ...swaps.map(({ part }) => part)].join();
  assert.deepEqual(run.target, target, label);
  assert.ok(apart(steps, run.steps) < 1e-6, label);
  return apart(list(run.steps), translated(small, src).steps);
};

test("parts that are switched off, and their pairs", () => {
  for (const changed of fixtures.off) {
    // What is written last sees nothing that comes later: without the mask of the last layer it stays as it was.
    const same = changed.off.join() === "decoder.layers.1.self_attention.mask";
    const by = asTorch(changed);
    assert.ok(same ? by < 1e-9 : by > 1e-3, `${changed.off}: ${by}`);
  }
});

test("a vector from another sentence", () => {
  const changes = fixtures.swaps.map(asTorch);
  assert.ok(
    changes.slice(0, -1).every((by) => by > 1e-5),
    changes.join(),
  );
  assert.equal(changes.at(-1), 0); // behind the end
});

test("the shipped translator's logits, with the weights as they are sent", () => {
  fixtures.shipped.logits.forEach((rows, i) => {
    const { at, target } = translated(shipped, fixtures.shipped.sources[i]);
    assert.deepEqual(target, fixtures.shipped.targets[i]);
    rows.forEach((row, t) => assertClose(Array.from(at.get("to_logits").rows[t]), row, 1e-4));
  });
});

test("numbers as the model in full precision writes them", () => {
  const { sources, targets } = fixtures.shipped;
  assert.ok(sources.length >= 200);
  sources.forEach((src, i) => assert.deepEqual(chosenAfter(shipped, src, targets[i]), targets[i]));
  for (let i = 0; i < sources.length; i += 20) assert.deepEqual(translated(shipped, sources[i]).target, targets[i]); // the same
});

test("a draft, right or wrong, changes nothing but the time", () => {
  const [first, second, third] = fixtures.shipped.sources;
  const { target } = translated(shipped, first);
  const other = translated(shipped, second).target;
  const changes = { off: new Set(["encoder.layers.0.residual_1.skip"]), swaps: [] };
  for (const draft of [target, other, target.slice(0, 3), [...target, ...other], [target[0], ...other], [5, 5, 5]])
    for (const done of [undefined, changes, { off: new Set(["decoder.layers.0.self_attention.mask"]), swaps: [] }]) {
      const [plain, drafted] = [translated(shipped, first, done), translated(shipped, first, done, { draft })];
      assert.deepEqual(drafted.target, plain.target);
      assert.ok(apart(drafted.steps, plain.steps) < 1e-9);
      assert.deepEqual([...drafted.at.keys()].sort(), [...plain.at.keys()].sort());
      for (const [name, { rows }] of plain.at) {
        const mine = list(drafted.at.get(name).rows);
        assert.equal(mine.length, rows.length, name);
        list(rows).forEach((row, t) => assertClose(mine[t], row, 1e-9));
      }
    }
  assert.equal(translated(shipped, third, undefined, { longest: 4, draft: target }).target.length, 3);
});

test("the encoding, by hand", () => {
  assertClose(Array.from(encodingOf(3, 4)), [Math.sin(3), Math.cos(3), Math.sin(0.03), Math.cos(0.03)], 1e-12);
});
