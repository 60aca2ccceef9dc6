// Where the cells of a wide map stand.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const { bandsOf, cellAt, cornerOf } = await load("machine_map");

test("the middle of each cell finds it, and no cell is narrow or outside", () => {
  for (const [total, T, S] of [
    [320, 3, 128],
    [360, 20, 256],
    [754, 5, 150],
    [754, 31, 128],
  ]) {
    const plan = bandsOf({ total, T, S, left: 80 });
    assert.ok(plan.wide >= 5);
    for (let t = 0; t < T; t += 1)
      for (let s = 0; s < S; s += 1) {
        const [x, y] = cornerOf(plan, [t, s]);
        assert.ok(x >= 80 && x + plan.wide <= total && y + plan.tall <= plan.height);
        assert.deepEqual(cellAt(plan, x + plan.wide / 2, y + plan.tall / 2, T, S), [t, s]);
      }
    assert.equal(cellAt(plan, 10, 30, T, S), null);
  }
});
