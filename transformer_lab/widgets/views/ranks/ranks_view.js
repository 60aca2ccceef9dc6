// Four ranks in a training step: who holds which piece of which matrix, and who computes, sends or waits when.

import { FONT } from "../../shared/grid.js";
import { player } from "../../shared/motion.js";
import { COLOURS, NOW } from "../../shared/palette.js";
import {
  bar,
  button,
  canvas,
  checkbox,
  clamp,
  eachFrame,
  element,
  inkOn,
  onKeys,
  readout,
  resetButton,
  slider,
  stripes,
  tableSwitch,
  watch,
  widthOf,
} from "../../shared/ui.js";
import { inUnits } from "../cache/cache_view.js";
import { computes, held, lengthOf, reads, schedule, useOfTime, WAYS } from "./ranks_schedule.js";

const MOMENTS = 200; // into which a step is cut
const FIRST_MOMENT = 64;
const MOST_SLOW = 3;

// What a rank does at a moment: the names of what it computes, sends and has gathered.
export function doing(tasks, rank, moment) {
  const now = tasks.filter(({ ranks, start, end }) => ranks.includes(rank) && start <= moment && moment < end);
  const name = (task) => task?.name.replace(/@\d+$/, "") ?? null;
  return { computes: name(now.find(computes)), sends: name(now.find((task) => !computes(task))) };
}

// The layers whose weights all ranks have at a moment, though each keeps but a part: from the end of their gathering
// to the end of the computing behind it.
export function gathered(tasks, moment) {
  return tasks
    .filter(({ kind, end }) => kind === "gather" && end <= moment)
    .filter(({ name }) => tasks.some((task) => task.name === `${name.slice(7)}@0` && moment < task.end))
    .map(({ name }) => +name.slice(8));
}

