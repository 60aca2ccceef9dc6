// What becomes of one token in a part, as bands of bars: the numbers are the run's own, and where they add up, they do.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fakePage, fixtures, load } from "./support.mjs";

fakePage();
const [{ bandsOf, barsOf, flowOf, sayFlow }, { stateOf }, { tokenizerOf }, { weightsOf }, { unpacked }] =
  await Promise.all(["machine_flow", "machine_state", "machine_tokenizer", "machine_weights", "ui"].map(load));
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
  assert.equal(sayFlow("residual", "·two", bands, []), "Of “two” only what was found goes on");
  assert.equal(
    sayFlow("residual", "·two", filled(begun(), SKIP).bands, []),
    "What was found is added to what “two” was",
  );
});

test("a place that is cut is not said to become numbers", () => {
  const state = begun();
  state.change(state.flipped("src_embedding.positions"));
  const { bands } = filled(state, "src_embedding.tokens");
  assert.match(sayFlow("embedding", "ten", bands, []), /^“ten” without its place becomes \d+ numbers$/);
});

test("the sentence of a feed-forward network counts what ReLU leaves", () => {
  const { bands } = filled(begun(), "encoder.layers.1.feed_forward");
  const [, before, active] = bands.map(({ values }) => values);
  const left = before.filter((x) => x > 0).length;
  assert.equal(active.filter((x) => x > 0).length, left);
  assert.equal(sayFlow("feed", "ten", bands, []), `“ten” by itself: of ${before.length} numbers ReLU leaves ${left}`);
});

test("bars go up and down by as much as the numbers say", () => {
  const svg = barsOf([1, -2, 0], { x: 0, wide: 30, y: 50, up: 40, down: 40, most: 2 });
  const tall = [...svg.matchAll(/v(-?[\d.]+)/g)].map(([, size]) => Number(size));
  assert.deepEqual(tall, [-20, 40]);
});

test("a press on a token chooses its row, and an attention has no bands", () => {
  const state = begun();
  const pressed = [];
  const flow = flowOf({ state, oncell: (cell) => pressed.push(cell) });
  const names = state.names();
  flow.show(state.partOf("to_logits"), { cell: [0, 3], names });
  const picture = flow.node.children.at(-1).innerHTML;
  assert.doesNotMatch(picture, /NaN|undefined/);
  flow.node.querySelectorAll("button")[1].onclick();
  assert.deepEqual(pressed, [[1, 3]]);
  flow.show(state.partOf("decoder.layers.0.cross_attention.head.0"), { cell: [0, 0], names });
  assert.ok(flow.node.hidden);
});
