// The decoding explorer's methods against the package's own on the same model.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const decoding = await load("decoding_view");
const tables = fixtures.tables.map((given) => ({
  ...given,
  table: decoding.tableOf(Float64Array.from(given.ids), Float64Array.from(given.logProbs), given.options),
  eos: given.options.eos,
}));

test("a table knows where each extension stands", () => {
  for (const { table, options, ids } of tables) {
    assert.equal(table.length * options.branching, ids.length);
    const reached = table.flatMap(({ next }) => next.filter((row) => row >= 0));
    assert.deepEqual(
      reached,
      table.slice(1).map((_, i) => i + 1),
    );
  }
});

test("greedy finds the sentence of the package", () => {
  for (const { table, eos, greedy } of tables) {
    const { ids, total } = decoding.greedy(table, eos).at(-1);
    assert.deepEqual(ids, greedy.ids);
    assertClose([total], [greedy.total]);
  }
});

test("the view opens at the third step, or before the last one", () => {
  const steps = (count) => decoding.opening(Array(count + 1));
  assert.deepEqual([1, 2, 3, 4, 9].map(steps), [1, 1, 2, 3, 3]);
});

test("beam search finds the sentence of the package, for every beam", () => {
  for (const { table, eos, beams } of tables) {
    for (const [size, beam] of Object.entries(beams)) {
      const [{ ids, total }] = decoding.beamSearch(table, eos, Number(size)).found;
      assert.deepEqual(ids, beam.ids, `beam ${size}`);
      assertClose([total], [beam.total]);
    }
  }
});

test("a beam holds no more than its size, and what has ended leaves it", () => {
  for (const { table, eos } of tables) {
    const { steps, found } = decoding.beamSearch(table, eos, 3);
    steps.forEach(({ live, candidates, kept }, i) => {
      assert.ok(kept.length <= 3 && live.every(({ ended }) => !ended));
      assert.ok(kept.every(({ total }) => candidates.slice(kept.length).every((other) => other.total <= total)));
      if (i)
        assert.deepEqual(
          live,
          steps[i - 1].kept.filter(({ ended }) => !ended),
        );
    });
    const ended = steps.flatMap(({ kept }) => kept.filter((one) => one.ended));
    assert.ok(ended.every((one) => found.includes(one)));
  }
});

test("no beam finds more than the best of all sentences", () => {
  for (const { table, eos, all } of tables.filter((given) => given.all)) {
    const every = decoding.sentences(table, eos);
    assert.equal(every.length, all.count);
    assertClose([every[0].total], [all.best]);
    assertClose([every.reduce((sum, { total }) => sum + Math.exp(total), 0)], [1]);
  }
});

for (const { settings, logProbs, before, kept, after } of fixtures.filters) {
  test(`filtered, ${JSON.stringify(settings)}`, () => {
    const found = decoding.filtered(logProbs, settings);
    assertClose(found.before, before);
    assert.deepEqual(found.kept, kept);
    assertClose(found.after, after);
  });
}

test("a seed draws the same sentence again, another seed others", () => {
  const { table, eos } = tables[0];
  const draw = (seed) => decoding.sample(table, eos, {}, seed).at(-1).ids;
  const draws = Array.from({ length: 40 }, (_, seed) => draw(seed));
  assert.deepEqual(
    draws,
    Array.from({ length: 40 }, (_, seed) => draw(seed)),
  );
  assert.ok(new Set(draws.map(String)).size > 5);
});

test("tokens are drawn as often as they are probable, and never if they are cut", () => {
  const { table, eos } = tables[0];
  const settings = { temperature: 1.5, k: 4, p: 0.9 };
  const { after } = decoding.filtered(table[0].logProbs, settings);
  const counts = after.map(() => 0);
  for (let seed = 1; seed <= 20000; seed += 1) counts[decoding.sample(table, eos, settings, seed)[1].i] += 1;
  counts.forEach((count, i) =>
    assert.ok(Math.abs(count / 20000 - after[i]) < (after[i] ? 0.015 : 1e-9), `${i}: ${count}, ${after[i]}`),
  );
});

const widest = [10, 60, 30];

test("the columns of the tree are as wide as their longest token, and share the room that is left", () => {
  const columns = decoding.columnsOf(widest, 600);
  columns.forEach(({ width }, i) => assert.ok(width >= widest[i] + 18));
  columns.slice(1).forEach(({ x }, i) => assert.ok(x >= columns[i].x + columns[i].width + 26));
  assert.ok(columns.at(-1).x + columns.at(-1).width <= 600);
  const narrow = decoding.columnsOf(widest, 0);
  assert.deepEqual(
    narrow.map(({ width }) => width),
    columns.map(({ width }) => width),
    "with too little room no token is cut: the tree is wider",
  );
});

test("a tree is scrolled to its last step and the whole steps before it that have room", () => {
  const columns = decoding.columnsOf([100, 100, 100, 100], 0);
  assert.equal(decoding.scrolledTo(columns, 1000), 0);
  const scrolled = decoding.scrolledTo(columns, 340);
  assert.ok(columns[1].x < scrolled && scrolled < columns[2].x, "the third step and the last are seen whole");
  assert.ok(columns[3].x + columns[3].width - scrolled <= 340);
  const end = columns[3].x + columns[3].width;
  assert.equal(decoding.scrolledTo(columns, 200), end - 200, "where only the last has room, it ends at the edge");
  assert.ok(decoding.scrolledTo(columns, 100) < columns[3].x, "with too little room at least the last is seen");
});

test("a branch is the weaker the less probable it is, but for the one that was taken", () => {
  const at = (p, best = false) => decoding.strength({ total: Math.log(p), best });
  assert.equal(at(0.5), 1);
  assert.ok(at(0.05) > at(0.001) && at(0.001) > at(0.0001) && at(1e-9) > 0.2);
  assert.equal(at(1e-9, true), 1);
});

test("a step grows: its lines first, then its tokens, then what was not taken pales, and so does a line that ends", () => {
  const [taken, cut] = [
    { depth: 2, kept: true, dead: false },
    { depth: 2, kept: false, dead: false },
  ];
  const dying = { depth: 1, kept: true, dead: true };
  const at = (node, share) => decoding.growth(node, 2, share);
  assert.deepEqual(at(taken, 0), { line: 0, box: 0, pale: 1 });
  assert.deepEqual(at(taken, 0.5), { line: 1, box: 1, pale: 1 });
  assert.deepEqual(at(cut, 0.5), { line: 1, box: 1, pale: 1 }, "as strong as what is taken, until it is cut");
  assert.deepEqual(at(cut, 1), { line: 1, box: 1, pale: decoding.PALE });
  assert.equal(at(dying, 0).pale, 1);
  assert.equal(at(dying, 1).pale, decoding.PALE);
  assert.equal(
    decoding.growth({ ...dying, depth: 0 }, 2, 0).pale,
    decoding.PALE,
    "what had ended before is pale all the time",
  );
});

test("what is pale has a contrast of 4.5 to 1, in either theme", () => {
  const luminance = (grey) => (grey <= 0.04045 ? grey / 12.92 : ((grey + 0.055) / 1.055) ** 2.4);
  // The strength of JupyterLab's text, and its shade and that of the page: its two themes.
  for (const [strength, ink, paper] of [
    [0.87, 0, 1],
    [1, 1, 0.07],
  ]) {
    const share = strength * decoding.PALE;
    const [low, high] = [share * ink + (1 - share) * paper, paper].map(luminance).sort((a, b) => a - b);
    assert.ok((high + 0.05) / (low + 0.05) >= 4.5, `${(high + 0.05) / (low + 0.05)}`);
  }
});
