// What matrices bring about that were set by hand: the attention of a head, what it lacks, and what two heads that make
// the same mistake have in common. As the exercises' own goals say it.

const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
const transposed = (a) => a[0].map((_, j) => a.map((row) => row[j]));
export const times = (a, b) => {
  const columns = transposed(b);
  return a.map((row) => columns.map((column) => dot(row, column)));
};
const plus = (a, b) => a.map((row, i) => row.map((x, j) => x + b[i][j]));

function softmax(scores) {
  const largest = Math.max(...scores);
  const powers = scores.map((x) => Math.exp(x - largest));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((x) => x / sum);
}

// The weights (T, T) of a head whose queries and keys are x @ w_q and x @ w_k.
export function attention(x, wQ, wK) {
  const [queries, keys] = [times(x, wQ), times(x, wK)];
  const scale = Math.sqrt(queries[0].length);
  return queries.map((query) => softmax(keys.map((key) => dot(query, key) / scale)));
}

const fixed = (x) => x.toFixed(2);

// ── heads that look at neighbours: (h, T, T) ──

const neighbour = {
  effect: ({ positions }, matrices) =>
    Array.from({ length: matrices.length / 2 }, (_, h) => attention(positions, matrices[2 * h], matrices[2 * h + 1])),
  lacks(_, heads, offsets) {
    for (const [head, offset] of offsets.entries()) {
      const weights = heads[head];
      for (let t = Math.max(0, -offset); t < Math.min(weights.length, weights.length - offset); t += 1) {
        const [row, weight] = [weights[t], weights[t][t + offset]];
        if (weight >= 0.9) continue;
        const of = offsets.length > 1 ? ` of head ${head}` : "";
        const most = row.indexOf(Math.max(...row));
        const rest = most === t + offset ? "" : `, and most, ${fixed(row[most])}, to position ${most}`;
        const rule = `The query${of} at position ${t} must attend to position ${t + offset} with a weight of at least`;
        return `${rule} 0.9. It gives it ${fixed(Math.min(weight, 0.894))}${rest}.`; // 0.8995 is no 0.90
      }
    }
    return null;
  },
  // Where each query that has a neighbour looks most, and whether that is enough.
  gist: (heads, offsets) =>
    heads.map((weights, h) =>
      weights.map((row, t) => {
        if (t + offsets[h] < 0 || t + offsets[h] >= row.length) return null;
        const largest = Math.max(...row);
        return [row.map((x) => x > 0.999 * largest), largest >= 0.9];
      }),
    ),
};

// ── a head that looks at words of the same kind: (1, T, T) ──

const kindOf = (word) => word.indexOf(Math.max(...word.slice(0, 3)));

const kind = {
  effect: ({ words }, [wQ, wK]) => [attention(words, wQ, wK)],
  lacks({ words }, [weights]) {
    const kinds = words.map(kindOf);
    for (const [t, row] of weights.entries()) {
      const own = row.filter((_, s) => kinds[s] === kinds[t]);
      const sum = own.reduce((a, b) => a + b, 0);
      if (sum < 0.9) {
        const rule = `Word ${t} is of kind ${kinds[t]}, and must give at least 0.9 of its weight to words of that kind`;
        return `${rule}. It gives them ${fixed(sum)}.`;
      }
      const gap = Math.max(...own) - Math.min(...own);
      if (gap <= 0.05) continue;
      const rule = `Word ${t} must give each word of its kind the same weight, to within 0.05.`;
      return `${rule} Two differ by ${fixed(gap)}.`;
    }
    return null;
  },
  gist: (effect) => effect,
};

// ── two layers that continue what is repeated: for each sequence both heads, and `next` behind them ──

const NAMES = "abcdefgh";

// All sequences of different tokens that fit in twice, the shortest first.
export function sequencesOf({ n_tokens, n_positions }) {
  const longer = (all) =>
    all.flatMap((once) => tokens.filter((one) => !once.includes(one)).map((one) => [...once, one]));
  const tokens = [...Array(n_tokens).keys()];
  const found = [];
  for (let all = [[]], period = 1; period <= Math.min(n_tokens, Math.floor(n_positions / 2)); period += 1) {
    all = longer(all);
    found.push(...all);
  }
  return found;
}

