// The picture of a step of a training by rewards: the answers of a group as threads, as thick as they are probable
// before and after the step, and the doors of the verifier at which they end. Through the main door goes what is right,
// through the side door what is rewarded though it is wrong.

import { drawLines } from "../../shared/chart.js";
import { write } from "../../shared/drawing.js";
import { NOW, inkOn, rgbOf } from "../../shared/palette.js";
import { stripes } from "../../shared/ui.js";
import { visible } from "../lens/lens_view.js";

export const small = (p) => (p >= 0.001 ? String(Number(p.toPrecision(3))) : p.toExponential(1).replace("-", "−"));

export const signed = (x) => `${x < 0 ? "−" : "+"}${Math.abs(x).toFixed(2)}`;

const [ROW, HEAD, GAP, THICKEST] = [44, 52, 12, 32];

// Which answers end at which door, from top to bottom; a door at which none ends is shut.
export function doorsOf({ rewards, exact }) {
  const all = rewards.map((_, i) => i);
  return [
    { name: "right", says: "✓ right", open: all.filter((i) => rewards[i] && exact[i]) },
    { name: "side", says: "✗ side door", open: all.filter((i) => rewards[i] && !exact[i]) },
    { name: "wall", says: "no reward", open: all.filter((i) => !rewards[i]) },
  ];
}

// Where everything stands: the columns of the group, and for each door its box and the place of each of its threads.
export function layoutOf(width, step) {
  const n = step.texts.length;
  const wide = width >= 820;
  const group = wide ? Math.round(width * 0.58) : width;
  const [text, door] = group >= 460 ? [158, 96] : [104, 66];
  const from = text + 26;
  const right = group - door - 4;
  const open = doorsOf(step);
  const used = open.filter((one) => one.open.length > 0).length;
  const slot = (n * ROW - (used - 1) * GAP) / n;
  const ends = Array(n);
  let top = HEAD;
  const doors = open.map((one) => {
    const box = { x: right, y: top, width: door, height: one.open.length * slot };
    one.open.forEach((i, k) => (ends[i] = top + (k + 0.5) * slot));
    if (one.open.length) top += box.height + GAP;
    return { ...one, box };
  });
  const high = HEAD + n * ROW + 12;
  return { wide, group, n, text, from, to: from + (right - from) * 0.42, right, doors, ends, high };
}

// Paints it all; returns where the curves stand: { x, width, top }.
export function paint(sketch, { width, steps, at, step, advantages }) {
  const layout = layoutOf(width, step);
  const context = sketch.resize(width, layout.wide ? layout.high : layout.high + 290);
  paintHead(context, layout, step);
  layout.doors.forEach((door) => paintDoor(context, door, layout.n));
  step.texts.forEach((_, i) => paintThread(context, layout, step, i));
  step.texts.forEach((_, i) => paintAnswer(context, layout, step, i, advantages[i]));
  const { group, high, wide } = layout;
  const box = wide
    ? { x: group + 28, y: 0, width: width - group - 28, height: high - 8 }
    : { x: 0, y: high + 10, width, height: 276 };
  return { ...paintCurves(context, box, steps, at), top: wide ? 0 : high };
}

// The problem, from which a thread hangs to each answer.
function paintHead(context, { from, to, right, n, group }, { problem }) {
  write(context, `${problem} = ?`, 4, 18, { serif: true, size: 22, bold: true });
  Object.assign(context, { strokeStyle: NOW.thread, lineWidth: 1 });
  for (let i = 0; i < n; i += 1) {
    const y = HEAD + (i + 0.5) * ROW;
    context.beginPath();
    context.moveTo(8, 32);
    context.bezierCurveTo(8, y, 8, y, 20, y);
    context.stroke();
  }
  const quiet = { size: 12, colour: NOW.soft };
  const roomy = to - from > 90;
  write(context, roomy ? "before" : "probability", from, HEAD - 12, quiet);
  if (roomy) write(context, "after", to, HEAD - 12, { ...quiet, align: "right" });
  write(context, "the verifier", group - 4, HEAD - 12, { ...quiet, align: "right", room: group - right });
}

function archOf({ x, y, width, height }) {
  const arch = new Path2D();
  arch.roundRect(x, y, width, height, [Math.min(18, height / 2), Math.min(18, height / 2), 0, 0]);
  return arch;
}

function paintDoor(context, { name, says, open, box }, n) {
  if (!open.length) return;
  const { x, y, width, height } = box;
  if (name === "wall") {
    context.fillStyle = NOW.slab;
    context.fillRect(x, y, width, height);
    stripes(context, x, y, width, height, NOW.line, 2);
    context.fillStyle = NOW.edge;
    context.fillRect(x, y, 3, height);
  } else {
    const arch = archOf(box);
    const side = name === "side";
    context.save();
    if (side) Object.assign(context, { shadowColor: NOW.amber, shadowBlur: 24 });
    context.fillStyle = side ? NOW.amber : NOW.slab;
    context.fill(arch);
    context.restore();
    Object.assign(context, { strokeStyle: side ? NOW.change : NOW.ink, lineWidth: 2.5 });
    context.setLineDash(side ? [6, 4] : []);
    context.stroke(arch);
    context.setLineDash([]);
  }
  const colour = name === "side" ? inkOn(rgbOf(NOW.amber)) : NOW.ink;
  const [middle, size] = [y + height / 2, width < 80 ? 12 : 14];
  const put = (text, up, more) =>
    write(context, text, x + width / 2 + 1, middle + up, { align: "center", colour, size, room: width - 8, ...more });
  put(says, -9, { bold: true });
  put(`${open.length} of ${n}`, 9, { size: 12 });
}

