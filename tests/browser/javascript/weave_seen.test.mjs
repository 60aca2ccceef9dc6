// What a weave shows of a run: torch's means, with masks and without.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const [
  { candidatesOf, changesOf, differenceOf, meanOf, seenOf },
  { stateOf },
  { tokenizerOf },
  { weightsOf },
  { unpacked },
] = await Promise.all(["weave_seen", "machine_state", "machine_tokenizer", "machine_weights", "ui"].map(load));
const tokenizer = tokenizerOf(fixtures.tokenizer);
const machine = { ...(await weightsOf(await unpacked(fixtures.model))), symbols: fixtures.tokenizer.symbols };
const fresh = () => stateOf({ machine, tokenizer, text: fixtures.text });
const close = (rows, expected) => {
  assert.equal(rows.length, expected.length);
  rows.forEach((row, t) => assertClose([...row], expected[t].slice(0, row.length)));
};

test("the mean of the heads is torch's, in every layer", () => {
  const { run } = fresh();
  assert.equal(Object.keys(fixtures.whole).length, 6);
  for (const [name, expected] of Object.entries(fixtures.whole)) close(meanOf(run, name, 2), expected);
});

test("without masks each row is that of the step that wrote its token", () => {
  const state = fresh();
  const masks = state.ids.filter((id) => id.endsWith(".mask"));
  state.change({ off: new Set(masks) });
  for (const [name, expected] of Object.entries(fixtures.without_mask)) close(meanOf(state.run, name, 2), expected);
  const cross = "decoder.layers.1.cross_attention.weights.0";
  assert.notDeepEqual(
    [...state.run.at.get(cross).rows[0]],
    [...state.run.written.get(cross)[0]],
    "the full pass has others",
  );
});

test("heads that are off do not count; where all are, nothing is looked at", () => {
  const { run } = fresh();
  const name = "decoder.layers.1.cross_attention";
  const off = new Set([`${name}.head.0`]);
  close(
    meanOf(run, name, 2, off),
    run.at.get(`${name}.weights.1`).rows.map((row) => [...row]),
  );
  assert.ok(
    meanOf(run, name, 2, new Set([...off, `${name}.head.1`]))
      .flat()
      .every((x) => x === 0),
  );
});

test("words have their probabilities, and where a cut has changed one, what stood there", () => {
  const state = fresh();
  state.change({ off: new Set(["src_embedding.positions", "encoder.layers.0.residual_1.norm"]) });
  const { run, intact, now } = state;
  const seen = seenOf({ run, intact, machine, off: now.off, layer: 1, names: state.names() });
  assert.deepEqual([seen.encoder.length, seen.decoder.length, seen.cross.length], [2, 2, run.target.length]);
  seen.target.forEach(({ p, before }, t) => {
    assert.equal(p, run.steps[t][run.target[t]]);
    const stood = changesOf(intact.target, run.target)[t]?.map((i) => state.names().before[i]);
    assert.equal(before, stood ? `${stood[0] ?? ""}${stood.length > 1 ? "…" : ""}` : null);
  });
});

test("the likeliest tokens, and the rest together", () => {
  const { best, others, rest } = candidatesOf(Float64Array.from([0.1, 0.6, 0.1, 0.2]), 2);
  assert.deepEqual(best, [
    { id: 1, p: 0.6 },
    { id: 3, p: 0.2 },
  ]);
  assert.equal(others, 2);
  assertClose([rest], [0.2]);
});

test("tokens that both have are kept, wherever they stand; what is new replaces what is lost there", () => {
  assert.deepEqual(changesOf([1, 2, 3, 4], [1, 9, 8, 4]), [null, [1], [2], null]);
  assert.deepEqual(changesOf([1, 2, 3, 4, 5, 6], [7, 3, 6]), [[0, 1], null, null]);
  assert.deepEqual(changesOf([1, 2], [1, 3, 4, 2]), [null, [], [], null]);
  assert.deepEqual(changesOf([1, 2, 3], [1, 2]), [null, null]);
  assert.deepEqual(changesOf([1], [2, 2]), [[0], []]);
});

test("two sentences differ between what they begin and end with", () => {
  assert.deepEqual(differenceOf([1, 2, 3, 4], [1, 9, 8, 4]), { start: 1, before: [2, 3], after: [9, 8] });
  assert.deepEqual(differenceOf([1, 2, 2, 4], [1, 2, 4]), { start: 2, before: [2], after: [] });
  assert.deepEqual(differenceOf([1], [1]), { start: 1, before: [], after: [] });
});
