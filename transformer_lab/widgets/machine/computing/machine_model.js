// The Transformer in the page: encoder, decoder and greedy decoding, with every matrix on the way kept by its name, and
// with parts switched off or swapped.
//   const run = translated(machine, src, { off: new Set(["src_embedding.positions"]), swaps: [] });
//   run.target, run.at.get("encoder.layers.0.self_attention").rows
// Names are those of torch's modules. A matrix is an array of rows; `how` says of what it was made (machine_sums.js).
// Parts that can be `off`:
//   x_embedding.positions   the encoding            ….self_attention.head.2  writes zeros
//   ….residual_1.skip       the residual connection ….residual_1.norm        leaves all as it is
//   ….feed_forward          writes zeros            decoder.….self_attention.mask  lets see what comes later
// A swap { part, head, position, value } puts another vector in the place of what a part, or one head of it, writes.

import { ACTIVATIONS, normed } from "../../shared/language_model.js";
import { likeliest, linear, mix, scoresOf, sharesOf } from "./machine_products.js";

export const NOTHING = { off: new Set(), swaps: [] };

// What computes one run: `put(name, rows, how)` keeps the rows from `from` on of a matrix, swapped where that is asked.
function recorder(changes) {
  const at = new Map();
  const put = (name, rows, from, how) => {
    const swaps = changes.swaps.filter((swap) => writtenAs(swap) === name);
    for (const { head, position, value } of swaps)
      rows[position - from]?.set(value, head === null ? 0 : head * value.length);
    const before = from ? at.get(name).rows.slice(0, from) : [];
    at.set(name, { rows: [...before, ...rows], how, swapped: new Set(swaps.map(({ position }) => position)) });
    return at.get(name).rows;
  };
  return { at, put, off: (part) => changes.off.has(part) };
}

// The matrix that a part writes, or in which a head of it stands.
export function writtenAs({ part, head }) {
  return head === null ? part : `${part}.heads`;
}

// Embedding · √d_model + position.
function embedded({ machine, put, off }, side, ids, from) {
  const { data, columns: d } = machine.weights.get("to_logits"); // tied: one matrix for all three
  const scale = Math.sqrt(d);
  const scaled = ids
    .slice(from)
    .map((id) => new Float64Array(data.subarray(id * d, (id + 1) * d)).map((x) => x * scale));
  const words = put(`${side}.tokens`, scaled, from, { kind: "rows", table: `${side}.tokens`, ids });
  const gone = off(`${side}.positions`);
  const places = scaled.map((_, t) => (gone ? new Float64Array(d) : encodingOf(t + from, d)));
  const encoding = put(`${side}.positions`, places, from, { kind: gone ? "off" : "encoding" });
  const sum = words.slice(from).map((row, t) => row.map((x, j) => x + encoding[t + from][j]));
  return put(side, sum, from, { kind: "sum", parts: [`${side}.tokens`, `${side}.positions`] });
}

// Sine in even features, cosine in odd ones (§3.5).
const encodings = new Map();
export function encodingOf(position, d) {
  const key = position * 65536 + d;
  if (!encodings.has(key)) {
    const angle = (j) => position / 10000 ** ((j - (j % 2)) / d);
    const row = Float64Array.from({ length: d }, (_, j) => (j % 2 ? Math.cos : Math.sin)(angle(j)));
    encodings.set(key, row);
  }
  return encodings.get(key).slice();
}

