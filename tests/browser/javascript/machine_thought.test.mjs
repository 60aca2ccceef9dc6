// A feed-forward network as a picture: what is said of it is what the numbers say.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const { loudest, sayThought, thoughtPicture } = await load("machine_thought");
const names = ["a", "·ein", "drei", "vier", "x"];
const look = (more) => ({
  ...{ before: [0, 0.1, 0.6, 0.2, 0.1], after: [0, 0.7, 0.1, 0.1, 0.1], token: 1, names, fed: "·tausend", own: false },
  ...{ active: [0, 2, 0, 1, 3, 0.5, 1, 1], pushes: [0, 1.5, 0, -0.5, 0.25, 0.1, 0.2, 0.3], ...more },
});

test("a word that is turned into another is named, with how sure the machine was and is", () => {
  const [title, more] = sayThought(look());
  assert.equal(title, "Feed-forward turns “drei” into “ein”: 0.10 → 0.70");
  assert.match(more, /After “tausend” 6 of 8 hidden features fire; they add 1\.9 to the score of “ein”\./); // 1.85
});

test("a word that stays is made surer, or moved away from, or left", () => {
  const said = (p, q) => sayThought(look({ before: [0, p, 0, 0, 0], after: [0, q, 0, 0, 0] }))[0];
  assert.equal(said(0.9, 0.95), "Feed-forward makes sure of “ein”: 0.90 → 0.95");
  assert.equal(said(0.9, 0.4), "Feed-forward moves away from “ein”: 0.90 → 0.40");
  assert.equal(said(0.9, 0.9), "Feed-forward leaves “ein”: 0.90 → 0.90");
});

test("a network that is off says so, and its picture has no lines", () => {
  const off = look({ active: Array(8).fill(0), pushes: Array(8).fill(0) });
  assert.match(sayThought(off)[1], /It is switched off: none fires\.$/);
  assert.doesNotMatch(thoughtPicture(off, 1336).svg, /w-push|NaN|undefined/);
});

test("the features that push most are named, and the others are their sum", () => {
  const { named, rest, others } = loudest(look().pushes);
  assert.deepEqual([named, others], [[1, 3, 7, 4, 6], 1]);
  assert.ok(Math.abs(rest - 0.1) < 1e-12);
});

test("each that is named has its bar and a line, dashed where it pushes against the word", () => {
  for (const width of [366, 1336]) {
    const { svg } = thoughtPicture(look(), width);
    assert.doesNotMatch(svg, /NaN|undefined|="-\d/);
    assert.equal(svg.split("w-against").length - 1, width < 620 ? 1 : 2, "before its number and behind it");
    assert.equal(svg.split('class="w-fires"').length - 1, 1);
    assert.equal(svg.split('class="w-quiet"').length - 1, 2);
  }
  const { svg } = thoughtPicture(look(), 1336);
  assert.match(svg, />\+1\.50</);
  assert.match(svg, />−0\.50</);
  assert.match(svg, />\+0\.10 by 1 others</);
});

test("a share that falls although its score is raised is explained", () => {
  const said = (q, pushes) => sayThought(look({ before: [0, 0.9, 0, 0, 0], after: [0, q, 0, 0, 0], pushes }))[1];
  assert.match(said(0.4, [0, 1.5]), /they add 1\.5 to the score of “ein”; yet behind the norm its share falls\.$/);
  assert.match(said(0.95, [0, -1.5]), /; yet behind the norm its share grows\.$/);
  assert.match(said(0.95, [0, 1.5]), /to the score of “ein”\.$/);
});