function stream(once, given, length) {
  const oneHot = (i, n) => Array.from({ length: n }, (_, j) => Number(i === j));
  const { n_tokens: n, n_positions: places } = given;
  return Array.from({ length }, (_, t) => [
    ...oneHot(once[t % once.length], n),
    ...oneHot(t, places),
    ...Array(2 * n).fill(0),
  ]);
}

function layer(x, qk, ov) {
  const scores = times(times(x, qk), transposed(x));
  const weights = scores.map((row, t) => [...softmax(row.slice(0, t + 1)), ...Array(row.length - t - 1).fill(0)]);
  return [plus(x, times(times(weights, x), ov)), weights];
}

const induction = {
  effect(given, [qk0, ov0, qk1, ov1]) {
    const all = sequencesOf(given);
    const length = 2 * all.at(-1).length;
    return all.map((once) => {
      const [between, first] = layer(stream(once, given, length), qk0, ov0);
      const [behind, second] = layer(between, qk1, ov1);
      return first.map((row, t) => [...row, ...second[t], ...behind[t].slice(-given.n_tokens)]);
    });
  },
  lacks(given, effect) {
    for (const [i, once] of sequencesOf(given).entries()) {
      const period = once.length;
      for (let t = period; t < 2 * period; t += 1) {
        const next = effect[i][t].slice(-given.n_tokens);
        const right = once[(t + 1) % period];
        if (next[right] >= 0.9 && next.every((x, token) => token === right || x <= 0.1)) continue;
        return [
          "It does not continue every sequence that is repeated.",
          `  tokens          ${Array.from({ length: t + 1 }, (_, s) => NAMES[once[s % period]]).join(" ")}`,
          `  what comes next ${NAMES[right]}`,
          `  next holds      ${next.map((x, token) => `${fixed(x)} for ${NAMES[token]}`).join(", ")}`,
        ].join("\n");
      }
    }
    return null;
  },
  gist: (effect) => effect,
};

export const FAMILIES = { neighbour, kind, induction };

function alike(one, other, loose) {
  if (Array.isArray(one)) return one.every((part, i) => alike(part, other[i], loose));
  if (typeof one !== "number") return one === other;
  const most = loose ? 1e-3 : 1e-4;
  return Math.abs(one - other) <= most * Math.abs(other) + most / 10;
}

// Of matrices for each case: { passed, failed, lacks, mistake, effects }, as `judged` says it of values.
export function judgedMatrices(table, answers) {
  const family = FAMILIES[table.family];
  const effects = table.cases.map(({ given }, i) => family.effect(given, answers[i]));
  const faults = table.cases.map(({ given }, i) => {
    if (!effects[i].flat(Infinity).every(Number.isFinite)) return "take smaller numbers";
    return family.lacks(given, effects[i], table.offsets);
  });
  const failed = faults.findIndex(Boolean);
  if (failed < 0) return { passed: true, failed: undefined, lacks: null, mistake: null, effects };
  const isLoose = table.family === "induction";
  const gists = effects.map((effect) => family.gist(effect, table.offsets));
  const made = (m, i) => {
    const matrices = flatMatrices(table.cases[i].wrong[m]);
    return matrices && family.effect(table.cases[i].given, matrices);
  };
  const fits = (_, m) => {
    const there = made(m, failed);
    if (!there || !family.lacks(table.cases[failed].given, there, table.offsets)) return false;
    return gists.every((gist, i) => {
      const other = made(m, i);
      return other && alike(gist, family.gist(other, table.offsets), isLoose);
    });
  };
  return { passed: false, failed, lacks: faults[failed], mistake: table.mistakes.find(fits) ?? null, effects };
}

// The matrices of an outcome one after another, however they are nested; null if there are none.
export function flatMatrices(outcome) {
  if (!Array.isArray(outcome)) return null;
  return typeof outcome[0]?.[0] === "number" ? [outcome] : outcome.flatMap((part) => flatMatrices(part) ?? []);
}
