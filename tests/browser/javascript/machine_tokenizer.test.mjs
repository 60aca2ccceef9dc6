// Byte-pair encoding in the page against the package's.

import assert from "node:assert/strict";
import test from "node:test";

import { fixtures, load } from "./support.mjs";

const { tokenizerOf } = await load("machine_tokenizer");

test("ids are those of the package, and become the text again", () => {
  for (const { sent, texts, ids } of fixtures.cases) {
    const tokenizer = tokenizerOf(sent);
    texts.forEach((text, i) => {
      assert.deepEqual(tokenizer.encode(text), { ids: ids[i], unknown: [] }, JSON.stringify(text));
      assert.equal(tokenizer.decode([1, ...ids[i], 2]), text);
    });
  }
});

test("characters outside the alphabet are left out and named once", () => {
  const tokenizer = tokenizerOf(fixtures.cases[0].sent);
  const { ids, unknown } = tokenizer.encode("t7wo é77 \u{1d4b3}");
  assert.deepEqual(unknown, ["7", "é", "\u{1d4b3}"]);
  assert.deepEqual(ids, tokenizer.encode("two  ").ids);
});

test("a capital letter that is not known is read as a small one", () => {
  const tokenizer = tokenizerOf(fixtures.cases[0].sent);
  assert.deepEqual(tokenizer.encode("Twenty-ONE"), tokenizer.encode("twenty-one"));
});

test("special tokens have names, and no text is one", () => {
  const tokenizer = tokenizerOf(fixtures.cases[0].sent);
  assert.deepEqual([0, 1, 2].map(tokenizer.name), ["pad", "begin", "end"]);
  assert.ok(tokenizer.encode("end").ids.every((id) => id > 2));
  assert.ok(tokenizer.encode(" two").ids.map(tokenizer.name).join("").startsWith("·two"));
});
