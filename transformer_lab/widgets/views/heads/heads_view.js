// Heads side by side: a small map of each, sorted; one of them large, or the difference of two; what one adds.

import {
  bar,
  canvas,
  choice,
  clamp,
  eachFrame,
  entropy,
  onKeys,
  onLeave,
  resetButton,
  sideBySide,
  softmax,
  temperatureSlider,
  tensor,
  watch,
  widthOf,
} from "../../shared/ui.js";
import { FONT, SMALL, diverging, extent, fit, paintCells, paintCursor, pooled, tokenMap } from "../../shared/grid.js";
import { MEANINGS } from "../../shared/palette.js";

const SORTS = ["number", "entropy", "diagonality"];
const START = { temperature: 1, sort: 0, head: 0, minus: -1, without: -1 };

// One head's weights at a temperature, from their logarithms: T rows of S numbers.
export function headMap(logWeights, T, S, temperature) {
  return Array.from({ length: T }, (_, t) =>
    softmax(Array.from(logWeights.subarray(t * S, (t + 1) * S), (x) => x / temperature)),
  );
}

// The mean entropy of the rows, in bits.
export function meanEntropy(map) {
  return map.reduce((sum, row) => sum + entropy(row), 0) / map.length;
}

// 1 where every query looks at its own place, counted from the first to the last; less, the farther away it looks.
export function diagonality(map) {
  const share = (i, n) => (n > 1 ? i / (n - 1) : 0);
  const near = (t, s) => 1 - Math.abs(share(t, map.length) - share(s, map[0].length));
  return (
    map.reduce((sum, row, t) => sum + row.reduce((part, weight, s) => part + weight * near(t, s), 0), 0) / map.length
  );
}

export default {
  render({ model, el }) {
    const {
      data,
      shape: [layers, each, T, S],
    } = tensor(model.get("log_weights"));
    const [queries, keys, n] = [model.get("queries"), model.get("keys"), layers * each];
    const names = Array.from({ length: n }, (_, i) => `head ${layers > 1 ? `${Math.floor(i / each)}.${i % each}` : i}`);
    // For each head the length of its part of each query's output; for each layer and query, that of all together.
    const lost = model.get("lost") && tensor(model.get("lost")).data;
    const whole = lost && tensor(model.get("whole")).data;
    const now = { ...START };
    let heads = null; // map, entropy and diagonality of each, as last computed

    const compute = () =>
      names.map((_, i) => {
        const map = headMap(data.subarray(i * T * S, (i + 1) * T * S), T, S, now.temperature);
        return { map, entropy: meanEntropy(map), diagonality: diagonality(map) };
      });
    const sorted = () => {
      const by = [(i) => i, (i) => heads[i].entropy, (i) => -heads[i].diagonality][now.sort];
      return names.map((_, i) => i).sort((a, b) => by(a) - by(b));
    };
    const share = (t) => lost[now.without * T + t] / (whole[Math.floor(now.without / each) * T + t] || 1);
    const shown = () => {
      const { map } = heads[now.head];
      return now.minus < 0 ? map : map.map((row, t) => row.map((weight, s) => weight - heads[now.minus].map[t][s]));
    };
    const draw = eachFrame(() => {
      heads ??= compute();
      const [values, order] = [shown(), sorted()];
      el.values = {
        map: values,
        order,
        entropy: heads.map((head) => head.entropy),
        diagonality: heads.map((head) => head.diagonality),
      };
      if (now.without >= 0) el.values.share = Array.from(queries, (_, t) => share(t));
      const ink = getComputedStyle(el).color;
      all.show({ order, heads, names, now, cursor: map.cursor, width: halves() ? half() : widthOf(el), ink });
      const most = Math.max(...extent(values).map(Math.abs)) || 1;
      map.show(values, {
        ...(now.minus < 0
          ? { name: "weight", range: [0, 1] }
          : { name: "difference", colours: diverging, range: [-most, most] }),
        beside: now.without < 0 ? undefined : { width: 96, draw: (context, box) => losses(context, share, box) },
      });
    });
    const change = (what) => {
      Object.assign(now, what);
      if ("temperature" in what) heads = null;
      chosen();
      draw();
    };

    const half = () => Math.floor(widthOf(el) / 2) - 14;
    const halves = () => widthOf(el) >= 840 && (half() - 230) / S >= 14; // side by side, if cells stay large enough
    const map = tokenMap({
      el,
      room: () => (halves() ? half() : widthOf(el)),
      label: "The weights of one head, or of one minus another.",
      state: (values) => describe(values, null, { heads, names, now, queries, keys, lost, T, share }),
      rows: queries,
      columns: keys,
      axes: ["query", "key"],
      redraw: draw,
      describe: (values, cell) => describe(values, cell, { heads, names, now, queries, keys, lost, T, share }),
    });
    const all = multiples({
      queries,
      T,
      S,
      onpoint: (cell) => map.move(cell),
      onchoose: (head) => change({ head }),
      order: sorted,
    });
    const sort = choice("sort by", SORTS, (i) => change({ sort: i }));
    const head = choice("show", names, (i) => change({ head: i }));
    const minus = choice("minus", ["nothing", ...names], (i) => change({ minus: i - 1 }));
    const without = choice("leave out", ["no head", ...names], (i) => change({ without: i - 1 }));
    const sharp = temperatureSlider((temperature) => change({ temperature }));
    const chosen = () => {
      sort.set(now.sort);
      head.set(now.head);
      minus.set(now.minus + 1);
      without.set(now.without + 1);
    };
    const reset = resetButton([sharp, map], () => change(START));
    el.append(
      bar(sort.node, sharp.node),
      sideBySide(
        all.node,
        bar(head.node, minus.node, ...(lost ? [without.node] : [])),
        map.node,
        map.note,
        map.says,
        bar(...map.buttons, reset),
      ),
      map.table,
    );
    return watch(el, draw);
  },
};

