// The picture of a step: a machine for each rank with what it holds, and behind it its lane in time. A lane is filled
// where the rank computes, its wire is amber where it sends, with a thread for each message, and where it waits the
// lane is empty.

import { write } from "../../shared/drawing.js";
import { NOW } from "../../shared/palette.js";
import { clamp, stripes } from "../../shared/ui.js";
import { inUnits } from "../cache/cache_view.js";
import { computes, doing, gathered, held, lengthOf, reads, useOfTime, WAYS } from "./ranks_schedule.js";

export function inTime(seconds) {
  return inUnits(seconds * 1000 || 0, "s").includes("k") || seconds >= 1
    ? `${Number(seconds.toPrecision(3))} s`
    : `${Number((1000 * seconds).toPrecision(3))} ms`;
}

export const mean = (list) => list.reduce((sum, x) => sum + x, 0) / list.length;

// Where a rank neither computes nor sends, as [from, to] in seconds.
export function gapsOf(tasks, rank, whole) {
  const mine = tasks.filter(({ ranks }) => ranks.includes(rank)).sort((a, b) => a.start - b.start);
  const gaps = [];
  let until = 0;
  for (const { start, end } of [...mine, { start: whole, end: whole }]) {
    if (start > until + 1e-9 * whole) gaps.push([until, start]);
    until = Math.max(until, end);
  }
  return gaps;
}

// The messages of a task that sends, { sender, receiver, from, to } each: in a ring, one from each rank in each round.
export function messagesOf({ kind, ranks, start, seconds, rounds }) {
  const pairs = kind === "send" ? [ranks] : ranks.map((rank) => [rank, (rank + 1) % ranks.length]);
  const round = seconds / rounds;
  return Array.from({ length: rounds }, (_, i) =>
    pairs.map(([sender, receiver]) => ({
      sender,
      receiver,
      from: start + i * round,
      to: start + (i + 1) * round,
    })),
  ).flat();
}

const [BAR, WIRE, FOOT, HEAD] = [32, 48, 30, 48]; // a lane's bar, how far below its top the wire is; below, above all

// Where there is no room beside the time, the machines stand below it.
export function layoutOf(width, n_layers, n) {
  const wide = width >= 720;
  const pieces = width >= 980 ? 336 : wide ? 276 : width;
  const [lane, machine] = wide ? [92, 92] : [74, 74];
  const top = wide ? HEAD : HEAD + 18;
  const below = top + n * lane + FOOT;
  return {
    wide,
    top,
    lane,
    left: wide ? pieces : 16,
    width: width - (wide ? pieces : 16) - 6,
    bar: wide ? 16 : 8, // from the top of a lane to its slab
    machine: { top: wide ? top : below + 30, pitch: machine, width: wide ? pieces - 16 : width, left: 66 },
    cell: (pieces - (wide ? 98 : 84)) / n_layers,
    high: wide ? below : below + 30 + n * machine,
  };
}

// Paints it all, and returns the layout.
export function paint(sketch, { width, way, step, tasks, uses, time }) {
  const layout = layoutOf(width, step.n_layers, step.n);
  const whole = lengthOf(tasks);
  const context = sketch.resize(width, layout.high);
  const across = (seconds) => layout.left + (seconds / whole) * layout.width;
  const slabOf = (rank) => layout.top + rank * layout.lane + layout.bar;
  const tools = { context, layout, across, slabOf, whole, step, n: step.n };
  paintLegend(tools, uses);
  paintMachines(tools, way, tasks, time);
  for (let rank = 0; rank < step.n; rank += 1) paintLane(tools, rank, tasks);
  tasks.filter((task) => !computes(task)).forEach((task) => paintMessages(tools, task, time));
  tasks.filter(computes).forEach((task) => paintBar(tools, task, time));
  paintAxis(tools);
  paintCursor(tools, time);
  return layout;
}

// What fills a lane, and the share of the step that it takes on average of the ranks.
function paintLegend({ context, layout, whole }, uses) {
  let y = layout.wide ? layout.top - 28 : 12;
  const [size, room] = layout.wide ? [14, 24] : [13, 12];
  let x = layout.left;
  for (const [name, list] of Object.entries({
    computes: uses.computing,
    sends: uses.sending,
    waits: uses.waiting,
  })) {
    const text = `${name} ${Math.round((100 * mean(list)) / whole)} %`;
    write(context, "", 0, 0, { size, bold: true });
    if (x + 24 + context.measureText(text).width > layout.left + layout.width) [x, y] = [layout.left, y + 20];
    paintSwatch(context, name, x, y);
    write(context, text, x + 24, y, { size, bold: true });
    x += 24 + context.measureText(text).width + room;
  }
}

function paintSwatch(context, name, x, y) {
  Object.assign(context, { fillStyle: name === "computes" ? NOW.soft : NOW.slab, strokeStyle: NOW.edge, lineWidth: 1 });
  if (name === "sends") {
    const up = [x, y + 5, x + 8, y + 5, x + 8, y - 5, x + 17, y - 5];
    return void thread(context, up, 2.5);
  }
  context.beginPath();
  context.roundRect(x + 0.5, y - 6.5, 17, 13, 3);
  context.fill();
  if (name === "waits") context.stroke();
}

