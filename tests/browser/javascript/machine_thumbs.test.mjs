// The colours of small pictures.

import assert from "node:assert/strict";
import test from "node:test";

import { fakePictures, load, notedCanvas } from "./support.mjs";

fakePictures();
const { atlasOf, crossed, paintChange, paintMatrix, paintTokens } = await load("machine_thumbs");
const { amounts } = await load("ui");
const { diverging } = await load("grid");
const PLACE = { x: 10, y: 20, width: 60, height: 30 };
const runOf = (matrices) => ({ at: new Map(Object.entries(matrices).map(([name, rows]) => [name, { rows }])) });

function painted(matrices, name) {
  const { context, calls } = notedCanvas();
  const atlas = atlasOf(runOf(matrices), Object.keys(matrices));
  paintMatrix(context, atlas, name, PLACE, "#000");
  const [, [{ image }, left, top, columns, rows, ...place]] = calls.find(([call]) => call === "drawImage");
  assert.deepEqual([left, ...place], [0, 10, 20, 60, 30]);
  const bytes = [...image.data];
  const pixelAt = (t, j) => bytes.slice(4 * ((top + t) * image.width + j), 4 * ((top + t) * image.width + j) + 4);
  return Array.from({ length: rows }, (_, t) => Array.from({ length: columns }, (_, j) => pixelAt(t, j)));
}

test("weights go from 0 to 1, and where a row is short it is clear", () => {
  const matrices = { wide: [[3, 3, 3, 3]], "a.weights.0": [[1], [0.25, 0]] };
  assert.deepEqual(painted(matrices, "a.weights.0"), [
    [
      [...amounts(1), 255],
      [0, 0, 0, 0],
    ],
    [
      [...amounts(63 / 255), 255],
      [...amounts(0), 255],
    ],
  ]);
});

test("other numbers are red below 0 and blue above, of equal size equally", () => {
  const [[red, blue]] = painted({ a: [[0, 1]], b: [[-9, 9, ...Array(18).fill(0)]] }, "b");
  assert.deepEqual(
    [red, blue],
    [
      [...diverging(0), 255],
      [...diverging(1), 255],
    ],
  );
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
  const veil = (dark) => {
    const { context, calls } = notedCanvas();
    crossed(context, PLACE, dark);
    return calls.find(([name]) => name === "fillRect")[2].fillStyle;
  };
  assert.deepEqual([veil(false), veil(true)], ["rgb(255 255 255 / .55)", "rgb(0 0 0 / .65)"]);
});

test("tokens that would stand over each other are left out", () => {
  const source = Array.from({ length: 30 }, (_, i) => `t${i}`);
  const said = (height) => {
    const { context, texts } = notedCanvas();
    const look = { names: { source }, shares: source.map(() => 0.1), ink: "#000", changedInput: () => false, at: 0 };
    paintTokens(context, { x: 90, y: 0, height, labels: 80 }, "encoder", look);
    return texts().length;
  };
  assert.deepEqual([said(390), said(180)], [30, 15]);
});
