// Heads side by side: a wall of small weaves, sorted; one of them as a map, or the difference of two; what one adds.

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
import { ribbon, write } from "../../shared/drawing.js";
import { FONT, diverging, extent, fit, tokenMap } from "../../shared/grid.js";
import { NOW, SERIF } from "../../shared/palette.js";

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
      all.show({ order, heads, names, now, cursor: map.cursor, width: halves() ? half() : widthOf(el) });
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
      keys,
      T,
      S,
      onpoint: (found) => map.move(found && cellOf(heads[found.head].map, found)),
      onchoose: (head) => change({ head }),
      onsubtract: (head, minus) => change({ head, minus }),
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

// Of the row or the column of a word, the cell with the most weight.
function cellOf(map, { ofKeys, word }) {
  const weights = ofKeys ? map.map((row) => row[word]) : map[word];
  const most = weights.indexOf(Math.max(...weights));
  return ofKeys ? [most, word] : [word, most];
}

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
    const part = `a part ${mean.toFixed(3)} times as long as they are`;
    return `${said} Without ${names[without]} the outputs lose ${part}, on average.`;
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
    context.fillStyle = NOW.change;
    context.fillRect(box[0], box[1], 56 * Math.min(share(first + t), 1), box[3]);
    Object.assign(context, { strokeStyle: ink, lineWidth: 0.5 });
    context.strokeRect(...box);
  }
}

const [TITLE, GAP, SMALLEST, LARGEST] = [46, 12, 150, 232]; // above a weave, between two, and how wide one may be
const [NAMED, FAINT] = [14, 0.02]; // so many words can be read in a weave; a weight below is not drawn

