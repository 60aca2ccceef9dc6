// The lines between the boxes, and the key.

import assert from "node:assert/strict";
import test from "node:test";

import { fixtures, load, notedCanvas } from "./support.mjs";

const [{ paintKey, paintLines }, { layoutOf }, { boxesOf }] = await Promise.all(
  ["machine_lines", "machine_layout", "machine_parts"].map(load),
);
const boxes = { encoder: boxesOf("encoder", fixtures.model), decoder: boxesOf("decoder", fixtures.model) };
const plan = layoutOf({ boxes, width: 640, rows: [6, 5] });
const lines = (off = []) => {
  const { context, calls } = notedCanvas();
  paintLines(context, plan, { ink: "#000", off: new Set(off) });
  return calls;
};

test("the memory's arrow ends at each cross-attention", () => {
  const ends = lines()
    .filter(([name]) => name === "lineTo")
    .map(([, point]) => point.join());
  const [, decoder] = plan.columns;
  const cross = decoder.boxes.filter(({ box }) => box.title === "cross-attention");
  assert.equal(cross.length, fixtures.model.n_layers);
  for (const { y, height } of cross) assert.ok(ends.includes([decoder.left, y + height / 2].join()));
});

test("a residual connection that is switched off is dashed", () => {
  const dashed = (calls) => calls.filter(([name, [dashes]]) => name === "setLineDash" && dashes.length).length;
  const skips = boxes.encoder.filter(({ kind }) => kind === "residual").map(({ parts }) => parts[0].off);
  assert.equal(skips.length, 2 * fixtures.model.n_layers);
  assert.equal(dashed(lines()), 0);
  assert.equal(dashed(lines(skips)), skips.length);
});

test("the key stands where there is room above the encoder", () => {
  const { context, texts } = notedCanvas();
  paintKey(context, { columns: [{ left: 8, width: 300, top: 189 }] }, { ink: "#000" });
  assert.deepEqual(texts(), []);
  paintKey(context, { columns: [{ left: 8, width: 300, top: 190 }] }, { ink: "#000" });
  assert.ok(texts().includes("attention weights") && texts().includes("this output token"));
  assert.ok(texts().includes("change (full height: 100 % of its size)"));
});
