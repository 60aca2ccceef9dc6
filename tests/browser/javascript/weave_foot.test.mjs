// Under a weave: candidates, the riddle, what became of a sentence.

import assert from "node:assert/strict";
import test from "node:test";

import { fakePage, load } from "./support.mjs";

fakePage();
const [{ became, candidates, riddle, tell, titleOf, waysOf }, { cutsOf }] = await Promise.all(
  ["weave_foot", "weave_cuts"].map(load),
);
const cuts = cutsOf([]);
const texts = (node, name) => node.querySelectorAll(name).map((one) => one.textContent);
const NAMES = ["end", "ein", "vier", "und"];
const decode = (ids) => ids.map((id) => NAMES[id]).join("");

test("the likeliest tokens stand in their order, and the rest together", () => {
  const could = candidates({ nameOf: (id) => NAMES[id] });
  const run = { steps: [[0.05, 0.7, 0.2, 0.05]], target: [1] };
  could.show({ run, intact: run, at: 0 });
  assert.deepEqual(texts(could.node, "b"), ["ein", "vier", "end"]);
  assert.match(could.node.textContent, /and 1 others, together 0\.05$/);
});

const outcomes = new Map(cuts.map(({ key }, i) => [key, { label: `${i}`, number: i, changed: key !== "mask" }]));

test("a riddle has the wrong answers alone, shows which was picked, and keeps what was found", () => {
  const picked = [];
  const puzzle = riddle({ pick: (label) => picked.push(label) });
  const shown = (more) => puzzle.show({ outcomes, known: new Set(), wanted: null, said: "", cuts, ...more });
  shown({});
  assert.match(puzzle.node.textContent, /^Six cuts, five wrong answers\.0 of 5 found/);
  assert.equal(puzzle.node.querySelectorAll("button").length, 5);
  puzzle.node.querySelectorAll("button")[2].onclick();
  assert.deepEqual(picked, ["2"]);
  shown({ wanted: "2", known: new Set(["norm", "feed"]) });
  assert.match(puzzle.node.textContent, /2 of 5 found.*Which cut makes it say 2/);
  const chips = puzzle.node.querySelectorAll("button");
  assert.deepEqual(
    chips.map((one) => one.attributes["aria-pressed"]),
    ["false", "false", "true", "false", "false"],
  );
  assert.deepEqual(
    chips.map((one) => one.textContent),
    ["0", "1", "2 · norm", "3", "5 · feed-forward"],
  );
  shown({ said: "Right: it is so." });
  assert.match(puzzle.node.textContent, /Right: it is so\./);
});

test("nothing is counted before all is worked out, and only what was found has a name", () => {
  const puzzle = riddle({ pick: () => {} });
  const some = new Map([...outcomes].slice(0, 3));
  const shown = (known) => puzzle.show({ outcomes: some, known: new Set(known), wanted: null, said: "", cuts });
  shown([]);
  assert.match(puzzle.node.textContent, /^Six cuts: what do they make it say\?Open a breaker/);
  assert.equal(puzzle.node.querySelectorAll("button").length, 0);
  shown(["norm"]);
  assert.deepEqual(texts(puzzle.node, "button"), ["2 · norm"]);
});

test("who has found all is told so, and can keep a picture that says it", () => {
  let kept = 0;
  const puzzle = riddle({ pick: () => {}, keep: () => (kept += 1), mendAll: () => (mended += 1) });
  let mended = 0;
  const shown = (known, changed = false) =>
    puzzle.show({ outcomes, known: new Set(known), wanted: null, said: "", cuts, changed });
  const keys = cuts.map(({ key }) => key).filter((key) => key !== "mask");
  shown(keys.slice(1));
  assert.equal(puzzle.won, false);
  shown(keys);
  assert.equal(puzzle.won, true);
  const buttons = puzzle.node.querySelectorAll("button");
  const seen = () => buttons.filter((one) => !one.hidden).map((one) => one.textContent);
  assert.deepEqual(seen(), ["Save the picture “I broke it five ways”"]);
  shown(keys, true); // the last cut is still open
  assert.deepEqual(seen(), ["Save the picture “I broke it five ways”", "mend all"]);
  buttons.forEach((one) => one.onclick());
  assert.deepEqual([kept, mended], [1, 1]);
  assert.match(puzzle.node.textContent, /You have found what these parts are for.*Positions matter, because/);
  shown([]);
  assert.ok(!puzzle.won && !/You have found/.test(puzzle.node.textContent), "another sentence is another riddle");
  assert.equal(waysOf(1), "I broke it one way");
});

