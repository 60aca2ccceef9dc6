// What the machine's drawing holds.

import assert from "node:assert/strict";
import test from "node:test";

import { fakePictures, fixtures, load, notedCanvas } from "./support.mjs";

fakePictures();
const [{ paintMachine, titlesOf }, { layoutOf }, { boxesOf }, { translated }, { weightsOf }, { unpacked }] =
  await Promise.all(
    ["machine_overview", "machine_layout", "machine_parts", "machine_model", "machine_weights", "ui"].map(load),
  );
const machine = await weightsOf(await unpacked(fixtures.model));
const run = translated(machine, fixtures.src);
const boxes = { encoder: boxesOf("encoder", machine), decoder: boxesOf("decoder", machine) };
const [lit, rows] = [{ encoder: 1, decoder: 0 }, [run.src.length, run.target.length]];
const plan = layoutOf({ boxes, width: 1320, rows, lit });
const named = (ids) => ids.map((id) => fixtures.tokenizer.symbols[id]);

function painted(changes = {}, on = plan) {
  const noted = notedCanvas();
  paintMachine(noted.context, on, {
    ...{ run, lit, off: new Set(), swaps: [], change: () => 0, chosen: null, cursor: null },
    ...{ names: { written: named(run.target) }, shares: run.src.map(() => 0), looks: () => run.src.map(() => [1]) },
    replaced: run.target.map(() => null),
    ...changes,
  });
  return noted;
}

test("every box has its title, every layer its name, every token that is written its word", () => {
  const { calls, texts } = painted();
  const said = texts();
  const count = (title) => said.filter((one) => one === title).length;
  const all = [...boxes.encoder, ...boxes.decoder];
  const strips = all.filter(({ kind }) => kind === "residual").length; // "add" over the one, "norm" over the other
  assert.deepEqual([count("add"), count("norm"), count("word"), count("place")], [strips, strips, 2, 2]);
  for (const { title, kind } of all)
    assert.ok(["residual", "embedding", "output"].includes(kind) || said.includes(title), title);
  for (const token of named(run.target)) assert.ok(said.includes(token), token);
  for (const word of ["encoder, layer 0", "encoder, layer 1", "decoder, layer 0", "decoder, layer 1", "writes"])
    assert.equal(count(word), 1, word);
  const weights = plan.items.filter(({ part }) => part.thumb?.includes(".weights."));
  const rowsOf = ({ part }) => run.at.get(part.thumb).rows.length;
  const drawn = calls.filter(([name]) => name === "drawImage").length;
  assert.equal(
    drawn,
    weights.reduce((sum, item) => sum + rowsOf(item), 0),
  );
});

test("a part has its field's name", () => {
  const at = (kind, title) => titlesOf({ kind, title }, { x: 5, parts: [{ x: 5 }, { x: 60 }] });
  assert.deepEqual(at("feed", "feed-forward"), [["feed-forward", 5]]);
  assert.deepEqual(at("residual", "add & norm").flat(), ["add", 5, "norm", 60]);
});

test("a strip has the same pictures, and no words", () => {
  const small = layoutOf({ boxes, width: 360, rows, lit, small: 20 });
  const noted = painted({ chosen: small.items[2] }, small);
  const count = (name) => noted.calls.filter(([call]) => call === name).length;
  assert.deepEqual([noted.texts(), count("drawImage") > 0, count("strokeRect") > 0], [[], true, true]);
});

test("what is switched off, swapped or changed is marked", () => {
  const count = (noted, name) => noted.calls.filter(([call]) => call === name).length;
  const plain = painted();
  const off = painted({ off: new Set(["encoder.layers.0.feed_forward"]) });
  assert.equal(count(off, "stroke"), count(plain, "stroke") + 1);
  const swapped = painted({ swaps: [{ key: "encoder.layers.0.feed_forward" }] });
  assert.equal(count(swapped, "strokeRect"), count(plain, "strokeRect") + 1);
  const changed = painted({ change: (name) => (name === "encoder.layers.0.feed_forward" ? 0.3 : 0) });
  assert.equal(count(changed, "fillRect"), count(plain, "fillRect") + 1);
  const chosen = painted({ chosen: plan.items[3], cursor: plan.items[4] });
  assert.equal(count(chosen, "strokeRect"), count(plain, "strokeRect") + 2);
});
