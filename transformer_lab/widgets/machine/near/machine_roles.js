// What a part does, in one sentence, with its equation and the shapes of its matrices.
//   roleOf(state.partOf(key), machine, run) → { says, equation, shapes }

// Numbers of rows and columns: "7 × 128".
const shape = (...sizes) => sizes.join(" × ");

export function roleOf({ side, box, part }, { d_model: d, n_heads }, run) {
  const [S, T] = [run.src.length, run.target.length];
  const n = side === "encoder" ? S : T;
  const [rows, dk] = [shape(n, d), d / n_heads];
  if (box.kind === "attention") {
    const m = box.title.startsWith("cross") ? S : n;
    if (part.key.endsWith(".mask"))
      return {
        says: "Scores of words that come later become −∞, so that no word looks at what is still to be written.",
        ...{ equation: "Q Kᵀ ∕ √d + M", shapes: shape(n, n) },
      };
    const where = { "self-attention": "at all words that are read", "cross-attention": "at the words that were read" };
    return {
      says: `Each word looks ${where[box.title] ?? "back at what is written"}, and takes a share of what each offers.`,
      equation: `softmax(Q Kᵀ ∕ √${dk}) V`,
      shapes: `${shape(n, m)} weights · ${shape(m, dk)} values → ${shape(n, dk)}`,
    };
  }
  if (box.kind === "feed") {
    const inner = run.at.get(`${box.name}.active`).rows[0].length;
    return {
      says: `Each word by itself: ${inner} units look for patterns in its numbers, and each writes what it stands for.`,
      ...{ equation: "ReLU(x W₁ + b₁) W₂ + b₂", shapes: `${rows} → ${shape(n, inner)} → ${rows}` },
    };
  }
  if (box.kind === "output")
    return {
      says: "A word’s last numbers are compared with the row of each token; softmax turns scores into shares.",
      equation: "softmax(x Eᵀ)",
      shapes: `${rows} → ${shape(n, run.steps[0].length)}`,
    };
  if (part.key.endsWith(".tokens"))
    return {
      says: "Each token has a row of its own in a table: these are the numbers that it begins with.",
      ...{ equation: `E[token] · √${d}`, shapes: `${n} tokens → ${rows}` },
    };
  if (part.key.endsWith(".positions"))
    return {
      says: "Each place has a wave of its own, which is added to the word, so that the order is seen.",
      ...{ equation: "x + PE", shapes: rows },
    };
  if (part.key.endsWith(".skip"))
    return {
      says: `The word as it was goes around ${box.behind}, and what that writes is added: nothing is lost on the way.`,
      ...{ equation: "x + F(x)", shapes: rows },
    };
  return {
    says: "Each row is moved to mean 0 and stretched to spread 1, then scaled and moved as was learned.",
    ...{ equation: "γ (x − μ) ∕ σ + β", shapes: rows },
  };
}
