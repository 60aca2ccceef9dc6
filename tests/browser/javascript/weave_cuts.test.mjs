// Six cuts, what belongs to each, and what a run says.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const [{ cutsOf, dividedOff, isCut, outcomeOf, riddleOf }, { boxesOf }] = await Promise.all(
  ["weave_cuts", "machine_parts"].map(load),
);
const sides = ["encoder", "decoder"].map((side) => boxesOf(side, { n_layers: 2, n_heads: 4, d_model: 16 }));
const ids = sides.flat().flatMap(({ parts }) => parts.map(({ off }) => off).filter(Boolean));
const cuts = cutsOf(ids);

test("each cut is of one kind of part, everywhere it stands", () => {
  const sizes = Object.fromEntries(cuts.map(({ key, ids: all }) => [key, all.length]));
  assert.deepEqual(sizes, { positions: 1, residual: 4, norm: 10, cross: 8, mask: 2, feed: 2 });
  assert.ok(cuts.every(({ ids: all }) => all.every((id) => ids.includes(id))));
  assert.equal(new Set(cuts.flatMap(({ ids: all }) => all)).size, 27);
});

test("what is off is divided into whole cuts and what is left", () => {
  const [positions, residual] = cuts;
  const off = new Set([...positions.ids, residual.ids[0]]);
  assert.ok(isCut(positions, off) && !isCut(residual, off) && !isCut({ ids: [] }, off));
  const { whole, single } = dividedOff(cuts, off);
  assert.deepEqual([whole, single], [[positions], [residual.ids[0]]]);
});

const decode = (target) =>
  target
    .filter((id) => id > 0)
    .map((id) => ["", "ein", "und", "zwanzig"][id])
    .join("");

test("a run says a number, or none, or does not end", () => {
  const says = (target) => outcomeOf({ target }, { decode, eos: 0 });
  assert.deepEqual(says([1, 2, 3, 0]), { text: "einundzwanzig", number: 21, label: "21" });
  assert.equal(says([1, 1, 0]).label, "no number");
  assert.equal(says([1, 1]).label, "never stops");
});

test("answers are ordered by their size and not by their cuts; what is no number comes last", () => {
  const outcomes = new Map([
    ["a", { number: null, label: "never stops" }],
    ["b", { number: 34024, label: "34 024" }],
    ["c", { number: 24, label: "24" }],
  ]);
  assert.deepEqual(
    riddleOf(outcomes).map(({ key }) => key),
    ["c", "b", "a"],
  );
});