test("what two cuts make it say is one chip, until one of them is found", () => {
  const alike = new Map([...outcomes].map(([key, one]) => [key, { ...one, number: null, label: "never stops" }]));
  const puzzle = riddle({ pick: () => {} });
  const shown = (known) => {
    puzzle.show({ outcomes: alike, known: new Set(known), wanted: null, said: "", cuts });
    return puzzle.node.querySelectorAll("button").map((one) => one.textContent);
  };
  assert.deepEqual(shown([]), ["never stops · 5 cuts"]);
  assert.match(puzzle.node.textContent, /0 of 5 found/);
  assert.deepEqual(shown(["norm"]), ["never stops · 4 cuts", "never stops · norm"]);
});

test("a title counts, and says so where nothing changes", () => {
  assert.equal(titleOf(1), "Six cuts, one wrong answer.");
  assert.match(titleOf(0), /none changes/);
});

test("before and after stand beside each other, what differs bold, with its probability", () => {
  const mended = [];
  const cutOff = became({ decode, mend: ({ name }) => mended.push(name), mendAll: () => mended.push("all") });
  const steps = (p) => [
    [1, 1, 1, 1],
    [0, p, p, p],
    [1, 1, 1, 1],
  ];
  const [intact, run] = [
    { target: [3, 1, 0], steps: steps(0.96) },
    { target: [3, 2, 0], steps: steps(0.72) },
  ];
  cutOff.show({ run, intact, changes: [{ name: "positions" }], said: "It says 4." });
  const lines = cutOff.node.querySelectorAll("div").map((one) => one.textContent);
  assert.ok(lines.includes("beforeundeinend0.96") && lines.includes("afterundvierend0.72"));
  assert.deepEqual(texts(cutOff.node, "b").slice(1), ["ein", "vier"]);
  cutOff.node.querySelectorAll("button").forEach((one) => one.onclick());
  assert.deepEqual(mended, ["positions", "all"]);
});

test("where no token differs, the followed one is compared", () => {
  const cutOff = became({ decode, mend: () => {}, mendAll: () => {} });
  const of = (p) => ({ target: [3, 1, 0], steps: Array(3).fill([0.8, p, 0.5, 0.7]) });
  cutOff.show({ run: of(0.53), intact: of(0.99), changes: [], said: "", at: 1 });
  const lines = cutOff.node.querySelectorAll("div").map((one) => one.textContent);
  assert.deepEqual(lines.slice(2, 4), ["beforeundein0.99", "afterundein0.53"]);
});

test("of a long difference three tokens are compared, with the one before", () => {
  const cutOff = became({ decode, mend: () => {}, mendAll: () => {} });
  const steps = Array(8).fill([0.1, 0.9, 0.5, 0.2]);
  const [intact, run] = [
    { target: [2, 3, 2, 0], steps },
    { target: [2, 3, 1, 1, 1, 1, 1, 1], steps },
  ];
  cutOff.show({ run, intact, changes: [], said: "" });
  const lines = cutOff.node.querySelectorAll("div").map((one) => one.textContent);
  assert.deepEqual(lines.slice(2, 4), ["beforeundvierend0.50", "afterundeineinein…0.90"]);
});

test("a token that both sentences have is no change, although it stands between two that are", () => {
  const cutOff = became({ decode, mend: () => {}, mendAll: () => {} });
  const steps = Array(5).fill([0.1, 0.9, 0.5, 0.2]);
  const [intact, run] = [
    { target: [3, 2, 0], steps },
    { target: [1, 3, 1, 0], steps },
  ];
  cutOff.show({ run, intact, changes: [], said: "" });
  assert.deepEqual(texts(cutOff.node, "b").slice(1), ["vier", "ein", "ein"]);
});

test("what is said again is no change", () => {
  const node = document.createElement("div");
  tell(node, "To “ein”");
  const [first] = node.children;
  tell(node, "To “ein”");
  assert.equal(node.children[0], first);
  assert.deepEqual(texts(node, "b"), ["“ein”"]);
});
