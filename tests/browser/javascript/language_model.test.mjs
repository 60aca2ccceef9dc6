// The language model in the page against torch with the same weights.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const lm = await load("language_model");
const models = Object.entries(fixtures.models).map(([name, given]) => ({
  name,
  ...given,
  model: lm.languageModel(given.sent),
}));

test("the error function and the activations", () => {
  assertClose(fixtures.xs.map(lm.erf), fixtures.erf, 1e-14);
  assert.deepEqual(Object.keys(lm.ACTIVATIONS).sort(), Object.keys(fixtures.activations).sort());
  for (const [name, values] of Object.entries(fixtures.activations))
    assertClose(fixtures.xs.map(lm.ACTIVATIONS[name]), values, 1e-13);
});

test("the weights arrive as they were rounded", () => {
  for (const { model, table } of models) {
    assert.deepEqual([model.tokens.rows, model.tokens.columns], [17, 24]);
    assertClose([...model.tokens.data], table.flat(), 0);
  }
});

test("the logits after each token", () => {
  for (const { name, model, tokens, logits } of models) {
    const reader = lm.readerOf(model);
    tokens.forEach((_, t) => {
      assertClose([...reader.after(tokens.slice(0, t + 1))], logits[t], 1e-9);
    });
    assertClose([...lm.readerOf(model).after(tokens)], logits.at(-1), 1e-9);
    assert.throws(() => reader.after([...tokens, 1]), /at most 12 tokens/, name);
  }
});

test("a text that is changed in the middle is read from there", () => {
  for (const { model, tokens, logits } of models) {
    const reader = lm.readerOf(model, { watched: true });
    reader.after(tokens);
    const other = tokens.map((token, t) => (t === 4 ? 3 : token));
    assertClose([...reader.after(other)], [...lm.readerOf(model).after(other)], 0);
    assertClose([...reader.after(tokens.slice(0, 3))], logits[2], 1e-9); // shorter
    assert.equal(reader.maps[0][0].length, 3);
    assertClose([...reader.after(tokens)], logits.at(-1), 1e-9);
    assertClose([...reader.after(tokens)], logits.at(-1), 1e-9); // the same again
  }
});

test("the attention of each head", () => {
  for (const { model, tokens, maps } of models) {
    const reader = lm.readerOf(model, { watched: true });
    reader.after(tokens);
    maps.forEach((heads, layer) =>
      heads.forEach((rows, head) => rows.forEach((row, t) => assertClose(reader.maps[layer][head][t], row, 1e-9))),
    );
  }
});

test("a head that is taken away brings nothing", () => {
  for (const { model, tokens, logits } of models) {
    const gone = lm.readerOf(model, { without: (layer, head) => layer === 1 && head === 2 }).after(tokens);
    const muted = structuredClone(model);
    const { w_o } = muted.layers[1].attention;
    w_o.data.forEach((_, i) => {
      if (i % 24 >= 8 && i % 24 < 12) w_o.data[i] = 0; // the columns that read head 2
    });
    assertClose([...gone], [...lm.readerOf(muted).after(tokens)], 0);
    assert.ok(Math.max(...gone.map((logit, i) => Math.abs(logit - logits.at(-1)[i]))) > 1e-3);
  }
});

test("greedy tokens are those of the package, beyond the window", () => {
  for (const { name, model, tokens, greedy } of models) {
    const { steps, next } = lm.written(lm.readerOf(model), {
      prompt: tokens.slice(0, 5),
      n: greedy.length,
      longest: model.max_len,
      temperature: 1,
      choose: lm.mostProbable,
    });
    assert.deepEqual(
      steps.map(({ token }) => token),
      greedy,
      name,
    );
    assertClose([next.reduce((a, b) => a + b)], [1]);
  }
});

test("the window by hand", () => {
  assert.deepEqual(
    [5, 11, 12, 13, 17, 18, 19, 24].map((length) => lm.windowStart(5, length, 12)),
    [0, 0, 0, 6, 6, 6, 12, 12],
  );
  assert.equal(lm.windowStart(20, 20, 12), 8);
});

test("a draw takes the token whose share of 0 to 1 has the number in it", () => {
  const draw = (number) => lm.drawer(() => number)([0.25, 0, 0.5, 0.25]);
  assert.deepEqual([0, 0.2499, 0.25, 0.7499, 0.75, 0.9999, 1].map(draw), [0, 0, 2, 2, 3, 3, 3]);
  assert.equal(lm.drawer(() => 1)([0.5, 0.5, 0]), 1);
  assert.equal(lm.mostProbable([0.1, 0.45, 0.45]), 1);
});