function describe(values, cell, { heads, names, now, queries, keys, lost, T, share }) {
  const { head, minus, without } = now;
  const gone = (t) =>
    `Without ${names[without]} the output of ${queries[t]} loses a part of length ` +
    `${lost[without * T + t].toFixed(3)}: ${share(t).toFixed(3)} of the whole.`;
  if (!cell) {
    const { entropy: bits, diagonality: diagonal } = heads[head];
    const said = `${names[head]}: entropy ${bits.toFixed(2)} bits, diagonality ${diagonal.toFixed(2)}.`;
    if (without < 0) return `${said} Point at a cell, or go over the map with the arrow keys.`;
    const mean = queries.reduce((sum, _, t) => sum + share(t), 0) / queries.length;
    return `${said} Without ${names[without]} the outputs lose ${mean.toFixed(3)} of their length, on average.`;
  }
  const [t, s] = cell;
  const both =
    minus < 0
      ? `weight ${values[t][s].toFixed(3)}`
      : `${heads[head].map[t][s].toFixed(3)} − ${heads[minus].map[t][s].toFixed(3)} = ${values[t][s].toFixed(3)}`;
  return `query ${queries[t]}, key ${keys[s]}: ${both}.${without < 0 ? "" : ` ${gone(t)}`}`;
}

// How much of each output is lost: a bar from 0 to the whole, longer ones cut.
function losses(context, share, { x, top, size, first, count, ink }) {
  Object.assign(context, { font: `italic ${FONT}`, textAlign: "left", fillStyle: ink });
  context.fillText("output lost", x, top - 10);
  for (let t = 0; t < count; t += 1) {
    const box = [x, top + t * size + size * 0.3, 56, size * 0.4];
    context.fillStyle = MEANINGS.without;
    context.fillRect(box[0], box[1], 56 * Math.min(share(first + t), 1), box[3]);
    Object.assign(context, { strokeStyle: ink, lineWidth: 0.5 });
    context.strokeRect(...box);
  }
}

const [TITLE, GAP, SMALLEST, LARGEST] = [42, 14, 104, 190]; // above a small map, between two, and how wide one may be