function thread(context, [x0, y0, ...rest], wide) {
  Object.assign(context, { strokeStyle: NOW["amber-edge"], lineWidth: wide });
  context.beginPath();
  context.moveTo(x0, y0);
  context.bezierCurveTo(...rest);
  context.stroke();
}

// ── machines ──

// A matrix as an outline, and the pieces of it that are held.
function paintMatrix(context, [x, y, wide, high], boxes) {
  Object.assign(context, { fillStyle: NOW.paper, strokeStyle: NOW.edge, lineWidth: 1 });
  context.fillRect(x, y, wide, high);
  context.fillStyle = NOW.soft;
  boxes.forEach(([x0, y0, x1, y1]) =>
    context.fillRect(x + wide * x0, y + high * y0, wide * (x1 - x0), high * (y1 - y0)),
  );
  context.strokeRect(x + 0.5, y + 0.5, wide - 1, high - 1);
}

function paintMachines(tools, way, tasks, time) {
  const { context, layout, n, step } = tools;
  const { top, pitch, width, left } = layout.machine;
  const all = way === "sharded" ? gathered(tasks, time) : [];
  const unit = Math.min(layout.cell - 14, 46) / 2.7;
  const small = { size: 12, colour: NOW.soft };
  write(context, "batch", 12, top - 12, small);
  write(context, `matrices of ${step.n_layers} layers`, left + 12, top - 12, small);
  for (let rank = 0; rank < n; rank += 1) {
    const y = top + rank * pitch + 2;
    Object.assign(context, { fillStyle: NOW.slab, strokeStyle: NOW.edge, lineWidth: 1.5 });
    context.beginPath();
    context.roundRect(0.75, y + 0.75, width - 1.5, pitch - 10, 10);
    context.fill();
    context.stroke();
    write(context, `rank ${rank}`, 12, y + 15, { bold: true });
    paintMatrix(context, [12, y + 28, 34, 34], reads(way, rank, n));
    const working = workingOn(tasks, rank, time, way, step);
    held(way, rank, n, step.n_layers).forEach((both, i) => {
      const [x, down] = [left + 12 + i * layout.cell, y + (pitch - 12) / 2 - 0.85 * unit];
      const places = [
        [x, down, unit * 1.7, unit * 0.7],
        [x + unit * 1.7 + 4, down, unit * 0.7, unit * 1.7],
      ];
      places.forEach((place, k) => {
        paintMatrix(context, place, both ? [both[k]] : []);
        if (all.includes(i)) stripes(context, ...place, NOW.ink, 1);
      });
      if (!working.includes(i)) return;
      context.fillStyle = NOW.ink;
      context.fillRect(x, down + unit * 1.7 + 6, unit * 2.4 + 4, 3);
    });
  }
}

// The layers that a rank computes at a moment.
export function workingOn(tasks, rank, time, way, { n, n_layers }) {
  const { computes: name } = doing(tasks, rank, time);
  if (!name) return [];
  if (way !== "pipeline") return [+name.match(/\d+/)[0]];
  return held(way, rank, n, n_layers).flatMap((both, i) => (both ? [i] : []));
}

// ── lanes ──

// The empty lane with its wire, and the word where a rank waits long enough.
function paintLane({ context, across, slabOf, layout, whole }, rank, tasks) {
  const [y, left] = [slabOf(rank), layout.wide ? layout.left - 16 : 0];
  const right = layout.left + layout.width;
  context.fillStyle = NOW.slab;
  context.beginPath();
  context.roundRect(left, y - 5, right - left + 5, WIRE + 11, [layout.wide ? 0 : 8, 8, 8, layout.wide ? 0 : 8]);
  context.fill();
  context.fillStyle = NOW.thread;
  context.fillRect(left, y + WIRE - 0.5, right - left, 1);
  if (!layout.wide) write(context, String(rank), 3, y + BAR / 2, { bold: true });
  for (const [from, to] of gapsOf(tasks, rank, whole)) {
    const wide = across(to) - across(from);
    if (wide > 44)
      write(context, "waits", (across(from) + across(to)) / 2, y + BAR / 2, { align: "center", colour: NOW.soft });
  }
}

