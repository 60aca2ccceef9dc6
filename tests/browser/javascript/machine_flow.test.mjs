// What becomes of one token in a part, as bands of bars: the numbers are the run's own, and where they add up, they do.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fakePage, fixtures, load } from "./support.mjs";

fakePage();
const [
  { bandsOf, bandsPicture, flowOf, flowSeen, sayBands },
  { saidWide },
  { stateOf },
  { tokenizerOf },
  { weightsOf },
  { unpacked },
] = await Promise.all(
  ["machine_flow", "weave_marks", "machine_state", "machine_tokenizer", "machine_weights", "ui"].map(load),
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
  assert.equal(sayBands("residual", "·two", bands)[0], "Of “two” only what was found goes on");
  assert.equal(
    sayBands("residual", "·two", filled(begun(), SKIP).bands)[0],
    "What was found is added to what “two” was",
  );
});

test("a place that is cut is not said to become numbers", () => {
  const state = begun();
  state.change(state.flipped("src_embedding.positions"));
  const { bands } = filled(state, "src_embedding.tokens");
  assert.match(sayBands("embedding", "ten", bands)[0], /^“ten” without its place becomes \d+ numbers$/);
});

test("each part has its own picture and its sentence", () => {
  const state = begun();
  const names = state.names();
  const said = (key) => {
    const at = state.partOf(key);
    const { says, draw } = flowSeen({ state, machine, at, cell: [0, 0], names });
    for (const width of [366, 1336]) assert.doesNotMatch(draw(width).svg, /NaN|undefined|width="-/, key);
    return says[0];
  };
  assert.match(said("encoder.layers.1.feed_forward"), /^Feed-forward (turns|makes|moves|leaves) /);
  assert.match(said("src_embedding.positions"), /^“ten” stands at place 0/);
  const best = Math.max(...state.run.steps[0]).toFixed(2);
  assert.equal(said("to_logits"), `After “begin” it writes “${names.written[0].replace("·", "")}”: ${best} sure`);
  assert.match(said("src_embedding.tokens"), /^“ten” and its place become \d+ numbers$/);
});

test("a press on the bars chooses a number where they add up, and an attention has no picture here", () => {
  const state = begun();
  const pressed = [];
  const flow = flowOf({ state, machine, oncell: (cell) => pressed.push(cell) });
  const names = state.names();
  flow.show(state.partOf("src_embedding.tokens"), { cell: [1, 3], names });
  flow.node.onclick({ offsetX: 899 });
  assert.deepEqual(pressed, [[1, machine.d_model - 1]]);
  flow.show(state.partOf("to_logits"), { cell: [0, 3], names });
  flow.node.onclick({ offsetX: 899 });
  assert.equal(pressed.length, 1);
  flow.show(state.partOf("decoder.layers.0.cross_attention.head.0"), { cell: [0, 0], names });
  assert.ok(flow.node.hidden);
});

test("on a phone a number stands behind what its band says, wherever its column is", () => {
  const { bands } = filled(begun(), SKIP);
  const n = bands[0].values.length;
  for (const column of [0, 1, Math.floor(n / 8), n - 1]) {
    const { svg } = bandsPicture({ kind: "residual", adds: true, bands, t: 1, column, width: 366 });
    const numbers = [...svg.matchAll(/x="([\d.]+)" y="[\d.]+" font-size="13" text-anchor="(start|end)">[=+ ]*−?\d/g)];
    assert.equal(numbers.length, 3);
    for (const [, x, anchor] of numbers) assert.ok(anchor === "end" || Number(x) > saidWide("+ what was found", true));
  }
});
