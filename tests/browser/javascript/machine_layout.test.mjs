// Where the machine's boxes stand.

import assert from "node:assert/strict";
import test from "node:test";

import { fixtures, load } from "./support.mjs";

const { layoutOf, neighbour, partAt } = await load("machine_layout");
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
  for (const { width, height, columns } of plans) {
    const all = columns.flatMap((column) => column.boxes);
    for (const box of all) {
      assert.ok(box.x >= 0 && box.x + box.width <= width && box.y >= 0 && box.y + box.height <= height);
      for (const { x, y, width: wide, height: tall } of box.parts)
        assert.ok(x >= box.x && x + wide <= box.x + box.width && y >= box.y && y + tall <= box.y + box.height);
    }
    all.forEach((box, i) => all.slice(i + 1).forEach((other) => assert.ok(apart(box, other))));
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

test("arrow keys lead from every part to every other", () => {
  for (const { items } of plans) {
    const seen = new Set([0]);
    for (const at of seen)
      for (const key of ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"]) seen.add(neighbour(items, at, key));
    assert.equal(seen.size, items.length);
  }
});
