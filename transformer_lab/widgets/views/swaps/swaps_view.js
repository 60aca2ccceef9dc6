// Swaps side by side: the block of 2017 and one with some of six later parts, what they cost, and what was measured.

import { COLOURS, drawLines, evenTicks } from "../../shared/chart.js";
import { FONT } from "../../shared/grid.js";
import {
  bar,
  button,
  canvas,
  choice,
  eachFrame,
  element,
  readout,
  resetButton,
  slider,
  tableSwitch,
  watch,
  widthOf,
} from "../../shared/ui.js";
import { inUnits } from "../cache/cache_view.js";

const [PRE_NORM, RMS_NORM, SWIGLU, ROPE, GROUPED, NO_BIASES] = [0, 1, 2, 3, 4, 5];
const BYTES = 2; // of a number in the cache

// What a language model with these swaps holds, and what its next token costs: `cost_of_a_token` of analysis. The
// matrices of a layer have 12 d² numbers, whatever the swaps are.
export function costOf(on, { d_model: d, n_layers, vocab_size }, length) {
  const keys = on[GROUPED] ? d / 2 : d; // width of all keys, and of all values
  const matrices = on[SWIGLU] ? 3 : 2;
  const d_ff = (12 * d * d - 2 * d * (d + keys)) / (matrices * d);
  const biases = on[NO_BIASES] ? 0 : 2 * d + 2 * keys + (matrices - 1) * d_ff + d;
  const norm = on[RMS_NORM] || on[NO_BIASES] ? d : 2 * d;
  const last = on[PRE_NORM] ? (on[RMS_NORM] ? d : 2 * d) : 0; // it stands outside of the layers
  return {
    d_ff,
    parameters: vocab_size * d + n_layers * (12 * d * d + biases + 2 * norm) + last,
    flops: 2 * n_layers * 12 * d * d + 4 * n_layers * d * length + 2 * d * vocab_size,
    cache: 2 * n_layers * keys * length,
  };
}

// The number of a combination: its bits say which swaps are made.
export function numberOf(on) {
  return on.reduce((sum, yes, i) => sum + (yes ? 2 ** i : 0), 0);
}

export function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

// The parts of a model from its input up: [kind, first line, second line, the swaps that it shows].
export function partsOf(on, d_ff) {
  const norm = ["norm", on[RMS_NORM] ? "RMSNorm" : "LayerNorm", "", [PRE_NORM, RMS_NORM]];
  const keys = on[GROUPED] ? "keys for two heads each" : "keys for each head";
  const attention = ["attention", `attention${on[ROPE] ? ", RoPE" : ""}`, keys, [ROPE, GROUPED, NO_BIASES]];
  const network = [
    "network",
    on[SWIGLU] ? "SwiGLU" : "ReLU network",
    `${on[SWIGLU] ? 3 : 2} matrices, ${d_ff.toLocaleString("en", { maximumFractionDigits: 0 })} wide`,
    [SWIGLU, NO_BIASES],
  ];
  const start = on[ROPE] ? [] : [["sine", "+ sine", "", [ROPE]]];
  const sums = [["sum", "+", "", []]];
  const layer = on[PRE_NORM]
    ? [norm, attention, ...sums, norm, network, ...sums]
    : [attention, ...sums, norm, network, ...sums, norm];
  return { start, layer, end: on[PRE_NORM] ? [["norm", `last ${norm[1]}`, "", [PRE_NORM, RMS_NORM]]] : [] };
}

