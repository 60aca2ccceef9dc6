// The sums of the machine: products of rows with a matrix, scores, shares and mixtures of an attention. Numbers are
// float64 throughout.

// W x + b for each of the rows from `from` on: the same to the last bit, whichever rows are worked out with one.
export function linear(rows, { data, rows: n, columns }, bias, from = 0) {
  const last = rows.length - 1;
  const result = [];
  for (let t = from; t <= last; t += 1) result.push(new Float64Array(n));
  for (let t = from; t <= last; t += 4) {
    const four = [0, 1, 2, 3].map((i) => Math.min(t + i, last)); // the last may be among them more than once
    const into = four.map((i) => result[i - from]);
    fourAtOnce(...four.map((i) => rows[i]), data, n, columns, bias, ...into);
  }
  return result;
}

// Two numbers of four rows at a time: to read takes longer than to multiply, and so each number that is read serves
// two or four products.
function fourAtOnce(p, q, r, s, data, n, columns, bias, P, Q, R, S) {
  for (let i = 0; i < n; i += 2) {
    const k = Math.min(i + 1, n - 1);
    const one = i * columns;
    const other = k * columns;
    let a = bias ? bias[i] : 0;
    let e = bias ? bias[k] : 0;
    let b = a;
    let c = a;
    let d = a;
    let f = e;
    let g = e;
    let h = e;
    for (let j = 0; j < columns; j += 1) {
      const m = data[one + j];
      const l = data[other + j];
      a += m * p[j];
      b += m * q[j];
      c += m * r[j];
      d += m * s[j];
      e += l * p[j];
      f += l * q[j];
      g += l * r[j];
      h += l * s[j];
    }
    P[i] = a;
    Q[i] = b;
    R[i] = c;
    S[i] = d;
    P[k] = e;
    Q[k] = f;
    R[k] = g;
    S[k] = h;
  }
}

// A query against each key that it sees, over √d: what a mask hides has no number.
export function scoresOf(query, keys, seen, start, d) {
  const [scores, root] = [new Float64Array(seen), Math.sqrt(d)];
  for (let s = 0; s < seen; s += 1) {
    const key = keys[s];
    let sum = 0;
    for (let j = start; j < start + d; j += 1) sum += query[j] * key[j];
    scores[s] = sum / root;
  }
  return scores;
}

// Softmax.
export function sharesOf(scores) {
  let [largest, sum] = [-Infinity, 0];
  for (let i = 0; i < scores.length; i += 1) if (scores[i] > largest) largest = scores[i];
  const shares = new Float64Array(scores.length);
  for (let i = 0; i < scores.length; i += 1) sum += shares[i] = Math.exp(scores[i] - largest);
  for (let i = 0; i < scores.length; i += 1) shares[i] /= sum;
  return shares;
}

// Adds the values that are seen, by their shares, to a head's part of a row.
export function mix(row, shares, values, seen, start, d) {
  for (let s = 0; s < seen; s += 1) {
    const [share, value] = [shares[s], values[s]];
    for (let j = start; j < start + d; j += 1) row[j] += share * value[j];
  }
}

// The places of so many of the largest, or of all, the largest first.
export function ranked(shares, most) {
  return [...shares.keys()].sort((a, b) => shares[b] - shares[a]).slice(0, most);
}

export function likeliest(shares) {
  let best = 0;
  for (let i = 1; i < shares.length; i += 1) if (shares[i] > shares[best]) best = i;
  return best;
}
