// The parts of a weave, from left to right.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const [{ behind, beside, frameOf, looksOf, partsOf, tipOf, veilOf }, { weaveOf }, { boxesOf }, { cutsOf }] =
  await Promise.all(["weave_parts", "weave_layout", "machine_parts", "weave_cuts"].map(load));
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
  const wide = looksOf(parts, { height: 400, narrow: false, width: 1200 }, 46);
  const found = [...wide.matchAll(/data-part="([^"]+)"/g)].map(([, id]) => id);
  assert.deepEqual(
    found,
    parts.map(({ id }) => id).filter((id) => id !== "reads" && id !== "writes"),
  );
  const says = [...wide.matchAll(/>([^<>]+): look inside</g)].map(([, text]) => text);
  assert.deepEqual(says.slice(0, 3), ["where a token stands", "self-attention, layer 0", "feed-forward, layer 0"]);
  assert.equal(says.length, found.length - 1, "a ribbon says what it joins");
  assert.equal(looksOf(parts, { height: 400, narrow: true }, 46), "");
});

test("what a press does is said within the picture", () => {
  const [, x, wide] = tipOf("one → ein 0.58: look inside", 5, 30, 300).match(/x="([\d.]+)" y="19" width="(\d+)"/);
  assert.deepEqual([+x, +wide > 180], [0, true]);
  assert.match(tipOf("a < b", 300, 30, 300), /a &lt; b/);
});

test("behind a phone's rails there is every part of every layer", () => {
  const keys = new Set(boxes.flatMap((box) => box.parts.map(({ key }) => key)));
  const [encoder, decoder] = ["encoder", "decoder"].map((side) => behind(side, 2));
  const names = ({ before, layers }) => [...before, ...layers.flat()].map(([, key]) => key);
  for (const key of [...names(encoder), ...names(decoder)]) assert.ok(keys.has(key), key);
  assert.deepEqual([names(encoder).length, names(decoder).length], [5, 6]);
  assert.ok(names(encoder).includes("encoder.layers.1.feed_forward"));
});

test("a frame stands around its part", () => {
  assert.match(frameOf({ id: "cross", x: 10, wide: 100 }, 400, 46), /x="8" y="38" width="104" height="416"/);
});

test("on a phone a layer's parts name the rails of their stack, which a tour frames", () => {
  const plan = weaveOf({ width: 358, cross: [[1]], layers: 2 });
  const of = (id) => partsOf(plan, 1).find((part) => part.id === id);
  const [first, last] = plan.columns.encoder;
  assert.deepEqual(of("encoder.0.attention").rails, of("encoder.1.feed").rails);
  assert.deepEqual(of("encoder.0.attention").rails, {
    ...{ id: "encoder", x: first.x - 9, wide: last.x + last.wide + 18 - first.x },
  });
  assert.equal(partsOf(weaveOf({ width: 1336, cross: [[1]], layers: 2 }), 1)[2].rails, null);
});

test("a veil lies on either side of a part, and not on it", () => {
  const veil = (part) => [...veilOf(part, 1000, 440).matchAll(/x="([-\d.]+)" y="0" width="([\d.]+)"/g)];
  const ends = veil({ id: "encoder.0.feed", x: 100, wide: 100 }).map(([, x, wide]) => [+x, +x + +wide]);
  assert.deepEqual(ends, [
    [-20, 167],
    [203, 1020],
  ]);
});
