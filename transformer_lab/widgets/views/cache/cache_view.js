// Key-value cache: the bytes it takes and the work it saves, over the length of the text.

import {
  bar,
  button,
  canvas,
  checkbox,
  choice,
  clamp,
  eachFrame,
  element,
  readout,
  resetButton,
  slider,
  tableSwitch,
  watch,
  widthOf,
} from "../../shared/ui.js";
import { drawLines } from "../../shared/chart.js";
import { numbersIn } from "../../shared/numbers.js";
import { MEANINGS, NOW, SANS, SERIF } from "../../shared/palette.js";

// The formulas of cache.py. A size is { n_layers, n_heads, n_kv_heads, d_head, d_ff }; a multiply-add is 2 FLOPs.
export function bytesOf({ n_layers, n_kv_heads, d_head }, length, batch, bytesPerNumber) {
  return 2 * n_layers * n_kv_heads * d_head * length * batch * bytesPerNumber;
}

export function workOf({ n_layers, n_heads, n_kv_heads, d_head, d_ff }, length) {
  const width = n_heads * d_head;
  const position = n_layers * (2 * width * (2 * width + 2 * n_kv_heads * d_head) + 4 * width * d_ff);
  const pair = n_layers * 4 * width;
  const [pairs, squares] = [(length * (length + 1)) / 2, (length * (length + 1) * (2 * length + 1)) / 6];
  return {
    withCache: position + length * pair,
    without: length * position + length ** 2 * pair,
    totalWith: length * position + pairs * pair,
    totalWithout: pairs * position + squares * pair,
  };
}

// 1536, "B" → "1.54 kB".
export function inUnits(value, unit) {
  const rounded = Number(value.toPrecision(3));
  const step = clamp(Math.floor(Math.log10(rounded) / 3 + 1e-9), 0, 8);
  const prefix = ["", "k", "M", "G", "T", "P", "E", "Z", "Y"][step];
  return `${Number((rounded / 1000 ** step).toPrecision(3))} ${prefix}${unit}`;
}

const divisors = (n) => Array.from({ length: n }, (_, i) => i + 1).filter((i) => n % i === 0);
const kind = (size) => (size.n_kv_heads === size.n_heads ? "MHA" : size.n_kv_heads === 1 ? "MQA" : "GQA");
const BATCHES = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const HEADS = [1, 2, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128];
const WIDTHS = [16, 32, 64, 80, 96, 128, 256];

