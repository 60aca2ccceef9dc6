// Shift as rotation: an arrow for each frequency, turned by an offset; and a query and a key, turned by their
// positions.

import {
  bar,
  button,
  canvas,
  checkbox,
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
import { COLOURS, drawLines } from "../../shared/chart.js";
import { SANS } from "../../shared/palette.js";

const FONT = `13px ${SANS}`;

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

const FARTHEST = 60;

export default {
  render({ model, el }) {
    const [query, key] = [model.get("query"), model.get("key")].map((packed) => [...tensor(packed).data]);
    const start = {
      tab: model.get("tab"),
      position: model.get("position"),
      offset: model.get("offset"),
      own: false,
      query: 12,
      key: 5,
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
      cells = paint(sketch, { el, now, shown, curve: now.tab === "RoPE" && { offsets, scores } });
      sketch.node.layout = { cells };
      sketch.describe(shown.says);
      says.say(shown.says + (now.pair === null ? "" : ` ${shown.pair(now.pair)}`));
      numbers.fill(() => tableOf(shown.table));
    });
    const change = (what) => {
      Object.assign(now, what);
      now.offset = Math.max(now.offset, -now.position); // there is no position below 0
      for (const [name, control] of Object.entries(moves)) control.set(now[name]);
      draw();
    };
    const move = (name, label, min, max) =>
      slider(label, { min, max, step: 1, value: start[name], show: (x) => String(x).replace("-", "−") }, (x) =>
        change({ [name]: x }),
      );
    const moves = {
      position: move("position", "position p", 0, 60),
      offset: move("offset", "offset k", -20, 20),
      query: move("query", "query at", 0, FARTHEST),
      key: move("key", "key at", 0, FARTHEST),
      both: move("both", "both +", 0, 100),
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
    axes: "sine →, cosine ↑",
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

// ── drawing ──

const styles = () => [
  [COLOURS[0], []],
  [COLOURS[1], [6, 4]],
];

function paint(sketch, { el, now, shown, curve }) {
  const width = widthOf(el);
  const ink = getComputedStyle(el).color;
  const pairs = shown.arrows[0].x.length / 2;
  const lines = Math.ceil(pairs / Math.floor(width / 126));
  const across = Math.ceil(pairs / lines);
  const wide = width / across;
  const radius = Math.min(wide * 0.4, 72);
  const high = 2 * radius + 68;
  const top = 30 + (width < 520 ? 20 : 0);
  const context = sketch.resize(width, top + lines * high + (curve ? 210 : 0));
  legend(context, shown, ink, width < 520);
  const longest =
    Math.max(
      ...shown.arrows.flatMap(({ x }) => Array.from({ length: pairs }, (_, i) => Math.hypot(x[2 * i], x[2 * i + 1]))),
    ) || 1;
  const cells = Array.from({ length: pairs }, (_, i) => ({
    x: (i % across) * wide,
    y: top + Math.floor(i / across) * high,
    width: wide,
    height: high,
  }));
  cells.forEach((cell, i) =>
    clock(context, cell, { i, shown, unit: radius / longest, radius, ink, chosen: now.pair === i }),
  );
  if (curve) {
    const ticks = [-60, -40, -20, 0, 20, 40, 60].map((offset) => [offset, signed(offset, 0)]);
    drawLines(
      context,
      { x: 0, y: top + lines * high + 6, width, height: 200 },
      {
        title: "Score by distance",
        x: { name: "position of the query − position of the key", ticks },
        series: [{ name: "score", xs: curve.offsets, ys: curve.scores }],
        at: shown.offset + FARTHEST,
        ink,
      },
    );
  }
  return cells;
}

function clock(context, { x, y, width }, { i, shown, unit, radius, ink, chosen }) {
  const [cx, cy] = [x + width / 2, y + 24 + radius];
  const tip = (values) => [cx + unit * values[2 * i], cy - unit * values[2 * i + 1]];
  Object.assign(context, {
    font: `${chosen ? "bold " : ""}${FONT}`,
    fillStyle: ink,
    strokeStyle: ink,
    lineWidth: 1,
    textAlign: "center",
    textBaseline: "middle",
  });
  context.fillText(`pair ${i}`, cx, y + 9);
  context.font = FONT;
  shown.under(i).forEach((text, k) => context.fillText(text, cx, y + 2 * radius + 38 + 17 * k));
  context.globalAlpha = chosen ? 1 : 0.4;
  circle(context, cx, cy, radius);
  context.globalAlpha = 0.2;
  context.strokeRect(cx - radius, cy, 2 * radius, 0);
  context.strokeRect(cx, cy - radius, 0, 2 * radius);
  context.globalAlpha = 1;
  if (shown.arcs) arc(context, [cx, cy], radius * 0.36, ...shown.arcs(i), ink);
  shown.arrows.forEach(({ x: values, from }, k) => {
    const [colour, dash] = styles()[k];
    Object.assign(context, { strokeStyle: colour, fillStyle: colour });
    if (from) arrow(context, [cx, cy], tip(from), 1, dash);
    arrow(context, [cx, cy], tip(values), 3, dash);
  });
  if (!shown.rings) return;
  Object.assign(context, { strokeStyle: ink, lineWidth: 1.5 });
  circle(context, ...tip(shown.rings.x), 7);
}

function circle(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.stroke();
}

function arrow(context, [x, y], [tx, ty], lineWidth, dash) {
  const [angle, head] = [Math.atan2(ty - y, tx - x), Math.min(3 + 3 * lineWidth, Math.hypot(tx - x, ty - y))];
  context.lineWidth = lineWidth;
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(tx - head * 0.8 * Math.cos(angle), ty - head * 0.8 * Math.sin(angle));
  context.stroke();
  context.setLineDash([]);
  context.beginPath();
  for (const side of [0, 2.7, -2.7])
    context.lineTo(tx + (side ? head * Math.cos(angle + side) : 0), ty + (side ? head * Math.sin(angle + side) : 0));
  context.fill();
}

// The way from an arrow on, clockwise by an angle; whole turns are left out.
function arc(context, [cx, cy], radius, [x, y], angle, ink) {
  const from = Math.atan2(-y, x);
  const by = angle % (2 * Math.PI);
  Object.assign(context, { strokeStyle: ink, fillStyle: ink, lineWidth: 1 });
  context.beginPath();
  context.arc(cx, cy, radius, from, from + by, by < 0);
  context.stroke();
  if (Math.abs(by) < 0.25) return;
  const [tx, ty, along] = [
    cx + radius * Math.cos(from + by),
    cy + radius * Math.sin(from + by),
    from + by + (by < 0 ? -1 : 1) * (Math.PI / 2),
  ];
  context.beginPath();
  for (const side of [0, 2.6, -2.6])
    context.lineTo(tx + (side ? 7 * Math.cos(along + side) : 0), ty + (side ? 7 * Math.sin(along + side) : 0));
  context.fill();
}

function legend(context, { arrows, rings, axes }, ink, narrow) {
  Object.assign(context, { font: FONT, textAlign: "left", textBaseline: "middle" });
  let x = 4;
  arrows.forEach(({ name }, k) => {
    const [colour, dash] = styles()[k];
    Object.assign(context, { strokeStyle: colour, fillStyle: colour });
    arrow(context, [x, 12], [x + 34, 12], 3, dash);
    context.fillStyle = ink;
    context.fillText(name, x + 40, 12);
    x += 58 + context.measureText(name).width;
  });
  if (rings) {
    Object.assign(context, { strokeStyle: ink, lineWidth: 1.5 });
    circle(context, x + 7, 12, 7);
    context.fillText(rings.name, x + 20, 12);
    x += 40 + context.measureText(rings.name).width;
  }
  context.font = `italic ${FONT}`;
  context.fillText(axes, narrow ? 4 : x, narrow ? 32 : 12);
}
