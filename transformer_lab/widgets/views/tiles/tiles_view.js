// Tiles that walk over a score matrix: one tile is in fast memory at a time; each query keeps a maximum and a sum.

import {
  bar,
  button,
  checkbox,
  choice,
  clamp,
  eachFrame,
  element,
  onKeys,
  resetButton,
  slider,
  tensor,
  watch,
  widthOf,
} from "../../shared/ui.js";
import { FONT, diverging, tokenMap } from "../../shared/grid.js";
import { MEANINGS } from "../../shared/palette.js";

// The tiles in the order of the walk: { rows: [from, to], columns: [from, to] }, those of the future left out.
export function tilesOf(T, S, tile, causal) {
  const spans = (n) => Array.from({ length: Math.ceil(n / tile) }, (_, i) => [i * tile, Math.min((i + 1) * tile, n)]);
  return spans(T).flatMap((rows) =>
    spans(S)
      .filter((columns) => !causal || columns[0] < rows[1])
      .map((columns) => ({ rows, columns })),
  );
}

// What the queries of a tile remember when it has been read: { maximum, total, factor }, each a number for every query
// of the tile. The factor is that by which the sum was mended; before a query's first score it is 0.
export function remembered(scores, walk, step, causal) {
  const { rows } = walk[step];
  const queries = Array.from({ length: rows[1] - rows[0] }, (_, i) => rows[0] + i);
  let memory = queries.map(() => ({ maximum: -Infinity, total: 0, factor: 0 }));
  for (const { rows: there, columns } of walk.slice(0, step + 1)) {
    if (there[0] !== rows[0]) continue;
    memory = memory.map((before, i) => {
      const seen = scores[queries[i]].slice(...columns).filter((_, j) => !causal || columns[0] + j <= queries[i]);
      return seen.length ? mended(before, seen) : { ...before, factor: 1 };
    });
  }
  const list = (name) => memory.map((one) => one[name]);
  return { maximum: list("maximum"), total: list("total"), factor: list("factor") };
}

function mended({ maximum, total }, seen) {
  const larger = Math.max(maximum, ...seen);
  const factor = Math.exp(maximum - larger);
  return {
    maximum: larger,
    total: total * factor + seen.reduce((sum, score) => sum + Math.exp(score - larger), 0),
    factor,
  };
}

// Bytes of one tile in fast memory: queries, keys, values, output; scores; a maximum and a sum for each query.
export function tileBytes(tile, width) {
  return 4 * (4 * tile * width + tile * tile + 2 * tile);
}

export default {
  render({ model, el }) {
    const { data, shape } = tensor(model.get("scores"));
    const scores = Array.from({ length: shape[0] }, (_, t) => Array.from(data.slice(t * shape[1], (t + 1) * shape[1])));
    const [rows, columns, sizes, width] = [
      model.get("rows"),
      model.get("columns"),
      model.get("sizes"),
      model.get("d_head"),
    ];
    const first = { tile: model.get("tile"), causal: model.get("causal"), step: 0 };
    const now = { ...first };
    const most = Math.max(...data.map(Math.abs)) || 1;
    let walk = tilesOf(...shape, now.tile, now.causal);

    const map = tokenMap({
      el,
      label: "Scores in tiles.",
      state: () => describe(null, { walk, now, rows, columns, scores, width, shape }),
      rows,
      columns,
      axes: ["query", "key"],
      redraw: () => draw(),
      describe: (values, cell) => describe(cell, { walk, now, rows, columns, scores, width, shape }),
    });
    const memory = element("div", { class: "tl-note" });
    const draw = eachFrame(() => {
      const here = walk[now.step];
      const found = remembered(scores, walk, now.step, now.causal);
      const seen = (t, s) => within(t, here.rows) && within(s, here.columns) && !(now.causal && s > t);
      map.show(
        scores.map((row, t) => row.map((score, s) => (seen(t, s) ? score : NaN))),
        {
          name: "score",
          colours: diverging,
          range: [-most, most],
          blank: (t, s) => !(now.causal && s > t),
          ...(widthOf(el) >= 480 ? { beside: beside(found, here.rows) } : {}),
        },
      );
      memory.textContent = widthOf(el) < 480 ? inWords(found, here.rows, rows) : "";
      frames(map.node, walk, now.step, getComputedStyle(el).color);
      el.values = {
        tile: now.tile,
        step: now.step,
        rows: here.rows,
        columns: here.columns,
        ...found,
        bytes: tileBytes(now.tile, width),
        whole: 4 * shape[0] * shape[1],
      };
    });
    const go = (step) => {
      now.step = clamp(step, 0, walk.length - 1);
      at.set(now.step);
      draw();
    };
    const lay = (what) => {
      Object.assign(now, what, { step: 0 });
      walk = tilesOf(...shape, now.tile, now.causal);
      at.node.querySelector("input").max = walk.length - 1;
      go(0);
    };
    const at = slider(
      "tile",
      { min: 0, max: walk.length - 1, step: 1, value: 0, show: (n) => `${n + 1} of ${walk.length}` },
      go,
    );
    const back = button("◀ back", () => go(now.step - 1));
    const forward = button("forward ▶", () => go(now.step + 1));
    const size = choice(
      "size of a tile",
      sizes.map((n) => `${n} × ${n}`),
      (i) => lay({ tile: sizes[i] }),
    );
    const causal = checkbox("causal", now.causal, (on) => lay({ causal: on }));
    const reset = resetButton([at, size, causal, map], () => {
      size.set(sizes.indexOf(first.tile));
      lay(first);
    });
    size.set(sizes.indexOf(first.tile));
    el.append(
      bar(back, forward, at.node),
      bar(size.node, ...(shape[0] === shape[1] ? [causal.node] : [])),
      map.beside(
        element(
          "div",
          { class: "tl-note" },
          "m: largest score so far; ℓ: sum of exp(score − m); ×: how ℓ was mended here. Empty cells: not in memory.",
        ),
        memory,
        bar(...map.buttons, reset),
      ),
      map.table,
    );
    // The letters n and p step from anywhere in the view, but in a list.
    el.addEventListener(
      "keydown",
      onKeys((key) => {
        const by = { n: 1, p: -1 }[key];
        if (!by || document.activeElement?.tagName === "SELECT") return false;
        go(now.step + by);
      }),
    );
    return watch(el, draw);
  },
};

