// What the machine's drawing holds.

import assert from "node:assert/strict";
import test from "node:test";

import { fakePictures, fixtures, load, notedCanvas } from "./support.mjs";

fakePictures();
const [{ paintMachine }, { layoutOf }, { boxesOf }, { translated }, { weightsOf }, { unpacked }] = await Promise.all(
  ["machine_overview", "machine_layout", "machine_parts", "machine_model", "machine_weights", "ui"].map(load),
);
const machine = await weightsOf(await unpacked(fixtures.model));
const run = translated(machine, fixtures.src);
const boxes = { encoder: boxesOf("encoder", machine), decoder: boxesOf("decoder", machine) };
const plan = layoutOf({ boxes, width: 754, rows: [run.src.length, run.target.length] });
const named = (ids) => ids.map((id) => fixtures.tokenizer.symbols[id]);

function painted(changes = {}) {
  const noted = notedCanvas();
  paintMachine(noted.context, plan, {
    ...{ run, ink: "rgb(0, 0, 0)", dim: "rgba(0, 0, 0, .6)", dark: false, paper: "#fff" },
    ...{ off: new Set(), swaps: [], change: () => 0, changedInput: () => false, at: 0, target: run.target[0] },
    ...{ names: { source: named(run.src), fed: named([machine.bos, ...run.target.slice(0, -1)]) } },
    ...{ shares: run.src.map(() => 0), best: [{ key: run.target[0], name: "best", p: 1 }], chosen: null, cursor: null },
    ...changes,
  });
  return noted;
}

test("every box has its title, every token its name, and every part its picture", () => {
  const { calls, texts } = painted();
  const said = texts();
  const count = (title) => said.filter((one) => one === title).length;
  const all = [...boxes.encoder, ...boxes.decoder];
  const strips = all.filter(({ kind }) => kind === "residual").length; // "add" over the one, "& norm" over the other
  assert.deepEqual([count("add"), count("& norm")], [strips, strips]);
  for (const { title, kind } of all) assert.ok(kind === "residual" || said.includes(title), title);
  for (const token of named([...run.src, machine.bos])) assert.ok(said.includes(token), token);
  for (const word of ["encoder", "decoder", "memory", "best"]) assert.ok(said.includes(word), word);
  const pictures = plan.items.filter(({ part }) => part.thumb && part.thumb !== "probabilities");
  assert.equal(calls.filter(([name]) => name === "drawImage").length, pictures.length);
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
