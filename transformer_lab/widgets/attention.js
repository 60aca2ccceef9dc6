// Attention explorer: from scores to weights, step by step, for one head at a time.

import { button, canvas, checkbox, choice, cividis, css, eachFrame, element, entropy, inkOn, onTheme, slider, softmax, tensor } from "./kit.js";

export const STAGES = ["scores", "scaled", "masked", "weights"];

// One head's map at a stage: an array of T rows of S numbers; NaN where the mask forbids.
export function stageMap(scores, T, S, { stage, divisor, temperature, causal }) {
  const allowed = (t, s) => !causal || s <= t;
  return Array.from({ length: T }, (_, t) => {
    const row = Array.from({ length: S }, (_, s) => scores[t * S + s]);
    if (stage === "scores") return row;
    const scaled = row.map((score) => score / divisor / temperature);
    if (stage === "scaled") return scaled;
    if (stage === "masked") return scaled.map((score, s) => (allowed(t, s) ? score : NaN));
    return softmax(scaled, (s) => allowed(t, s));
  });
}

const START = { layer: 0, head: 0, stage: "weights", temperature: 1, scaled: true, causal: false };
const KEYS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

export default {
  render({ model, el }) {
    const { data, shape: [layers, heads, T, S] } = tensor(model.get("scores"));
    const [queries, keys, d_k] = [model.get("queries"), model.get("keys"), model.get("d_k")];
    const start = { ...START, causal: model.get("causal") };
    const now = { ...start, cursor: null, table: false };
    const stages = d_k ? STAGES : [];

    const map = () => {
      const from = (now.layer * heads + now.head) * T * S;
      const divisor = d_k && now.scaled ? Math.sqrt(d_k) : 1;
      return stageMap(data.subarray(from, from + T * S), T, S, { ...now, divisor });
    };
    const sketch = canvas({ role: "img", "aria-label": `${model.get("summary")} Arrow keys move over the cells.` });
    const says = element("div", { class: "tl-says", "aria-live": "polite" });
    const table = element("div", { class: "tl-scroll" });
    const draw = eachFrame(() => {
      const values = map();
      el.values = values;  // what is shown, for tests and for the curious
      paint(sketch, values, now, { queries, keys }, el);
      says.textContent = describe(values, now, queries, keys);
      table.replaceChildren(...(now.table ? [asTable(values, queries, keys)] : []));
    });
    const change = (what) => { Object.assign(now, what); refresh(); draw(); };

    const tabs = stages.map((stage) => [stage, button(stage, () => change({ stage }))]);
    const sharp = slider("temperature", { min: -1, max: 1, step: 0.02, value: 0, show: (x) => (10 ** x).toFixed(2) }, (x) => change({ temperature: 10 ** x }));
    const divide = checkbox("÷ √d_k", true, (scaled) => change({ scaled }));
    const causal = checkbox("causal mask", start.causal, (on) => change({ causal: on }));
    const layer = choice("layer", [...Array(layers).keys()].map(String), (i) => change({ layer: i }));
    const head = choice("head", [...Array(heads).keys()].map(String), (i) => change({ head: i }));
    const tableButton = button("show as table", () => change({ table: !now.table }));
    const reset = button("reset", () => { Object.assign(now, start, { cursor: null }); sharp.set(0); divide.set(true); causal.set(start.causal); layer.set(0); head.set(0); refresh(); draw(); });
    const refresh = () => {
      tabs.forEach(([stage, tab]) => tab.setAttribute("aria-pressed", stage === now.stage));
      tableButton.setAttribute("aria-pressed", now.table);
    };

    const choices = [...(layers > 1 ? [layer.node] : []), ...(heads > 1 ? [head.node] : []), sharp.node, ...(d_k ? [divide.node] : []), ...(T === S ? [causal.node] : [])];
    const bar = (...nodes) => element("div", { class: "tl-bar" }, ...nodes);
    el.append(...(d_k ? [bar(...tabs.map(([, tab]) => tab))] : []), bar(...choices), sketch.node, says, bar(tableButton, reset), table);

    sketch.node.onpointermove = (event) => change({ cursor: cellAt(event, sketch.node, T, S) });
    sketch.node.onpointerleave = () => change({ cursor: null });
    sketch.node.onfocus = () => now.cursor || change({ cursor: [0, 0] });
    sketch.node.onkeydown = (event) => {
      const [t, s] = now.cursor ?? [0, 0];
      const step = KEYS[event.key];
      const to = step ? [t + step[0], s + step[1]] : { Home: [t, 0], End: [t, S - 1], PageUp: [0, s], PageDown: [T - 1, s] }[event.key];
      if (!to) return;
      event.preventDefault();
      event.stopPropagation();
      change({ cursor: [Math.min(Math.max(to[0], 0), T - 1), Math.min(Math.max(to[1], 0), S - 1)] });
    };
    const stop = onTheme(draw);
    const watch = new ResizeObserver(draw);
    watch.observe(el);
    refresh();
    draw();
    return () => { stop(); watch.disconnect(); };
  },
};