const within = (i, [from, to]) => i >= from && i < to;

// ── words ──

const span = (names, [from, to]) => (to - from > 1 ? `${names[from]} to ${names[to - 1]}` : names[from]);

function describe(cell, { walk, now, rows, columns, scores, width, shape }) {
  const here = walk[now.step];
  if (cell) {
    const [t, s] = cell;
    const who = `query ${rows[t]}, key ${columns[s]}: `;
    if (now.causal && s > t) return `${who}the future, hidden.`;
    const there = within(t, here.rows) && within(s, here.columns);
    return who + (there ? `score ${scores[t][s].toFixed(2).replace("-", "−")}.` : "not in memory now.");
  }
  const bytes = [tileBytes(now.tile, width), 4 * shape[0] * shape[1]].map((n) => n.toLocaleString("en"));
  return (
    `Tile ${now.step + 1} of ${walk.length}: queries ${span(rows, here.rows)}, keys ${span(columns, here.columns)}. ` +
    `In fast memory: ${bytes[0]} bytes for any length of text; all scores of this one would be ${bytes[1]}, and four ` +
    `times as many for twice the length. Step with the buttons, or with the keys n and p.`
  );
}

const number = (x) => (Number.isFinite(x) ? x.toFixed(2).replace("-", "−") : "−∞");

function inWords({ maximum, total, factor }, [from], names) {
  const [m, sum, mend] = [maximum, total, factor].map((list) => list.map(number));
  return m.map((one, i) => `${names[from + i]}: m ${one}, ℓ ${sum[i]}, × ${mend[i]}`).join("; ");
}

// ── drawing ──

// What the queries of the tile remember stands beside their rows.
function beside({ maximum, total, factor }, [from, to]) {
  return {
    width: 168,
    draw: (context, { x, top, size, first, count, ink }) => {
      Object.assign(context, { font: FONT, fillStyle: ink, textAlign: "left", textBaseline: "middle" });
      for (let t = Math.max(from, first); t < Math.min(to, first + count); t += 1) {
        const [m, sum, mend] = [maximum, total, factor].map((list) => number(list[t - from]));
        context.fillText(`m ${m}  ℓ ${sum}  × ${mend}`, x, top + (t - first + 0.5) * size);
      }
    },
  };
}

// Thin lines around all tiles of the walk, a thick one around the one in memory.
function frames(node, walk, step, ink) {
  const { left, top, size, first } = node.layout;
  const context = node.getContext("2d");
  const box = ({ rows, columns }) => [
    left + (columns[0] - first[1]) * size - 0.5,
    top + (rows[0] - first[0]) * size - 0.5,
    (columns[1] - columns[0]) * size,
    (rows[1] - rows[0]) * size,
  ];
  Object.assign(context, { strokeStyle: ink, lineWidth: 1 });
  walk.forEach((one) => context.strokeRect(...box(one)));
  Object.assign(context, { strokeStyle: MEANINGS.change, lineWidth: 3 });
  context.strokeRect(...box(walk[step]));
}
