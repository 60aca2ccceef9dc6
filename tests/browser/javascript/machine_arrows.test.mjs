// Two vectors and their sum as arrows: lengths and angles are those of the vectors.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, load } from "./support.mjs";

const { arrowsPicture, planeOf } = await load("machine_arrows");
const [a, b] = [
  [3, 0, 0],
  [-1, 2, 2],
];
const names = ["what it was", "+ what was found", "= what it is now"];
const lines = (svg) =>
  [...svg.matchAll(/<line class="w-arrow (\S+)" x1="(\S+)" y1="(\S+)" x2="(\S+)" y2="(\S+)"/g)].map(
    ([, kind, x0, y0, x1, y1]) => ({ kind, x: x1 - x0, y: y0 - y1 }),
  );

test("lengths, the sum and the angle are those of the vectors", () => {
  const { lengths, sum, turned } = planeOf(a, b);
  assertClose([lengths.a, lengths.b, lengths.sum], [3, 3, Math.sqrt(12)], 1e-12);
  assertClose([Math.hypot(...sum)], [Math.sqrt(12)], 1e-12);
  assertClose([Math.cos((turned * Math.PI) / 180)], [6 / (3 * Math.sqrt(12))], 1e-12); // a · (a + b)
});

test("what is drawn points where it should, within its room", () => {
  for (const [one, two] of [
    [a, b],
    [b, a],
    [a, a.map((x) => -2 * x)],
    [a, [0, 0, 0]],
  ])
    for (const room of [
      { width: 366, tall: 190 },
      { width: 440, tall: 430 },
    ]) {
      const plane = planeOf(one, two);
      const svg = arrowsPicture({ plane, names }, room);
      assert.doesNotMatch(svg, /NaN|undefined|="-\d/);
      const [was, , now] = lines(svg);
      assert.ok(Math.abs(was.y) < 0.01);
      if (plane.sum[1] > 0.1)
        assert.ok(Math.abs((Math.atan2(now.y, now.x) * 180) / Math.PI - plane.turned) < 0.5, "the true angle");
      for (const [, x] of svg.matchAll(/x[12]?="([\d.]+)"/g)) assert.ok(Number(x) <= room.width, x);
    }
});

test("what is cut is dashed, and has no sum", () => {
  const svg = arrowsPicture({ plane: planeOf(a, b), names, gone: true }, { width: 440, tall: 430 });
  assert.deepEqual(
    lines(svg).map(({ kind }) => kind),
    ["w-cut", "w-added"],
  );
  assert.match(svg, />what it was: cut</);
});