export default {
  render({ model, el }) {
    const [presets, lengths, numbers] = [model.get("presets"), model.get("lengths"), model.get("numbers")];
    const types = Object.keys(numbers);
    const settings = (i) => {
      const { name, ...size } = presets[i];
      return { preset: i, size, ratio: size.d_ff / size.n_heads / size.d_head };
    };
    const start = () => ({
      ...settings(model.get("preset")),
      at: model.get("at"),
      batch: 0,
      type: types.indexOf("float16"),
      cumulative: false,
    });
    const now = start();

    const sketch = canvas("Bytes and work of a cache.", { keys: false });
    const says = readout();
    const draw = eachFrame(() => {
      const [length, bytes, work] = [
        lengths[now.at],
        bytesAt(now.size, lengths[now.at]),
        workOf(now.size, lengths[now.at]),
      ];
      el.values = { length, bytes, ...work };
      paint(sketch, { el, lengths, now, bytesAt });
      const words = describe(now, {
        length,
        bytes,
        work,
        batch: BATCHES[now.batch],
        type: types[now.type],
        each: numbers[types[now.type]],
      });
      says.say(words);
      sketch.describe(words);
      table.fill(() => asTable(lengths, now.size, bytesAt), { class: "tl-costs" });
    });
    const bytesAt = (size, length) => bytesOf(size, length, BATCHES[now.batch], numbers[types[now.type]]);

    const pick = choice("model", [...presets.map(({ name }) => name), "own sizes"], (i) => {
      if (i < presets.length) Object.assign(now, settings(i));
      refresh();
    });
    const length = slider(
      "tokens",
      { min: 0, max: lengths.length - 1, step: 1, value: now.at, show: (i) => lengths[i].toLocaleString("en") },
      (at) => {
        now.at = at;
        draw();
      },
    );
    const own = (what) => {
      Object.assign(now.size, what);
      if (now.size.n_heads % now.size.n_kv_heads) now.size.n_kv_heads = now.size.n_heads;
      now.size.d_ff = now.ratio * now.size.n_heads * now.size.d_head;
      now.preset = presets.length;
      refresh();
    };
    const of = (list) => ({ min: 0, max: list.length - 1, step: 1, value: 0, show: (i) => String(list[i]) });
    const layers = slider("layers", { min: 1, max: 128, step: 1, value: 1, show: String }, (n) => own({ n_layers: n }));
    const heads = slider("heads", of(HEADS), (i) =>
      own({ n_heads: HEADS[i], n_kv_heads: kind(now.size) === "MHA" ? HEADS[i] : now.size.n_kv_heads }),
    );
    const shared = slider(
      "KV heads",
      { ...of(HEADS), show: (i) => `${divisors(now.size.n_heads)[i]} ${kind(now.size)}` },
      (i) => own({ n_kv_heads: divisors(now.size.n_heads)[i] }),
    );
    const width = slider("d_head", of(WIDTHS), (i) => own({ d_head: WIDTHS[i] }));
    const batch = slider("batch", of(BATCHES), (i) => {
      now.batch = i;
      draw();
    });
    const type = choice("numbers", types, (i) => {
      now.type = i;
      draw();
    });
    const sum = checkbox("whole text", false, (on) => {
      now.cumulative = on;
      draw();
    });
    const table = tableSwitch(draw);
    const reset = resetButton([table], () => {
      Object.assign(now, start());
      refresh();
    });

    // Own sizes come from a preset, which says what they leave open: how many times as wide the feed-forward is.
    const baseAs = (text) => {
      const base = numbersIn(text)[0];
      if (base === undefined || base >= presets.length || now.preset < presets.length) return;
      now.ratio = settings(base).ratio;
      own({});
    };
    const base = () => String(presets.findIndex((_, i) => settings(i).ratio === now.ratio));
    el.kept = { base: { get: () => (now.preset < presets.length ? "" : base()), set: baseAs } };

    // Every control shows what is set, whichever of them was moved.
    const refresh = () => {
      const { n_layers, n_heads, n_kv_heads, d_head } = now.size;
      pick.set(now.preset);
      length.set(now.at);
      layers.set(n_layers);
      heads.set(HEADS.indexOf(n_heads));
      shared.node.querySelector("input").max = divisors(n_heads).length - 1;
      shared.set(divisors(n_heads).indexOf(n_kv_heads));
      width.set(WIDTHS.indexOf(d_head));
      batch.set(now.batch);
      type.set(now.type);
      sum.set(now.cumulative);
      draw();
    };
    const toLength = (event) => {
      // press or drag in a plot
      const [x, y] = sketch.at(event);
      const plot = sketch.node.plots.find(
        (one) => x > one.x - 12 && x < one.x + one.width + 12 && y > one.y && y < one.y + one.height,
      );
      if (!plot || !event.buttons) return;
      const far = lengths.map((n) => Math.abs(plot.across(n) - x));
      now.at = far.indexOf(Math.min(...far));
      length.set(now.at);
      draw();
    };
    Object.assign(sketch.node, { onpointerdown: toLength, onpointermove: toLength });
    el.append(
      element("style", {}, STYLE),
      bar(pick.node, length.node),
      sketch.node,
      says,
      element("div", { class: "tl-grid" }, ...[layers, heads, shared, width, batch].map(({ node }) => node)),
      bar(type.node, sum.node),
      bar(table.button, reset),
      table.room,
    );
    refresh();
    return watch(el, draw);
  },
};

const STYLE = `
.tl-cache :is(.tl-grid label, .tl-costs td) { white-space: nowrap; }
`;

// ── words ──