function describe(values, { cursor, stage }, queries, keys) {
  if (!cursor) return "Point at a cell, or go over the map with the arrow keys.";
  const [t, s] = cursor;
  const value = values[t][s];
  const said = `query ${queries[t]}, key ${keys[s]}: ${Number.isNaN(value) ? "masked" : `${stage === "weights" ? "weight" : "score"} ${value.toFixed(3)}`}.`;
  if (stage !== "weights") return said;
  const largest = values[t].indexOf(Math.max(...values[t]));
  return `${said} The row looks most at ${keys[largest]} (${values[t][largest].toFixed(3)}); its entropy is ${entropy(values[t]).toFixed(2)} of ${Math.log2(keys.length).toFixed(2)} bits.`;
}

function asTable(values, queries, keys) {
  const cell = (value) => element("td", {}, Number.isNaN(value) ? "–" : value.toFixed(3));
  const rows = values.map((row, t) => element("tr", {}, element("th", { scope: "row" }, queries[t]), ...row.map(cell)));
  const top = element("tr", {}, element("th", {}, "query \\ key"), ...keys.map((key) => element("th", { scope: "col" }, key)));
  return element("table", {}, top, ...rows);
}

// ── the map ──

const FONT = "13px system-ui, sans-serif";

function layout(node, T, S) {
  return node.layout ?? { left: 0, top: 0, size: 1, T, S };
}

function cellAt(event, node, T, S) {
  const { left, top, size } = layout(node, T, S);
  const box = node.getBoundingClientRect();
  const [t, s] = [Math.floor((event.clientY - box.top - top) / size), Math.floor((event.clientX - box.left - left) / size)];
  return t >= 0 && t < T && s >= 0 && s < S ? [t, s] : null;
}

