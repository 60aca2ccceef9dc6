// Where the words and arcs stand at every width, and what is painted.

import assert from "node:assert/strict";
import test from "node:test";

import { load, notedCanvas } from "./support.mjs";

const picture = await load("arcs_picture");
const sentences = ["I took my money to the bank", "We sat on the bank of the river"].map((all) => all.split(" "));
const measure = (text) => 0.6 * text.length;
const laid = (width, more = {}) => picture.layout(sentences, { width, measure, least: 44, features: 2, ...more });

const apart = (a, b) =>
  a.left + a.width <= b.left || b.left + b.width <= a.left || a.top + a.height <= b.top || b.top + b.height <= a.top;

test("at every width each word has its place, as large as a finger needs, and no two overlap", () => {
  for (let width = 280; width <= 1100; width += 5) {
    for (const features of [0, 2, 6]) {
      const plan = laid(width, { features, named: features === 2 });
      const boxes = plan.places.flatMap((place) => place.boxes);
      assert.equal(boxes.length, 15);
      assert.ok(plan.width <= width, `${plan.width} of ${width}`);
      boxes.forEach((box, i) => {
        assert.ok(Math.min(box.width, box.height) >= 44 && box.left >= 0 && box.top >= 0);
        assert.ok(box.left + box.width <= plan.width && box.top + box.height <= plan.height);
        assert.ok(
          boxes.slice(0, i).every((other) => apart(box, other)),
          `${i} at ${width}`,
        );
      });
      for (const { arcs, along, vector } of plan.places) {
        for (const to of along) {
          const [, [x, y]] = picture.arcOf(arcs, along[0], to, 1);
          assert.ok(0.75 * x + 0.25 * arcs.base >= 0 || arcs.across, "the arc is cut at the left");
          assert.ok(0.75 * y + 0.25 * arcs.base >= 0 || !arcs.across, "the arc is cut at the top");
        }
        assert.ok(
          !features || vector.x + vector.names + vector.cell * features <= plan.width + 1,
          `vector at ${width}`,
        );
      }
    }
  }
});

test("a sentence runs across where there is room for it, and down where there is not", () => {
  assert.deepEqual(
    [laid(1100), laid(754), laid(360)].map((plan) => plan.places[0].arcs.across),
    [true, true, false],
  );
});

test("an arc ends over its words; to itself it is a loop, and between two words the foot is between theirs", () => {
  const { arcs, along } = laid(1100).places[0];
  const [start, , , end] = picture.arcOf(arcs, along[6], along[3]);
  assert.deepEqual(
    [start, end],
    [along[6], along[3]].map((x) => [x, arcs.base]),
  );
  const [out, , , back] = picture.arcOf(arcs, along[6], along[6]);
  assert.ok(picture.arcOf(arcs, along[6], along[6], 1)[0][0] < out[0], "a thick loop is wide");
  assert.ok(out[0] < along[6] && along[6] < back[0]);
  assert.equal(picture.placeOf(along, 6), along[6]);
  assert.equal(picture.placeOf(along, 2.5), (along[2] + along[3]) / 2);
});

test("a thicker arc is a larger weight, and weights, names and vectors are written", () => {
  const { context, calls, texts } = notedCanvas();
  const one = (word) => ({
    word,
    weights: sentences[word === 6 ? 0 : 1].map(() => 0.125),
    before: [1, 0],
    after: [2, -3],
  });
  const looks = [one(6), one(4)];
  looks[0].weights = [0, 0, 0, 0.75, 0, 0, 0.25];
  const shown = { names: null, features: ["money", "water"], most: 3, ink: "black" };
  picture.paint(context, laid(1100), looks, shown);
  const arcs = calls.filter(([name]) => name === "stroke").slice(0, 7);
  assert.deepEqual(
    arcs.map(([, , { lineWidth }]) => lineWidth),
    [1, 1, 1, 14.5, 1, 1, 5.5],
  );
  assert.deepEqual(
    arcs.map(([, , { globalAlpha }]) => globalAlpha > 0),
    [0, 0, 0, 1, 0, 0, 1].map(Boolean),
  );
  const all = texts();
  for (const text of ["0.75", "0.13", "money", "alone", "in context", "−3.00"]) assert.ok(all.includes(text), text);
});
