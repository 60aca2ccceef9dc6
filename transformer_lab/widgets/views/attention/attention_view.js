// Attention explorer: from scores to weights, step by step, for one head at a time.

import {
  bar,
  button,
  checkbox,
  choice,
  eachFrame,
  element,
  entropy,
  resetButton,
  softmax,
  temperatureSlider,
  tensor,
  watch,
  widthOf,
} from "../../shared/ui.js";
import { attentionRow } from "./attention_row.js";
import { FORMULA_STYLE, formula } from "./formula.js";
import { FONT, diverging, extent, tokenMap } from "../../shared/grid.js";
import { numberIn } from "../../shared/cells.js";
import { player } from "../../shared/motion.js";
import { blended } from "../../shared/numbers.js";
import { MEANINGS, amounts, css, inkOn } from "../../shared/palette.js";

export const STAGES = ["scores", "scaled", "masked", "weights"];
const FEW = 10; // so many keys have their row drawn as a whole
const MANY = 24; // so many keys have a strip: a text with its weights is easier to read than a row of a map

// One head's map at a stage: an array of T rows of S numbers; NaN where the mask forbids.
export function stageMap(scores, T, S, { stage, divisor, temperature, causal }) {
  return Array.from({ length: T }, (_, t) => {
    const row = [...scores.subarray(t * S, (t + 1) * S)];
    if (stage === "scores") return row;
    const scaled = row.map((score) => score / divisor / temperature);
    if (stage === "scaled") return scaled;
    if (stage === "masked") return scaled.map((score, s) => (causal && s > t ? NaN : score));
    return softmax(scaled, causal ? (s) => s <= t : undefined);
  });
}

// The query that is chosen at first: the last, for which no mask of the future hides a key, unless it only ends a text.
export function lastWord(queries) {
  const last = queries.findLastIndex((name) => !["end", "eos", "<eos>", "pad", "."].includes(name));
  return Math.max(last, 0);
}

const SAYS = {
  scores: "score = q · k, the dot product of a query and a key",
  scaled: "scaled = score / √dₖ / temperature",
  masked: "masked = scaled, and −∞ where a query may not look",
  weights: "weight = softmax over each row: at least 0, and 1 together",
  output: "output = the values, blended by the weights of each row",
};
// The equation of the paper, and which step each of its terms is.
const EQUATION = [
  "Attention(Q, K, V) =",
  ["softmax", "weights"],
  "(",
  ["Q Kᵀ", "scores"],
  ["/ √dₖ", "scaled"],
  ["+ mask", "masked"],
  ")",
];
const WIDE = 50; // a cell of the output
const EACH = 1900; // milliseconds for which a step is seen when they play
const START = { layer: 0, head: 0, stage: "weights", temperature: 1, scaled: true, causal: false };