function paint(sketch, values, now, { queries, keys }, el) {
  const [T, S] = [values.length, values[0].length];
  const ink = getComputedStyle(el).color;
  const probe = sketch.node.getContext("2d");
  probe.font = FONT;
  const wide = (tokens) => Math.max(...tokens.map((token) => probe.measureText(token).width));
  const bars = now.stage === "weights" ? 74 : 0;
  const left = Math.min(wide(queries) + 34, 160);
  const size = Math.max(6, Math.min(44, (Math.max(el.clientWidth, 320) - left - bars - 8) / S));
  const upright = wide(keys) + 4 > size;
  const top = (upright ? Math.min(wide(keys), 120) : 14) + 30;
  sketch.node.layout = { left, top, size, T, S };
  const context = sketch.resize(left + size * S + bars + 8, top + size * T + 6);
  Object.assign(context, { font: FONT, fillStyle: ink, textBaseline: "middle" });

  const finite = values.flat().filter(Number.isFinite);
  const [low, high] = now.stage === "weights" ? [0, 1] : [Math.min(...finite), Math.max(...finite)];
  names(context, { left, top, size, upright }, queries, keys, now.cursor, ink);
  const print = size >= 34;
  values.forEach((row, t) => row.forEach((value, s) => {
    const [x, y] = [left + s * size, top + t * size];
    if (Number.isNaN(value) || (now.stage === "weights" && now.causal && s > t)) return hatch(context, x, y, size, ink);
    const rgb = cividis(high > low ? (value - low) / (high - low) : 0.5);
    context.fillStyle = css(rgb);
    context.fillRect(x, y, size - 1, size - 1);
    if (!print) return;
    Object.assign(context, { fillStyle: inkOn(rgb), textAlign: "center", font: "11px system-ui, sans-serif" });
    context.fillText(value.toFixed(2), x + size / 2, y + size / 2);
  }));
  if (bars) entropies(context, values, { x: left + size * S + 12, top, size, ink });
  if (now.cursor) frame(context, now.cursor, { left, top, size, T, S, ink });
}

function names(context, { left, top, size, upright }, queries, keys, cursor, ink) {
  const style = (on) => Object.assign(context, { fillStyle: ink, font: on ? `bold ${FONT}` : FONT });
  const every = Math.ceil(15 / size);  // where cells are smaller than letters, name every n-th
  queries.forEach((token, t) => {
    if (t % every && cursor?.[0] !== t) return;
    style(cursor?.[0] === t).textAlign = "right";
    context.fillText(token, left - 6, top + (t + 0.5) * size);
  });
  keys.forEach((token, s) => {
    if (s % every && cursor?.[1] !== s) return;
    style(cursor?.[1] === s);
    context.save();
    context.translate(left + (s + 0.5) * size, top - (upright ? 6 : 10));
    if (upright) context.rotate(-Math.PI / 2);
    context.textAlign = upright ? "left" : "center";
    context.fillText(token, 0, 0);
    context.restore();
  });
  Object.assign(context, { font: `italic ${FONT}`, textAlign: "left", fillStyle: ink });
  context.fillText("key →", left, 8);
  context.save();
  context.translate(8, top);
  context.rotate(-Math.PI / 2);
  context.textAlign = "right";
  context.fillText("← query", 0, 0);
  context.restore();
}

function hatch(context, x, y, size, ink) {
  Object.assign(context, { strokeStyle: ink, lineWidth: 0.5 });
  context.strokeRect(x + 0.5, y + 0.5, size - 2, size - 2);
  context.beginPath();
  context.moveTo(x, y + size - 1);
  context.lineTo(x + size - 1, y);
  context.stroke();
}

// A bar for the entropy of each row: full where the weights are even, empty where one weight is 1.
function entropies(context, values, { x, top, size, ink }) {
  Object.assign(context, { font: `italic 12px system-ui, sans-serif`, textAlign: "left", fillStyle: ink });
  context.fillText("entropy", x, top - 10);
  values.forEach((row, t) => {
    context.fillStyle = "#0072b2";
    context.fillRect(x, top + t * size + size * 0.3, (56 * entropy(row)) / Math.log2(row.length || 2), size * 0.4);
    Object.assign(context, { strokeStyle: ink, lineWidth: 0.5 });
    context.strokeRect(x, top + t * size + size * 0.3, 56, size * 0.4);
  });
}

function frame(context, [t, s], { left, top, size, T, S, ink }) {
  Object.assign(context, { strokeStyle: ink, lineWidth: 1 });
  context.strokeRect(left - 1, top + t * size - 1, size * S + 1, size + 1);
  context.strokeRect(left + s * size - 1, top - 1, size + 1, size * T + 1);
  Object.assign(context, { strokeStyle: "#d55e00", lineWidth: 3 });
  context.strokeRect(left + s * size, top + t * size, size - 1, size - 1);
}
