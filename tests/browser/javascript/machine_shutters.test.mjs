// The causal mask: what comes later is shut, and what is open says how much is looked at.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const { sayShutters, shuttersPicture } = await load("machine_shutters");
const rows = [[1], [0.25, 0.75], [0.02, 0.5, 0.48]];
const tokens = { fed: ["begin", "·ein", "unddreißig"], written: ["·ein", "unddreißig", "end"] };
const look = (more) => ({ rows, tokens, at: 1, leaks: null, ...more });
const many = (svg, kind) => svg.split(`class="${kind}"`).length - 1;

test("a token may look at what is written before it, and all later cells are shut", () => {
  for (const width of [366, 840, 1336]) {
    const { svg } = shuttersPicture(look(), width);
    assert.doesNotMatch(svg, /NaN|undefined|="-\d/);
    const keys = width > 620 ? 1 : 0; // what the cells mean is said where there is room
    assert.deepEqual([many(svg, "w-shut"), many(svg, "w-slats"), many(svg, "w-open")], [3 + keys, 3, 6 + keys]);
    for (const share of ["1.00", "0.25", "0.75", "0.50", "0.48"]) assert.ok(svg.includes(`>${share}<`), share);
    assert.ok(!svg.includes(">0.02<"), "a faint look has its shade alone");
  }
  assert.equal(sayShutters(look())[0], "To write “unddreißig” it may look back at 2 tokens");
  assert.equal(sayShutters(look({ at: 0 }))[0], "To write “ein” it may look at “begin” alone");
});

test("without the mask nothing is shut, and what should be is dashed", () => {
  const leaks = rows.map(() => [0.2, 0.3, 0.5]);
  const { svg } = shuttersPicture(look({ leaks }), 840);
  assert.deepEqual([many(svg, "w-shut"), many(svg, "w-open w-leaks")], [0, 4]);
  assert.ok(svg.includes(">0.30<"));
  assert.match(sayShutters(look({ leaks }))[0], /^Without the mask/);
});

test("of a long sentence the rows around the one that is followed are drawn, in letters that can be read", () => {
  const long = Array(30).fill("vierhundert");
  const all = { fed: long, written: long };
  const square = long.map((_, t) => Array(t + 1).fill(1 / (t + 1)));
  for (const at of [0, 15, 29])
    for (const width of [366, 1336]) {
      const { svg, tall } = shuttersPicture({ rows: square, tokens: all, at, leaks: null }, width);
      assert.equal(svg.split("w-word").length - 1, 24);
      assert.equal(many(svg, "w-frame"), 1);
      assert.ok(tall < 480);
      assert.doesNotMatch(svg, /NaN|="-\d/);
    }
});
