// Tiles that walk over a score matrix: one tile is in fast memory at a time; each query keeps a maximum and a sum.

import {
  bar,
  button,
  canvas,
  checkbox,
  choice,
  clamp,
  eachFrame,
  element,
  onKeys,
  resetButton,
  sideBySide,
  slider,
  tensor,
  watch,
  widthOf,
} from "../../shared/ui.js";
import { diverging, tokenMap } from "../../shared/grid.js";
import { player } from "../../shared/motion.js";
import { inUnits } from "../cache/cache_view.js";
import {
  SIDE,
  deskHeight,
  lead,
  number,
  paintDesk,
  paintScale,
  roomOf,
  scaled,
  sheetCell,
  tilesOn,
  widest,
  within,
} from "./tiles_picture.js";

const BESIDE = 660; // from so wide on the desk stands beside the sheet
const SMALL = 28; // pixels across a score where it stands below: a phone shows both at once
const [SHORTEST, LONGEST] = [4, 16]; // the powers of 2 that a text may be long, to scale

// The tiles in the order of the walk: { rows: [from, to], columns: [from, to] }, those of the future left out.
export function tilesOf(T, S, tile, causal) {
  const spans = (n) => Array.from({ length: Math.ceil(n / tile) }, (_, i) => [i * tile, Math.min((i + 1) * tile, n)]);
  return spans(T).flatMap((rows) =>
    spans(S)
      .filter((columns) => !causal || columns[0] < rows[1])
      .map((columns) => ({ rows, columns })),
  );
}

// Whether a score is of a tile that was read, of that which is "here" in memory, of one that is "coming", or hidden.
export function stateOf(walk, step, causal, t, s) {
  if (causal && s > t) return "future";
  const tile = walk.findIndex(({ rows, columns }) => within(t, rows) && within(s, columns));
  return tile < step ? "read" : tile === step ? "here" : "coming";
}