// All heads; queries from the rows of x, keys and values from those of `other`.
function attended({ machine, put, off, at }, name, x, other, from, { causal = false } = {}) {
  const { weights, n_heads: heads } = machine;
  const [X, Y] = [at.get(x).rows, at.get(other).rows];
  const project = (w, source, rows, begin) =>
    put(
      `${name}.${w}`,
      linear(rows, weights.get(`${name}.${w}.weight`), weights.get(`${name}.${w}.bias`), begin),
      begin,
      {
        kind: "linear",
        x: source,
        w: `${name}.${w}`,
      },
    );
  const query = project("w_q", x, X, from);
  const read = x === other ? from : (at.get(`${name}.w_k`)?.rows.length ?? 0); // the memory is read once
  const key = project("w_k", other, Y, read);
  const value = project("w_v", other, Y, read);
  const d = query[0].length / heads;
  const together = query.slice(from).map((row) => new Float64Array(row.length));
  const seen = (t) => (causal && !off(`${name}.mask`) ? Math.min(t + 1, key.length) : key.length);
  const gone = [...Array(heads).keys()].filter((head) => off(`${name}.head.${head}`));
  for (let head = 0; head < heads; head += 1) {
    const scores = together.map((_, i) => scoresOf(query[i + from], key, seen(i + from), head * d, d));
    const how = { x: `${name}.scores.${head}`, head, d, query: `${name}.w_q`, key: `${name}.w_k` };
    put(`${name}.scores.${head}`, scores, from, { kind: "scores", ...how });
    const shares = scores.map(sharesOf);
    put(`${name}.weights.${head}`, shares, from, { kind: "softmax", ...how });
    if (!gone.includes(head)) together.forEach((row, i) => mix(row, shares[i], value, seen(i + from), head * d, d));
  }
  const written = put(`${name}.heads`, together, from, { kind: "mix", name, d, gone });
  const [w, bias] = [weights.get(`${name}.w_o.weight`), weights.get(`${name}.w_o.bias`)];
  return put(name, linear(written, w, bias, from), from, { kind: "linear", x: `${name}.heads`, w: `${name}.w_o` });
}

function fedForward({ machine, put, off, at }, name, x, from) {
  const { weights, activation } = machine;
  const of = (w) => [weights.get(`${name}.${w}.weight`), weights.get(`${name}.${w}.bias`)];
  const wide = put(`${name}.w_1`, linear(at.get(x).rows, ...of("w_1"), from), from, {
    kind: "linear",
    x,
    w: `${name}.w_1`,
  });
  const inner = wide.slice(from).map((row) => row.map(ACTIVATIONS[activation]));
  const active = put(`${name}.active`, inner, from, { kind: "activation", x: `${name}.w_1`, activation });
  const gone = off(name);
  const rows = linear(active, ...of("w_2"), from).map((row) => (gone ? row.fill(0) : row));
  return put(name, rows, from, gone ? { kind: "off" } : { kind: "linear", x: `${name}.active`, w: `${name}.w_2` });
}

// LayerNorm(x + Sublayer(x)).
function residual({ machine, put, off, at }, name, x, sublayer, from) {
  const [X, Y] = [at.get(x).rows, at.get(sublayer).rows];
  const skip = !off(`${name}.skip`);
  const sums = Y.slice(from).map((row, t) => (skip ? row.map((y, j) => y + X[t + from][j]) : Float64Array.from(row)));
  const parts = skip ? [x, sublayer] : [sublayer];
  const sum = put(`${name}.sum`, sums, from, { kind: "sum", parts });
  const { weights, eps } = machine;
  const norm = {
    weight: weights.get(`${name}.norm.weight`),
    bias: weights.get(`${name}.norm.bias`),
    eps,
    centred: true,
  };
  const gone = off(`${name}.norm`);
  const rows = sum.slice(from).map((row) => (gone ? Float64Array.from(row) : normed(norm, row)));
  return put(name, rows, from, { kind: gone ? "same" : "norm", x: `${name}.sum`, norm });
}

function encoded(work, src) {
  embedded(work, "src_embedding", src, 0);
  let x = "src_embedding";
  for (let i = 0; i < work.machine.n_layers; i += 1) {
    const layer = `encoder.layers.${i}`;
    attended(work, `${layer}.self_attention`, x, x, 0);
    residual(work, `${layer}.residual_1`, x, `${layer}.self_attention`, 0);
    fedForward(work, `${layer}.feed_forward`, `${layer}.residual_1`, 0);
    residual(work, `${layer}.residual_2`, `${layer}.residual_1`, `${layer}.feed_forward`, 0);
    x = `${layer}.residual_2`;
  }
  return x;
}

