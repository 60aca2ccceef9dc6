// What a weave shows of a run: how much each token looks at each, on the mean of the heads, and how sure it is of what
// it writes. Where the masks are cut each row is that of the step which wrote its token; the finished sentence's pass
// has other numbers.

import { ranked } from "../computing/machine_products.js";

// Which heads of an attention are on, and how many of them, in words.
export const headsOn = (name, n_heads, off) => [...Array(n_heads).keys()].filter((i) => !off.has(`${name}.head.${i}`));
export const ofHeads = (on, n) => `${on < n ? `${on || "none"} of ` : ""}${n} heads`;

// The mean of an attention's heads that are on: a row for each token that looks. Heads that are all off look nowhere.
export function meanOf(run, name, n_heads, off = new Set()) {
  const maps = headsOn(name, n_heads, off).map((head) => rowsOf(run, `${name}.weights.${head}`));
  const shape = maps[0] ?? rowsOf(run, `${name}.weights.0`);
  return shape.map((row, t) =>
    Array.from(row, (_, s) => maps.reduce((sum, map) => sum + map[t][s], 0) / Math.max(1, maps.length)),
  );
}

export function rowsOf(run, name) {
  return run.written?.get(name) ?? run.at.get(name).rows;
}

// All of it: `cross` of one layer, the self-attention of every layer at both sides, and the words with their numbers.
// `leaks` has, for each decoder layer whose mask is cut, the finished sentence's map: it looks at what comes later.
export function seenOf({ run, intact, machine, off, layer, names }) {
  const { n_layers: n, n_heads } = machine;
  const mean = (name) => meanOf(run, name, n_heads, off);
  const layers = [...Array(n).keys()];
  const changed = changesOf(intact.target, run.target);
  const open = (i) => off.has(`decoder.layers.${i}.self_attention.mask`);
  return {
    cross: mean(`decoder.layers.${layer}.cross_attention`),
    heads: ofHeads(headsOn(`decoder.layers.${layer}.cross_attention`, n_heads, off).length, n_heads),
    encoder: layers.map((i) => mean(`encoder.layers.${i}.self_attention`)),
    decoder: layers.map((i) => mean(`decoder.layers.${i}.self_attention`)),
    leaks: layers.map((i) =>
      open(i) ? meanOf({ at: run.at }, `decoder.layers.${i}.self_attention`, n_heads, off) : null,
    ),
    source: names.source,
    target: run.target.map((id, t) => ({
      text: names.written[t],
      p: run.steps[t][id],
      before: changed[t] && stood(changed[t].map((i) => names.before[i])),
    })),
  };
}

// The likeliest tokens of a step, and what all others have together.
export function candidatesOf(probabilities, most) {
  const order = ranked(probabilities, most);
  const rest = 1 - order.reduce((sum, id) => sum + probabilities[id], 0);
  return { best: order.map((id) => ({ id, p: probabilities[id] })), others: probabilities.length - most, rest };
}

// What stood where a token is new: the first of what is lost there.
const stood = ([first = "", ...more]) => first + (more.length ? "…" : "");

// For each token of a sentence null if it is kept from the one before, or else the places of those that it replaces.
// As many tokens as possible are kept, in their order, so that a shorter sentence does not look all new.
export function changesOf(before, after) {
  const kept = [...keptOf(before, after), [before.length, after.length]];
  const changes = new Array(after.length).fill(null);
  let [i, j] = [0, 0];
  for (const [nextBefore, nextAfter] of kept) {
    const lost = Array.from({ length: nextBefore - i }, (_, k) => i + k);
    for (let t = j; t < nextAfter; t += 1) changes[t] = t === nextAfter - 1 ? lost : lost.splice(0, 1);
    [i, j] = [nextBefore + 1, nextAfter + 1];
  }
  return changes;
}

// The longest common subsequence of two lists, as pairs of places.
export function keptOf(before, after) {
  const common = Array.from({ length: before.length + 1 }, () => new Array(after.length + 1).fill(0));
  for (let i = before.length - 1; i >= 0; i -= 1)
    for (let j = after.length - 1; j >= 0; j -= 1)
      common[i][j] = before[i] === after[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
  const pairs = [];
  let [i, j] = [0, 0];
  while (i < before.length && j < after.length) {
    if (before[i] === after[j]) pairs.push([i++, j++]);
    else if (common[i + 1][j] >= common[i][j + 1]) i += 1;
    else j += 1;
  }
  return pairs;
}

// Where two sentences of tokens differ: { start, before, after }, the tokens between what both have at either end.
export function differenceOf(before, after) {
  let start = 0;
  while (start < Math.min(before.length, after.length) && before[start] === after[start]) start += 1;
  let end = 0;
  const room = Math.min(before.length, after.length) - start;
  while (end < room && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  return { start, before: before.slice(start, before.length - end), after: after.slice(start, after.length - end) };
}

// Where a weave rests: at the last token after which it looks back, to a word that stands before the one it looked at.
// There the two languages have another order; where they never have, at the first token.
export function restingAt(run, name, n_heads) {
  const looks = meanOf(run, name, n_heads).map((row) => row.indexOf(Math.max(...row)));
  const back = looks.findLastIndex((s, t) => t + 2 < looks.length && looks[t + 1] < s);
  return Math.max(0, back);
}
