// The induction explorer against torch: losses and weights with and without heads, and the scores of a head.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const { languageModel } = await load("language_model");
const explorer = await load("induction_view");

test("losses and weights, with some heads taken away", () => {
  for (const { sent, tokens, runs } of fixtures.models) {
    const model = languageModel(sent);
    const intact = explorer.read(model, tokens);
    for (const { gone, maps, losses, changed } of runs) {
      const run = explorer.read(model, tokens, (layer, head) => gone.includes(`${layer}.${head}`));
      assertClose(run.losses, losses, 1e-9);
      const heads = run.maps.flat();
      assert.equal(heads.length, maps.length);
      heads.forEach((rows, i) => rows.forEach((row, t) => assertClose(row, maps[i][t], 1e-9)));
      const most = heads.map((map, i) => explorer.largestChange(map, intact.maps.flat()[i]));
      assertClose(most, changed, 1e-9);
      assert.equal(Math.max(...run.losses.map((loss, t) => Math.abs(loss - intact.losses[t]))) > 1e-3, gone.length > 0);
    }
  }
});

test("a head of the first layer changes what those of the second see, and not the other way round", () => {
  const { sent, tokens } = fixtures.models[1];
  const model = languageModel(sent);
  const intact = explorer.read(model, tokens);
  const without = (l, h) => explorer.read(model, tokens, (layer, head) => layer === l && head === h).maps;
  const differs = (maps) =>
    maps.map((heads, layer) => heads.map((map, i) => explorer.largestChange(map, intact.maps[layer][i]) > 1e-6));
  assert.deepEqual(differs(without(0, 1)), [
    [false, false, false],
    [true, true, true],
  ]);
  assert.deepEqual(differs(without(1, 1)), [
    [false, false, false],
    [false, false, false],
  ]);
});

test("the score of a repeated text is that of the package", () => {
  const twice = [3, 1, 4, 0, 5, 9, 2, 3, 1, 4, 0, 5, 9, 2];
  const { previous, induction } = explorer.scores(fixtures.weights, twice);
  assertClose([previous, induction], [fixtures.before, fixtures.score]);
});

test("sources by hand", () => {
  assert.deepEqual(explorer.sources([5, 6, 5, 5, 6]), [null, null, 1, 3, 2]);
  assert.equal(
    explorer.scores(
      [
        [1, NaN],
        [0.25, 0.75],
      ],
      [1, 2],
    ).induction,
    null,
  );
  assert.equal(
    explorer.scores(
      [
        [1, NaN],
        [0.25, 0.75],
      ],
      [1, 2],
    ).previous,
    0.25,
  );
});