export default {
  render({ model, el }) {
    const [swaps, losses, lengths] = [model.get("swaps"), model.get("losses"), model.get("lengths")];
    const sizes = model.get("sizes").map((size) => ({ ...size, vocab_size: model.get("vocab_size") }));
    const start = () => ({ on: [...model.get("chosen")], at: model.get("at"), size: 0 });
    const now = start();
    const paper = swaps.map(() => false);

    const draw = eachFrame(() => {
      const [size, length] = [sizes[now.size], lengths[now.at]];
      const [old, mine] = [costOf(paper, size, length), costOf(now.on, size, length)];
      const measured = losses[numberOf(now.on)];
      const { d_ff, ...counted } = mine;
      el.values = { chosen: now.on.map(Number), length, ...counted, losses: measured };
      toggles.forEach((toggle, i) => toggle.setAttribute("aria-pressed", now.on[i]));
      const ink = getComputedStyle(el).color;
      paintBlocks(blocks, { el, ink, on: now.on, paper, wide: [old.d_ff, d_ff] });
      paintLosses(strip, { el, ink, losses, measured });
      paintBytes(sketch, { el, ink, now, paper, size, lengths });
      const words = describe({ swaps, now, old, mine, length, measured, first: losses[0] });
      says.say(words);
      const chosen = swaps.filter((_, k) => now.on[k]).map(({ name }) => name);
      blocks.describe(`The block of 2017, and beside it one with ${chosen.join(", ") || "no swap"}.`);
      strip.describe(
        `Measured losses of all models. 2017: ${mean(losses[0]).toFixed(3)}; chosen: ${mean(measured).toFixed(3)}.`,
      );
      sketch.describe(`Bytes of the cache by the number of tokens. ${words}`);
      table.fill(() => asTable({ swaps, sizes, now, lengths, losses, paper }));
    });

    const toggles = swaps.map(({ name, parts }, i) =>
      button(
        name,
        () => {
          now.on[i] = !now.on[i];
          draw();
        },
        { title: `${parts[0]} → ${parts[1]}` },
      ),
    );
    const set = (on) => () => {
      now.on = swaps.map(() => on);
      draw();
    };
    const blocks = canvas(
      "The block of 2017 and the chosen one, drawn side by side; what differs is framed in orange.",
      {
        keys: false,
      },
    );
    const strip = canvas("The measured losses: all 64 models, that of 2017, and the chosen one with its seeds.", {
      keys: false,
    });
    const sketch = canvas("Bytes of the cache by the number of tokens, for 2017 and for the chosen block.", {
      keys: false,
    });
    const says = readout();
    const table = tableSwitch(draw);
    const length = slider(
      "tokens",
      { min: 0, max: lengths.length - 1, step: 1, value: now.at, show: (i) => lengths[i].toLocaleString("en") },
      (at) => {
        now.at = at;
        draw();
      },
    );
    const size = choice(
      "counted for",
      sizes.map(({ name }) => name),
      (i) => {
        now.size = i;
        draw();
      },
    );
    const reset = resetButton([table, length, size], () => {
      Object.assign(now, start());
      draw();
    });
    el.append(
      bar(...toggles),
      bar(button("2017", set(false)), button("all six", set(true)), size.node, length.node),
      blocks.node,
      strip.node,
      element(
        "div",
        { class: "tl-note" },
        "Measured: 2 layers, width 48, 200 steps, embeddings of one size; small dots: the other models, mean of " +
          "their seeds; large dots: one for each seed.",
      ),
      sketch.node,
      says,
      bar(table.button, reset),
      table.room,
    );
    return watch(el, draw);
  },
};

// ── words ──

const count = (value) => value.toLocaleString("en");

function describe({ swaps, now, old, mine, length, measured, first }) {
  const chosen = swaps.filter((_, i) => now.on[i]).map(({ name }) => name);
  const spread =
    measured.length > 1 ? ` (${measured.length} seeds: ${measured.map((x) => x.toFixed(3)).join(", ")})` : "";
  return (
    `${chosen.join(", ") || "No swap"}: ${count(mine.parameters)} parameters (2017: ${count(old.parameters)}). ` +
    `Token ${count(length)} costs ${inUnits(mine.flops, "FLOP")} (2017: ${inUnits(old.flops, "FLOP")}), and ` +
    `the cache holds ${inUnits(BYTES * mine.cache, "B")} in float16 (2017: ${inUnits(BYTES * old.cache, "B")}). ` +
    `Measured loss ${mean(measured).toFixed(3)} nats a character${spread}; 2017: ${mean(first).toFixed(3)}.`
  );
}

