// What a part does, in a sentence, with its equation and shapes.

import assert from "node:assert/strict";
import test from "node:test";

import { fakePage, fixtures, load } from "./support.mjs";

fakePage();
const [{ roleOf }, { stateOf }, { tokenizerOf }, { weightsOf }, { unpacked }] = await Promise.all(
  ["machine_roles", "machine_state", "machine_tokenizer", "machine_weights", "ui"].map(load),
);
const machine = { ...(await weightsOf(await unpacked(fixtures.model))), symbols: fixtures.tokenizer.symbols };
const state = stateOf({ machine, tokenizer: tokenizerOf(fixtures.tokenizer), text: "ten two" });
const [S, T, d] = [state.run.src.length, state.run.target.length, machine.d_model];
const roleAt = (key) => roleOf(state.partOf(key), machine, state.run);

test("every part has a sentence, an equation and shapes", () => {
  const all = [...state.boxes.encoder, ...state.boxes.decoder].flatMap(({ parts }) =>
    parts.map(({ key }) => roleAt(key)),
  );
  for (const { says, equation, shapes } of all) {
    assert.match(says, /^[A-Z].{30,160}\.$/);
    assert.ok(equation && /\d/.test(shapes) && !/undefined|NaN/.test(says + equation + shapes));
  }
  assert.equal(new Set(all.map(({ says }) => says)).size, 13); // three attentions, three sub-layers to go around …
});

test("the shapes are those of the run's matrices", () => {
  const dk = d / machine.n_heads;
  const cross = roleAt("decoder.layers.1.cross_attention.head.0");
  assert.equal(cross.shapes, `${T} × ${S} weights · ${S} × ${dk} values → ${T} × ${dk}`);
  assert.equal(cross.equation, `softmax(Q Kᵀ ∕ √${dk}) V`);
  const inner = state.run.at.get("encoder.layers.0.feed_forward.active").rows[0].length;
  assert.equal(roleAt("encoder.layers.0.feed_forward").shapes, `${S} × ${d} → ${S} × ${inner} → ${S} × ${d}`);
  assert.equal(roleAt("to_logits").shapes, `${T} × ${d} → ${T} × ${machine.symbols.length}`);
  assert.equal(roleAt("decoder.layers.0.self_attention.mask").shapes, `${T} × ${T}`);
});
