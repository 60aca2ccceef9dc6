// The heads of an attention side by side, and their mean.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fakePage, fixtures, load } from "./support.mjs";

fakePage();
const [
  { headsOf, headsSeen, sayMean, smallWeave },
  { rowsOf: places },
  { stateOf },
  { tokenizerOf },
  { weightsOf },
  { unpacked },
] = await Promise.all(
  ["weave_heads", "weave_layout", "machine_state", "machine_tokenizer", "machine_weights", "ui"].map(load),
);
const tokenizer = tokenizerOf(fixtures.tokenizer);
const machine = { ...(await weightsOf(await unpacked(fixtures.model))), symbols: fixtures.tokenizer.symbols };
const state = stateOf({ machine, tokenizer, text: "ten two" });
const NAMES = [
  "encoder.layers.0.self_attention",
  "decoder.layers.0.self_attention",
  "decoder.layers.1.cross_attention",
];
const seenOf = (name, at) => headsSeen({ run: state.run, names: state.names(), at, name, n_heads: 2 });

test("the mean is that of the numbers that are said, at the key that is looked at most", () => {
  for (const name of NAMES) {
    const seen = seenOf(name, 1);
    const own = seen.heads.map((rows) => rows[1][seen.most]);
    assertClose([seen.mean], [(own[0] + own[1]) / 2], 1e-12);
    assert.equal(
      sayMean(seen),
      `mean of 2 heads: ${own.map((x) => x.toFixed(2)).join(", ")} = ${seen.mean.toFixed(2)}`,
    );
    for (let s = 0; s < seen.heads[0][1].length; s += 1)
      assert.ok((seen.heads[0][1][s] + seen.heads[1][1][s]) / 2 <= seen.mean + 1e-12);
  }
});

test("a small weave has the words of both sides and a ribbon for each weight that is seen", () => {
  for (const name of NAMES) {
    const seen = seenOf(name, 1);
    const svg = smallWeave(seen.heads[0], seen);
    assert.doesNotMatch(svg, /NaN|undefined/);
    assert.equal(svg.split("<text").length - 1, seen.keys.length + seen.queries.length);
    const weights = seen.heads[0].flatMap((row) => [...row]);
    assert.equal(svg.split("<path").length - 1, weights.filter((weight) => weight >= 0.01).length);
  }
});

test("each ribbon leaves from the row of its key, even where all look at one", () => {
  const [keys, queries] = [
    ["a", "b", "c", "d", "e"],
    ["p", "q", "r", "s", "t", "u", "v"],
  ];
  for (const most of keys.keys()) {
    const rows = queries.map(() => keys.map((_, s) => (s === most ? 0.9 : 0.1 / (keys.length - 1))));
    const svg = smallWeave(rows, { keys, queries, at: 3 });
    const height = Number(/height="(\d+)"/.exec(svg)[1]);
    const left = places(keys.length, height / queries.length, height);
    const lit = [...svg.matchAll(/class="w-ribbon w-lit" d="M\S+ (\S+?)C.*? (\S+)Z"/g)];
    assert.equal(lit.length, keys.length);
    lit.forEach(([, upper, lower], s) => {
      const middle = (Number(upper) + Number(lower)) / 2;
      assert.ok(Math.abs(middle - left[s]) <= height / queries.length / 2, `${keys[s]}: ${middle}, ${left[s]}`);
    });
  }
});

test("a press opens a head, and what is no attention has none", () => {
  const opened = [];
  const heads = headsOf({ state, machine, open: (key) => opened.push(key) });
  heads.show(state.partOf(`${NAMES[2]}.head.1`));
  const buttons = heads.node.querySelectorAll("button");
  assert.deepEqual(
    buttons.map((one) => one.attributes["aria-pressed"]),
    ["false", "true"],
  );
  buttons[0].onclick();
  assert.deepEqual(opened, [`${NAMES[2]}.head.0`]);
  heads.show(state.partOf("to_logits"));
  assert.ok(heads.node.hidden);
});
