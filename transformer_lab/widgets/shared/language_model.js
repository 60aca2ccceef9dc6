// A language model in the page: what sent_model.py has sent, read one token at a time, with a cache of keys and values.
//   const model = languageModel(sent);
//   const reader = readerOf(model);
//   reader.after([5, 8, 3]);  // logits of the next token; what it has read of the same beginning is not read again
// A position sees itself and those before it, so that no mask is needed. Weights are float32, all else float64.

import { softmax, tensor } from "./ui.js";

// ── weights ──

// A matrix { data, rows, columns } out of its bytes, and the scale of each row.
export function matrix({ i8, scale, shape: [rows, columns] }) {
  const whole = Int8Array.from(atob(i8), (letter) => letter.charCodeAt(0));
  const [{ data: worth }, data] = [tensor(scale), new Float32Array(whole)];
  for (let i = 0, at = 0; i < rows; i += 1) for (let j = 0; j < columns; j += 1, at += 1) data[at] *= worth[i];
  return { data, rows, columns };
}

// What a sent model is made of, ready to be used; a norm, a feed-forward network or a bias that is null is left out.
export function languageModel(sent) {
  const numbers = (one) => one && tensor(one).data;
  const linear = ({ weight, bias }) => ({ ...matrix(weight), bias: numbers(bias) });
  // A part's matrices by their names; its numbers stay as they are.
  const part = (all) =>
    all && Object.fromEntries(Object.entries(all).map(([name, one]) => [name, one?.weight ? linear(one) : one]));
  const norm = (one) => one && { ...one, weight: numbers(one.weight), bias: numbers(one.bias) };
  const tokens = matrix(sent.tokens);
  return {
    ...sent,
    d_model: tokens.columns,
    max_len: sent.max_len ?? Infinity,
    tokens,
    positions: sent.positions && matrix(sent.positions),
    to_logits: { ...(sent.to_logits ? matrix(sent.to_logits) : tokens), bias: null },
    norm: norm(sent.norm),
    layers: sent.layers.map((layer) => ({
      attention: part(layer.attention),
      feed_forward: part(layer.feed_forward),
      norm_1: norm(layer.norm_1),
      norm_2: norm(layer.norm_2),
    })),
  };
}

// ── the parts of a layer, for the vector of one position ──

// W x + b: a row of the matrix for each number of the result. Four sums at a time, for none has to wait for another.
export function times({ data, rows, columns, bias }, x) {
  const y = new Float64Array(rows);
  const even = columns - (columns % 4);
  for (let i = 0; i < rows; i += 1) {
    const at = i * columns;
    let [a, b, c, d] = [bias ? bias[i] : 0, 0, 0, 0];
    for (let j = 0; j < even; j += 4) {
      a += data[at + j] * x[j];
      b += data[at + j + 1] * x[j + 1];
      c += data[at + j + 2] * x[j + 2];
      d += data[at + j + 3] * x[j + 3];
    }
    for (let j = even; j < columns; j += 1) a += data[at + j] * x[j];
    y[i] = a + b + (c + d);
  }
  return y;
}

// LayerNorm: mean 0 and variance 1 over the features, then a scale and a shift; RMSNorm, which is not centred, leaves
// the mean as it is.
export function normed(norm, x) {
  if (!norm) return x;
  const n = x.length;
  let [mean, variance] = [0, 0];
  if (norm.centred) for (let i = 0; i < n; i += 1) mean += x[i] / n;
  for (let i = 0; i < n; i += 1) variance += (x[i] - mean) ** 2 / n;
  const [y, deviation] = [new Float64Array(n), Math.sqrt(variance + norm.eps)];
  for (let i = 0; i < n; i += 1) y[i] = ((x[i] - mean) / deviation) * norm.weight[i] + (norm.bias ? norm.bias[i] : 0);
  return y;
}

// The error function by its series e^(-x²) Σ 2ⁿ x^(2n+1) / (1 · 3 · … · (2n+1)), whose terms all have one sign.
export function erf(x) {
  if (Math.abs(x) > 6) return Math.sign(x); // 1 - erf(6) is 2 · 10⁻¹⁷
  let [term, sum] = [x, x];
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n += 1) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

export const ACTIVATIONS = {
  relu: (x) => Math.max(x, 0),
  gelu: (x) => (x * (1 + erf(x / Math.SQRT2))) / 2,
  gelu_tanh: (x) => (x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))) / 2,
  silu: (x) => x / (1 + Math.exp(-x)),
};

// Rotary positions: each pair of neighbours within a head turns by an angle that grows with the position.
export function rotated(x, position, dHead, base = 10000) {
  const y = new Float64Array(x.length);
  for (let j = 0; j < dHead; j += 2) {
    const angle = position * base ** (-j / dHead);
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    for (let i = j; i < x.length; i += dHead) {
      y[i] = x[i] * cos - x[i + 1] * sin;
      y[i + 1] = x[i] * sin + x[i + 1] * cos;
    }
  }
  return y;
}

function sum(x, y) {
  const z = new Float64Array(x.length);
  for (let i = 0; i < x.length; i += 1) z[i] = x[i] + y[i];
  return z;
}

// One head's weights for a query, over the keys of all positions so far; its features begin at `from`, and those of its
// keys at `at`.
function weightsOf(query, from, keys, at, dHead) {
  const scores = new Float64Array(keys.length);
  for (let s = 0; s < keys.length; s += 1) {
    const key = keys[s];
    let score = 0;
    for (let j = 0; j < dHead; j += 1) score += query[from + j] * key[at + j];
    scores[s] = score / Math.sqrt(dHead);
  }
  return softmax(scores);
}