export default {
  render({ model, el }) {
    const [sizes, speed, first] = [model.get("sizes"), model.get("speed"), model.get("first")];
    const [links, tokens, micro] = [model.get("links"), model.get("tokens"), model.get("micro")];
    const start = () => ({ ...first, micro: 2, slow: 1, at: FIRST_MOMENT });
    const now = start();
    const stepNow = () => ({
      ...sizes,
      speed,
      n: now.n,
      n_tokens: tokens[now.tokens],
      link: links[now.link],
      overlap: now.overlap,
      slow: now.slow,
      n_micro: micro[now.micro],
    });

    const says = readout();
    const moment = element("div", { class: "tl-note tl-moment" });
    const sketch = canvas("The step in time.", {
      how: "The arrow keys go through the step, and 1 to 5 choose a way.",
    });
    const five = canvas("How long a step takes in each of the five ways.", { keys: false });
    let shown = null; // what was last computed: { tasks, whole, uses, others }
    const compute = () => {
      const step = stepNow();
      const all = WAYS.map((way) => schedule(way, step));
      shown = { step, all, tasks: all[now.way], whole: lengthOf(all[now.way]), uses: useOfTime(all[now.way], now.n) };
    };
    const draw = eachFrame(() => {
      const { step, all, tasks, whole, uses } = shown;
      const time = (now.at / MOMENTS) * whole;
      const does = uses.computing.map((_, rank) => doing(tasks, rank, time));
      el.values = {
        way: WAYS[now.way],
        seconds: whole,
        bytes: tasks.reduce((sum, { bytes }) => sum + bytes, 0),
        calls: tasks.reduce((sum, { calls }) => sum + calls, 0),
        ...uses,
        ways: all.map(lengthOf),
        moment: time,
        does: does.map(({ computes: name, sends }) => `${name ?? ""}|${sends ?? ""}`),
      };
      ways.forEach((one, i) => one.setAttribute("aria-pressed", i === now.way));
      many.forEach((one, i) => one.setAttribute("aria-pressed", i + 2 === now.n));
      micros.node.hidden = WAYS[now.way] !== "pipeline";
      const ink = getComputedStyle(el).color;
      paint(sketch, { el, ink, now, step, tasks, whole, time });
      paintFive(five, { el, ink, now, all, step });
      const words = describe(now, shown, speed);
      says.say(words);
      moment.textContent = atMoment(does, time, WAYS[now.way]);
      sketch.describe(`${words} ${moment.textContent}`);
      five.describe(`A step takes ${WAYS.map((way, i) => `${way} ${inTime(lengthOf(all[i]))}`).join(", ")}.`);
      table.fill(() => asTable(shown, now));
    });
    const set = (what) => {
      Object.assign(now, what);
      compute();
      draw();
    };
    const go = (at) => {
      now.at = clamp(at, 0, MOMENTS);
      place.set(now.at);
      draw();
    };
    const place = slider(
      "moment",
      {
        min: 0,
        max: MOMENTS,
        step: 1,
        value: now.at,
        show: (at) => (shown ? inTime((at / MOMENTS) * shown.whole) : ""),
      },
      (at) => {
        play.stop();
        go(at);
      },
    );
    const refresh = (what) => {
      set(what);
      place.set(now.at);
    };
    const play = player({
      button,
      at: () => now.at,
      last: () => MOMENTS,
      go,
      milliseconds: 50,
    });
    const ways = WAYS.map((way, i) => button(way, () => refresh({ way: i })));
    const many = [2, 3, 4].map((n) => button(`${n} ranks`, () => refresh({ n })));
    const at = (values, show) => ({ min: 0, max: values.length - 1, step: 1, show: (i) => show(values[i]) });
    const link = slider("link", { ...at(links, (x) => `${x / 1e9} GB/s`), value: now.link }, (i) =>
      refresh({ link: i }),
    );
    const batch = slider("tokens a step", { ...at(tokens, (x) => x.toLocaleString("en")), value: now.tokens }, (i) =>
      refresh({ tokens: i }),
    );
    const slow = slider(
      "last rank",
      { min: 1, max: MOST_SLOW, step: 0.25, value: 1, show: (x) => (x > 1 ? `${x} × as long` : "as the others") },
      (x) => refresh({ slow: x }),
    );
    const micros = slider("micro-batches", { ...at(micro, String), value: now.micro }, (i) => refresh({ micro: i }));
    const overlap = checkbox("send while computing", now.overlap, (on) => refresh({ overlap: on }));
    const table = tableSwitch(draw);
    const reset = resetButton([table, link, batch, slow, micros, overlap], () => {
      play.stop();
      refresh(start());
    });
    const toMoment = (event) => {
      const [x] = sketch.at(event);
      const { left, width } = sketch.node.layout;
      if (!event.buttons || x < left - 8) return;
      play.stop();
      go(Math.round(((x - left) / width) * MOMENTS));
    };
    Object.assign(sketch.node, {
      onpointerdown: toMoment,
      onpointermove: toMoment,
      onkeydown: onKeys((key) => {
        const to = { ArrowLeft: now.at - 1, ArrowRight: now.at + 1, Home: 0, End: MOMENTS }[key];
        if (to !== undefined) return (play.stop(), go(to));
        return WAYS[+key - 1] ? refresh({ way: +key - 1 }) : false;
      }),
    });
    five.node.onclick = (event) => {
      const row = Math.floor((five.at(event)[1] - five.node.top) / ROW);
      if (WAYS[row]) refresh({ way: row });
    };
    el.append(
      element("style", {}, STYLE),
      bar(
        element("div", { class: "tl-choice" }, ...ways),
        element("div", { class: "tl-choice" }, ...many),
        overlap.node,
      ),
      element("div", { class: "tl-grid" }, link.node, batch.node, slow.node, micros.node),
      sketch.node,
      bar(play.node, place.node),
      moment,
      says,
      element("div", { class: "tl-note" }, NOTE),
      five.node,
      bar(table.button, reset),
      table.room,
    );
    compute();
    place.set(now.at);
    return watch(el, draw);
  },
};