function describe(now, { length, bytes, work, batch, type, each }) {
  const { n_layers, n_kv_heads, d_head } = now.size;
  const [small, large] = now.cumulative ? [work.totalWith, work.totalWithout] : [work.withCache, work.without];
  const times = large / small;
  const what = now.cumulative
    ? `All ${length.toLocaleString("en")} tokens cost`
    : `Token ${length.toLocaleString("en")} costs`;
  const copies = batch > 1 ? ` × ${batch} texts` : "";
  return (
    `Cache: 2 × ${n_layers} layers × ${n_kv_heads} KV heads × ${d_head} × ${length.toLocaleString("en")} tokens` +
    `${copies} × ${each} ${each > 1 ? "bytes" : "byte"} (${type}) = ${inUnits(bytes, "B")}. ` +
    `${what} ${inUnits(batch * small, "FLOP")} with it and ${inUnits(batch * large, "FLOP")} without: ` +
    `${times < 10 ? times.toFixed(1) : Math.round(times).toLocaleString("en")} times as much.`
  );
}

function asTable(lengths, size, bytesAt) {
  const rows = lengths
    .filter((n) => Number.isInteger(Math.log2(n)) && Math.log2(n) % 2 === 0)
    .map((n) => {
      const { withCache, without, totalWith, totalWithout } = workOf(size, n);
      const flops = [withCache, without, totalWith, totalWithout].map((count) => inUnits(count, "FLOP"));
      return [n.toLocaleString("en"), inUnits(bytesAt(size, n), "B"), ...flops];
    });
  return [["tokens", "cache", "next token, with", "without", "whole text, with", "without"], ...rows];
}

// ── drawing ──

const FONT = `13px ${SANS}`;
const LENGTH_TICKS = [1, 16, 256, 4096, 65536].map((n) => [n, n.toLocaleString("en")]);

// Powers of ten from the first at or below the least value, every third of them with its unit.
function unitAxis(values, unit) {
  const [low, high] = [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values)))];
  const every = high - low > 9 ? 3 : high - low > 5 ? 2 : 1;
  const ticks = [];
  for (let k = Math.ceil(low / every) * every; k <= high; k += every) ticks.push([10 ** k, inUnits(10 ** k, unit)]);
  return { log: 10, low: 10 ** low, high: 10 ** high, ticks };
}

// How high a laptop's screen is in a picture that is so wide, where one, two or three shelves stand side by side.
const tallIn = (total, levels = 2) => Math.min(210, (total - 40 - (levels - 1) * lensIn(total)) / (0.5 + levels));
const lensIn = (total) => Math.min(46, total * 0.06); // between a shelf and what it is when it is opened

// The laptop's shelf on top, and below it two charts, side by side or one above the other.
export function boxesIn(total) {
  const high = 280;
  const half = total >= 600 ? total / 2 - 8 : total;
  const shelf = 140 + tallIn(total);
  const below = [0, 1].map((i) =>
    total >= 600
      ? { x: i * (half + 16), y: shelf + 8, width: half, height: high }
      : { x: 0, y: shelf + 8 + i * (high + 8), width: half, height: high },
  );
  return [{ x: 0, y: 0, width: total, height: shelf }, ...below];
}

const LAPTOP = 16e9; // bytes of its memory
const BOARDS = 8; // of the shelf, with as many compartments on each
const ROOM = BOARDS ** 2;

// How a number of bytes fills shelves to scale: of the laptop's compartments so many are full, and where that is less
// than one, it is opened, and is a shelf again. A laptop that is not enough gets others beside it.
export function shelves(bytes) {
  if (bytes > LAPTOP) return [{ capacity: LAPTOP, full: ROOM, laptops: bytes / LAPTOP }];
  const levels = [{ capacity: LAPTOP, full: (bytes / LAPTOP) * ROOM, laptops: 1 }];
  while (levels.at(-1).full < 1 && levels.length < 3) {
    const { capacity, full } = levels.at(-1);
    levels.push({ capacity: capacity / ROOM, full: full * ROOM, laptops: 1 });
  }
  return levels;
}

