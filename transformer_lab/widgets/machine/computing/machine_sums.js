// The sum behind one number of a run: explained(run, machine, name, t, j) →
//   { text: "what it is, in words", terms: [{ name, a, b, product, from }], rest: [{ name, value }], value }
// The products of the terms and the rest add up to the value, or the steps in `text` lead to it. `from` is where the
// number a comes from: { name, cell }.

export function explained(run, machine, name, t, j) {
  const { rows, how, swapped } = run.at.get(name);
  const value = rows[t][j];
  if (swapped.has(t)) return { ...PLAIN, text: "taken from the other sentence, or made with it", value };
  return { ...PLAIN, ...KINDS[how.kind]({ run, machine, how, t, j, value, name }), value };
}

const PLAIN = { terms: [], rest: [], steps: [] };
const show = (x) => (Number.isInteger(x) ? String(x) : x.toFixed(3));

function products(a, b, named, from) {
  return Array.from(a, (x, i) => ({ name: named(i), a: x, b: b[i], product: x * b[i], from: from?.(i) }));
}

const KINDS = {
  off: () => ({ text: "switched off: zeros" }),
  same: ({ how, t, j, value }) => ({ text: "switched off: it leaves the number as it is", ...one(how.x, t, j, value) }),
  encoding: ({ t, j, value, machine: { d_model: d } }) => {
    const power = `10000^(${j - (j % 2)}/${d})`;
    return { text: `${j % 2 ? "cos" : "sin"}(${t} / ${power}) = ${show(value)}` };
  },
  rows: ({ machine, how, t, j, value }) => {
    const { data, columns } = machine.weights.get("to_logits");
    const [entry, token] = [data[how.ids[t] * columns + j], machine.symbols[how.ids[t]]];
    return { text: `the table’s entry for “${token}”, ${show(entry)}, times √${columns} = ${show(value)}` };
  },
  sum: ({ run, how, t, j }) => ({
    text: how.parts.length > 1 ? "the sum of two numbers" : "switched off: there is no other way around the sub-layer",
    terms: how.parts.map((part) => {
      const a = run.at.get(part).rows[t][j];
      return { name: part, a, b: 1, product: a, from: { name: part, cell: [t, j] } };
    }),
  }),
  linear: ({ run, machine, how, t, j }) => {
    const { data, columns } = machine.weights.get(how.w === "to_logits" ? how.w : `${how.w}.weight`);
    const bias = machine.weights.get(`${how.w}.bias`);
    const weights = data.subarray(j * columns, (j + 1) * columns);
    return {
      text: `row ${t} of what it reads · column ${j} of the weights${bias ? ", plus the bias" : ""}`,
      terms: products(
        run.at.get(how.x).rows[t],
        weights,
        (i) => `feature ${i}`,
        (i) => ({ name: how.x, cell: [t, i] }),
      ),
      rest: bias ? [{ name: "bias", value: bias[j] }] : [],
    };
  },
  activation: ({ run, how, t, j, value }) => ({
    text: `${how.activation}(${show(run.at.get(how.x).rows[t][j])}) = ${show(value)}`,
    ...one(how.x, t, j, value),
  }),
  scores: ({ run, how: { query, key, head, d }, t, j, value }) => {
    if (!Number.isFinite(value)) return { text: "masked: a position may not see what comes later" };
    const [q, k] = [run.at.get(query).rows[t], run.at.get(key).rows[j]].map((row) => row.slice(head * d, head * d + d));
    const scaled = k.map((x) => x / Math.sqrt(d));
    const from = (i) => ({ name: query, cell: [t, head * d + i] });
    return {
      text: `query ${t} · key ${j}, over √${d}`,
      terms: products(q, scaled, (i) => `feature ${head * d + i}`, from),
    };
  },
  softmax: ({ run, how, t, j, value }) => {
    const scores = run.at.get(how.x).rows[t];
    if (!Number.isFinite(scores[j])) return { text: "masked: no weight" };
    const largest = Math.max(...scores.filter(Number.isFinite));
    const powers = Array.from(scores, (x) => (Number.isFinite(x) ? Math.exp(x - largest) : 0));
    const all = powers.reduce((a, b) => a + b, 0);
    return {
      text: `softmax: e^(${[scores[j], largest].map(show).join(" − ")}) / Σ = ${show(powers[j])} / ${show(all)}`,
      ...one(how.x, t, j, value),
    };
  },
  mix: ({ run, how, t, j }) => {
    const head = Math.floor(j / how.d);
    if (how.gone.includes(head)) return { text: "the head is switched off: zeros" };
    const weights = run.at.get(`${how.name}.weights.${head}`).rows[t];
    const values = run.at.get(`${how.name}.w_v`).rows;
    return {
      text: `the values of all positions, by weight`,
      terms: Array.from(weights, (a, s) => ({
        name: `position ${s}`,
        a,
        b: values[s][j],
        product: a * values[s][j],
        from: { name: `${how.name}.weights.${head}`, cell: [t, s] },
      })),
    };
  },
  norm: ({ run, how: { x, norm }, t, j, value }) => {
    const row = run.at.get(x).rows[t];
    const mean = row.reduce((a, b) => a + b, 0) / row.length;
    const deviation = Math.sqrt(row.reduce((a, b) => a + (b - mean) ** 2, 0) / row.length + norm.eps);
    const [by, plus] = [norm.weight[j], norm.bias[j]].map(show);
    return {
      text: `(${show(row[j])} − mean ${show(mean)}) / deviation ${show(deviation)} · ${by} + ${plus} = ${show(value)}`,
      ...one(x, t, j, value),
    };
  },
};

// A number that comes from one other.
function one(name, t, j, product) {
  return { steps: [{ name, product, from: { name, cell: [t, j] } }] };
}