const STYLE = `
.tl-ranks .tl-choice { display: flex; flex-wrap: wrap; }
.tl-ranks .tl-choice button { border-radius: 0; margin-left: -1px; }
.tl-ranks .tl-choice button:first-child { border-radius: 4px 0 0 4px; }
.tl-ranks .tl-choice button:last-child { border-radius: 0 4px 4px 0; }
.tl-ranks .tl-moment { min-height: 1.5em; font-variant-numeric: tabular-nums; }
.tl-ranks canvas { touch-action: pan-y; margin: 6px 0; }
`;

// ── words ──

const NOTE =
  "F2 is layer 2 forward and B2 backward; in a pipeline, the third micro-batch. A thread is a message, in the colour " +
  "of the rank that sends it. Beside or above the time: the part of the batch that a rank computes with, the pieces " +
  "that it holds of the first and the last matrix of each layer, hatched where all have gathered the rest, and a " +
  "line under what it works on.";

export function inTime(seconds) {
  return inUnits(seconds * 1000 || 0, "s").includes("k") || seconds >= 1
    ? `${Number(seconds.toPrecision(3))} s`
    : `${Number((1000 * seconds).toPrecision(3))} ms`;
}

const percent = (share) => `${Math.round(100 * share)} %`;

function describe(now, { step, tasks, whole, uses }, speed) {
  const bytes = tasks.reduce((sum, one) => sum + one.bytes, 0);
  const calls = tasks.reduce((sum, one) => sum + one.calls, 0);
  const shares = (rank) =>
    `computes ${percent(uses.computing[rank] / whole)} of it, sends ${percent(uses.sending[rank] / whole)} and ` +
    `waits ${percent(uses.waiting[rank] / whole)}`;
  const [low, high] = [Math.min(...uses.waiting), Math.max(...uses.waiting)];
  const most = uses.waiting.indexOf(high);
  const alike = (high - low) / whole < 0.005;
  const who = alike
    ? `Each rank ${shares(0)}.`
    : `Rank ${most} ${shares(most)}; rank ${uses.waiting.indexOf(low)} waits ${percent(low / whole)}.`;
  const one = lengthOf(schedule("data", { ...step, n: 1, slow: 1 }));
  const gain = Number((one / whole).toPrecision(2));
  return (
    `${WAYS[now.way]}, ${now.n} ranks: a step takes ${inTime(whole)}, ${gain} times as fast as one rank alone. ` +
    `${who} ` +
    `Together the ranks send ${inUnits(bytes, "B")} in ${calls} calls. While a byte is on the wire, a rank could do ` +
    `${Math.round(speed / step.link).toLocaleString("en")} FLOPs.`
  );
}

// "F2 network" → "layer 2 (network) forward".
function inWords(name, what) {
  const [, letter, i, rest] = name.match(/^([FB])(\d+) ?(.*)$/);
  return `${what} ${i}${rest ? ` (${rest})` : ""} ${letter === "F" ? "forward" : "backward"}`;
}

function atMoment(does, time, way) {
  const what = way === "pipeline" ? "micro-batch" : "layer";
  const groups = new Map();
  does.forEach(({ computes: name, sends }, rank) => {
    const said = JSON.stringify([name, Boolean(sends)]);
    groups.set(said, [...(groups.get(said) ?? []), rank]);
  });
  const parts = [...groups].map(([said, list]) => {
    const [[name, sends], many] = [JSON.parse(said), list.length > 1];
    const verbs = many ? ["compute", "are", "wait"] : ["computes", "is", "waits"];
    const all = [name && `${verbs[0]} ${inWords(name, what)}`, sends && `${verbs[1]} on the wire`].filter(Boolean);
    return `${many ? "ranks" : "rank"} ${list.join(", ")} ${all.join(" and ") || verbs[2]}`;
  });
  return `At ${inTime(time)}, ${parts.join("; ")}.`;
}