// The values' sum by weight, into the head's features of `y`.
function addValues(y, from, weights, values, at, dHead) {
  for (let s = 0; s < values.length; s += 1) {
    const [weight, value] = [weights[s], values[s]];
    for (let j = 0; j < dHead; j += 1) y[from + j] += weight * value[at + j];
  }
}

// Two layers with the activation between; or, gated, three matrices (SwiGLU).
function fedForward({ w_1, w_2, w_gate, w_up, w_down }, activation, x) {
  const inner = times(w_gate ?? w_1, x);
  for (let i = 0; i < inner.length; i += 1) inner[i] = activation(inner[i]);
  if (!w_gate) return times(w_2, inner);
  const up = times(w_up, x);
  for (let i = 0; i < inner.length; i += 1) inner[i] *= up[i];
  return times(w_down, inner);
}

// ── reading ──

// Reads texts. `without(layer, head)` says which heads are taken away: their output is 0. With `watched`, `reader.maps`
// has for each layer and head the weights of each position that was read, as rows that grow by one.
export function readerOf(model, { without = () => false, watched = false } = {}) {
  const { d_model: width, max_len: longest, layers } = model;
  const cache = layers.map(() => ({ keys: [], values: [] })); // of each layer: a vector for each position
  let read = []; // the tokens
  let logits = null; // after the last of them
  const me = { maps: layers.map(({ attention }) => Array.from({ length: attention.n_heads }, () => [])) };

  // What the heads of a layer bring to the newest position.
  const attended = (layer, x) => {
    const { w_q, w_k, w_v, w_o, n_heads, n_kv_heads, rotary_base } = layers[layer].attention;
    const { keys, values } = cache[layer];
    const [position, dHead] = [keys.length, width / n_heads];
    const placed = (vector) => (rotary_base ? rotated(vector, position, dHead, rotary_base) : vector);
    const query = placed(times(w_q, x));
    keys.push(placed(times(w_k, x)));
    values.push(times(w_v, x));
    const together = new Float64Array(width);
    for (let head = 0; head < n_heads; head += 1) {
      const at = Math.floor((head * n_kv_heads) / n_heads) * dHead; // heads of a group share keys and values
      const weights = weightsOf(query, head * dHead, keys, at, dHead);
      if (watched) me.maps[layer][head].push(weights);
      if (!without(layer, head)) addValues(together, head * dHead, weights, values, at, dHead);
    }
    return times(w_o, together);
  };
  // A sub-layer with the way around it, and its norm before it or behind the sum.
  const residual = (norm, sublayer, x) =>
    model.norm_first ? sum(x, sublayer(normed(norm, x))) : normed(norm, sum(x, sublayer(x)));

  const readOne = (token) => {
    if (read.length === longest) throw new RangeError(`a text may have at most ${longest} tokens`);
    const row = ({ data }, i) => Float64Array.from(data.subarray(i * width, (i + 1) * width));
    let x = row(model.tokens, token);
    if (model.positions) x = sum(x, row(model.positions, read.length));
    layers.forEach(({ norm_1, norm_2, feed_forward }, layer) => {
      x = residual(norm_1, (y) => attended(layer, y), x);
      if (feed_forward) x = residual(norm_2, (y) => fedForward(feed_forward, ACTIVATIONS[model.activation], y), x);
    });
    read.push(token);
    return times(model.to_logits, normed(model.norm, x));
  };
  // Forget all but the first tokens.
  const rewind = (length) => {
    read.length = length;
    for (const { keys, values } of cache) keys.length = values.length = length;
    for (const rows of me.maps.flat()) rows.length = Math.min(rows.length, length);
  };

  // The logits of the token after these; at least one.
  me.after = (tokens) => {
    let same = 0;
    while (same < read.length && read[same] === tokens[same]) same += 1;
    if (same < read.length || same < tokens.length) {
      rewind(Math.min(same, tokens.length - 1));
      for (const token of tokens.slice(read.length)) logits = readOne(token);
    }
    return logits;
  };
  return me;
}

// ── writing ──

// Where the window begins that a model looks through, as in completion.py: when it is full, all but the second half of
// it is forgotten. The prompt was the first of `length` tokens.
export function windowStart(prompt, length, longest) {
  let start = Math.max(0, prompt - longest);
  for (let n = prompt + 1; n <= length; n += 1) if (n - start > longest) start = n - Math.floor(longest / 2) - 1;
  return start;
}

// The prompt's continuation by n tokens: for each { token, probabilities } of what it was chosen from, and, last, the
// probabilities of what would come next. `choose(probabilities)` says which token is taken.
export function written(reader, { prompt, n, longest, temperature, choose }) {
  const tokens = [...prompt];
  const steps = [];
  for (;;) {
    const start = windowStart(prompt.length, tokens.length, longest);
    const logits = reader.after(tokens.slice(start));
    const probabilities = softmax(Array.from(logits, (logit) => logit / temperature));
    if (steps.length === n) return { steps, next: probabilities };
    const token = choose(probabilities);
    steps.push({ token, probabilities });
    tokens.push(token);
  }
}

// The most probable token; the first one of equals.
export function mostProbable(probabilities) {
  return probabilities.indexOf(Math.max(...probabilities));
}

// A function that draws a token; `random()` is a number from 0 to 1.
export function drawer(random) {
  return (probabilities) => {
    let left = random();
    const found = probabilities.findIndex((p) => (left -= p) < 0);
    return found < 0 ? probabilities.findLastIndex((p) => p > 0) : found;
  };
}