// All heads as a wall of small weaves: keys left, queries right, ribbons as thick as the weights. The word that is
// pointed at lights in all; a weave that is dragged onto another one is subtracted from it.
function multiples({ queries, keys, T, S, onpoint, onchoose, onsubtract, order }) {
  const sketch = canvas("Heads as small weaves.", { how: "Arrow keys choose one." });
  let [drawn, dragged, over] = [null, null, null];
  const show = ({ order, heads, names, now, cursor, width: total }) => {
    const most = Math.max(1, Math.floor((total + GAP) / (SMALLEST + GAP)));
    const across = Math.ceil(names.length / Math.ceil(names.length / most)); // so many lines, all about as long
    const side = Math.min(LARGEST, (total + GAP) / across - GAP);
    const row = clamp(260 / Math.max(T, S), 4, 22);
    const [step, down] = [side + GAP, row * Math.max(T, S) + TITLE + 10 + GAP];
    const context = sketch.resize(across * step - GAP, Math.ceil(names.length / across) * down - GAP);
    const room = Math.max(T, S) <= NAMED ? Math.min(widest(context, [...queries, ...keys]), side * 0.29) : 12;
    const boxes = order.map((head, i) => {
      const [left, top] = [(i % across) * step, Math.floor(i / across) * down];
      const middle = (n, at) => top + TITLE + (at + 0.5 + (Math.max(T, S) - n) / 2) * row;
      return { head, left, top, width: side, height: down - GAP, row, room, middle };
    });
    drawn = { boxes, across, head: now.head };
    // With the places of the first query and the first key.
    sketch.node.layout = {
      boxes: boxes.map(({ middle, ...box }) => ({ ...box, queries: middle(T, 0), keys: middle(S, 0) })),
    };
    sketch.describe(
      `${names.length} heads as small weaves, sorted by ${SORTS[now.sort]}: ` +
        `${order.map((head) => `${names[head]} ${number(heads[head], now.sort)}`).join(", ")}.`,
    );
    for (const box of boxes) {
      const { head } = box;
      const on = head === now.head || head === now.minus;
      frame(context, box, { on, target: dragged !== null && over === head && over !== dragged });
      const title = head === now.minus ? `− ${names[head]}` : names[head];
      write(context, title, box.left + 10, box.top + 16, { bold: on });
      write(context, number(heads[head], now.sort), box.left + 10, box.top + 33, { size: 12, colour: NOW.soft });
      context.globalAlpha = head === now.without ? 0.25 : 1;
      weave(context, box, heads[head].map, { queries, keys, cursor });
      context.globalAlpha = 1;
      if (head === now.without) cross(context, box);
    }
  };
  const at = (event) => {
    const [x, y] = sketch.at(event);
    return drawn.boxes.find(
      ({ left, top, width, height }) => x >= left && x < left + width && y >= top && y < top + height,
    );
  };
  // The word at a pointer: of the keys in the left third, of the queries elsewhere.
  const wordAt = (event, box) => {
    const [x, y] = sketch.at(event);
    const ofKeys = x < box.left + box.width / 3;
    const n = ofKeys ? S : T;
    const word = Math.round((y - box.middle(n, 0)) / box.row);
    return word < 0 || word >= n ? null : { head: box.head, ofKeys, word };
  };
  const point = (event) => {
    const box = at(event);
    over = box?.head ?? null;
    onpoint(box ? wordAt(event, box) : null);
  };
  Object.assign(sketch.node, {
    onpointermove: point,
    onpointerleave: onLeave(() => onpoint(null)),
    onpointerdown: (event) => {
      dragged = at(event)?.head ?? null;
      point(event);
      if (dragged !== null) onchoose(dragged);
    },
    onpointerup: (event) => {
      const [from, to] = [dragged, at(event)?.head];
      dragged = null;
      if (from !== null && to !== undefined && to !== from) onsubtract(to, from);
    },
    onpointercancel: () => {
      dragged = null;
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

function widest(context, names) {
  context.font = `bold 14px ${SERIF}`;
  return Math.max(...names.map((name) => context.measureText(name).width));
}

function frame(context, { left, top, width, height }, { on, target }) {
  Object.assign(context, { strokeStyle: on || target ? NOW.ink : NOW.line, lineWidth: on || target ? 2 : 1 });
  context.setLineDash(target ? [5, 4] : []);
  context.beginPath();
  context.roundRect(left + 1, top + 1, width - 2, height - 2, 12);
  context.stroke();
  context.setLineDash([]);
}

// The ribbons of a head: those into a query are stacked there, and together as high as its row.
function weave(context, { left, width, row, room, middle }, map, { queries, keys, cursor }) {
  const [T, S] = [map.length, map[0].length];
  const [from, to, thick] = [left + room + 12, left + width - room - 12, row * 0.82];
  const received = Array.from({ length: S }, (_, s) => map.reduce((sum, weights) => sum + weights[s], 0));
  const given = new Float64Array(S);
  map.forEach((weights, t) => {
    let taken = 0;
    const lit = cursor?.[0] === t;
    Object.assign(context, { fillStyle: NOW.amber, strokeStyle: NOW["amber-edge"], lineWidth: 0.8 });
    const alpha = context.globalAlpha;
    weights.forEach((weight, s) => {
      const squeeze = Math.min(1, 1 / received[s]); // a key that many look at gives from the room of its row
      const y0 = middle(S, s) + (given[s] + weight / 2 - received[s] / 2) * squeeze * thick;
      const y1 = middle(T, t) + (taken + weight / 2 - 0.5) * thick;
      given[s] += weight;
      taken += weight;
      if (weight < FAINT) return;
      context.globalAlpha = alpha * (lit ? 1 : cursor ? 0.22 : 0.5);
      ribbon(context, [from, y0], [to, y1], Math.max(0.6, weight * thick));
      if (lit) context.stroke();
    });
    context.globalAlpha = alpha;
  });
  if (Math.max(T, S) > NAMED) return;
  const size = Math.min(14, row * 0.8);
  const looked = (s) => cursor && map[cursor[0]][s] > 0.1;
  const word = (text, x, y, align, bold) => {
    Object.assign(context, { font: `${bold ? "bold " : ""}${size}px ${SERIF}` });
    const colour = bold || !cursor ? NOW.ink : NOW.soft;
    write(context, fit(context, text, room), x, y, { size, serif: true, bold, align, colour });
  };
  keys.forEach((name, s) => word(name, from - 6, middle(S, s), "right", looked(s)));
  queries.forEach((name, t) => word(name, to + 6, middle(T, t), "left", cursor?.[0] === t));
}

function number(head, sort) {
  return sort === 2 ? head.diagonality.toFixed(2) : `${head.entropy.toFixed(2)} bits`;
}

function cross(context, { left, top, width, height }) {
  context.beginPath();
  context.moveTo(left + 10, top + TITLE);
  context.lineTo(left + width - 10, top + height - 10);
  context.moveTo(left + width - 10, top + TITLE);
  context.lineTo(left + 10, top + height - 10);
  Object.assign(context, { strokeStyle: NOW.change, lineWidth: 2 }).stroke();
}
