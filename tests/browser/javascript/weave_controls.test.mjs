// Breakers, layers and what plays.

import assert from "node:assert/strict";
import test from "node:test";

import { fakePage, load } from "./support.mjs";

fakePage();
const [{ breakersOf, layersOf, placesOf, playBar }, { weaveOf }, { cutsOf }] = await Promise.all(
  ["weave_controls", "weave_layout", "weave_cuts"].map(load),
);
const pressed = (all) => all.map((one) => one.attributes["aria-pressed"]);

test("a breaker says whether it is open by its state and its answer, and stands under its part", () => {
  const [presses, cuts] = [[], cutsOf([])];
  const breakers = breakersOf({ cuts, press: ({ key }) => presses.push(key) });
  const { columns } = weaveOf({ width: 1300, cross: [[1]], layers: 2 });
  const places = placesOf(columns);
  breakers.show({ isOpen: ({ key }) => key === "mask", says: ({ key }) => `says ${key}`, places });
  const all = breakers.node.querySelectorAll("button");
  assert.deepEqual(
    pressed(all),
    cuts.map(({ key }) => String(key === "mask")),
  );
  assert.deepEqual(
    all.map(({ style }) => style.left),
    cuts.map(({ under }) => `${places[under]}px`),
  );
  assert.ok(all[4].textContent.includes("says mask"));
  all[2].onclick();
  assert.deepEqual(presses, ["norm"]);
  breakers.show({ isOpen: () => false, says: () => "", places: null });
  assert.ok(breakers.node.classes.has("tl-row"));
});

test("the first lever goes up once, and down again", async () => {
  const breakers = breakersOf({ cuts: cutsOf([]), press: () => {}, breath: 1 });
  breakers.breathe();
  assert.ok(breakers.node.classes.has("tl-breathes"));
  while (breakers.node.classes.has("tl-breathes")) await new Promise((done) => setTimeout(done, 1));
});

test("every cut has a place, of one layer, too", () => {
  for (const layers of [1, 2, 3]) {
    const places = placesOf(weaveOf({ width: 1300, cross: [[1]], layers }).columns);
    const all = cutsOf([]).map(({ under }) => places[under]);
    assert.ok(all.every(Number.isFinite));
    assert.deepEqual(
      all,
      [...all].sort((a, b) => a - b),
    );
  }
});

test("one layer is chosen", () => {
  const picked = [];
  const layers = layersOf({ n: 2, pick: (i) => picked.push(i) });
  layers.show(1);
  const all = layers.node.querySelectorAll("button");
  assert.deepEqual(pressed(all), ["false", "true"]);
  all[0].onclick();
  assert.deepEqual(picked, [0]);
});

test("the bar steps, plays and says where it is", () => {
  const did = [];
  const bar = playBar({ step: (by) => did.push(by), toggle: () => did.push("play"), go: (t) => did.push(`go ${t}`) });
  bar.show({ at: 1, names: ["vier", "end"], playing: false });
  assert.equal(bar.play.textContent, "▶ Play");
  bar.node.querySelectorAll("button").forEach((one) => one.onclick());
  const [along] = bar.node.querySelectorAll("input");
  along.value = 0;
  along.oninput();
  assert.deepEqual(did, [-1, "play", 1, "go 0"]);
  bar.show({ at: 1, names: ["vier", "end"], playing: true });
  assert.equal(bar.node.querySelectorAll("input")[0], along, "a focus stays where it is");
  assert.match(bar.play.textContent, /Pause/);
});
