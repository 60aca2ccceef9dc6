// The boxes of the machine: all that they name is there.

import assert from "node:assert/strict";
import test from "node:test";

import { fixtures, load } from "./support.mjs";

const { boxesOf, pathOf } = await load("machine_parts");
const { translated } = await load("machine_model");
const { weightsOf } = await load("machine_weights");
const { unpacked } = await load("ui");
const machine = await weightsOf(await unpacked(fixtures.model));
const run = translated(machine, fixtures.src);
const parts = ["encoder", "decoder"].flatMap((side) =>
  boxesOf(side, machine).flatMap((box) => box.parts.map((part) => ({ side, box, part }))),
);

test("the boxes of the paper, from the bottom up", () => {
  const kinds = (side) => boxesOf(side, { ...machine, n_layers: 1 }).map(({ title }) => title);
  assert.deepEqual(kinds("encoder"), ["input embedding", "self-attention", "add & norm", "feed-forward", "add & norm"]);
  assert.deepEqual(kinds("decoder"), [
    "output embedding",
    ...["masked self-attention", "add & norm", "cross-attention", "add & norm", "feed-forward", "add & norm"],
    "linear & softmax",
  ]);
});

test("every picture and every tab is a matrix of the run", () => {
  for (const { part } of parts) {
    if (part.thumb) assert.ok(run.at.has(part.thumb), part.thumb);
    for (const { name, to = 0 } of part.tabs) assert.ok(run.at.get(name).rows[0].length >= to, name);
  }
  const ids = parts.map(({ part }) => part.key);
  assert.equal(new Set(ids).size, ids.length);
});

test("every switch and every swap changes what the machine computes", () => {
  const sum = ({ at }) => [...at.values()].flatMap(({ rows }) => rows.map((row) => row.filter(Number.isFinite).join()));
  const intact = sum(run).join();
  let [switches, swaps] = [0, 0];
  for (const { part } of parts) {
    if (part.off) {
      switches += 1;
      assert.notEqual(
        sum(translated(machine, fixtures.src, { off: new Set([part.off]), swaps: [] })).join(),
        intact,
        part.off,
      );
    }
    if (part.swap) {
      swaps += 1;
      const value = new Float64Array(
        part.swap.head === null ? machine.d_model : machine.d_model / machine.n_heads,
      ).fill(0.5);
      const changes = { off: new Set(), swaps: [{ ...part.swap, position: 1, value }] };
      assert.notEqual(sum(translated(machine, fixtures.src, changes)).join(), intact, part.key);
    }
  }
  // 2 encodings; 2 layers of 2 and 3 residual connections and norms; 6 · 2 heads; 4 feed-forward networks; 2 masks
  assert.deepEqual([switches, swaps], [2 + 20 + 12 + 4 + 2, 2 + 10 + 12 + 4]);
});

test("paths", () => {
  const path = (id) => {
    const { side, box, part } = parts.find(({ part }) => part.key === id);
    return pathOf(side, box, part).join(" › ");
  };
  assert.equal(path("decoder.layers.1.cross_attention.head.0"), "decoder › layer 1 › cross-attention › head 0");
  assert.equal(path("encoder.layers.0.residual_2.norm"), "encoder › layer 0 › behind feed-forward › norm");
  assert.equal(path("to_logits"), "linear & softmax");
  assert.equal(path("src_embedding.positions"), "encoder › positional encoding of the input");
});