export default {
  render({ model, el }) {
    const {
      data,
      shape: [layers, heads, T, S],
    } = tensor(model.get("logits")); // scores, or the logarithms of given weights
    const [queries, keys, d_k] = [model.get("queries"), model.get("keys"), model.get("d_k")];
    const [features, value] = [model.get("features"), model.get("value") && tensor(model.get("value")).data];
    const stages = value ? [...STAGES, "output"] : STAGES;
    const start = { ...START, causal: model.get("causal"), query: lastWord(queries) };
    const now = { ...start };

    const values = () => {
      const from = (now.layer * heads + now.head) * T * S;
      const divisor = d_k && now.scaled ? Math.sqrt(d_k) : 1;
      return stageMap(data.subarray(from, from + T * S), T, S, { ...now, divisor });
    };
    const valuesOf = (head) => keys.map((_, s) => features.map((_, j) => value[(head * S + s) * features.length + j]));
    let room = 0; // for the chosen row, when it was last in sight
    let shown = null; // the map as it was last computed; moving the cursor does not change it
    const draw = eachFrame(() => {
      const weights = now.stage === "weights" || now.stage === "output";
      shown ??= values();
      const output = now.stage === "output" ? blended(shown, valuesOf(now.layer * heads + now.head)) : null;
      el.values = output ?? shown; // what is shown, for tests and for the curious
      map.show(shown, {
        ...(weights ? { name: "weight", range: [0, Math.max(T, S) > MANY ? extent(shown)[1] : 1] } : signed(shown)),
        masked: weights && now.causal ? (t, s) => s > t : undefined,
        beside: output
          ? {
              width: 16 + WIDE * features.length,
              draw: (context, box) => outputs(context, output, { features, at: map.cursor?.[0] }, box),
            }
          : weights
            ? { width: 74, draw: (context, box) => entropies(context, shown, box) }
            : undefined,
      });
      strip?.show(weights ? shown[now.query] : null, now.query);
      room = row?.node.parentElement.clientWidth || room || widthOf(el); // out of sight it has no width
      row?.show(shown[now.query], {
        query: queries[now.query],
        weights,
        width: Math.min(room, 560),
        heading: `what “${queries[now.query]}” ${weights ? "gives to each, of 1" : "thinks of each"}`,
      });
    });
    const change = (what) => {
      Object.assign(now, what);
      shown = null;
      refresh();
      draw();
    };
    const become = (what) => {
      map.morph();
      change(what);
    };
    const map = tokenMap({
      el,
      label: `Attention of ${T} queries to ${S} keys.`,
      state: (values) => stateOf(values, { now, layers, heads, queries, keys }),
      rows: queries,
      columns: keys,
      axes: ["query", "key"],
      redraw: draw,
      describe: (shown, cell) =>
        describe(shown, cell, { stage: now.stage, queries, keys, features, output: el.values }),
      onmove: (cell) => {
        if (cell) [now.query] = cell;
      },
    });
    el.kept = {
      query: {
        get: () => String(now.query),
        set: (text) => now.query !== Number(text) && Number(text) < T && map.move([Number(text), 0], true),
      },
    };
    const strip = S >= MANY ? tokenStrip(queries, keys, (s) => map.move([T === S ? s : now.query, s], true)) : null;

    const row = S <= FEW ? attentionRow(keys) : null;
    const tabs = (d_k ? stages : []).map((stage) => [stage, button(stage, () => step(stage))]);
    const step = (stage) => {
      play.stop();
      become({ stage });
    };
    const play = player({
      button,
      at: () => stages.indexOf(now.stage),
      last: () => stages.length - 1,
      late: () => STAGES.indexOf("weights"),
      go: (i) => become({ stage: stages[i] }),
      milliseconds: EACH,
    });
    const equation = formula(
      "the equation; each term shows its step",
      [...EQUATION, value ? ["V", "output"] : "V"],
      stages,
      (stage) => step(stage),
    );
    const said = element("div", { class: "tl-note" });
    const sharp = temperatureSlider((temperature) => change({ temperature }));
    const divide = checkbox("÷ √d_k", true, (scaled) => become({ scaled }));
    const causal = checkbox("causal mask", start.causal, (on) => become({ causal: on }));
    const layer = choice("layer", [...Array(layers).keys()].map(String), (i) => change({ layer: i }));
    const head = choice("head", [...Array(heads).keys()].map(String), (i) => change({ head: i }));
    const reset = resetButton([sharp, divide, causal, layer, head, map], () => {
      play.stop();
      change(start);
    });
    const refresh = () => {
      tabs.forEach(([stage, tab]) => tab.setAttribute("aria-pressed", stage === now.stage));
      equation.show(now.stage, [...(now.scaled ? [] : ["scaled"]), ...(now.causal ? [] : ["masked"])]);
      said.textContent = SAYS[now.stage];
    };

    const choices = [
      ...(layers > 1 ? [layer.node] : []),
      ...(heads > 1 ? [head.node] : []),
      sharp.node,
      ...(d_k ? [divide.node] : []),
      ...(T === S ? [causal.node] : []),
    ];
    el.append(
      element("style", {}, FORMULA_STYLE),
      ...(d_k ? [equation.node, bar(...tabs.map(([, tab]) => tab), play.node)] : []),
      bar(...choices),
      map.beside(
        ...(d_k ? [said] : []),
        ...(strip ? [strip.node] : []),
        ...(row ? [row.node] : []),
        bar(...map.buttons, reset),
      ),
      map.table,
    );
    refresh();
    return watch(el, draw);
  },
};

// Scores have a sign: their colours part at 0.
function signed(values) {
  const most = Math.max(...extent(values).map(Math.abs)) || 1;
  return { name: "score", colours: diverging, range: [-most, most] };
}