const thickness = (log) => Math.max(1, THICKEST * Math.exp(log));

// A thread, from its thickness before the step to that after it, and on to its door.
function paintThread(context, { from, to, right, ends }, { before, after, rewards }, i) {
  const y = HEAD + (i + 0.5) * ROW;
  const [thin, thick] = [thickness(before[i]), thickness(after[i])].map((whole) => whole / 2);
  const [middle, bend] = [(from + to) / 2, (to + right) / 2];
  const side = (sign) => {
    context.bezierCurveTo(middle, y + sign * thin, middle, y + sign * thick, to, y + sign * thick);
    context.bezierCurveTo(bend, y + sign * thick, bend, ends[i] + sign * thick, right, ends[i] + sign * thick);
  };
  context.beginPath();
  context.moveTo(from, y - thin);
  side(-1);
  context.lineTo(right, ends[i] + thick);
  context.bezierCurveTo(bend, ends[i] + thick, bend, y + thick, to, y + thick);
  context.bezierCurveTo(middle, y + thick, middle, y + thin, from, y + thin);
  context.closePath();
  Object.assign(context, { fillStyle: rewards[i] ? NOW.amber : NOW.line, globalAlpha: rewards[i] ? 0.9 : 1 });
  context.fill();
  Object.assign(context, { globalAlpha: 1, strokeStyle: rewards[i] ? NOW["amber-edge"] : NOW.edge, lineWidth: 1 });
  context.stroke();
  if (Math.abs(thin - thick) < 0.75) return;
  Object.assign(context, { strokeStyle: NOW.ink, lineWidth: 1.25 }).setLineDash([4, 3]);
  context.beginPath();
  for (const sign of [-1, 1]) {
    context.moveTo(from, y + sign * thin);
    context.lineTo(to + 6, y + sign * thin);
  }
  context.stroke();
  context.setLineDash([]);
}

function paintAnswer(context, { text, n }, { texts, exact, before, after }, i, advantage) {
  const y = HEAD + (i + 0.5) * ROW;
  const mark = exact[i] ? "✓" : "✗";
  write(context, visible(texts[i]), 24, y - 9, { serif: true, size: 17, room: text - 40, bold: Boolean(exact[i]) });
  write(context, mark, text + 16, y - 9, {
    bold: true,
    align: "right",
    size: 15,
    colour: exact[i] ? NOW.ink : NOW.change,
  });
  const moves = `${small(Math.exp(before[i]))} → ${small(Math.exp(after[i]))}`;
  const more = text > 140 ? ` · A ${signed(advantage)}` : "";
  write(context, moves + more, 24, y + 10, { size: 12, colour: NOW.soft, room: text - 8 });
}

// What is rewarded and what is right of all answers, over the steps; between the two stands the side door open.
function paintCurves(context, box, steps, at) {
  const xs = steps.map((_, i) => i + 1);
  const series = [
    ["rewarded", "rewarded", NOW["amber-edge"]],
    ["right", "right", NOW.ink],
    ["worked", "worked out", NOW.thread],
    ["formed", "well formed", NOW.edge],
  ].map(([key, name, colour]) => ({ name, colour, xs, ys: steps.map((one) => one[key]) }));
  const { across, up } = drawLines(context, box, {
    title: "Of all answers in a step",
    x: { name: "step", low: 1, high: steps.length },
    y: { name: "share", low: 0, high: 1 },
    series,
    at,
    ink: NOW.ink,
  });
  context.beginPath();
  steps.forEach(({ rewarded }, i) => context.lineTo(across(i + 1), up(rewarded)));
  [...steps.keys()].reverse().forEach((i) => {
    context.lineTo(across(i + 1), up(Math.min(steps[i].right, steps[i].rewarded)));
  });
  Object.assign(context, { fillStyle: NOW.amber, globalAlpha: 0.4 });
  context.fill();
  context.globalAlpha = 1;
  const widest = widestGap(steps);
  if (widest !== null) {
    const { rewarded, right } = steps[widest];
    const x = Math.min(across(widest + 1), box.x + box.width - 70);
    write(context, "side door", x, up((rewarded + right) / 2), {
      align: "center",
      italic: true,
      serif: true,
      size: 16,
    });
  }
  return { x: across(1), width: across(steps.length) - across(1) };
}

// The step at which most is rewarded though it is wrong, if that is a fifth of all.
export function widestGap(steps) {
  const gaps = steps.map(({ rewarded, right }) => rewarded - right);
  const most = Math.max(...gaps);
  return most < 0.2 ? null : gaps.indexOf(most);
}
