// Axes: where values stand on them, and their ticks.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, load, notedCanvas } from "./support.mjs";

const chart = await load("chart");

test("a linear axis goes from the least to the greatest value, or as far as it is told", () => {
  const free = chart.axis({}, [2, NaN, 6, 3]);
  assertClose([2, 4, 6].map(free.share), [0, 0.5, 1]);
  const told = chart.axis({ low: 0, high: 10 }, [2, 6]);
  assertClose([0, 5, 10].map(told.share), [0, 0.5, 1]);
});

test("what lies outside an axis is drawn just outside", () => {
  const { share } = chart.axis({ low: 0, high: 1 }, [0]);
  assertClose([share(-9), share(9)], [-0.05, 1.05]);
});

test("on a logarithmic axis equal factors are equal ways, and what is too small stands at its foot", () => {
  const { share } = chart.axis({ log: 10, low: 1e-4, high: 1 }, [1e-9, 1]);
  assertClose([1e-9, 1e-4, 1e-3, 1e-2, 1].map(share), [0, 0, 0.25, 0.5, 1]);
});

test("one value alone does not divide by zero", () => {
  assert.ok(Number.isFinite(chart.axis({}, [3]).share(3)));
});

test("even ticks are round, cover the axis, and are as precise as they must be", () => {
  assert.deepEqual(
    chart.evenTicks(0, 1).map(([, text]) => text),
    ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"],
  );
  assert.deepEqual(
    chart.evenTicks(-1, 1).map(([, text]) => text),
    ["−1.0", "−0.5", "0.0", "0.5", "1.0"],
  );
  assert.deepEqual(
    chart.evenTicks(3, 97).map(([value]) => value),
    [20, 40, 60, 80],
  );
  for (const [low, high] of [
    [0, 0.03],
    [-7, 13],
    [1e-6, 3e-6],
    [120, 9000],
  ]) {
    const ticks = chart.evenTicks(low, high);
    assert.ok(ticks.length >= 3 && ticks.length <= 7, `${low} to ${high}: ${ticks}`);
    assert.ok(ticks.every(([value]) => value >= low - 1e-9 && value <= high + 1e-9));
    assert.equal(new Set(ticks.map(([, text]) => text)).size, ticks.length);
  }
});

test("a name under the first or the last tick stays within the box", () => {
  const { context, calls } = notedCanvas();
  const ticks = ["embedding", "0", "the last layer"].map((name, i) => [i, name]);
  chart.drawLines(
    context,
    { x: 0, y: 0, width: 240, height: 120 },
    { x: { ticks }, series: [{ name: "", xs: [0, 1, 2], ys: [0, 1, 0] }], ink: "#000" },
  );
  const places = calls.filter(([name, [text]]) => name === "fillText" && ticks.some(([, one]) => one === text));
  assert.equal(places.length, 3);
  for (const [, [text, middle]] of places) {
    const half = 3 * text.length; // as the canvas of these tests measures
    assert.ok(middle - half >= 0 && middle + half <= 240, `${text}: ${middle - half} to ${middle + half}`);
  }
});

test("the key to bars is striped where the bars are", () => {
  const striped = (outlined) => {
    const { context, calls } = notedCanvas();
    const series = ["draft", "model"].map((name) => ({ name, ys: [0, 0], outlined }));
    chart.drawBars(context, { x: 0, y: 0, width: 240, height: 120 }, { names: ["a", "b"], y: { high: 1 }, series });
    return calls.filter(([name, all]) => name === "rect" && all[2] === 14 && all[3] === 12).length;
  };
  assert.deepEqual([striped(false), striped(true)], [1, 0]);
});

test("ticks of a logarithmic axis are powers, at most seven", () => {
  assert.deepEqual(
    chart.powers(0.001, 10, 10).map(([, text]) => text),
    ["0.001", "0.01", "0.1", "1", "10"],
  );
  assert.deepEqual(
    chart.powers(1e-5, 1, 10).map(([, text]) => text),
    ["10⁻⁵", "10⁻⁴", "10⁻³", "10⁻²", "10⁻¹", "1"],
  );
  assert.deepEqual(
    chart.powers(1, 1024, 2).map(([value]) => value),
    [1, 4, 16, 64, 256, 1024],
  );
});
