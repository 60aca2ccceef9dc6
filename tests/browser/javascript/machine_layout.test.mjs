// Where the machine's boxes stand.

import assert from "node:assert/strict";
import test from "node:test";

import { fixtures, load } from "./support.mjs";

const { layoutOf, nearest, neighbour, partAt } = await load("machine_layout");
const { boxesOf } = await load("machine_parts");
const sizes = { n_layers: 2, n_heads: 4, d_model: fixtures.model.d_model };
const boxes = { encoder: boxesOf("encoder", sizes), decoder: boxesOf("decoder", sizes) };
const plans = [320, 360, 640, 754].flatMap((width) =>
  [
    [1, 1],
    [6, 5],
    [20, 31],
  ].map((rows) => layoutOf({ boxes, width, rows })),
);
const apart = (a, b) => a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;

test("boxes stand in the drawing, and none over another", () => {
  for (const { width, height, labels, bands } of plans) {
    const all = bands.flatMap(({ boxes: own }) => own);
    assert.equal(all.length, boxes.encoder.length + boxes.decoder.length);
    for (const box of all) {
      assert.ok(box.x >= labels && box.x + box.width <= width && box.y >= 0 && box.y + box.height <= height);
      for (const { x, y, width: wide, height: tall } of box.parts)
        assert.ok(x >= box.x && x + wide <= box.x + box.width + 1e-9 && y >= box.y && y + tall <= box.y + box.height);
    }
    all.forEach((box, i) => all.slice(i + 1).forEach((other) => assert.ok(apart(box, other))));
  }
});

test("the encoder's layers stand two in a band, the decoder's one, and a drawing with room fills it", () => {
  const layers = ({ boxes: own }) => [...new Set(own.map(({ box }) => box.layer).filter((layer) => layer >= 0))];
  const deep = { n_layers: 3, n_heads: 2, d_model: 8 };
  const many = { encoder: boxesOf("encoder", deep), decoder: boxesOf("decoder", deep) };
  const { bands, width } = layoutOf({ boxes: many, width: 1320, rows: [6, 5] });
  assert.deepEqual(bands.map(layers), [[0, 1], [2], [0], [1], [2]]);
  assert.equal(width, 1320);
  assert.equal(bands.at(-1).boxes.at(-1).box.kind, "output");
});

test("a token has its row in all matrices of a band, and one that is followed a higher one", () => {
  const { bands } = layoutOf({ boxes, width: 1320, rows: [6, 5], lit: { encoder: 2, decoder: 4 } });
  for (const { side, rows, top, tall } of bands) {
    const [lit, n] = side === "encoder" ? [2, 6] : [4, 5];
    assert.equal(rows.length, n);
    rows.reduce((y, row) => (assert.ok(Math.abs(row.y - y) < 1e-9), y + row.high), top);
    assert.ok(Math.abs(rows.reduce((sum, { high }) => sum + high, 0) - tall) < 1e-9);
    rows.forEach(({ high }, t) => assert.equal(high === Math.max(...rows.map((row) => row.high)), t === lit));
  }
});

test("a point in a box, but in no picture, finds the nearest part of that box", () => {
  for (const plan of plans) {
    const box = plan.bands[0].boxes.find(({ box: one }) => one.kind === "residual");
    const [first, second] = box.parts;
    assert.equal(partAt(plan, box.x + 2, box.y + 3).part, first.part);
    assert.equal(partAt(plan, box.x + box.width - 2, box.y + 3).part, second.part);
    const masked = plan.bands.at(-1).boxes.find(({ box: one }) => one.title.startsWith("masked"));
    assert.equal(partAt(plan, masked.x + 2, masked.y + 5).part, masked.parts[0].part);
    assert.ok(partAt(plan, masked.x + masked.width - 8, masked.y + 5).part.key.endsWith(".mask"));
  }
});

test("the pictures of parts do not overlap, and a point in one finds it", () => {
  for (const plan of plans) {
    plan.items.forEach((item, i) => {
      plan.items.slice(i + 1).forEach((other) => assert.ok(apart(item, other)));
      assert.equal(partAt(plan, item.x + item.width / 2, item.y + item.height / 2), item);
      assert.ok(item.width >= 22 && item.height >= 14);
    });
    assert.equal(partAt(plan, 1, 1), null);
  }
});

test("a strip fills its width in bands of one height, and each point of it has a part", () => {
  for (const width of [320, 366, 1376]) {
    const plan = layoutOf({ boxes, width, rows: [6, 5], lit: { encoder: 1, decoder: 2 }, small: 20 });
    assert.equal(plan.width, width);
    for (const { tall, boxes: own } of plan.bands)
      assert.ok(tall <= 20 && own[0].x >= 0 && own.at(-1).x + own.at(-1).width <= width);
    plan.items.forEach((item) => assert.equal(nearest(plan, item.x + item.width / 2, item.y + item.height / 2), item));
    assert.equal(nearest(plan, width, plan.height), plan.items.at(-1));
  }
});

test("a page from 800 pixels on holds the whole", () => {
  for (const width of [800, 846, 1100]) {
    const plan = layoutOf({ boxes, width, rows: [8, 7], labels: 118 });
    assert.equal(plan.width, width);
    plan.items.forEach((item) => assert.ok(item.width >= 20, `${item.part.title}: ${item.width}`));
  }
});

test("where one scrolls a part is wide enough for its name", () => {
  for (const width of [320, 780, 1376])
    for (const { box, part, width: wide } of layoutOf({ boxes, width, rows: [6, 5] }).items)
      assert.ok(!part.thumb || wide >= (box.kind === "feed" ? 70 : 44) - 1e-9, `${box.title}: ${wide}`);
});

test("arrow keys lead from every part to every other", () => {
  for (const { items } of plans) {
    const seen = new Set([0]);
    for (const at of seen)
      for (const key of ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"]) seen.add(neighbour(items, at, key));
    assert.equal(seen.size, items.length);
  }
});