function asTable({ all, tasks, whole, uses }, now) {
  const ranks = uses.computing.map((seconds, rank) => [
    `rank ${rank}`,
    inTime(seconds),
    inTime(uses.sending[rank]),
    inTime(uses.waiting[rank]),
    "",
  ]);
  const mean = (list) => list.reduce((sum, x) => sum + x, 0) / list.length;
  const others = WAYS.map((way, i) => {
    const use = useOfTime(all[i], now.n);
    return [
      way,
      ...["computing", "sending", "waiting"].map((name) => inTime(mean(use[name]))),
      inUnits(
        all[i].reduce((sum, { bytes }) => sum + bytes, 0),
        "B",
      ),
    ];
  });
  return [["", "computes", "sends", "waits", "all send"], ...ranks, ...others];
}

// ── drawing ──

const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
const [BOTTOM, BAR, PIECES] = [26, 30, 68];

// Where there is no room beside the time, the pieces stand above it.
function layoutOf(width, n_layers, n) {
  const wide = width >= 720;
  const pieces = width >= 980 ? 330 : wide ? 268 : width;
  return {
    wide,
    top: wide ? 30 : 44 + n * PIECES,
    pieceTop: wide ? 30 : 24,
    pieceLane: wide ? 92 : PIECES,
    lane: wide ? 92 : 80,
    left: wide ? pieces + 24 : 20,
    width: wide ? width - pieces - 40 : width - 30,
    bar: 18, // from the top of a lane to its bar
    cell: (pieces - 66) / n_layers,
  };
}

function paint(sketch, { el, ink, now, step, tasks, whole, time }) {
  const total = widthOf(el);
  const layout = layoutOf(total, step.n_layers, now.n);
  const { n } = now;
  const high = layout.top + n * layout.lane + BOTTOM;
  const context = sketch.resize(total, high);
  sketch.node.layout = layout;
  const across = (seconds) => layout.left + (seconds / whole) * layout.width;
  const laneOf = (rank) => layout.top + rank * layout.lane;
  const tools = { context, ink, across, laneOf, layout, n, whole };
  Object.assign(context, { font: FONT, textBaseline: "middle" });
  paintPieces(tools, now, step, tasks, time);
  for (let rank = 0; rank < n; rank += 1) paintWaiting(tools, rank, tasks);
  tasks.filter((task) => !computes(task)).forEach((task) => paintMessages(tools, task, time));
  tasks.filter(computes).forEach((task) => paintBar(tools, task));
  paintAxis(tools, high);
  paintCursor(tools, time, high);
}

// A matrix as an outline, and the pieces of it that are held.
function paintMatrix({ context, ink }, [x, y, wide, high], boxes, colour) {
  context.fillStyle = colour;
  boxes.forEach(([x0, y0, x1, y1]) =>
    context.fillRect(x + wide * x0, y + high * y0, wide * (x1 - x0), high * (y1 - y0)),
  );
  Object.assign(context, { strokeStyle: ink, lineWidth: 1, globalAlpha: 0.45 });
  context.strokeRect(x + 0.5, y + 0.5, wide - 1, high - 1);
  context.globalAlpha = 1;
}

function paintPieces(tools, now, step, tasks, time) {
  const { context, ink, layout, n } = tools;
  const way = WAYS[now.way];
  const all = way === "sharded" ? gathered(tasks, time) : [];
  const unit = Math.min(layout.cell - 12, 52) / 2.7;
  Object.assign(context, { fillStyle: ink, textAlign: "left", font: FONT });
  context.fillText("batch", 0, 12);
  context.fillText(`matrices of ${step.n_layers} layers`, 66, 12);
  for (let rank = 0; rank < n; rank += 1) {
    const lane = layout.pieceTop + rank * layout.pieceLane;
    const top = lane + (layout.wide ? 24 : 18);
    Object.assign(context, { fillStyle: ink, font: `bold ${FONT}`, textAlign: "left" });
    context.fillText(`rank ${rank}`, 0, lane + 8);
    if (!layout.wide) context.fillText(rank, 4, tools.laneOf(rank) + layout.bar + BAR / 2);
    context.font = FONT;
    const colour = COLOURS[rank];
    paintMatrix(tools, [0, top, 36, 36], reads(way, rank, n), colour);
    const working = workingOn(tasks, rank, time, way, step, n);
    held(way, rank, n, step.n_layers).forEach((both, i) => {
      const x = 66 + i * layout.cell;
      const matrices = [
        [x, top, unit * 1.7, unit * 0.7],
        [x + unit * 1.7 + 4, top, unit * 0.7, unit * 1.7],
      ];
      matrices.forEach((place, k) => {
        paintMatrix(tools, place, both ? [both[k]] : [], colour);
        if (all.includes(i)) stripes(context, ...place, ink, 1);
      });
      if (working.includes(i)) {
        Object.assign(context, { fillStyle: ink });
        context.fillRect(x, top + unit * 1.7 + 5, unit * 2.4 + 4, 2.5);
      }
    });
  }
}