function asTable({ swaps, sizes, now, lengths, losses, paper }) {
  const row = (name, on) => {
    const { parameters, flops, cache } = costOf(on, sizes[now.size], lengths[now.at]);
    const loss = mean(losses[numberOf(on)]).toFixed(3);
    return [name, count(parameters), inUnits(flops, "FLOP"), inUnits(BYTES * cache, "B"), loss];
  };
  const changed = swaps.map(({ name }, i) => {
    const other = now.on.map((yes, j) => (i === j ? !yes : yes));
    return row(`${now.on[i] ? "without" : "with"} ${name}`, other);
  });
  const head = ["block", "parameters", "next token", "cache", "measured loss"];
  return [head, row("2017", paper), row("chosen", now.on), ...changed];
}

// ── drawing ──

const [HIGH, GAP, ALL] = [34, 12, 366]; // ALL: of the blocks' canvas, which the highest block fills

function paintBlocks(sketch, { el, ink, on, paper, wide }) {
  const total = widthOf(el);
  const context = sketch.resize(total, ALL);
  context.textBaseline = "middle";
  const half = total / 2;
  const blocks = [
    ["2017", paper, wide[0], () => false],
    ["chosen", on, wide[1], (shown) => shown.some((swap) => on[swap])],
  ];
  const boxes = blocks.map((_, i) => ({ x: i * half + 8, width: half - 16, height: ALL }));
  const tops = blocks.map(([, flags, d_ff, differs], i) =>
    paintBlock(context, boxes[i], { ink, ...partsOf(flags, d_ff), differs }),
  );
  Object.assign(context, { fillStyle: ink, font: `bold ${FONT}`, textAlign: "left" });
  blocks.forEach(([title, flags], i) => {
    const name = `${title}${flags[NO_BIASES] ? ", no biases" : ", with biases"}`;
    context.fillText(name, boxes[i].x, Math.min(...tops) - 12, boxes[i].width);
  });
}

// Returns where its highest line ends.

function paintBlock(context, { x, width, height }, { ink, start, layer, end, differs }) {
  const room = width < 200 ? { left: x + 20, width: width - 24 } : { left: x + 26, width: Math.min(width - 34, 210) };
  let y = height - 20;
  const middle = room.left + room.width / 2;
  Object.assign(context, { strokeStyle: ink, fillStyle: ink, lineWidth: 1, font: FONT, textAlign: "center" });
  context.fillText("tokens", middle, y + 8);
  const up = (to) => {
    Object.assign(context, { strokeStyle: ink, lineWidth: 1 });
    context.beginPath();
    context.moveTo(middle, y);
    context.lineTo(middle, to);
    context.stroke();
  };
  const put = (part) => {
    const high = part[0] === "sum" || part[0] === "sine" ? 18 : part[2] ? HIGH + 2 : 24;
    up(y - GAP);
    y -= GAP + high;
    paintPart(context, { left: room.left, width: room.width, y, high, middle, ink }, part, differs(part[3]));
  };
  start.forEach(put);
  const foot = y - GAP / 2;
  let branch = null;
  layer.forEach((part, i) => {
    if (i % 3 === 0) branch = y - GAP / 2; // both kinds of layers: two branches of three parts
    put(part);
    if (part[0] === "sum") {
      around(context, { from: branch, to: y + 9, left: room.left - 12, middle, ink });
    }
  });
  Object.assign(context, { strokeStyle: ink, lineWidth: 1 });
  context.globalAlpha = 0.4;
  context.setLineDash([4, 3]);
  context.strokeRect(x + 4, y - 6, Math.min(width - 8, room.left - x + room.width + 8), foot - y + 6);
  context.setLineDash([]);
  context.globalAlpha = 1;
  end.forEach(put);
  up(y - GAP);
  return y - GAP;
}

function around(context, { from, to, left, middle, ink }) {
  Object.assign(context, { strokeStyle: ink, lineWidth: 1.5 });
  context.beginPath();
  context.moveTo(middle, from);
  context.lineTo(left, from);
  context.lineTo(left, to);
  context.lineTo(middle - 9, to);
  context.stroke();
}

