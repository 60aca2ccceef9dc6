// The weave as a picture: as thick as the weights, and with all words.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const [
  { heightOf, pictureOf },
  { weaveOf },
  { seenOf },
  { cutsOf },
  { stateOf },
  { tokenizerOf },
  { weightsOf },
  { unpacked },
] = await Promise.all(
  [
    "weave_picture",
    "weave_layout",
    "weave_seen",
    "weave_cuts",
    "machine_state",
    "machine_tokenizer",
    "machine_weights",
    "ui",
  ].map(load),
);
const tokenizer = tokenizerOf(fixtures.tokenizer);
const machine = { ...(await weightsOf(await unpacked(fixtures.model))), symbols: fixtures.tokenizer.symbols };
const state = stateOf({ machine, tokenizer, text: "ten two" });

function drawn(look = {}, width = 1300) {
  const { run, intact, now } = state;
  const seen = seenOf({ run, intact, machine, off: now.off, layer: 1, names: state.names() });
  const plan = weaveOf({ width, cross: seen.cross, layers: 2 });
  return { plan, seen, svg: pictureOf(plan, seen, { at: 0, layer: 1, cut: new Set(), ...look }) };
}
const count = (svg, text) => svg.split(text).length - 1;

test("every ribbon of at least a hundredth is drawn, as thick as its weight; one token's are followed", () => {
  const { plan, seen, svg } = drawn();
  const ribbons = [...svg.matchAll(/data-t="(\d)" data-s="(\d)" data-weight="([\d.]+)" data-wide="([\d.]+)"/g)];
  assert.equal(ribbons.length, seen.cross.flat().filter((weight) => weight >= 0.01).length);
  for (const [, t, s, weight, wide] of ribbons)
    assertClose([wide / plan.unit, Number(weight)], [seen.cross[t][s], seen.cross[t][s]], 0.01);
  assert.equal(count(svg, 'class="w-ribbon w-lit"'), seen.cross[0].filter((weight) => weight >= 0.01).length);
});

test("all tokens of both sides have their words, and those that are written their probability", () => {
  const { seen, svg } = drawn();
  for (const token of [...seen.source, ...seen.target.map(({ text }) => text)])
    assert.ok(svg.includes(`>${token.replace("·", "")}<`), token);
  for (const { p } of seen.target) assert.ok(svg.includes(`>${p.toFixed(2)}<`));
  assert.equal(count(svg, "w-frame"), 1);
});

test("what is not written yet has neither word nor ribbon", () => {
  const { seen, svg } = drawn({ shown: 1 });
  assert.equal(count(svg, "w-out"), 1);
  assert.equal(count(svg, "w-wait"), seen.target.length - 1);
  assert.doesNotMatch(svg, /data-t="1" data-s/);
});

test("a cut is seen: clocks without hands, severed threads, no ribbons, and the words that were", () => {
  const all = drawn().svg;
  assert.equal(count(drawn({ cut: new Set(["positions"]) }).svg, "w-hand"), 0);
  assert.ok(count(all, "w-hand") > 0 && count(all, "w-severed") === 0);
  assert.ok(count(drawn({ cut: new Set(["residual"]) }).svg, "w-severed") > 0);
  assert.equal(count(drawn({ cut: new Set(["cross"]) }).svg, 'class="w-ribbon'), 0);
  state.change({ off: new Set(["src_embedding.positions", "encoder.layers.0.residual_1.norm"]) });
  const { seen, svg } = drawn();
  assert.ok(
    seen.target.some(({ before }) => before),
    "the example shows nothing",
  );
  assert.ok(count(svg, "w-struck") > 0 && count(svg, "w-new") > 0);
  const gone = seen.target.filter(({ before }) => before).length;
  for (const width of [320, 366, 1336]) assert.equal(count(drawn({}, width).svg, "w-struck"), gone, "none is left out");
  state.change({ off: new Set() });
});

test("a phone has rails, on which the weights stand beside the words, and beside a word that was put in", () => {
  const { svg, plan } = drawn({}, 366);
  assert.equal(count(svg, "w-diamond") + count(svg, "w-clock"), 0);
  assert.ok(count(svg, "w-weight") > 0 && count(svg, "w-slab") === 4);
  assert.ok(heightOf(plan) < 420);
  const places = (svg) => [...svg.matchAll(/w-pill" x="([\d.]+)" y="([\d.]+)"/g)].map(([, x, y]) => [+x, +y + 10.5]);
  const { columns, left } = plan;
  for (const [x, y] of places(svg)) assert.ok(x > columns.name && left.some((row) => Math.abs(row - y) < 0.02));
  const loud = left.findIndex((row) => Math.abs(row - places(svg)[0][1]) < 0.02);
  const put = drawn({ puts: [{ slab: -1, row: loud, text: "four" }] }, 366).svg;
  const [, x] = put.match(/w-put" x="([\d.]+)"/);
  assert.ok(+x >= columns.name, "not on the word");
  assert.ok(places(put)[0][0] > columns.from);
});

test("numbers in it are numbers", () => {
  for (const width of [300, 700, 1300]) assert.doesNotMatch(drawn({ at: 1 }, width).svg, /NaN|undefined|Infinity/);
  assert.equal(cutsOf(state.ids).length, 6);
});