// The layers that a rank computes at a moment.
function workingOn(tasks, rank, time, way, step, n) {
  const { computes: name } = doing(tasks, rank, time);
  if (!name) return [];
  if (way !== "pipeline") return [+name.match(/\d+/)[0]];
  return held(way, rank, n, step.n_layers).flatMap((both, i) => (both ? [i] : []));
}

// Where nothing is done: a dotted line, and the word where there is room.
function paintWaiting({ context, ink, across, laneOf, layout, whole }, rank, tasks) {
  const y = laneOf(rank) + layout.bar + BAR / 2;
  const mine = tasks.filter(({ ranks }) => ranks.includes(rank)).sort((a, b) => a.start - b.start);
  let until = 0;
  for (const { start, end } of [...mine, { start: whole, end: whole }]) {
    const [from, to] = [across(until), across(start)];
    until = Math.max(until, end);
    if (to - from < 3) continue;
    Object.assign(context, { strokeStyle: ink, fillStyle: ink, lineWidth: 1.5, globalAlpha: 0.7 });
    context.setLineDash([2, 4]);
    context.beginPath();
    context.moveTo(from + 2, y);
    context.lineTo(to - 2, y);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
    if (to - from > 52) {
      context.textAlign = "center";
      context.fillText("waits", (from + to) / 2, y - 11);
    }
  }
}

function paintBar({ context, ink, across, laneOf, layout }, { name, kind, ranks: [rank], start, end }) {
  const [x, y] = [across(start), laneOf(rank) + layout.bar];
  const wide = across(end) - x;
  const gap = wide > 4 ? 1 : 0;
  Object.assign(context, { fillStyle: COLOURS[rank], strokeStyle: COLOURS[rank], lineWidth: 1.5 });
  if (kind === "backward") {
    context.globalAlpha = 0.28;
    context.fillRect(x, y, wide - gap, BAR);
    context.globalAlpha = 1;
    if (wide > 3) context.strokeRect(x + 0.75, y + 0.75, wide - gap - 1.5, BAR - 1.5);
  } else context.fillRect(x, y, wide - gap, BAR);
  const label = name.replace(/@.*/, "").split(" ")[0];
  if (wide < context.measureText(label).width + 6) return;
  Object.assign(context, { fillStyle: kind === "backward" ? ink : inkOn(rgb(COLOURS[rank])), textAlign: "center" });
  context.fillText(label, x + wide / 2, y + BAR / 2 + 1);
}

// Threads from the rank that sends to the one that receives, one for each message, in the colour of the sender; those
// that are on their way at the moment are thick.
function paintMessages({ context, across, laneOf, layout }, { kind, ranks, start, seconds, rounds }, time) {
  const wire = (rank) => laneOf(rank) + layout.bar + BAR + 12;
  const pairs = kind === "send" ? [ranks] : ranks.map((rank) => [rank, (rank + 1) % ranks.length]);
  const round = seconds / rounds;
  const wide = across(start + round) - across(start);
  for (let i = 0; i < rounds; i += 1) {
    const [from, to] = [start + i * round, start + (i + 1) * round];
    const flying = from <= time && time < to;
    pairs.forEach(([sender, receiver]) => {
      Object.assign(context, { strokeStyle: COLOURS[sender], fillStyle: COLOURS[sender] });
      context.lineWidth = flying ? 3 : clamp(wide / 5, 0.8, 1.6);
      context.globalAlpha = flying ? 1 : 0.85;
      context.beginPath();
      context.moveTo(across(from), wire(sender));
      context.lineTo(across(to), wire(receiver));
      context.stroke();
      if (flying) {
        const share = (time - from) / round;
        context.beginPath();
        context.arc(across(time), wire(sender) + share * (wire(receiver) - wire(sender)), 4.5, 0, 2 * Math.PI);
        context.fill();
      }
    });
  }
  context.globalAlpha = 1;
}