// In the middle of a walk the first tile before which one of its row was read: there are sums to be mended.
export function amid(walk) {
  const middle = Math.floor(walk.length / 2);
  const found = walk.findIndex(({ columns }, i) => i >= middle && columns[0] > 0);
  return Math.max(found, 0);
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
    const first = { tile: model.get("tile"), causal: model.get("causal"), text: Math.log2(model.get("text")) };
    const now = { ...first };
    const most = Math.max(...data.map(Math.abs)) || 1;
    let walk = tilesOf(...shape, now.tile, now.causal);
    now.step = first.step = amid(walk);

    const left = Math.min(widest(rows), 126) + 34; // of the sheet, where the names of its rows stand
    const seen = () => ({ walk, now, rows, columns, scores, width });
    const map = tokenMap({
      el,
      room: () => (widthOf(el) < BESIDE ? Math.min(widthOf(el), left + SMALL * shape[1] + 8) : widthOf(el)),
      label: "Scores in tiles.",
      state: () => describe(null, seen()),
      rows,
      columns,
      axes: ["query", "key"],
      redraw: () => draw(),
      describe: (values, cell) => describe(cell, seen()),
    });
    const below = canvas("The desk.", { keys: false }); // where it has no room beside the sheet
    const scale = canvas("The desk and the sheet to scale.", { keys: false });
    const draw = eachFrame(() => {
      const here = walk[now.step];
      const found = remembered(scores, walk, now.step, now.causal);
      const future = (t, s) => now.causal && s > t;
      const onDesk = (t, s) => stateOf(walk, now.step, now.causal, t, s) === "here";
      const [bytes, length] = [tileBytes(now.tile, width), 2 ** now.text];
      const desk = { here, scores, most, found, names: { rows, columns }, hidden: future };
      desk.bytes = { tile: now.tile, d_head: width, all: bytes };
      const ink = getComputedStyle(el).color;
      const total = widthOf(el);
      const besides = total >= BESIDE;
      const room = roomOf(total, { name: widest(rows), S: shape[1], tile: Math.min(now.tile, shape[1]) });
      let [context, place] = [map.node.getContext("2d"), null];
      map.show(
        scores.map((row, t) => row.map((score, s) => (onDesk(t, s) ? score : NaN))),
        {
          name: "score",
          colours: diverging,
          range: [-most, most],
          blank: (t, s) => !future(t, s),
          maskedName: "the future",
          cell: (_, cell) => {
            const state = stateOf(walk, now.step, now.causal, cell.t, cell.s);
            sheetCell(context, cell, { score: scores[cell.t][cell.s], most, state, ink });
          },
          ...(besides
            ? {
                beside: {
                  width: room.width,
                  draw: (_, { x, top, size }) => {
                    place = { x: x + 24, y: Math.max(2, top - 58), width: Math.min(room.width - 30, room.desk), size };
                  },
                },
              }
            : {}),
        },
      );
      const frame = tilesOn(context, map.node.layout, walk, now.step);
      below.node.hidden = besides;
      if (besides) {
        below.resize(0, 0); // what is out of sight is nowhere
        lead(context, frame, paintDesk(context, place, desk));
      } else {
        const T = here.rows[1] - here.rows[0];
        const size = Math.min(44, (total - 90 - 168 - 20) / Math.min(now.tile, shape[1]));
        paintDesk(below.resize(total, deskHeight(T, size) + 14), { x: 0, y: 2, width: total, size }, desk);
      }
      const sheet = 4 * length ** 2;
      const told = `all scores: ${inUnits(sheet, "B")}; the desk: ${inUnits(bytes, "B")}`;
      paintScale(scale, Math.min(total, SIDE + 60), { desk: bytes, sheet, length, words: told });
      below.describe(`On the desk: ${describe(null, seen())}`);
      scale.describe(`To scale, for a text of ${length.toLocaleString("en")} tokens: ${told}.`);
      el.values = {
        tile: now.tile,
        step: now.step,
        rows: here.rows,
        columns: here.columns,
        ...found,
        bytes,
        whole: 4 * shape[0] * shape[1],
        length,
        side: scaled(bytes, sheet, 1),
      };
    });
    const go = (step) => {
      now.step = clamp(step, 0, walk.length - 1);
      at.set(now.step);
      draw();
    };
    const lay = (what) => {
      Object.assign(now, { step: 0 }, what);
      walk = tilesOf(...shape, now.tile, now.causal);
      at.node.querySelector("input").max = walk.length - 1;
      go(now.step);
    };
    const at = slider(
      "tile",
      { min: 0, max: walk.length - 1, step: 1, value: now.step, show: (n) => `${n + 1} of ${walk.length}` },
      (step) => {
        play.stop();
        go(step);
      },
    );
    const by = (steps) => {
      play.stop();
      go(now.step + steps);
    };
    const play = player({ button, at: () => now.step, last: () => walk.length - 1, go, milliseconds: 900 });
    const back = button("◀ back", () => by(-1));
    const forward = button("forward ▶", () => by(1));
    const size = choice(
      "size of a tile",
      sizes.map((n) => `${n} × ${n}`),
      (i) => lay({ tile: sizes[i] }),
    );
    const causal = checkbox("causal", now.causal, (on) => lay({ causal: on }));
    const text = slider(
      "text",
      { min: SHORTEST, max: LONGEST, step: 1, value: now.text, show: (n) => `${(2 ** n).toLocaleString("en")} tokens` },
      (n) => {
        now.text = n;
        draw();
      },
    );
    const reset = resetButton([at, size, causal, text, map], () => {
      play.stop();
      size.set(sizes.indexOf(first.tile));
      lay(first);
    });
    size.set(sizes.indexOf(first.tile));
    el.append(
      element("style", {}, ".tl-tiles .tl-side { margin-top: 16px; }"),
      bar(play.node, back, forward, at.node, size.node, ...(shape[0] === shape[1] ? [causal.node] : [])),
      map.node,
      below.node,
      sideBySide(
        element("div", {}, scale.node, bar(text.node)),
        map.says,
        map.note,
        element(
          "div",
          { class: "tl-note" },
          "On the desk, m is a query’s largest score so far, ℓ its sum of exp(score − m), and × the factor that " +
            "mended ℓ here. The pale scores on the sheet are drawn for you: they never lie in memory at once, and " +
            "those of the tiles marked ✓, which have been read, are not kept.",
        ),
        bar(...map.buttons, reset),
      ),
      map.table,
    );
    // The letters n and p step from anywhere in the view, but in a list.
    el.addEventListener(
      "keydown",
      onKeys((key) => {
        const steps = { n: 1, p: -1 }[key];
        if (!steps || document.activeElement?.tagName === "SELECT") return false;
        by(steps);
      }),
    );
    return watch(el, draw);
  },
};

// ── words ──

const span = (names, [from, to]) => (to - from > 1 ? `${names[from]} to ${names[to - 1]}` : names[from]);

function describe(cell, { walk, now, rows, columns, scores, width }) {
  const here = walk[now.step];
  if (cell) {
    const [t, s] = cell;
    const who = `query ${rows[t]}, key ${columns[s]}: `;
    if (now.causal && s > t) return `${who}the future, hidden.`;
    const there = within(t, here.rows) && within(s, here.columns);
    return who + (there ? `score ${number(scores[t][s])}.` : "not in memory now.");
  }
  const [desk, sheet] = [tileBytes(now.tile, width), 4 * 4 ** now.text].map((n) => n.toLocaleString("en"));
  return (
    `Tile ${now.step + 1} of ${walk.length}: queries ${span(rows, here.rows)}, keys ${span(columns, here.columns)}. ` +
    `In fast memory: ${desk} bytes for any length of text. All scores of ${(2 ** now.text).toLocaleString("en")} ` +
    `tokens would be ${sheet} bytes, and four times as many for twice the length. Step with the buttons, or with the ` +
    `keys n and p.`
  );
}
