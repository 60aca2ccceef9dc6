// Ribbons from words through heads into their mean: nothing is lost on the way, and all fit where they end.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, load } from "./support.mjs";

const [{ flowsOf, mergeOf, mergePicture }, { saidWide }] = await Promise.all(
  ["machine_merge", "weave_marks"].map(load),
);
const heads = [[[1, 0, 0]], [[0, 0.25, 0.75]], [[0.5, 0.5, 0]]];
const seen = {
  keys: ["one", "·two", "end"],
  queries: ["ein"],
  heads,
  at: 0,
  on: [0, 1, 2],
  shares: [0.5, 0.25, 0.25],
  most: 0,
};
const edges = (path) => {
  const [, from, to, , down] = path.match(/^M[\d.]+ ([\d.]+)C\S+ \S+ \S+ (?:\S+) \S+ ([\d.]+)V([\d.]+).* ([\d.]+)Z$/);
  return [+from, +to, +down];
};

test("a ribbon is as thick as its weight, into its head and on into the mean", () => {
  for (const width of [366, 840, 1336]) {
    const plan = mergeOf(seen, width);
    for (const { s, head, weight, into, out } of flowsOf(plan, seen)) {
      assert.equal(weight, heads[head][0][s]);
      for (const path of [into, out]) {
        const [from, , down] = edges(path);
        assert.ok(Math.abs(down - from - weight * plan.unit) < 0.03, `${s} ${head} ${path}`);
      }
    }
  }
});

test("what a word gives lies together at the mean, in the order of the words, and fills it", () => {
  const plan = mergeOf(seen, 1336);
  const ends = flowsOf(plan, seen).map(({ s, head, weight, out }) => ({
    s,
    head,
    to: edges(out)[1],
    long: weight * plan.unit,
  }));
  ends.sort((a, b) => a.s - b.s || a.head - b.head);
  let y = plan.top;
  for (const { to, long } of ends) {
    assertClose([to], [y], 0.03);
    y += long;
  }
  assertClose([y], [plan.top + 3 * plan.unit], 0.03);
});

test("a head that is off gives nothing to the mean, which is that of the others", () => {
  const off = { ...seen, on: [0, 2], shares: [0.75, 0.25, 0] };
  const flows = flowsOf(mergeOf(off, 1336), off);
  assert.ok(flows.every(({ head, out }) => (out === "") === (head === 1)));
  const { svg } = mergePicture(off, 0, 1336);
  assert.match(svg, /is off/);
  assert.match(svg, />2 of 3 heads are on</);
  assert.equal(svg.split("w-crossed").length - 1, 1, "its box is crossed");
  assert.equal(svg.split("w-old").length - 1, 2, "what would run into it is dashed, and empty");
  assert.doesNotMatch(mergePicture(seen, 0, 1336).svg, /w-crossed|w-old|is off/);
  assert.match(svg, />one 0\.75</);
});

test("words are as tall as their ribbons, and none lies over the next", () => {
  const { words, sums } = mergeOf(
    { ...seen, keys: Array(31).fill("a"), heads: [[Array(31).fill(1 / 31)]], on: [0] },
    366,
  );
  words.slice(1).forEach((y, s) => assert.ok(y - words[s] >= Math.max(14, sums[s]) - 1e-9));
});

test("the picture has every word, the head that is opened in a frame, and nothing that is no number", () => {
  for (const width of [366, 840, 1336]) {
    const { svg } = mergePicture(seen, 1, width);
    assert.doesNotMatch(svg, /NaN|undefined|="-\d/);
    for (const token of ["one", "two", "end", "ein"]) assert.ok(svg.includes(`>${token}<`), token);
    assert.equal(svg.split("w-frame").length - 1, width < 620 ? 1 : 2);
    assert.equal(svg.split("w-lit").length - 1, width < 620 ? 4 : 5);
  }
});

test("what a head looks at fits into its slab on a phone", () => {
  const wordy = { ...seen, keys: ["unddreißig", "·two", "end"] };
  const { svg, plan } = mergePicture(wordy, 0, 366);
  assert.ok(svg.includes(">unddreißig 1.00<"));
  assert.ok(plan.wide >= saidWide("unddreißig 1.00", false, 11), "in the widest letters there may be");
  assert.ok(plan.x.from < plan.x.slab && plan.x.slab + plan.wide < plan.x.bar - 24);
});

test("the word that is written hides no share of the mean, and heads stand apart from it", () => {
  const wordy = { ...seen, keys: ["one", "thousand", "end"], queries: ["tausend"], shares: [0.1, 0.7, 0.2], most: 1 };
  for (let width = 620; width <= 1340; width += 20) {
    const { svg, plan } = mergePicture(wordy, 1, width);
    const [, box, wide] = svg.match(/<rect class="w-frame" x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="60"/);
    const shares = [...svg.matchAll(/x="([\d.]+)"[^>]* font-size="(\d+)"[^>]*>([^<]+ \d\.\d\d)</g)]
      .map(([, x, size, text]) => [Number(x), saidWide(text, text.startsWith("thousand"), Number(size))])
      .filter(([x]) => x > plan.x.bar);
    assert.equal(shares.length, 3);
    for (const [x, long] of shares) assert.ok(x + long <= Number(box), `${width}: ${x} + ${long} > ${box}`);
    assert.ok(Number(wide) >= 60 && plan.x.slab + plan.wide <= plan.x.bar - 20, `${width}: ${wide}`);
  }
});