// The cache on the shelf of a laptop: the lower half of what is filled are keys, the upper half values.
function paintKept(context, { x, y, width }, { now, bytes, length, ink }) {
  const levels = shelves(bytes);
  Object.assign(context, { font: `bold ${FONT}`, fillStyle: ink, textAlign: "left", textBaseline: "middle" });
  context.fillText("The cache in a laptop of 16 GB, to scale", x, y + 12);
  let at = x;
  context.font = FONT;
  for (const [name, colour] of [
    ["■ keys", MEANINGS.key],
    ["▲ values", MEANINGS.value],
  ]) {
    context.fillStyle = colour;
    context.fillText(name, at, y + 34);
    at += 14 + context.measureText(name).width;
  }
  const [many, each] = [BATCHES[now.batch] * length, now.size.d_head].map((n) => n.toLocaleString("en"));
  const matrices = `${now.size.n_layers} × ${now.size.n_kv_heads} × 2 matrices, each of ${many} × ${each} numbers`;
  context.fillStyle = ink;
  context.fillText(matrices, width >= 600 ? at : x, width >= 600 ? y + 34 : y + 54);
  const top = y + 72;
  const tall = tallIn(width, Math.max(2, levels.length));
  const wide = tall * 1.5;
  if (levels[0].laptops > 1)
    return void paintLaptops(context, { x, top, tall, width, ink, laptops: levels[0].laptops });
  let left = x + 14;
  levels.forEach(({ capacity, full }, k) => {
    const across = k ? tall : wide;
    paintShelf(context, { left, top, across, tall, full, ink });
    if (!k) paintFoot(context, { left, top, across, tall, ink });
    Object.assign(context, { fillStyle: ink, font: FONT, textAlign: "left" });
    const share = full / ROOM;
    const percent = share >= 0.001 ? `${Number((100 * share).toPrecision(2))} %` : "under 0.1 %";
    context.fillText(k ? inUnits(capacity, "B") : `16 GB: ${percent}`, left, top + tall + 34);
    if (k) context.fillText(`${percent} full`, left, top + tall + 52);
    if (k < levels.length - 1) {
      // From its first compartment to the shelf that this is when it is opened.
      const [far, w, h] = [left + across + lensIn(width), across / BOARDS, tall / BOARDS];
      Object.assign(context, { strokeStyle: NOW.edge, lineWidth: 1 });
      context.setLineDash([3, 3]);
      context.beginPath();
      context.moveTo(left + w, top + tall - h);
      context.lineTo(far, top);
      context.moveTo(left + w, top + tall);
      context.lineTo(far, top + tall);
      context.stroke();
      context.setLineDash([]);
      Object.assign(context, { strokeStyle: ink, lineWidth: 2 });
      context.strokeRect(left, top + tall - h, w, h);
    }
    left += across + (k < levels.length - 1 ? lensIn(width) : 28);
  });
  // What that is in all, in large letters where there is room for them.
  const size = width >= 600 ? 62 : 32;
  Object.assign(context, { fillStyle: ink, font: `600 ${size}px ${SERIF}`, textAlign: "left" });
  const said = inUnits(bytes, "B");
  if (left + context.measureText(said).width > width) return;
  context.fillText(said, left, top + tall - size / 2);
  Object.assign(context, { fillStyle: NOW.soft, font: FONT });
  context.fillText(`for ${many} tokens`, left, top + tall + 10, width - left);
}

// Compartments are filled from the lowest board up, each from left to right.
function paintShelf(context, { left, top, across, tall, full, ink }) {
  const [w, h] = [across / BOARDS, tall / BOARDS];
  const gap = h > 6 ? 2 : 0; // between compartments that are large enough to be told apart
  context.fillStyle = NOW.slab;
  context.fillRect(left, top, across, tall);
  for (let i = 0; i < full; i += 1) {
    const [share, board] = [Math.min(1, full - i), Math.floor(i / BOARDS)];
    const [x, y] = [left + (i % BOARDS) * w + gap / 2, top + tall - (board + 1) * h + gap / 2];
    context.fillStyle = MEANINGS.value;
    context.fillRect(x, y, (w - gap) * share, (h - gap) / 2);
    context.fillStyle = MEANINGS.key;
    context.fillRect(x, y + (h - gap) / 2, (w - gap) * share, (h - gap) / 2);
  }
  Object.assign(context, { strokeStyle: NOW.line, lineWidth: 1 });
  context.beginPath();
  for (let i = 1; gap && i < BOARDS; i += 1) {
    context.moveTo(left, top + i * h);
    context.lineTo(left + across, top + i * h);
    context.moveTo(left + i * w, top);
    context.lineTo(left + i * w, top + tall);
  }
  context.stroke();
  Object.assign(context, { strokeStyle: ink, lineWidth: 2 });
  context.beginPath();
  context.roundRect(left - 1, top - 1, across + 2, tall + 2, 4);
  context.stroke();
}

