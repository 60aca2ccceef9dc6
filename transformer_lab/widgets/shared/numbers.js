// Small arithmetic that views share.

export function clamp(x, low, high) {
  return Math.min(Math.max(x, low), high);
}

// Softmax of the allowed numbers, in double precision; where nothing is allowed, zeros.
export function softmax(scores, allowed = () => true) {
  const kept = Array.from(scores, (score, i) => (allowed(i) ? score : -Infinity));
  const largest = kept.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = kept.map((score) => (score > -Infinity ? Math.exp(score - largest) : 0));
  const sum = powers.reduce((a, b) => a + b, 0) || 1;
  return powers.map((power) => power / sum);
}

// Entropy of a distribution in bits: 0 if one outcome is certain, log2(n) if n are equally likely.
export function entropy(weights) {
  return weights.reduce((bits, p) => (p > 0 ? bits - p * Math.log2(p) : bits), 0);
}

// Rows of values, blended by each row of weights: the matrix product.
export function blended(weights, values) {
  return weights.map((row) => values[0].map((_, j) => row.reduce((sum, weight, s) => sum + weight * values[s][j], 0)));
}

// The whole numbers in a text such as "3.0.12".
export function numbersIn(text) {
  return (text.match(/\d+/g) ?? []).map(Number);
}
