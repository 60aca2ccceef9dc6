// The lines between the boxes, and the key.

import assert from "node:assert/strict";
import test from "node:test";

import { fixtures, load, notedCanvas } from "./support.mjs";

const [{ paintLines, paintLooks, paintThreads }, { layoutOf }, { boxesOf }] = await Promise.all(
  ["machine_lines", "machine_layout", "machine_parts"].map(load),
);
const boxes = { encoder: boxesOf("encoder", fixtures.model), decoder: boxesOf("decoder", fixtures.model) };
const plan = layoutOf({ boxes, width: 1000, rows: [6, 5], lit: { encoder: 1, decoder: 3 } });
const lines = (off = []) => {
  const { context, calls } = notedCanvas();
  paintLines(context, plan, { off: new Set(off) });
  return calls;
};

test("the memory's line ends over each cross-attention", () => {
  const ends = lines()
    .filter(([name]) => name === "lineTo")
    .map(([, point]) => point.join());
  const cross = plan.bands.flatMap(({ boxes: own, top }) =>
    own.filter(({ box }) => box.title === "cross-attention").map((box) => ({ ...box, top })),
  );
  assert.equal(cross.length, fixtures.model.n_layers);
  for (const { x, width, top } of cross) assert.ok(ends.includes([x + width - 8, top - 16].join()));
});

test("a residual connection that is switched off is dashed", () => {
  const dashed = (calls) => calls.filter(([name, [dashes]]) => name === "setLineDash" && dashes.length).length;
  const skips = boxes.encoder.filter(({ kind }) => kind === "residual").map(({ parts }) => parts[0].off);
  assert.equal(skips.length, 2 * fixtures.model.n_layers);
  assert.equal(dashed(lines()), 0);
  assert.equal(dashed(lines(skips)), skips.length);
});

test("each token has a thread, the followed one the widest, and what is looked at is amber", () => {
  const [band] = plan.bands;
  const { context, calls } = notedCanvas();
  paintThreads(context, band, { lit: 1, shares: [0, 0.2, 0, 0.8, 0, 0] });
  const wide = calls.filter(([name]) => name === "stroke").map(([, , { lineWidth }]) => lineWidth);
  assert.deepEqual(wide, [1, 2, 1, 1, 1, 1]);
  const grounds = calls.filter(([name]) => name === "fillRect");
  assert.deepEqual(
    grounds.map(([, [, y, , high]]) => [y, high]),
    [1, 3].map((t) => [band.rows[t].y, band.rows[t].high]),
  );
  const [some, more] = grounds.map(([, , { globalAlpha }]) => globalAlpha);
  assert.ok(some < more);
});

test("from each row that is looked at a ribbon leads to the followed one, as wide as its weight", () => {
  const { rows } = plan.bands[1];
  const { context, calls } = notedCanvas();
  paintLooks(context, { x: 200, weights: [0.6, 0.01, 0.39], rows, lit: 3 });
  const drawn = calls.filter(([name]) => name === "stroke").map(([, , { lineWidth }]) => lineWidth);
  assert.equal(drawn.length, 2);
  assert.ok(Math.abs(drawn[0] / drawn[1] - 0.6 / 0.39) < 1e-9);
});
