// The parts of a weave, from left to right.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const [{ beside, frameOf, looksOf, partsOf, veilOf }, { weaveOf }, { boxesOf }, { cutsOf }] = await Promise.all(
  ["weave_parts", "weave_layout", "machine_parts", "weave_cuts"].map(load),
);
const cross = [[0.5, 0.5]];
const parts = partsOf(weaveOf({ width: 1200, cross, layers: 2 }), 0);
const boxes = ["encoder", "decoder"].flatMap((side) => boxesOf(side, { n_layers: 2, n_heads: 2, d_model: 8 }));

test("each opens a part that the machine has, and each cut is one of the six", () => {
  const keys = new Set(boxes.flatMap((box) => box.parts.map(({ key }) => key)));
  assert.deepEqual(
    parts.filter(({ open }) => !keys.has(open)),
    [],
  );
  const cuts = new Set(cutsOf([]).map(({ key }) => key));
  assert.deepEqual(new Set(parts.map(({ cut }) => cut).filter(Boolean)), cuts);
  assert.equal(parts.find(({ id }) => id === "cross").open, "decoder.layers.0.cross_attention.head.0");
});

test("keys go from one to the next and no further, and begin at the ribbons", () => {
  assert.equal(parts[beside(parts, null, 1)].id, "cross");
  assert.equal(beside(parts, 0, -1), 0);
  assert.equal(beside(parts, parts.length - 1, 1), parts.length - 1);
  const places = parts.map(({ x }) => x);
  assert.deepEqual(
    places,
    [...places].sort((a, b) => a - b),
  );
});

test("a phone has no clocks", () => {
  const narrow = partsOf(weaveOf({ width: 366, cross, layers: 2 }), 1);
  assert.equal(narrow.length, parts.length - 1);
});

test("each part that opens answers the pointer, except on a phone", () => {
  const wide = looksOf(parts, { height: 400, narrow: false }, 46);
  const found = [...wide.matchAll(/data-part="([^"]+)"/g)].map(([, id]) => id);
  assert.deepEqual(
    found,
    parts.map(({ id }) => id).filter((id) => id !== "reads" && id !== "writes"),
  );
  assert.equal(wide.split("look inside").length - 1, found.length);
  assert.equal(looksOf(parts, { height: 400, narrow: true }, 46), "");
});

test("a frame stands around its part", () => {
  assert.match(frameOf({ id: "cross", x: 10, wide: 100 }, 400, 46), /x="8" y="38" width="104" height="416"/);
});

test("a veil lies on either side of a part, and not on it", () => {
  const veil = (part) => [...veilOf(part, 1000, 440).matchAll(/x="([-\d.]+)" y="0" width="([\d.]+)"/g)];
  const ends = veil({ id: "encoder.0.feed", x: 100, wide: 100 }).map(([, x, wide]) => [+x, +x + +wide]);
  assert.deepEqual(ends, [
    [-20, 167],
    [203, 1020],
  ]);
});
