// How the next word is chosen: the likeliest words, their scores and their shares, and what all others have.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const [{ outputPicture }, { saidWide }] = await Promise.all(["machine_output", "weave_marks"].map(load));
const logits = [3, -1, 2, 0.5, 0, -2, 1, -3];
const powers = logits.map(Math.exp);
const shares = powers.map((x) => x / powers.reduce((a, b) => a + b));
const look = { reads: [1, -1, 0.5], logits, shares, names: ["a", "b", "c", "d", "e", "f", "g", "h"] };

test("the six likeliest stand in their order, with score and share, and two others together", () => {
  for (const width of [366, 1336]) {
    const { svg } = outputPicture(look, width);
    assert.doesNotMatch(svg, /NaN|undefined|width="-/);
    const words = [...svg.matchAll(/class="w-word[^"]*"[^>]*>([a-h])</g)].map(([, word]) => word);
    assert.deepEqual(words, ["a", "c", "g", "d", "e", "b"]);
    for (const said of ["3.0", "−1.0", shares[0].toFixed(2)]) assert.ok(svg.includes(`>${said}<`), said);
    assert.ok(svg.includes(`and 2 others, together ${(shares[5] + shares[7]).toFixed(2)}`));
  }
});

test("what stands over the scores ends before what stands over the shares, and the others are in the picture", () => {
  for (const width of [366, 620, 820, 976, 1104, 1376]) {
    const { svg } = outputPicture(look, width);
    const [score, softmax] = ["score", "softmax"].map((name) =>
      svg.match(RegExp(`x="([\\d.]+)"[^>]*>(${name}[^<]*)<`)),
    );
    assert.ok(Number(score[1]) + saidWide(score[2], true) < Number(softmax[1]), `${width}: ${score[2]}`);
    const [, x, anchor] = svg.match(/x="([\d.]+)"[^>]*text-anchor="(\w+)">and 2 others/);
    if (anchor === "end") assert.equal(Number(x), width);
    else assert.ok(Number(x) + saidWide("and 2 others, together 0.00") <= width, String(width));
  }
});
