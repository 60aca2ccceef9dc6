// How the next word is chosen: the likeliest words, their scores and their shares, and what all others have.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const { outputPicture } = await load("machine_output");
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
