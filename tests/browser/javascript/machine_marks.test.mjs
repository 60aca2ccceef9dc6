// Which row of a map wrote a token, and where the marks on a map stand.

import assert from "node:assert/strict";
import test from "node:test";

import { load, notedCanvas } from "./support.mjs";

const { marksBeside, sayWriter, writerOf } = await load("machine_marks");
const fed = ["begin", "zwei", "ein"];
const written = ["zwei", "ein", "end"];

test("the row of the token before wrote a token, and rows of the source wrote none", () => {
  const writer = writerOf({ rows: fed, fed }, written, 1);
  assert.deepEqual(writer, { t: 1, fed: "zwei", token: "ein" });
  assert.match(sayWriter(writer), /^The marked row, “zwei”, writes “ein”/);
  assert.equal(writerOf({ rows: ["two", "one"], fed }, written, 1), null);
  assert.equal(sayWriter(null), "");
});

test("row and number are framed where they are shown", () => {
  const writer = writerOf({ rows: fed, fed }, written, 1);
  const drawn = (first, width = 700, cell = [2, 0]) => {
    const noted = notedCanvas();
    const layout = () => ({ left: 100, top: 50, size: 20, first, shown: [2, 2] });
    const { width: room, draw } = marksBeside({ writer, cell, width, layout });
    draw(noted.context, { x: 152, ink: "#000" });
    const frames = noted.calls.filter(([name]) => name === "strokeRect").map(([, place]) => place);
    return { room, frames, texts: noted.texts() };
  };
  const { room, frames, texts } = drawn([1, 0]);
  assert.deepEqual(frames[0], [97, 47, 45, 25]);
  assert.deepEqual(frames.slice(1), [
    [101, 71, 17, 17],
    [101, 71, 17, 17],
  ]);
  assert.ok(room > 0);
  assert.deepEqual(texts, ["writes ein"]);
  assert.deepEqual(drawn([0, 0]).frames.length, 1); // the number is out of the lens
  const narrow = drawn([1, 0], 340);
  assert.deepEqual([narrow.room, narrow.texts, narrow.frames.length], [0, [], 3]);
});
