// Shift as rotation: an arrow for each frequency, turned by an offset; and a query and a key, turned by their
// positions.

import {
  bar,
  button,
  canvas,
  checkbox,
  clamp,
  eachFrame,
  element,
  lineCursor,
  readout,
  resetButton,
  slider,
  tableSwitch,
  tensor,
  watch,
  widthOf,
} from "../../shared/ui.js";
import { motion } from "../../shared/motion.js";
import { heldAt, paint, placesOf, scaleOf } from "./shift_picture.js";

// Radians a position for each feature. A pair shares its frequency; or, which is wrong, each feature has its own.
export function frequencies(d, own = false) {
  return Array.from({ length: d }, (_, j) => 10000 ** (-(own ? j : j - (j % 2)) / d));
}

export function encode(position, speeds) {
  return speeds.map((speed, j) => (j % 2 ? Math.cos(position * speed) : Math.sin(position * speed)));
}

// M_k x: every pair (x, y) turned clockwise by k times its frequency.
export function turned(x, k) {
  return frequencies(x.length).map((speed, j) => {
    const [cos, sin] = [Math.cos(k * speed), Math.sin(k * speed)];
    return j % 2 ? cos * x[j] - sin * x[j - 1] : cos * x[j] + sin * x[j + 1];
  });
}

export function dot(x, y) {
  return x.reduce((sum, value, i) => sum + value * y[i], 0);
}

// The score of a query and a key after RoPE: the rows are multiplied from the right, which turns them the other way.
export function rotary(query, key, at) {
  const [q, k] = [turned(query, -at.query), turned(key, -at.key)];
  return { query: q, key: k, score: dot(q, k) };
}

const [FARTHEST, AWAY, BOTH] = [60, 20, 100]; // a position, an offset, and how far both may go
const SNAP = 250; // milliseconds until the strip has come to its place

