// The boxes of the machine, from the bottom up, and the parts in them that one can look into, switch off, or swap.
// A part: { key, box, title, thumb: the matrix that its picture shows, off: what is switched, swap: { part, head },
//   tabs: [{ title, name, columns, from, to }] }, columns being "features", "keys" or "tokens".

const features = (title, name, more) => ({ title, name, columns: "features", ...more });

// The boxes of one stack: [{ kind, title, layer, parts }].
export function boxesOf(side, { n_layers, n_heads, d_model }) {
  const decoder = side === "decoder";
  const embedding = decoder ? "tgt_embedding" : "src_embedding";
  const boxes = [embeddingBox(embedding, decoder ? "output" : "input", d_model)];
  let x = embedding;
  for (let layer = 0; layer < n_layers; layer += 1) {
    const at = `${side}.layers.${layer}`;
    const subs = [
      attentionBox(`${at}.self_attention`, decoder ? "masked self-attention" : "self-attention", {
        x,
        y: x,
        n_heads,
        d_model,
      }),
      ...(decoder ? [null] : []),
      "feed",
    ];
    subs.forEach((sub, i) => {
      const residual = `${at}.residual_${i + 1}`;
      const box = sub ?? attentionBox(`${at}.cross_attention`, "cross-attention", { x, y: "memory", n_heads, d_model });
      const made = box === "feed" ? feedForwardBox(`${at}.feed_forward`, x) : box;
      boxes.push({ ...made, layer }, { ...residualBox(residual, x, made), layer });
      x = residual;
    });
    boxes.at(-1).last = true; // of its layer
  }
  if (decoder) boxes.push(outputBox(x));
  return boxes;
}

function embeddingBox(name, word, d) {
  const tokens = features(`rows of the table × √${d}`, `${name}.tokens`);
  const positions = features("encoding", `${name}.positions`);
  const sum = features("sum", name);
  return {
    kind: "embedding",
    title: `${word} embedding`,
    parts: [
      { key: `${name}.tokens`, title: `${word} embedding`, thumb: `${name}.tokens`, tabs: [tokens, positions, sum] },
      {
        key: `${name}.positions`,
        title: `positional encoding of the ${word}`,
        thumb: `${name}.positions`,
        off: `${name}.positions`,
        tabs: [positions, sum],
        swap: { part: name, head: null },
      },
    ],
  };
}

function attentionBox(name, title, { n_heads, d_model }) {
  const d = d_model / n_heads;
  const self = name.endsWith("self_attention");
  const heads = Array.from({ length: n_heads }, (_, head) => {
    const own = { from: head * d, to: (head + 1) * d };
    return {
      key: `${name}.head.${head}`,
      title: `head ${head}`,
      thumb: `${name}.weights.${head}`,
      off: `${name}.head.${head}`,
      swap: { part: name, head },
      tabs: [
        { title: "weights", name: `${name}.weights.${head}`, columns: "keys" },
        { title: "scores", name: `${name}.scores.${head}`, columns: "keys" },
        features("query", `${name}.w_q`, own),
        features("key", `${name}.w_k`, { ...own, rows: self ? undefined : "source" }),
        features("value", `${name}.w_v`, { ...own, rows: self ? undefined : "source" }),
        features("what the head writes", `${name}.heads`, own),
        features("all heads · W_O", name),
      ],
    };
  });
  const mask = {
    key: `${name}.mask`,
    title: "causal mask",
    thumb: null,
    off: `${name}.mask`,
    tabs: heads[0].tabs.slice(1, 2),
  };
  return { kind: "attention", name, title, parts: title.startsWith("masked") ? [...heads, mask] : heads };
}

function feedForwardBox(name, x) {
  return {
    kind: "feed",
    name,
    title: "feed-forward",
    parts: [
      {
        key: name,
        title: "feed-forward",
        thumb: name,
        off: name,
        swap: { part: name, head: null },
        tabs: [
          features("what it writes", name),
          features("inner layer", `${name}.active`),
          features("before ReLU", `${name}.w_1`),
          features("what it reads", x),
        ],
      },
    ],
  };
}

function residualBox(name, x, { name: sublayer, title: behind }) {
  const sum = features("sum", `${name}.sum`);
  const tabs = [sum, features("around the sub-layer", x), features("from the sub-layer", sublayer)];
  return {
    kind: "residual",
    title: "add & norm",
    behind,
    parts: [
      { key: `${name}.skip`, title: "residual connection", thumb: `${name}.sum`, off: `${name}.skip`, tabs },
      {
        key: `${name}.norm`,
        title: "norm",
        thumb: name,
        off: `${name}.norm`,
        swap: { part: name, head: null },
        tabs: [features("normed", name), sum],
      },
    ],
  };
}

function outputBox(x) {
  const tab = (title, name) => ({ title, name, columns: "tokens" });
  return {
    kind: "output",
    title: "linear & softmax",
    parts: [
      {
        key: "to_logits",
        title: "linear & softmax",
        thumb: "probabilities",
        tabs: [tab("probabilities", "probabilities"), tab("logits", "to_logits"), features("what it reads", x)],
      },
    ],
  };
}

// Where a part stands: "decoder, layer 1, cross-attention, head 2".
export function pathOf(side, box, part) {
  const layer = box.layer === undefined ? [] : [`layer ${box.layer}`];
  const own = part.title === box.title && box.kind !== "embedding" ? [] : [part.title];
  const residual = box.kind === "residual" ? [`behind ${box.behind}`] : [box.title];
  return box.kind === "output" ? [box.title] : [side, ...layer, ...(box.kind === "embedding" ? [] : residual), ...own];
}
