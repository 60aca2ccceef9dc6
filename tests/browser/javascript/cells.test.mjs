// The cells of a map: what is painted of numbers, masked ones, empty ones, and of a map that becomes another.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const { keyWidth, numberIn, paintCells, paintKey, shareOf } = await load("cells");
const { amounts, css, diverging, mixed } = await load("palette");

// A context that notes what it is asked to do; letters are 6 pixels wide.
function context() {
  const me = { fills: [], texts: [], rects: [], frames: [], globalAlpha: 1 };
  const nothing = () => {};
  Object.assign(me, {
    fillRect: (x, y, width, height) =>
      me.fills.push({ x, y, width, height, colour: me.fillStyle, alpha: me.globalAlpha }),
    fillText: (text, x, y) => me.texts.push({ text, x, y }),
    rect: (x, y) => me.rects.push([x, y]),
    strokeRect: (x, y) => me.frames.push([x, y]),
    measureText: (text) => ({ width: 6 * text.length }),
    createLinearGradient: () => ({ addColorStop: nothing }),
  });
  for (const name of ["save", "restore", "beginPath", "clip", "moveTo", "lineTo", "stroke"]) me[name] = nothing;
  return me;
}

const box = { left: 10, top: 20, size: 30 };

test("a number stands in its cell, in its colour, with a proper minus", () => {
  const seen = context();
  paintCells(seen, [[-2, 1]], box, { colours: diverging, range: [-2, 2], print: true, ink: "#000" });
  assert.deepEqual(
    seen.fills.map(({ x, y, colour }) => [x, y, colour]),
    [
      [10, 20, css(diverging(0))],
      [40, 20, css(diverging(0.75))],
    ],
  );
  assert.deepEqual(
    seen.texts.map(({ text }) => text),
    ["−2.00", "1.00"],
  );
  assert.equal(numberIn(-0.001), "0.00");
  assert.equal(shareOf(3, [3, 3]), 0.5);
});

test("a masked cell is hatched and has no colour; an empty one is a frame", () => {
  const seen = context();
  paintCells(seen, [[NaN, 1, NaN]], box, { range: [0, 1], ink: "#000", blank: (t, s) => s === 2 });
  assert.equal(seen.fills.length, 1);
  assert.deepEqual(seen.rects[0], [10, 20]);
  assert.deepEqual(seen.frames, [[70.5, 20.5]]);
});

test("a map becomes another cell by cell, from the corner on", () => {
  const before = { values: [[0, 0, 0]], colours: diverging, range: [-1, 1] };
  const at = (share) => {
    const seen = context();
    paintCells(seen, [[1, 1, NaN]], box, { range: [0, 1], print: true, ink: "#000", before, share });
    return seen;
  };
  const start = at(0);
  assert.deepEqual(
    start.fills.map(({ colour, alpha }) => [colour, alpha]),
    Array(3).fill([css(diverging(0.5)), 1]),
  );
  assert.deepEqual(
    start.texts.map(({ text }) => text),
    ["0.00", "0.00", "0.00"],
  );
  const middle = at(0.5);
  assert.equal(middle.fills[0].colour, css(amounts(1)), "the first is what it becomes");
  assert.equal(middle.fills[1].colour, css(mixed(diverging(0.5), amounts(1), 0.5)), "the second is halfway");
  assert.equal(middle.texts[1].text, "0.50");
  assert.equal(middle.fills[2].colour, css(diverging(0.5)), "the last is what it was");
  assert.deepEqual([at(0.9).rects.length > 0, at(0.5).rects.length], [true, 0], "it is hatched when it has come far");
  assert.ok(at(0.9).fills[2].alpha < 0.5, "and its number fades");
  assert.equal(at(1).fills.length, 2);
});

test("the key says both ends and the name, and what is hatched only where something is", () => {
  const options = { range: [-1.5, 1.5], name: "score", ink: "#000" };
  const words = (more) => {
    const seen = context();
    paintKey(seen, { x: 5, y: 5 }, { ...options, ...more });
    assert.ok(seen.texts.at(-1).x + 6 * seen.texts.at(-1).text.length <= 5 + keyWidth(seen, { ...options, ...more }));
    return seen.texts.map(({ text }) => text);
  };
  assert.deepEqual(words({}), ["−1.5", "1.5", "score"]);
  assert.deepEqual(words({ masked: "masked" }), ["−1.5", "1.5", "score", "masked"]);
});