// All heads as small maps, in the colours of the large one; its cursor is in each, and a point in one of them moves it.
function multiples({ queries, T, S, onpoint, onchoose, order }) {
  const sketch = canvas("Heads as small maps.", { how: "Arrow keys choose one." });
  const measure = new OffscreenCanvas(1, 1).getContext("2d");
  measure.font = SMALL;
  const named = Math.min(Math.max(...queries.map((name) => measure.measureText(name).width)) + 8, 78);
  let drawn = null;
  const show = ({ order, heads, names, now, cursor, width: total, ink }) => {
    const most = Math.max(2, Math.floor((total - named) / (SMALLEST + GAP)));
    const across = Math.ceil(names.length / Math.ceil(names.length / most)); // so many lines, all about as long
    const side = Math.min(LARGEST, (total - named) / across - GAP);
    const size = side / Math.max(T, S);
    const k = Math.max(1, Math.ceil(1 / size));
    const [step, down] = [side + GAP, T * size + TITLE + 8];
    const context = sketch.resize(named + across * step, Math.ceil(names.length / across) * down);
    const boxes = order.map((head, i) => ({
      head,
      left: named + (i % across) * step + 3,
      top: Math.floor(i / across) * down + TITLE,
      size,
      shown: [T, S],
    }));
    drawn = { boxes, across, head: now.head };
    sketch.node.layout = drawn;
    sketch.describe(
      `${names.length} heads as small maps, sorted by ${SORTS[now.sort]}: ` +
        `${order.map((head) => `${names[head]} ${number(heads[head], now.sort)}`).join(", ")}.`,
    );
    boxes.forEach((box, i) => {
      const { head, left, top } = box;
      const map = k > 1 ? pooled(heads[head].map, k, false) : heads[head].map;
      const on = head === now.head || head === now.minus;
      Object.assign(context, {
        fillStyle: ink,
        font: on ? `bold ${FONT}` : FONT,
        textAlign: "left",
        textBaseline: "middle",
      });
      context.fillText(head === now.minus ? `− ${names[head]}` : names[head], left, top - 30);
      context.font = SMALL;
      context.fillText(number(heads[head], now.sort), left, top - 13);
      if (i % across === 0 && size >= 10) rowNames(context, box, queries, named, cursor);
      context.globalAlpha = head === now.without ? 0.25 : 1;
      paintCells(context, map, { left, top, size: size * k }, { range: [0, 1], ink });
      context.globalAlpha = 1;
      if (head === now.without) cross(context, left, top, S * size, T * size, ink);
      if (on) {
        Object.assign(context, { strokeStyle: MEANINGS.chosen, lineWidth: 3 });
        context.strokeRect(left - 2, top - 2, S * size + 3, T * size + 3);
      }
      if (cursor) paintCursor(context, box, cursor, ink);
    });
  };
  const at = (event) => {
    const [x, y] = sketch.at(event);
    const over = drawn.boxes.find(
      ({ left, top, size }) => x >= left && x < left + S * size && y >= top && y < top + T * size,
    );
    return (
      over && {
        head: over.head,
        cell: [Math.floor((y - over.top) / over.size), Math.floor((x - over.left) / over.size)],
      }
    );
  };
  Object.assign(sketch.node, {
    onpointermove: (event) => onpoint(at(event)?.cell ?? null),
    onpointerleave: onLeave(() => onpoint(null)),
    onpointerdown: (event) => {
      const found = at(event);
      onpoint(found?.cell ?? null);
      if (found) onchoose(found.head);
    },
    onkeydown: onKeys((key) => {
      const by = {
        ArrowLeft: -1,
        ArrowRight: 1,
        ArrowUp: -drawn.across,
        ArrowDown: drawn.across,
        Home: -Infinity,
        End: Infinity,
      }[key];
      if (by === undefined) return false;
      const places = order();
      onchoose(places[clamp(places.indexOf(drawn.head) + by, 0, places.length - 1)]);
    }),
  });
  return { node: sketch.node, show };
}

// The queries' names at the left of the first map in a line.
function rowNames(context, { left, top, size }, queries, room, cursor) {
  context.textAlign = "right";
  queries.forEach((name, t) => {
    context.font = cursor?.[0] === t ? `bold ${SMALL}` : SMALL;
    context.fillText(fit(context, name, room - 6), left - 6, top + (t + 0.5) * size);
  });
  context.textAlign = "left";
}

function number(head, sort) {
  return sort === 2 ? head.diagonality.toFixed(2) : `${head.entropy.toFixed(2)} bits`;
}

function cross(context, x, y, width, height, ink) {
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + width, y + height);
  context.moveTo(x + width, y);
  context.lineTo(x, y + height);
  Object.assign(context, { strokeStyle: ink, lineWidth: 1.5 }).stroke();
}
