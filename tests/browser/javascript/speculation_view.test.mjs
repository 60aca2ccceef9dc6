// Which drafted tokens stand, and the text that comes of it, against torch's.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const speculation = await load("speculation_view");

test("the probability that a drafted token stands", () => {
  assertClose(speculation.chancesOf(fixtures.p, fixtures.q), fixtures.chances);
});

test("the text after each round", () => {
  fixtures.texts.forEach((text, round) => {
    const found = speculation.textAfter(fixtures.run, round);
    const kept = found.filter(({ kind }) => kind !== "rejected");
    assert.equal(kept.map(({ name }) => name).join(""), text);
    const { drafted, accepted } = fixtures.run;
    assert.equal(found.length - kept.length, drafted[round].length - accepted[round]);
  });
});
