// The maps of a model's layers and heads, and the choice of one: a head, or the mean of a layer's heads.

import { choice } from "./ui.js";

// The map of a layer's head (null: the mean of its heads) out of weights { data, shape: [layers, heads, T, S] }, as T
// rows.
export function mapOf({ data, shape: [, heads, T, S] }, { layer, head }) {
  const used = head === null ? [...Array(heads).keys()] : [head];
  const at = (h, t, s) => data[((layer * heads + h) * T + t) * S + s];
  return Array.from({ length: T }, (_, t) =>
    Array.from({ length: S }, (_, s) => used.reduce((sum, h) => sum + at(h, t, s), 0) / used.length),
  );
}

// Two lists to choose from, beginning with the mean of the last layer; `now` is what is chosen.
export function stackChoice(layers, heads, onchange) {
  const start = { layer: layers - 1, head: null };
  const me = { now: { ...start } };
  const change = (what) => {
    Object.assign(me.now, what);
    onchange();
  };
  const numbers = (n) => [...Array(n).keys()].map(String);
  const layer = choice("layer", numbers(layers), (i) => change({ layer: i }));
  const head = choice("head", ["mean of all", ...numbers(heads)], (i) => change({ head: i ? i - 1 : null }));
  me.nodes = [...(layers > 1 ? [layer.node] : []), ...(heads > 1 ? [head.node] : [])];
  me.reset = () => {
    Object.assign(me.now, start);
    layer.set(start.layer);
    head.set(0);
  };
  me.reset();
  return me;
}