// The decoder's rows from `from` on; those before have been computed.
function decoded(work, tgt, memory, from) {
  embedded(work, "tgt_embedding", tgt, from);
  let x = "tgt_embedding";
  for (let i = 0; i < work.machine.n_layers; i += 1) {
    const layer = `decoder.layers.${i}`;
    attended(work, `${layer}.self_attention`, x, x, from, { causal: true });
    residual(work, `${layer}.residual_1`, x, `${layer}.self_attention`, from);
    attended(work, `${layer}.cross_attention`, `${layer}.residual_1`, memory, from);
    residual(work, `${layer}.residual_2`, `${layer}.residual_1`, `${layer}.cross_attention`, from);
    fedForward(work, `${layer}.feed_forward`, `${layer}.residual_2`, from);
    residual(work, `${layer}.residual_3`, `${layer}.residual_2`, `${layer}.feed_forward`, from);
    x = `${layer}.residual_3`;
  }
  const table = work.machine.weights.get("to_logits");
  const logits = linear(work.at.get(x).rows, table, null, from);
  work.put("to_logits", logits, from, { kind: "linear", x, w: "to_logits" });
  const shares = logits.map(sharesOf);
  return work.put("probabilities", shares, from, { kind: "softmax", x: "to_logits" });
}

// The greedy translation of a source, end of sentence included: { src, target, steps, at, written }. `target` ends with the end,
// or after `longest` tokens, the begin counted. `steps[t]` are the probabilities from which target[t] was chosen: where
// the decoder may see what comes later, those of the finished sentence (`at`) are others.
// `written` has, there, the decoder's attention weights as they were when each token was chosen, by their names.
// `draft` is a guess at the translation, such as that of the text before the last letter was typed. It changes nothing
// but the time: the decoder reads some of its tokens at once, and keeps those that it would have chosen.
export function translated(machine, src, changes = NOTHING, { longest = machine.longest, draft = [] } = {}) {
  const work = { machine, ...recorder(changes) };
  const memory = encoded(work, src);
  const cached = ![...changes.off].some((part) => part.endsWith(".mask"));
  const [target, steps] = [[], []];
  const written = cached ? null : new Map();
  let ahead = cached ? MOST_AHEAD : 0;
  while (target.length < longest - 1 && target.at(-1) !== machine.eos) {
    const from = target.length;
    const guess = draft.slice(from, Math.min(from + ahead, longest - 2));
    if (!cached) forgetDecoder(work.at);
    const shares = decoded(work, [machine.bos, ...target, ...guess], memory, cached ? from : 0);
    do {
      steps.push(shares[target.length]);
      target.push(likeliest(steps.at(-1)));
    } while (target.at(-1) === guess[target.length - 1 - from] && target.at(-1) !== machine.eos);
    if (target.length - from <= guess.length) keepDecoder(work.at, target.length);
    if (written) keepWritten(written, work.at, from);
    ahead = target.length - from > 1 || !guess.length ? ahead : ahead >> 1; // a draft that is wrong costs time
  }
  return { src, target, steps, at: work.at, written };
}

const MOST_AHEAD = 7;

// The last row of each of the decoder's maps: that of the token just chosen.
function keepWritten(written, at, t) {
  for (const [name, { rows }] of at) {
    if (!name.startsWith("decoder.") || !name.includes(".weights.")) continue;
    if (!written.has(name)) written.set(name, []);
    written.get(name)[t] = rows[t];
  }
}

// What the decoder would choose after each beginning of a given output, in one pass. Where that is the output itself,
// it is what `translated` writes.
export function chosenAfter(machine, src, output) {
  const work = { machine, ...recorder(NOTHING) };
  const memory = encoded(work, src);
  const shares = decoded(work, [machine.bos, ...output.slice(0, -1)], memory, 0);
  return shares.map(likeliest);
}

function forgetDecoder(at) {
  for (const name of at.keys()) if (name.startsWith("decoder.")) at.delete(name);
}

// Forgets what was read behind the first n positions; the keys and values of the memory stay.
function keepDecoder(at, n) {
  for (const [name, one] of at) {
    const ofMemory = name.startsWith("encoder.") || name.startsWith("src_") || /cross_attention\.w_[kv]$/.test(name);
    if (!ofMemory) one.rows = one.rows.slice(0, n);
  }
}
