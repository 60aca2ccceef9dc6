// Six cuts, each of one kind of part everywhere it stands, and what each makes the machine say.
//   const cuts = cutsOf(state.parts, machine);  // [{ key, name, under, ids }]
//   outcomeOf({ target, ended }, …) → { text, number, label }

import { numeral, readGerman } from "../computing/machine_numerals.js";

// `under` is the part of the weave whose breaker it is.
const KINDS = [
  { key: "positions", name: "positions", under: "positions", holds: (id) => id === "src_embedding.positions" },
  {
    ...{ key: "residual", name: "residual", under: "encoder.0" },
    holds: (id) => id.startsWith("encoder.") && id.endsWith(".skip"),
  },
  { key: "norm", name: "norm", under: "encoder.1", holds: (id) => id.endsWith(".norm") },
  { key: "cross", name: "cross-attention", under: "cross", holds: (id) => id.includes("cross_attention.head.") },
  { key: "mask", name: "mask", under: "decoder.0", holds: (id) => id.endsWith(".mask") },
  {
    ...{ key: "feed", name: "feed-forward", under: "decoder.1" },
    holds: (id) => id.startsWith("decoder.") && id.endsWith(".feed_forward"),
  },
];
// What is cut, and what the machine is then without.
const WORDS = {
  positions: ["the input’s positions", "the input’s positions"],
  residual: ["the encoder’s residual connections", "the encoder’s residual connections"],
  norm: ["all norms", "any norm"],
  cross: ["all cross-attention", "any cross-attention"],
  mask: ["the causal masks", "the causal masks"],
  feed: ["the decoder’s feed-forward networks", "the decoder’s feed-forward networks"],
};

// What a part is for, said when all six answers were found.
export const PURPOSES = {
  positions: ["Positions", "matter, because attention is a sum over words, and a sum has no order."],
  residual: ["Residual connections", "hand each word on past every layer."],
  norm: ["Norms", "keep numbers at the size that the next part knows."],
  cross: ["Cross-attention", "is the only way from English to German."],
  mask: ["The mask", "keeps a token from looking at what comes later."],
  feed: ["Feed-forward networks", "make of what was gathered what comes next."],
};

// `ids` are all that can be switched off.
export function cutsOf(ids) {
  return KINDS.map(({ holds, ...kind }) => {
    const [where, lack] = WORDS[kind.key];
    return { ...kind, where, lack, ids: ids.filter(holds) };
  });
}

// How many parts a cut cuts: the heads of an attention are one.
export function manyOf({ ids }) {
  return new Set(ids.map((id) => id.replace(/\.head\.\d+$/, ""))).size;
}

export function isCut({ ids }, off) {
  return ids.length > 0 && ids.every((id) => off.has(id));
}

// What of a set of switched-off parts is whole cuts, and what is left beside them.
export function dividedOff(cuts, off) {
  const whole = cuts.filter((cut) => isCut(cut, off));
  const covered = new Set(whole.flatMap(({ ids }) => ids));
  return { whole, single: [...off].filter((id) => !covered.has(id)) };
}

// What a run says: its text, the number that this is, if it is one, and a label for both.
export function outcomeOf({ target }, { decode, eos, reads = readGerman }) {
  const text = decode(target);
  if (target.at(-1) !== eos) return { text, number: null, label: "never stops" };
  const number = reads(text);
  return { text, number, label: number === null ? "no number" : numeral(number) };
}

// The labels of a riddle in an order that gives nothing away: by their letters, numbers by their size.
export function riddleOf(outcomes) {
  const size = ({ number, label }) => (number === null ? label.length * 1e6 : number);
  const all = [...outcomes.entries()].map(([key, outcome]) => ({ key, ...outcome }));
  return all.sort((a, b) => size(a) - size(b) || (a.label < b.label ? -1 : 1));
}
