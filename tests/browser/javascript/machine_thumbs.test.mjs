// The colours of small pictures.

import assert from "node:assert/strict";
import test from "node:test";

import { fakePictures, load, notedCanvas } from "./support.mjs";

fakePictures();
const { atlasOf, crossed, paintChange, paintMatrix, paintWaves, paintWritten } = await load("machine_thumbs");
const { amounts } = await load("ui");
const { NOW, useTheme } = await load("palette");
const PLACE = { x: 10, y: 20, width: 60, height: 30 };
const ROWS = [
  { y: 20, high: 10 },
  { y: 30, high: 20 },
];
const runOf = (matrices) => ({ at: new Map(Object.entries(matrices).map(([name, rows]) => [name, { rows }])) });

test("weights go from 0 to 1, the followed row in full colour, and where a row is short it is clear", () => {
  const { context, calls } = notedCanvas();
  const run = runOf({ "a.weights.0": [[1], [0.25, 0]] });
  const atlas = atlasOf(run, ["a.weights.0"]);
  paintMatrix(context, "a.weights.0", PLACE, { atlas, run, rows: ROWS, lit: 1 });
  const drawn = calls.filter(([call]) => call === "drawImage");
  const image = drawn[0][1][0].image;
  const pixelAt = (t, j) => [...image.data.slice(4 * (t * image.width + j), 4 * (t * image.width + j) + 4)];
  assert.deepEqual(
    [pixelAt(0, 0), pixelAt(0, 1), pixelAt(1, 0), pixelAt(1, 1)],
    [
      [...amounts(1), 255],
      [0, 0, 0, 0],
      [...amounts(0.25), 255],
      [...amounts(0), 255],
    ],
  );
  const placed = drawn.map(([, [, ...numbers], { globalAlpha }]) => [...numbers, globalAlpha === 1]);
  assert.deepEqual(placed, [
    [0, 0, 1, 1, 10, 20, 30, 10, false],
    [0, 1, 2, 1, 10, 30, 60, 20, true],
  ]);
});

test("numbers are bars, up above 0 and down below, of neighbours the largest, and none leaves its row", () => {
  const { context, calls } = notedCanvas();
  const numbers = [1, -1, 0.5, 0, ...Array(56).fill(0.1), 90, -3, 0, 0];
  paintWaves(context, "a", PLACE, { run: runOf({ a: [numbers, numbers.map(() => 0)] }), rows: ROWS, lit: 0 });
  const bars = calls.filter(([call, [, y]]) => call === "rect" && y === 25).map(([, [, , , tall]]) => -tall);
  assert.equal(bars.length, 30); // for 60 pixels
  assert.ok(bars[0] > 0 && bars.at(-2) > 0 && bars.at(-1) <= 0);
  assert.equal(Math.max(...bars), 4.8);
  const fills = calls.filter(([call]) => call === "fill").map(([, , { globalAlpha }]) => globalAlpha);
  assert.ok(fills[0] === 1 && fills[1] < 1);
});

test("a word that is written stands over a bar as long as it is sure, in the colour of a change if it is one", () => {
  const { context, calls } = notedCanvas();
  const run = {
    target: [1, 0],
    steps: [
      [0.25, 0.75],
      [0.5, 0.5],
    ],
  };
  paintWritten(context, PLACE, { run, names: { written: ["ein", "end"] }, rows: ROWS, lit: 0, replaced: [null, [1]] });
  const said = calls.filter(([call]) => call === "fillText").map(([, [text], { fillStyle }]) => [text, fillStyle]);
  assert.deepEqual(said, [
    ["ein", NOW.ink],
    ["0.75", NOW.ink],
    ["end", NOW.change],
  ]);
  const bars = calls
    .filter(([call, [, y]]) => call === "fillRect" && [21, 31].includes(y))
    .map(([, [, , wide]]) => wide);
  assert.deepEqual(bars, [45, 30]);
});

test("the pictures of a run are made once", () => {
  const run = runOf({ a: [[1, 2]] });
  assert.equal(atlasOf(run, ["a"]), atlasOf(run, ["a"]));
  assert.notEqual(atlasOf(runOf({ a: [[1, 2]] }), ["a"]), atlasOf(run, ["a"]));
});

test("a change is a bar as high as it is large, and none where there is hardly any", () => {
  const tallOf = (by) => {
    const { context, calls } = notedCanvas();
    paintChange(context, PLACE, by);
    return calls.map(([, [, , , tall]]) => tall);
  };
  assert.deepEqual([0.004, 0.01, 0.5, 7].map(tallOf), [[], [3], [15], [30]]);
});

test("what is switched off is light on a light page, and dark on a dark one", () => {
  const veil = (theme) => {
    useTheme(theme);
    const { context, calls } = notedCanvas();
    crossed(context, PLACE);
    return calls.find(([name]) => name === "fillRect")[2].fillStyle;
  };
  assert.deepEqual([veil("dark"), veil("light")], ["#0e1217", "#fbfaf6"]);
});