function paintAxis({ context, ink, across, whole, layout, n, laneOf }, high) {
  const about = whole / clamp(layout.width / 90, 2, 8);
  const power = 10 ** Math.floor(Math.log10(about));
  const every = [1, 2, 5, 10].map((k) => k * power).find((x) => x >= about);
  Object.assign(context, { fillStyle: ink, strokeStyle: ink, textAlign: "center", font: FONT, lineWidth: 1 });
  for (let k = 0; k * every <= whole * 1.0001; k += 1) {
    const x = across(k * every);
    context.fillRect(x, laneOf(n), 1, 5);
    context.textAlign = k ? "center" : "left";
    if (x < layout.left + layout.width - 12) context.fillText(inTime(k * every), x, high - 10);
  }
}

function paintCursor({ context, ink, across, layout }, time, high) {
  const x = clamp(across(time), layout.left, layout.left + layout.width);
  context.fillStyle = ink;
  context.fillRect(x - 0.75, layout.top - 8, 1.5, high - layout.top - BOTTOM + 12);
  context.beginPath();
  context.arc(x, layout.top - 10, 5, 0, 2 * Math.PI);
  context.fill();
}

const ROW = 26;

// A bar for each way, all to one scale: computing, sending and waiting, on average of the ranks.
function paintFive(sketch, { el, ink, now, all }) {
  const total = Math.min(widthOf(el), 760);
  const top = 24;
  const context = sketch.resize(total, top + WAYS.length * ROW + 2);
  sketch.node.top = top;
  const longest = Math.max(...all.map(lengthOf));
  const [left, room] = [78, total - 78 - 72];
  Object.assign(context, { font: FONT, fillStyle: ink, textBaseline: "middle", textAlign: "left" });
  let at = 0;
  const legend = [
    ["computes", (x, y) => context.fillRect(x, y, 16, 12)],
    ["sends", (x, y) => stripes(context, x, y, 16, 12, ink, 1.5)],
    ["waits", () => {}],
  ];
  for (const [name, fill] of legend) {
    fill(left + at, 4);
    Object.assign(context, { strokeStyle: ink, lineWidth: 1 });
    context.strokeRect(left + at + 0.5, 4.5, 16, 12);
    context.fillText(name, left + at + 22, 11);
    at += context.measureText(name).width + 42;
  }
  all.forEach((tasks, i) => {
    const [y, whole, uses] = [top + i * ROW, lengthOf(tasks), useOfTime(tasks, now.n)];
    const mean = (list) => list.reduce((sum, x) => sum + x, 0) / list.length;
    const [computing, sending] = [uses.computing, uses.sending].map((list) => (mean(list) / longest) * room);
    Object.assign(context, { fillStyle: ink, font: i === now.way ? `bold ${FONT}` : FONT, textAlign: "left" });
    context.fillText(WAYS[i], 8, y + ROW / 2);
    if (i === now.way) context.fillRect(0, y + 5, 3, ROW - 10);
    context.globalAlpha = 0.75;
    context.fillRect(left, y + 5, computing, ROW - 10);
    context.globalAlpha = 1;
    stripes(context, left + computing, y + 5, sending, ROW - 10, ink, 1.5);
    Object.assign(context, { strokeStyle: NOW.thread, lineWidth: 1 });
    context.strokeRect(left + 0.5, y + 5.5, (whole / longest) * room, ROW - 11);
    context.fillText(inTime(whole), left + (whole / longest) * room + 8, y + ROW / 2);
  });
}
