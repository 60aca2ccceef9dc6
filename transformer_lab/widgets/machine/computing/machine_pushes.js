// What a feed-forward network is for: what the machine would write if it stopped before this layer and after it, and
// how much each hidden feature pushes towards a token.
//   const { before, after, active, token, pushes } = pushed(run, machine, "decoder.layers.1.feed_forward", t);

import { likeliest, sharesOf } from "./machine_products.js";

// The probabilities of all tokens, read off a row as the machine reads them off its last one.
function guessesOf(machine, row) {
  const { data, rows, columns } = machine.weights.get("to_logits");
  const scores = Float64Array.from({ length: rows }, (_, k) => dot(data, k * columns, row));
  return sharesOf(scores);
}

function dot(data, from, row) {
  let sum = 0;
  for (let j = 0; j < row.length; j += 1) sum += data[from + j] * row[j];
  return sum;
}

// The residual connection that takes up what a feed-forward network writes.
export const behind = (name) => name.replace(/feed_forward$/, name.startsWith("decoder") ? "residual_3" : "residual_2");

export function pushed(run, machine, name, t) {
  const rowOf = (matrix) => run.at.get(matrix).rows[t];
  const after = guessesOf(machine, rowOf(behind(name)));
  const token = likeliest(after);
  const direction = directionOf(run, machine, behind(name), t, token);
  const off = run.at.get(name).how.kind === "off";
  const active = rowOf(`${name}.active`).map((x) => (off ? 0 : x));
  const { data, columns } = machine.weights.get(`${name}.w_2.weight`);
  const pushes = active.map((x, i) => x && x * direction.reduce((sum, d, j) => sum + d * data[j * columns + i], 0));
  return {
    before: guessesOf(machine, rowOf(run.at.get(`${name}.w_1`).how.x)),
    after,
    active,
    token,
    pushes,
    direction,
  };
}

// By how much each number that is added before a norm raises the score of a token above the mean of all: softmax takes
// the mean for nothing. The norm's deviation is taken as it is.
function directionOf(run, machine, residual, t, token) {
  const { data, rows, columns } = machine.weights.get("to_logits");
  const above = Float64Array.from({ length: columns }, (_, j) => {
    let sum = 0;
    for (let k = 0; k < rows; k += 1) sum += data[k * columns + j];
    return data[token * columns + j] - sum / rows;
  });
  const { kind, norm } = run.at.get(residual).how;
  if (kind !== "norm") return above;
  const sum = run.at.get(`${residual}.sum`).rows[t];
  const mean = sum.reduce((a, b) => a + b, 0) / columns;
  const deviation = Math.sqrt(sum.reduce((a, b) => a + (b - mean) ** 2, 0) / columns + norm.eps);
  const scaled = above.map((x, j) => (x * norm.weight[j]) / deviation);
  const middle = scaled.reduce((a, b) => a + b, 0) / columns;
  return scaled.map((x) => x - middle);
}
