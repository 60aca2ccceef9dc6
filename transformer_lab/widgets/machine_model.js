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

import { ACTIVATIONS, normed, times } from "./language_model.js";
import { softmax } from "./ui.js";

export const NOTHING = { off: new Set(), swaps: [] };

// W x + b for each of the rows from `from` on; four rows share each weight that is read, for reading takes the longest.
export function linear(rows, { data, rows: n, columns }, bias, from = 0) {
  const result = [];
  for (let t = from; t < rows.length; t += 1) result.push(new Float64Array(n));
  let t = from;
  for (; t + 3 < rows.length; t += 4) {
    const [p, q, r, s] = rows.slice(t, t + 4);
    const [P, Q, R, S] = result.slice(t - from, t - from + 4);
    for (let i = 0, at = 0; i < n; i += 1) {
      let a = bias ? bias[i] : 0;
      let [b, c, d] = [a, a, a];
      for (let j = 0; j < columns; j += 1, at += 1) {
        const w = data[at];
        a += w * p[j];
        b += w * q[j];
        c += w * r[j];
        d += w * s[j];
      }
      P[i] = a;
      Q[i] = b;
      R[i] = c;
      S[i] = d;
    }
  }
  for (; t < rows.length; t += 1) result[t - from] = times({ data, rows: n, columns, bias }, rows[t]);
  return result;
}

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
  const scaled = ids
    .slice(from)
    .map((id) => Float64Array.from({ length: d }, (_, j) => data[id * d + j] * Math.sqrt(d)));
  const words = put(`${side}.tokens`, scaled, from, { kind: "rows", table: `${side}.tokens`, ids });
  const gone = off(`${side}.positions`);
  const places = words.slice(from).map((_, t) => (gone ? new Float64Array(d) : encodingOf(t + from, d)));
  const encoding = put(`${side}.positions`, places, from, { kind: gone ? "off" : "encoding" });
  const sum = words.slice(from).map((row, t) => row.map((x, j) => x + encoding[t + from][j]));
  return put(side, sum, from, { kind: "sum", parts: [`${side}.tokens`, `${side}.positions`] });
}

// Sine in even features, cosine in odd ones (§3.5).
export function encodingOf(position, d) {
  return Float64Array.from({ length: d }, (_, j) => {
    const angle = position / 10000 ** ((j - (j % 2)) / d);
    return j % 2 ? Math.cos(angle) : Math.sin(angle);
  });
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
    const scores = query
      .slice(from)
      .map((q, i) =>
        Float64Array.from({ length: key.length }, (_, s) =>
          s < seen(i + from) ? dot(q, key[s], head * d, d) / Math.sqrt(d) : NaN,
        ),
      );
    const how = { x: `${name}.scores.${head}`, head, d, query: `${name}.w_q`, key: `${name}.w_k` };
    put(`${name}.scores.${head}`, scores, from, { kind: "scores", ...how });
    const shares = scores.map((row) => Float64Array.from(softmax(row, (s) => !Number.isNaN(row[s]))));
    put(`${name}.weights.${head}`, shares, from, { kind: "softmax", ...how });
    if (gone.includes(head)) continue;
    together.forEach((row, i) => {
      for (let s = 0; s < seen(i + from); s += 1)
        for (let j = head * d; j < (head + 1) * d; j += 1) row[j] += shares[i][s] * value[s][j];
    });
  }
  const written = put(`${name}.heads`, together, from, { kind: "mix", name, d, gone });
  const [w, bias] = [weights.get(`${name}.w_o.weight`), weights.get(`${name}.w_o.bias`)];
  return put(name, linear(written, w, bias, from), from, { kind: "linear", x: `${name}.heads`, w: `${name}.w_o` });
}

function dot(x, y, start, n) {
  let sum = 0;
  for (let j = start; j < start + n; j += 1) sum += x[j] * y[j];
  return sum;
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
  const shares = logits.map((row) => Float64Array.from(softmax(row)));
  return work.put("probabilities", shares, from, { kind: "softmax", x: "to_logits" });
}

// The greedy translation of a source, end of sentence included: { src, target, steps, at }. `target` ends with the end,
// or after `longest` tokens, the begin counted. `steps[t]` are the probabilities from which target[t] was chosen: where
// the decoder may see what comes later, those of the finished sentence (`at`) are others.
export function translated(machine, src, changes = NOTHING, longest = machine.longest) {
  const work = { machine, ...recorder(changes) };
  const memory = encoded(work, src);
  const cached = ![...changes.off].some((part) => part.endsWith(".mask"));
  const [target, steps] = [[], []];
  while (target.length < longest - 1) {
    if (!cached) forgetDecoder(work.at);
    const shares = decoded(work, [machine.bos, ...target], memory, cached ? target.length : 0).at(-1);
    steps.push(shares);
    target.push(shares.indexOf(Math.max(...shares)));
    if (target.at(-1) === machine.eos) break;
  }
  return { src, target, steps, at: work.at };
}

// What the decoder would choose after each beginning of a given output, in one pass. Where that is the output itself,
// it is what `translated` writes.
export function chosenAfter(machine, src, output) {
  const work = { machine, ...recorder(NOTHING) };
  const memory = encoded(work, src);
  const shares = decoded(work, [machine.bos, ...output.slice(0, -1)], memory, 0);
  return shares.map((row) => row.indexOf(Math.max(...row)));
}

function forgetDecoder(at) {
  for (const name of at.keys()) if (name.startsWith("decoder.")) at.delete(name);
}