export default {
  render({ model, el }) {
    const [query, key] = [model.get("query"), model.get("key")].map((packed) => [...tensor(packed).data]);
    const places = model.get("places");
    const start = {
      tab: model.get("tab"),
      position: model.get("position"),
      offset: model.get("offset"),
      own: false,
      query: places[0],
      key: places[1],
      both: 0,
      pair: null,
    };
    const now = { ...start };
    const offsets = Array.from({ length: 2 * FARTHEST + 1 }, (_, i) => i - FARTHEST);
    const scores = offsets.map((offset) => rotary(query, key, { query: offset, key: 0 }).score);

    const sketch = canvas("Pairs of features as arrows.", { how: "Left and right arrow keys go from pair to pair." });
    const says = readout();
    const controls = element("div", {});
    let cells = [];
    const draw = eachFrame(() => {
      const shown = now.tab === "shift" ? shiftOf(now, query.length) : ropeOf(now, query, key);
      el.values = shown.values;
      cells = paint(sketch, {
        width: widthOf(el),
        ink: getComputedStyle(el).color,
        now,
        shown,
        ...(now.tab === "shift"
          ? { strips: stripsOf(now, query.length, lies(), shown) }
          : { curve: { offsets, scores, at: shown.offset + FARTHEST } }),
      });
      sketch.node.layout = { cells };
      sketch.describe(shown.says);
      says.say(shown.says + (now.pair === null ? "" : ` ${shown.pair(now.pair)}`));
      numbers.fill(() => tableOf(shown.table));
    });
    // Where the lower strip lies: in the hand, on its way, or in its place.
    let [hand, held, came] = [null, null, now.offset];
    const snap = motion(draw, SNAP);
    const lies = () => hand ?? came + (now.offset - came) * eased(snap.share);
    const change = (what) => {
      const before = lies();
      const old = now.offset;
      Object.assign(now, what);
      now.offset = Math.max(now.offset, -now.position); // there is no position below 0
      if (now.offset !== old && hand === null) {
        came = before;
        snap.start();
      }
      for (const [name, control] of Object.entries(moves)) control.set(now[name]);
      draw();
    };
    const move = (name, label, min, max) =>
      slider(label, { min, max, step: 1, value: start[name], show: (x) => String(x).replace("-", "−") }, (x) =>
        change({ [name]: x }),
      );
    const moves = {
      position: move("position", "position p", 0, FARTHEST),
      offset: move("offset", "offset k", -AWAY, AWAY),
      query: move("query", "query at", 0, FARTHEST),
      key: move("key", "key at", 0, FARTHEST),
      both: move("both", "both +", 0, BOTH),
      own: checkbox("break it: two speeds in a pair", false, (own) => change({ own })),
    };
    const bars = {
      shift: bar(moves.position.node, moves.offset.node, moves.own.node),
      RoPE: bar(moves.query.node, moves.key.node, moves.both.node),
    };
    const tabs = [
      ["shift", "shift of an encoding"],
      ["RoPE", "RoPE"],
    ].map(([name, text]) => [name, button(text, () => open(name))]);
    const open = (tab) => {
      controls.replaceChildren(bars[tab]);
      tabs.forEach(([name, node]) => node.setAttribute("aria-pressed", name === tab));
      change({ tab });
    };
    const numbers = tableSwitch(draw);
    const reset = resetButton([numbers], () => {
      Object.assign(now, start);
      open(start.tab);
      snap.stop();
      draw();
    });

    const near = (event) => {
      const [px, py] = sketch.at(event);
      const found = cells.findIndex(
        ({ x, y, width, height }) => px >= x && px < x + width && py >= y && py < y + height,
      );
      return found < 0 ? null : found;
    };
    lineCursor(sketch.node, {
      at: () => now.pair,
      last: () => cells.length - 1,
      find: near,
      move: (pair) => change({ pair }),
    });
    // The strip, a position, and what stands on the ruler follow the hand; the strip snaps to the next place.
    const reach = {
      position: [0, FARTHEST],
      query: [0, FARTHEST],
      key: [0, FARTHEST],
      both: [0, BOTH],
      offset: [-AWAY, AWAY],
    };
    const scale = () => scaleOf(widthOf(el), now.tab === "shift" ? FARTHEST + AWAY : FARTHEST + BOTH);
    const pull = (event) => {
      const { left, unit } = scale();
      const [x] = sketch.at(event);
      if (held.what === "position") return change({ position: Math.round(clamp((x - left) / unit, 0, FARTHEST)) });
      const [low, high] = held.what === "offset" ? [Math.max(-AWAY, -now.position), AWAY] : reach[held.what];
      const to = clamp(held.from + placesOf(x - held.x, { unit }, [-200, 200]), low, high);
      if (held.what === "offset") hand = to;
      change({ [held.what]: Math.round(to) });
    };
    const drop = () => {
      if (hand !== null) {
        came = hand;
        hand = null;
        snap.start();
      }
      held = null;
    };
    sketch.node.style.touchAction = "pan-y";
    for (const [name, act] of [
      [
        "pointerdown",
        (event) => {
          const at = sketch.at(event);
          held = heldAt(at, { tab: now.tab, width: widthOf(el), pairs: query.length / 2, now, lies: lies() });
          if (!held) return;
          held.x = at[0];
          sketch.node.setPointerCapture?.(event.pointerId);
          if (held.what === "position") pull(event);
        },
      ],
      ["pointermove", (event) => held && pull(event)],
      ["pointerup", drop],
      ["pointercancel", drop],
    ])
      sketch.node.addEventListener(name, act);
    el.append(
      bar(...tabs.map(([, node]) => node)),
      controls,
      sketch.node,
      says,
      bar(numbers.button, reset),
      numbers.room,
    );
    open(start.tab);
    return watch(el, draw);
  },
};

// ── what is shown in each tab: arrows of every pair, numbers, sentences, and a table ──

const eased = (x) => x * (2 - x);

// The strips of all positions: above the encoding, below what M_k makes of each row of it.
function stripsOf({ position, offset, own }, d, lies, { arrows, rings }) {
  const speeds = frequencies(d, own);
  const row = (p) => encode(p, speeds);
  const names = [arrows[0].name, arrows[1].name, rings.name];
  return { row, moved: (p) => turned(row(p), offset), lies, position, offset, names };
}

