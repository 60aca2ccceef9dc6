// Ribbons as thick as the weights, stacked without gaps and without overlaps.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, load } from "./support.mjs";

const { between, curveOf, pathOf, ribbonNear, ribbonsOf, stacked } = await load("weave_ribbons");
const cross = [
  [0.7, 0.2, 0.1],
  [0.9, 0.1, 0],
  [0, 0, 1],
];
const left = [50, 100, 150];
const ribbons = ribbonsOf({ cross, left, right: left, unit: 30, height: 200 });
const of = (key, i) => ribbons.filter((ribbon) => ribbon[key] === i);

test("a ribbon is as thick as its weight, and those of an output token are together one unit", () => {
  for (const { t, s, wide } of ribbons) assertClose([wide / 30], [cross[t][s]], 1e-12);
  for (const t of [0, 1, 2]) {
    const own = of("t", t);
    assertClose([own.reduce((sum, { wide }) => sum + wide, 0)], [30], 1e-9);
    assertClose([own[0].to, own.at(-1).to + own.at(-1).wide], [left[t] - 15, left[t] + 15], 1e-9);
    own.slice(1).forEach(({ to }, i) => assertClose([to], [own[i].to + own[i].wide], 1e-9));
  }
});

test("at an input token they are stacked in the order of the outputs, and stacks do not touch", () => {
  let end = -Infinity;
  for (const s of [0, 1, 2]) {
    const own = of("s", s);
    assert.ok(own[0].from >= end - 1e-9);
    own.slice(1).forEach(({ from }, i) => assertClose([from], [own[i].from + own[i].wide], 1e-9));
    end = own.at(-1).from + own.at(-1).wide;
  }
});

test("a stack that has room stands at its centre; those that have none part evenly; none leaves the room", () => {
  assertClose(stacked([10, 20], [50, 100], 200), [45, 90]);
  assertClose(stacked([40, 40], [50, 60], 200), [15, 55]); // 80 in all, around 55
  assertClose(stacked([60, 60], [10, 20], 200), [0, 60]);
  assertClose(stacked([60, 60], [190, 195], 200), [80, 140]);
});

test("an outline has its thickness at both ends", () => {
  assert.equal(pathOf({ from: 10, to: 40, wide: 5 }, 0, 100), "M0 10C50 10 50 40 100 40V45C50 45 50 15 0 15Z");
  assert.equal(curveOf(0, 1, 10, 2), "M0 1C5 1 5 2 10 2");
});

test("on the way from one weave to another all is in between, and what is new grows from nothing", () => {
  const now = ribbons.map((ribbon) => ({ ...ribbon, from: ribbon.from + 10, wide: 2 * ribbon.wide }));
  const half = between(ribbons.slice(1), now, 0.5);
  assertClose([half[0].wide], [now[0].wide / 2]);
  assertClose([half[4].from, half[4].wide], [ribbons[4].from + 5, 1.5 * ribbons[4].wide]);
  assert.deepEqual(between(ribbons, now, 1), now);
});

test("between ribbons the nearest answers, and far from all of them none", () => {
  const columns = { from: 0, to: 100 };
  const near = (x, y, reach) => ribbonNear(ribbons, columns, x, y, reach);
  for (const one of ribbons.filter(({ weight }) => weight)) {
    assert.equal(near(0, one.from + one.wide / 2), one);
    assert.equal(near(100, one.to + one.wide / 2), one);
  }
  const last = of("t", 2).at(-1);
  assert.equal(near(100, last.to + last.wide + 30), last);
  assert.equal(near(100, last.to + last.wide + 30, 20), null);
  assert.equal(near(101, last.to), null);
});
