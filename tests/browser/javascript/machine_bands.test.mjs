// What becomes of one token by an addition, as bands of bars: the numbers are the run's own, and where they add up, they do.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fakePage, fixtures, load } from "./support.mjs";

fakePage();
const [
  { bandsOf, bandsPicture, barsFrom, sayBands },
  { saidWide },
  { stateOf },
  { tokenizerOf },
  { weightsOf },
  { unpacked },
] = await Promise.all(
  ["machine_bands", "weave_marks", "machine_state", "machine_tokenizer", "machine_weights", "ui"].map(load),
);
const tokenizer = tokenizerOf(fixtures.tokenizer);
const machine = { ...(await weightsOf(await unpacked(fixtures.model))), symbols: fixtures.tokenizer.symbols };
const begun = () => stateOf({ machine, tokenizer, text: "ten two" });
const filled = (state, key, t = 1) => {
  const { adds, rows } = bandsOf(state.partOf(key).box, t, (name) => state.run.at.get(name).how);
  return { adds, bands: rows.map((band) => ({ ...band, values: [...state.run.at.get(band.tab.name).rows[t]] })) };
};
const SKIP = "decoder.layers.0.residual_1.skip";

test("token and position make the input, around and found make the sum", () => {
  for (const key of ["src_embedding.tokens", "tgt_embedding.positions", SKIP, "encoder.layers.0.residual_2.norm"]) {
    const { adds, bands } = filled(begun(), key);
    assert.ok(adds, key);
    const [a, b, sum] = bands.map(({ values }) => values);
    assertClose(
      sum,
      a.map((x, i) => x + b[i]),
      1e-9,
    );
  }
});

test("a connection that is cut is no part of the sum, and the sentence says so", () => {
  const state = begun();
  state.change(state.flipped(SKIP));
  const { adds, bands } = filled(state, SKIP);
  assert.ok(!adds && bands[0].gone);
  assertClose(bands[2].values, bands[1].values, 1e-12);
  const { box } = state.partOf(SKIP);
  assert.equal(sayBands(box, "·two", bands)[0], "Of “two” only what was found goes on");
  assert.match(sayBands(box, "·two", filled(begun(), SKIP).bands)[0], /^Masked self-attention turns “two” by \d+°$/);
});

test("a place that is cut is not said to become numbers", () => {
  const state = begun();
  state.change(state.flipped("src_embedding.positions"));
  const { bands } = filled(state, "src_embedding.tokens");
  assert.match(sayBands({ kind: "embedding" }, "ten", bands)[0], /^“ten” without its place becomes \d+ numbers$/);
});

test("on a phone a number stands behind what its band says, wherever its column is", () => {
  const { bands } = filled(begun(), SKIP);
  const n = bands[0].values.length;
  for (const column of [0, 1, Math.floor(n / 8), n - 1]) {
    const { svg } = bandsPicture({ kind: "residual", adds: true, bands, t: 1, column, width: 366 });
    const numbers = [
      ...svg.matchAll(/w-sum" x="([\d.]+)" y="[\d.]+" font-size="13" text-anchor="(start|end)">[=+ ]*−?\d/g),
    ];
    assert.equal(numbers.length, 3);
    for (const [, x, anchor] of numbers) assert.ok(anchor === "end" || Number(x) > saidWide("+ what was found", true));
  }
});

test("arrows and bars stand beside each other where there is room, and a press knows where the bars begin", () => {
  for (const width of [366, 800, 1336])
    for (const [kind, key] of [
      ["embedding", "src_embedding.tokens"],
      ["residual", SKIP],
    ]) {
      const { adds, bands } = filled(begun(), key);
      const { svg, tall } = bandsPicture({ kind, adds, bands, t: 1, column: 0, width });
      assert.doesNotMatch(svg, /NaN|undefined|width="-/);
      assert.equal(svg.split('class="w-arrow').length - 1, 3);
      assert.ok(tall <= (width < 900 ? 540 : 440));
      assert.ok(svg.includes(`class="w-zero" x1="${barsFrom(width)}"`));
    }
});