// What is seen, for those who do not see it: which map it is, and where each query looks most.
function stateOf(values, { now, layers, heads, queries, keys }) {
  const which = [
    ...(layers > 1 ? [`layer ${now.layer}`] : []),
    ...(heads > 1 ? [`head ${now.head}`] : []),
    now.stage === "output" ? "weights, with the output beside them" : now.stage,
    ...(now.temperature === 1 ? [] : [`temperature ${now.temperature.toFixed(2)}`]),
    ...(now.causal ? ["causal mask"] : []),
  ].join(", ");
  const rows = values.slice(0, 8).map((row, t) => {
    const most = row.reduce((best, value, s) => (value > (row[best] ?? -Infinity) ? s : best), -1);
    return `${queries[t]} at ${most < 0 ? "nothing" : `${keys[most]} (${row[most].toFixed(2)})`}`;
  });
  const more = values.length > rows.length ? `, and ${values.length - rows.length} queries more` : "";
  return `${which[0].toUpperCase()}${which.slice(1)}; largest in each row: ${rows.join(", ")}${more}.`;
}

function describe(values, cell, { stage, queries, keys, features, output }) {
  if (!cell) return "Point at a cell or a word, or go over the map with the arrow keys.";
  const [t, s] = cell;
  const value = values[t][s];
  const name = stage === "weights" || stage === "output" ? "weight" : "score";
  const shown = Number.isNaN(value) ? "masked" : `${name} ${value.toFixed(3)}`;
  const said = `query ${queries[t]}, key ${keys[s]}: ${shown}.`;
  if (name === "score") return said;
  if (stage === "output") {
    return `${said} The output of the row: ${features.map((one, j) => `${one} ${numberIn(output[t][j])}`).join(", ")}.`;
  }
  const largest = values[t].indexOf(Math.max(...values[t]));
  const bits = `${entropy(values[t]).toFixed(2)} of ${Math.log2(keys.length).toFixed(2)} bits`;
  return `${said} The row looks most at ${keys[largest]} (${values[t][largest].toFixed(3)}); its entropy is ${bits}.`;
}

// A bar for the entropy of each row: full where the weights are even, empty where one weight is 1.
function entropies(context, values, { x, top, size, first, count, ink }) {
  Object.assign(context, { font: `italic ${FONT}`, textAlign: "left", fillStyle: ink });
  context.fillText("entropy", x, top - 10);
  values.slice(first, first + count).forEach((row, t) => {
    const box = [x, top + t * size + size * 0.3, 56, size * 0.4];
    context.fillStyle = MEANINGS.chosen;
    context.fillRect(box[0], box[1], (56 * entropy(row)) / Math.log2(row.length || 2), box[3]);
    Object.assign(context, { strokeStyle: ink, lineWidth: 0.5 });
    context.strokeRect(...box);
  });
}

// The output of each row, a cell for each feature, as green as its number is large.
function outputs(context, output, { features, at }, { x, top, size, first, count, ink }) {
  const most = Math.max(...output.flat().map(Math.abs)) || 1;
  Object.assign(context, { font: `italic ${FONT}`, textAlign: "center", fillStyle: ink });
  features.forEach((name, j) => context.fillText(name, x + (j + 0.5) * WIDE, top - 10, WIDE - 3));
  output.slice(first, first + count).forEach((row, t) => {
    row.forEach((value, j) => {
      Object.assign(context, { fillStyle: MEANINGS.value, globalAlpha: 0.08 + (0.5 * Math.abs(value)) / most });
      context.fillRect(x + j * WIDE, top + t * size, WIDE - 2, size - 2);
      Object.assign(context, { fillStyle: ink, globalAlpha: 1, font: first + t === at ? `bold ${FONT}` : FONT });
      if (size >= 15) context.fillText(numberIn(value), x + (j + 0.5) * WIDE - 1, top + (t + 0.5) * size);
    });
  });
}

// The keys as a text, each shaded by its weight in one row; a click chooses a key, and in self-attention its row.
function tokenStrip(queries, keys, onchoose) {
  const tokens = keys.map((key, s) => element("span", { onclick: () => onchoose(s) }, key));
  const title = element("div", {});
  const own = queries.length === keys.length;
  const show = (row, query) => {
    const largest = row ? Math.max(...row) : 0;
    title.textContent = row
      ? `Where query ${queries[query]} looks: at most ${largest.toFixed(3)}, no shade below a twentieth of that.` +
        (own ? " Click a word to ask from it." : "")
      : "";
    tokens.forEach((token, s) => {
      const share = row ? row[s] / (largest || 1) : 0;
      const rgb = amounts(share);
      const style = share >= 0.05 ? `background: ${css(rgb)}; color: ${inkOn(rgb)};` : "";
      if (token.shade !== style) token.style.cssText = token.shade = style;
      token.classList.toggle("tl-here", own && s === query);
    });
  };
  return { node: element("div", { class: "tl-strip" }, title, element("div", { class: "tl-words" }, ...tokens)), show };
}