function shiftOf({ position, offset, own }, d) {
  const speeds = frequencies(d, own);
  const [before, target] = [encode(position, speeds), encode(position + offset, speeds)];
  const moved = turned(before, offset);
  const residual = Math.max(...moved.map((x, j) => Math.abs(x - target[j])));
  const names = [`PE(${position})`, `M${below(offset)} PE(${position})`, `PE(${position + offset})`];
  const equal = residual < 1e-9;
  return {
    values: { tab: "shift", before, moved, target, residual },
    arrows: [
      { name: names[0], x: before },
      { name: names[1], x: moved },
    ],
    rings: { name: names[2], x: target },
    axes: "arrows: sine →, cosine ↑; strips: thick sine, thin cosine",
    arcs: (i) => [before.slice(2 * i, 2 * i + 2), offset * speeds[2 * i]],
    under: (i) =>
      own
        ? [`sine: ω = ${short(speeds[2 * i])}`, `cosine: ω = ${short(speeds[2 * i + 1])}`]
        : [`ω = ${short(speeds[2 * i])}`, `turned by ${short(offset * speeds[2 * i])} rad`],
    says:
      `${names[1]} ${equal ? "=" : "≠"} ${names[2]}: the residual, the largest difference of a feature, is ` +
      `${residual === 0 ? "0" : equal ? residual.toExponential(0) : residual.toFixed(3)}.` +
      (own ? " Sine and cosine of a pair turn at different speeds: no rotation takes one arrow to the other." : ""),
    pair: (i) => `Pair ${i}: ${point(before, i)} is turned to ${point(moved, i)}; ${names[2]} has ${point(target, i)}.`,
    table: [["feature", ...names], ...before.map((x, j) => [String(j), x, moved[j], target[j]])],
  };
}

function ropeOf({ query: p, key: s, both }, query, key) {
  const at = { query: p + both, key: s + both };
  const values = rotary(query, key, at);
  const speeds = frequencies(query.length);
  const parts = query.map((_, j) => values.query[j] * values.key[j]);
  const part = (i) => parts[2 * i] + parts[2 * i + 1];
  return {
    values: { tab: "RoPE", ...values },
    arrows: [
      { name: `query, at ${at.query}`, x: values.query, from: query },
      { name: `key, at ${at.key}`, x: values.key, from: key },
    ],
    axes: "first feature →, second ↑; thin: before turning",
    under: (i) => [`ω = ${short(speeds[2 * i])}`, `adds ${signed(part(i))}`],
    says:
      `Query at ${at.query}, key at ${at.key}, ${String(at.query - at.key).replace("-", "−")} apart: ` +
      `their dot product is ${signed(values.score, 4)}. At the same distance it is the same everywhere.`,
    pair: (i) => `Pair ${i} adds ${signed(part(i), 4)}: query ${point(values.query, i)}, key ${point(values.key, i)}.`,
    table: [
      ["feature", `query, at ${at.query}`, `key, at ${at.key}`, "product"],
      ...parts.map((x, j) => [String(j), values.query[j], values.key[j], x]),
    ],
    offset: at.query - at.key,
  };
}

function signed(x, digits = 2) {
  return x
    .toFixed(digits)
    .replace("-", "−")
    .replace(/^−(0\.?0*)$/, "$1");
}

function short(x) {
  return Number(x.toPrecision(2)).toString().replace("-", "−");
}

function below(k) {
  return String(k).replace(/./g, (sign) => "₋₀₁₂₃₄₅₆₇₈₉"["-0123456789".indexOf(sign)]);
}

function point(x, i) {
  return `(${signed(x[2 * i], 3)}, ${signed(x[2 * i + 1], 3)})`;
}

function tableOf([names, ...rows]) {
  return [names, ...rows.map(([name, ...cells]) => [name, ...cells.map((x) => signed(x, 6))])];
}
