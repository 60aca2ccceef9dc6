// What the machine is set to, and what follows from it.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const [{ changed, stateOf }, { tokenizerOf }, { weightsOf }, { explained }, { unpacked }] = await Promise.all(
  ["machine_state", "machine_tokenizer", "machine_weights", "machine_sums", "ui"].map(load),
);
const tokenizer = tokenizerOf(fixtures.tokenizer);
const machine = { ...(await weightsOf(await unpacked(fixtures.model))), symbols: fixtures.tokenizer.symbols };
const fresh = () => stateOf({ machine, tokenizer, text: "ten two" });
const written = ({ run }) => tokenizer.decode(run.target);
const place = (state, key) => state.partOf(key);
const CROSS = "decoder.layers.1.cross_attention";

test("the size of a difference, over what both have", () => {
  const { one, other, all, first } = fixtures;
  assertClose(
    [changed(one, other), changed(one.slice(0, 2), other), changed(one, other.slice(0, 2))],
    [all, first, first],
  );
  assert.equal(changed(other, other), 0);
});

test("what one of them masks does not count", () => {
  assertClose([changed([[1, NaN, 3]], [[2, 1, 4]])], [Math.sqrt(2 / 20)]);
});

test("what is switched off changes the run, and is back when it is pressed again", () => {
  const state = fresh();
  assert.equal(written(state), "zehn zwei");
  state.change({ mode: 1 });
  const head = place(state, `${CROSS}.head.1`);
  state.change(state.pressed(head));
  assert.deepEqual([...state.now.off], [`${CROSS}.head.1`]);
  assert.ok(state.changeOf(CROSS) > 0.01);
  assert.equal(state.changeOf("encoder.layers.1.residual_2"), 0);
  state.change(state.pressed(head));
  assert.equal(state.run, state.intact);
  assert.equal(state.pressed(place(state, "to_logits")), null); // cannot be switched off
});

test("a swap needs another sentence, stands at the chosen token, and goes when it is pressed again", () => {
  const state = fresh();
  state.change({ mode: 2, spot: 1 });
  const [encoder, decoder] = [place(state, "src_embedding.positions"), place(state, `${CROSS}.head.0`)];
  assert.equal(state.pressed(encoder), null);
  state.change({ other: "one ten" });
  assert.ok(state.hasOther());
  state.change(state.pressed(encoder));
  state.change({ at: 1 });
  state.change(state.pressed(decoder));
  assert.deepEqual(
    state.now.swaps.map(({ part, head, position }) => [part, head, position]),
    [
      ["src_embedding", null, 1],
      [CROSS, 0, 1],
    ],
  );
  const value = state.valueOf(state.now.swaps[0]);
  assertClose(Array.from(state.run.at.get("src_embedding").rows[1]), Array.from(value), 1e-12);
  state.change(state.pressed(decoder));
  assert.equal(state.now.swaps.length, 1);
  state.change({ other: " " });
  assert.equal(state.run, state.intact);
});

test("from every part the first term of a number leads to a number of that size", () => {
  const state = fresh();
  const keys = Object.values(state.boxes).flatMap((boxes) => boxes.flatMap(({ parts }) => parts.map(({ key }) => key)));
  let followed = 0;
  for (const key of keys) {
    const { side, part } = place(state, key);
    state.change({ open: key, tab: 0, cell: null });
    const [t, j] = state.cellOf({ side, part });
    const { name, from: first = 0 } = part.tabs[0];
    const { terms, steps } = explained(state.run, machine, name, t, j + first);
    const { from } = terms[0] ?? steps[0] ?? {};
    if (!from) continue;
    state.change(state.followed(from));
    const to = place(state, state.now.open).part.tabs[state.now.tab];
    const [row, column] = state.now.cell;
    assert.deepEqual([to.name, row, column + (to.from ?? 0)], [from.name, ...from.cell]);
    assert.ok(state.nameOf(from).endsWith(to.title));
    followed += 1;
  }
  assert.ok(followed > 20, `${followed} of ${keys.length}`);
});

test("a word of the same sentence is put in where it is dragged", () => {
  const [state, key] = [fresh(), "encoder.layers.0.residual_2.norm"];
  state.change({ swaps: [{ key, ...place(state, key).part.swap, position: 1, from: 0 }] });
  const rows = (run) => run.at.get("encoder.layers.0.residual_2").rows.map((row) => Array.from(row));
  assertClose(rows(state.run)[1], rows(state.intact)[0], 1e-12);
  assertClose(rows(state.run)[0], rows(state.intact)[0], 1e-12);
  assert.match(state.swapName(state.now.swaps[0]), /^ten for /);
});

test("what cannot be read is said, and a text that is too long is cut", () => {
  const state = fresh();
  state.change({ text: "one 7" }, true);
  assert.equal(state.unknown, "Left out: “7”.");
  state.change({ text: "one ".repeat(20) }, true);
  assert.equal(state.intact.src.length, machine.longest);
  assert.match(state.unknown, /^The text is cut behind \d+ tokens\.$/);
  state.reset();
  assert.equal(written(state), "zehn zwei");
});