function paintPart(context, { left, width, y, high, middle, ink }, [kind, first, second], differs) {
  Object.assign(context, { strokeStyle: ink, fillStyle: ink, lineWidth: 1, textAlign: "center", font: FONT });
  if (kind === "sum") {
    context.beginPath();
    context.arc(middle, y + 9, 8, 0, 2 * Math.PI);
    context.stroke();
    context.fillText("+", middle, y + 10);
    return;
  }
  if (differs) {
    context.globalAlpha = 0.18;
    context.fillStyle = COLOURS[1];
    context.fillRect(left, y, width, high);
    Object.assign(context, { globalAlpha: 1, fillStyle: ink, strokeStyle: COLOURS[1], lineWidth: 2.5 });
  }
  if (kind === "sine") {
    context.fillText(first, middle, y + 9);
    return;
  }
  context.strokeRect(left, y, width, high);
  context.fillText(first, middle, y + (second ? 11 : high / 2 + 1), width - 6);
  if (second) context.fillText(second, middle, y + 26, width - 6);
}

function paintLosses(sketch, { el, ink, losses, measured }) {
  const total = widthOf(el);
  const context = sketch.resize(total, 112);
  const every = losses.flat();
  const [low, high] = [Math.min(...every) - 0.01, Math.max(...every) + 0.01];
  const left = 64;
  const across = (loss) => left + ((loss - low) / (high - low)) * (total - left - 12);
  Object.assign(context, { font: `bold ${FONT}`, fillStyle: ink, textAlign: "left", textBaseline: "middle" });
  context.fillText("Measured loss, nats a character", 0, 10);
  const rows = [
    ["2017", losses[0], COLOURS[0]],
    ["chosen", measured, COLOURS[1]],
  ];
  context.font = FONT;
  rows.forEach(([name, values, colour], i) => {
    const y = 36 + 28 * i;
    Object.assign(context, { fillStyle: ink, textAlign: "left" });
    context.fillText(name, 0, y);
    context.globalAlpha = 0.3;
    losses.forEach((found) => dot(context, across(mean(found)), y, 2.5));
    context.globalAlpha = 1;
    context.fillStyle = colour;
    values.forEach((loss) => dot(context, across(loss), y, 6));
    context.fillRect(across(mean(values)) - 1, y - 12, 2, 24);
  });
  Object.assign(context, { fillStyle: ink, textAlign: "center" });
  for (const [value, text] of evenTicks(low, high)) {
    context.fillRect(across(value), 82, 1, 5);
    context.fillText(text, across(value), 97);
  }
}

function dot(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

function paintBytes(sketch, { el, ink, now, paper, size, lengths }) {
  const total = widthOf(el);
  const context = sketch.resize(total, 230);
  const curve = (name, on, colour, i) => ({
    name,
    colour,
    dash: i ? [7, 4] : [],
    marker: i,
    xs: lengths,
    ys: lengths.map((length) => BYTES * costOf(on, size, length).cache),
  });
  const series = [curve("2017", paper, COLOURS[0], 0), curve("chosen", now.on, COLOURS[1], 1)];
  const ends = series.flatMap(({ ys }) => ys);
  const powers = [];
  for (let k = Math.floor(Math.log10(Math.min(...ends))); k <= Math.ceil(Math.log10(Math.max(...ends))); k += 2)
    powers.push([10 ** k, inUnits(10 ** k, "B")]);
  const ticks = [1, 16, 256, 4096, 65536].map((n) => [n, count(n)]);
  drawLines(
    context,
    { x: 0, y: 0, width: total, height: 226 },
    {
      title: "Bytes of the cache (float16)",
      x: { name: "tokens", log: 2, ticks },
      y: { log: 10, low: powers[0][0], high: Math.max(powers.at(-1)[0], ...ends), ticks: powers },
      series,
      at: now.at,
      ink,
    },
  );
}
