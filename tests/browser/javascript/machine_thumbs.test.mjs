// The colours of small pictures.

import assert from "node:assert/strict";
import test from "node:test";

import { fakePictures, load, notedCanvas } from "./support.mjs";

fakePictures();
const { paintChange, paintMatrix, paintTokens } = await load("machine_thumbs");
const { cividis } = await load("ui");
const { diverging } = await load("grid");
const PLACE = { x: 10, y: 20, width: 60, height: 30 };

function pixelsOf(rows, weights) {
  const { context, calls } = notedCanvas();
  paintMatrix(context, rows, weights, PLACE, "#000");
  const [, [picture, ...place]] = calls.find(([name]) => name === "drawImage");
  assert.deepEqual(place, [10, 20, 60, 30]);
  const bytes = [...picture.image.data];
  return { picture, pixels: bytes.flatMap((_, i) => (i % 4 ? [] : [bytes.slice(i, i + 4)])) };
}

test("weights go from 0 to 1, and where a row is short it is clear", () => {
  const { picture, pixels } = pixelsOf([[1], [0.25, 0]], true);
  assert.deepEqual([picture.width, picture.height], [2, 2]);
  assert.deepEqual(pixels, [
    [...cividis(1), 255],
    [0, 0, 0, 0],
    [...cividis(63 / 255), 255],
    [...cividis(0), 255],
  ]);
});

test("other numbers are red below 0 and blue above, of equal size equally", () => {
  const { pixels } = pixelsOf([[-9, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]], false);
  assert.deepEqual(pixels.slice(0, 2), [
    [...diverging(0), 255],
    [...diverging(1), 255],
  ]);
});

test("a picture is made once for a matrix", () => {
  const rows = [[0.5, 0.5]];
  assert.equal(pixelsOf(rows, true).picture, pixelsOf(rows, true).picture);
  assert.notEqual(pixelsOf([...rows], true).picture, pixelsOf(rows, true).picture);
});

test("a change is a bar as high as it is large, and none where there is hardly any", () => {
  const tallOf = (by) => {
    const { context, calls } = notedCanvas();
    paintChange(context, PLACE, by);
    return calls.map(([, [, , , tall]]) => tall);
  };
  assert.deepEqual([0.004, 0.01, 0.5, 7].map(tallOf), [[], [3], [15], [30]]);
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