function paintBar({ context, across, slabOf }, { name, kind, ranks: [rank], start, end }, time) {
  const [x, y] = [across(start), slabOf(rank)];
  const wide = across(end) - x;
  const gap = wide > 4 ? 1.5 : 0;
  const backward = kind === "backward";
  const corner = Math.min(4, Math.max(0, (wide - gap) / 2));
  context.beginPath();
  context.roundRect(x, y, Math.max(0.5, wide - gap), BAR, corner);
  Object.assign(context, { fillStyle: NOW.slab, strokeStyle: NOW.soft, lineWidth: 1.5 });
  context.fill(); // threads pass behind
  Object.assign(context, { fillStyle: NOW.soft, globalAlpha: backward ? 0.4 : 1 });
  context.fill();
  context.globalAlpha = 1;
  if (backward && wide > 4) context.stroke();
  if (start <= time && time < end && wide > 6) {
    Object.assign(context, { strokeStyle: NOW.ink, lineWidth: 3 });
    context.stroke();
  }
  const label = name.replace(/@.*/, "").split(" ")[0];
  context.font = "13px sans-serif";
  if (wide < context.measureText(label).width + 8) return;
  write(context, label, x + (wide - gap) / 2, y + BAR / 2 + 1, {
    align: "center",
    colour: backward ? NOW.ink : NOW.paper,
  });
}

// The wires on which a task sends are amber, and a thread goes for each message from one to another; those that are on
// their way at the moment are thick.
function paintMessages({ context, across, slabOf }, task, time) {
  const wire = (rank) => slabOf(rank) + WIRE;
  context.fillStyle = NOW.amber;
  for (const rank of task.ranks)
    context.fillRect(across(task.start), wire(rank) - 2, across(task.end) - across(task.start), 4);
  for (const { sender, receiver, from, to } of messagesOf(task)) {
    const [x0, x1, y0, y1] = [across(from), across(to), wire(sender), wire(receiver)];
    const flying = from <= time && time < to;
    const middle = (x0 + x1) / 2;
    const back = task.kind !== "send" && sender > receiver; // around the ring, across all lanes
    context.globalAlpha = flying || !back ? 1 : 0.45;
    thread(context, [x0, y0, middle, y0, middle, y1, x1, y1], flying ? 3.5 : clamp((x1 - x0) / 6, 0.8, 2.2));
    context.globalAlpha = 1;
    if (!flying) continue;
    const share = (time - from) / (to - from);
    const rise = share * share * (3 - 2 * share);
    Object.assign(context, { fillStyle: NOW.amber, strokeStyle: NOW.ink, lineWidth: 1.5 });
    context.beginPath();
    context.arc(across(time), y0 + rise * (y1 - y0), 5.5, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
  }
}

function paintAxis({ context, across, whole, layout, n }) {
  const about = whole / clamp(layout.width / 90, 2, 8);
  const power = 10 ** Math.floor(Math.log10(about));
  const every = [1, 2, 5, 10].map((k) => k * power).find((x) => x >= about);
  const y = layout.top + n * layout.lane - 4;
  for (let k = 0; k * every <= whole * 1.0001; k += 1) {
    const x = across(k * every);
    context.fillStyle = NOW.edge;
    context.fillRect(x, y, 1, 6);
    if (x < layout.left + layout.width - 16)
      write(context, inTime(k * every), x, y + 16, { align: k ? "center" : "left", size: 12, colour: NOW.soft });
  }
}

function paintCursor({ context, across, layout, n }, time) {
  const x = clamp(across(time), layout.left, layout.left + layout.width);
  context.fillStyle = NOW.ink;
  context.fillRect(x - 1, layout.top - 8, 2, n * layout.lane + 6);
  context.beginPath();
  context.arc(x, layout.top - 8, 6, 0, 2 * Math.PI);
  context.fill();
}

// ── the five ways ──

export const ROW = 30;

// A lane for each way, all to one scale: computing, sending and waiting, on average of the ranks. Returns the top of
// the first.
export function paintWays(sketch, { width, now, all, n }) {
  const total = Math.min(width, 860);
  const top = 26;
  const context = sketch.resize(total, top + WAYS.length * ROW + 2);
  const longest = Math.max(...all.map(lengthOf));
  const [left, room] = [82, total - 82 - 70];
  write(context, "the same step in each of the five ways", 0, 10, { size: 13, colour: NOW.soft, room: total });
  all.forEach((tasks, i) => {
    const [y, whole, uses] = [top + i * ROW, lengthOf(tasks), useOfTime(tasks, n)];
    const [long, computing, sending] = [whole, mean(uses.computing), mean(uses.sending)].map(
      (seconds) => (seconds / longest) * room,
    );
    write(context, WAYS[i], 10, y + ROW / 2, { bold: i === now });
    Object.assign(context, { fillStyle: NOW.ink, strokeStyle: NOW.edge, lineWidth: 1 });
    if (i === now) context.fillRect(0, y + 5, 4, ROW - 10);
    const lane = new Path2D();
    lane.roundRect(left + 0.5, y + 5.5, long, ROW - 11, 4);
    context.save();
    context.clip(lane);
    context.fillStyle = NOW.slab;
    context.fill(lane);
    context.fillStyle = NOW.soft;
    context.fillRect(left, y + 5, computing, ROW - 10);
    context.fillStyle = NOW.amber;
    context.fillRect(left + computing, y + 5, sending, ROW - 10);
    stripes(context, left + computing, y + 5, sending, ROW - 10, NOW.paper, 1.5);
    context.restore();
    context.stroke(lane);
    write(context, inTime(whole), left + long + 8, y + ROW / 2, { bold: i === now });
  });
  return top;
}