// What makes a shelf a laptop.
function paintFoot(context, { left, top, across, tall, ink }) {
  context.beginPath();
  context.moveTo(left - 2, top + tall + 4);
  context.lineTo(left + across + 2, top + tall + 4);
  context.lineTo(left + across + 12, top + tall + 16);
  context.lineTo(left - 12, top + tall + 16);
  context.closePath();
  Object.assign(context, { fillStyle: NOW.slab, strokeStyle: ink, lineWidth: 2 });
  context.fill();
  context.stroke();
}

// As many laptops as the cache needs, in rows; the last one is filled as far as it is.
function paintLaptops(context, { x, top, tall: high, width, ink, laptops }) {
  const n = Math.ceil(laptops);
  const shown = Math.min(n, 60);
  const rows = shown <= 4 ? 1 : shown <= 20 ? 2 : 3;
  const across = Math.ceil(shown / rows);
  const room = Math.min((width - 28) / across, (2 * high) / rows);
  const [wide, tall] = [room * 0.72, Math.min(room * 0.48, high / rows - 24)];
  for (let i = 0; i < shown; i += 1) {
    const left = x + 14 + (i % across) * room;
    const above = top + Math.floor(i / across) * ((high + 36) / rows);
    paintShelf(context, { left, top: above, across: wide, tall, full: ROOM * Math.min(1, laptops - i), ink });
    if (rows < 3) paintFoot(context, { left, top: above, across: wide, tall, ink });
  }
  Object.assign(context, { fillStyle: ink, font: `bold ${FONT}`, textAlign: "left" });
  const more = n > shown ? `, ${shown} of them drawn` : "";
  const said = laptops < 10 ? laptops.toFixed(1) : Math.round(laptops).toLocaleString("en");
  context.fillText(`It takes ${said} such laptops${more}.`, x, top + high + 54);
}

function paint(sketch, { el, lengths, now, bytesAt }) {
  const total = widthOf(el);
  const boxes = boxesIn(total);
  const last = boxes.at(-1);
  const context = sketch.resize(total, last.y + last.height);
  const ink = getComputedStyle(el).color;
  const { n_heads, n_kv_heads } = now.size;
  const x = { name: "tokens", log: 2, ticks: LENGTH_TICKS };
  const curve = (kv, more) => ({
    xs: lengths,
    ys: lengths.map((n) => bytesAt({ ...now.size, n_kv_heads: kv }, n)),
    name: `${kv} ${kind({ n_heads, n_kv_heads: kv })}`,
    ...more,
  });
  const others = [...new Set([n_heads, 1])]
    .filter((kv) => kv !== n_kv_heads)
    .map((kv, i) =>
      curve(kv, {
        colour: NOW.thread,
        dash: [
          [7, 4],
          [2, 3],
        ][i],
        marker: i + 1,
      }),
    );
  const bytes = [curve(n_kv_heads, { colour: ink, marker: 0 }), ...others];
  const works = lengths.map((n) => workOf(now.size, n));
  const keys = now.cumulative ? ["totalWith", "totalWithout"] : ["withCache", "without"];
  const flops = [
    ["with cache", MEANINGS.with],
    ["without", MEANINGS.without],
  ].map(([name, colour], i) => ({ name, colour, xs: lengths, ys: works.map((work) => work[keys[i]]) }));
  paintKept(context, boxes[0], { now, bytes: bytesAt(now.size, lengths[now.at]), length: lengths[now.at], ink });
  const y = (series, unit) =>
    unitAxis(
      series.flatMap(({ ys }) => ys),
      unit,
    );
  sketch.node.plots = [
    drawLines(context, boxes[1], {
      title: "Bytes of the cache, by KV heads",
      x,
      y: y(bytes, "B"),
      series: bytes,
      at: now.at,
      ink,
    }),
    drawLines(context, boxes[2], {
      title: now.cumulative ? "Work for the whole text" : "Work for the next token",
      x,
      y: y(flops, "FLOP"),
      series: flops,
      at: now.at,
      ink,
    }),
  ];
}
