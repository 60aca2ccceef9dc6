// Training from right and wrong, step by step: a group of answers, their rewards, and the probabilities that move.

import { drawLines } from "../../shared/chart.js";
import { FONT } from "../../shared/grid.js";
import { player } from "../../shared/motion.js";
import { COLOURS, MEANINGS, NOW, SANS } from "../../shared/palette.js";
import {
  bar,
  button,
  canvas,
  clamp,
  eachFrame,
  element,
  onKeys,
  readout,
  resetButton,
  slider,
  tableSwitch,
  watch,
  widthOf,
} from "../../shared/ui.js";
import { visible } from "../lens/lens_view.js";

// How much better each sample is than the others of its group: mean 0 and standard deviation 1, or zeros if all are
// worth the same. `group_advantages` of after_pretraining.
export function advantagesOf(rewards) {
  const mean = rewards.reduce((sum, x) => sum + x, 0) / rewards.length;
  if (rewards.every((x) => x === rewards[0])) return rewards.map(() => 0);
  const spread = Math.sqrt(rewards.reduce((sum, x) => sum + (x - mean) ** 2, 0) / rewards.length);
  return rewards.map((x) => (x - mean) / spread);
}

// The last digit of the sum of a problem's digits.
export function rightDigit(problem) {
  return String([...problem].reduce((sum, digit) => sum + Number(digit), 0) % 10);
}

// The first step at which the share of answers that are rewarded though they are wrong is above a tenth; null if none.
export function holeFound(steps) {
  const at = steps.findIndex(({ rewarded, right }) => rewarded - right > 0.1);
  return at < 0 ? null : at;
}

const shares = () => [
  ["rewarded", "rewarded", COLOURS[0]],
  ["right", "right", COLOURS[1]],
  ["worked", "worked out", COLOURS[2]],
  ["formed", "well formed", NOW.thread],
];

export default {
  render({ model, el }) {
    const runs = model.get("runs");
    const arms = [...new Set(runs.map(({ arm }) => arm))];
    const seeds = [...new Set(runs.map(({ seed }) => seed))];
    const start = () => ({ run: model.get("run"), step: model.get("step") });
    const now = start();
    const says = readout();
    const sketch = canvas("A group of answers.", { how: "The left and right arrow keys go from step to step." });

    const draw = eachFrame(() => {
      const { arm, seed, steps } = runs[now.run];
      const step = steps[now.step];
      const advantages = advantagesOf(step.rewards);
      const [before, after] = [step.before, step.after].map((list) => list.map(Math.exp));
      const { rewarded, right, worked, formed } = step;
      el.values = { arm, seed, step: now.step, advantages, before, after, rewarded, right, worked, formed };
      ways.forEach((one, i) => one.setAttribute("aria-pressed", arms[i] === arm));
      many.forEach((one, i) => one.setAttribute("aria-pressed", seeds[i] === seed));
      paint(sketch, el, { steps, at: now.step, step, advantages });
      const words = describe({ arm, seed, steps, at: now.step, step });
      says.say(words);
      sketch.describe(words);
      table.fill(() => asTable(step, advantages, before, after));
    });
    const go = (step) => {
      now.step = clamp(step, 0, runs[now.run].steps.length - 1);
      at.set(now.step);
      draw();
    };
    const last = () => runs[now.run].steps.length - 1;
    const turnTo = (arm, seed) => {
      const found = runs.findIndex((run) => run.arm === arm && run.seed === seed);
      now.run = found < 0 ? runs.findIndex((run) => run.arm === arm) : found;
      at.node.querySelector("input").max = last();
      go(now.step);
    };
    const ways = arms.map((arm) => button(arm, () => turnTo(arm, runs[now.run].seed)));
    const many = seeds.map((seed) => button(`seed ${seed}`, () => turnTo(runs[now.run].arm, seed)));
    const at = slider(
      "step",
      { min: 0, max: last(), step: 1, value: now.step, show: (i) => `${i + 1} of ${last() + 1}` },
      (step) => {
        play.stop();
        go(step);
      },
    );
    const play = player({ button, at: () => now.step, last, go, milliseconds: 700 });
    const table = tableSwitch(draw);
    const reset = resetButton([table], () => {
      play.stop();
      const first = start();
      now.step = first.step;
      turnTo(runs[first.run].arm, runs[first.run].seed);
    });
    const toStep = (event) => {
      const { x, width } = sketch.node.plot;
      const place = sketch.at(event);
      if (!event.buttons || place[0] < x - 10 || place[1] < sketch.node.plot.top) return;
      play.stop();
      go(Math.round(((place[0] - x) / width) * last()));
    };
    Object.assign(sketch.node, {
      onpointerdown: toStep,
      onpointermove: toStep,
      onkeydown: onKeys((key) => {
        const to = { ArrowLeft: now.step - 1, ArrowRight: now.step + 1, Home: 0, End: last() }[key];
        if (to === undefined) return false;
        play.stop();
        go(to);
      }),
    });
    el.append(
      element("style", {}, STYLE),
      bar("rewarded by", element("div", { class: "tl-choice" }, ...ways)),
      bar(element("div", { class: "tl-choice" }, ...many), play.node, at.node),
      sketch.node,
      says,
      element("div", { class: "tl-note" }, NOTE),
      bar(table.button, reset),
      table.room,
    );
    return watch(el, draw);
  },
};

const STYLE = `
.tl-rewards .tl-choice { display: flex; flex-wrap: wrap; }
.tl-rewards .tl-choice button { border-radius: 0; margin-left: -1px; }
.tl-rewards canvas { touch-action: pan-y; margin: 6px 0; }
`;

// ── words ──

const NOTE =
  "✓ and ✗: the verifier that rewards; a dashed ring: rewarded, though the exact verifier says wrong. An open circle " +
  "is the probability of the whole answer before the step, an arrow that after it. A: the advantage over the group. " +
  "The group is one of those from which the step has learned.";

const percent = (share) => `${Math.round(100 * share)} %`;

const small = (p) => (p >= 0.001 ? String(Number(p.toPrecision(3))) : p.toExponential(1).replace("-", "−"));

function describe({ arm, seed, steps, at, step }) {
  const [n, rewarded, exact] = [
    step.texts.length,
    ...[step.rewards, step.exact].map((list) => list.filter(Boolean).length),
  ];
  const hole = holeFound(steps.slice(0, at + 1));
  const found =
    hole === null
      ? ""
      : ` Step ${hole + 1} was the first in which more than a tenth are rewarded though they are wrong.`;
  const moved = step.after.map((after, i) => after - step.before[i]);
  const most = moved.indexOf(Math.max(...moved));
  const [from, to] = [step.before, step.after].map((list) => small(Math.exp(list[most])));
  return (
    `Rewarded by “${arm}”, seed ${seed}, step ${at + 1}: of ${n} answers to ${step.problem} (right: ` +
    `${rightDigit(step.problem)}) ${rewarded} are rewarded and ${exact} right. “${visible(step.texts[most])}” ` +
    `gains most, from ${from} to ${to}. Of all answers of this step ${percent(step.rewarded)} are rewarded and ` +
    `${percent(step.right)} right.${found}`
  );
}

function asTable({ texts, rewards, exact }, advantages, before, after) {
  const yes = (x) => (x ? "yes" : "no");
  const rows = texts.map((text, i) => [
    visible(text),
    yes(rewards[i]),
    yes(exact[i]),
    signed(advantages[i]),
    small(before[i]),
    small(after[i]),
  ]);
  return [["answer", "rewarded", "right", "advantage", "p before", "p after"], ...rows];
}

const signed = (x) => `${x < 0 ? "−" : "+"}${Math.abs(x).toFixed(2)}`;

// ── drawing ──

const [ROW, HEAD, FOOT] = [32, 34, 44];
const MONO = "15px ui-monospace, Menlo, Consolas, monospace";

function paint(sketch, el, { steps, at, step, advantages }) {
  const total = widthOf(el);
  const wide = total >= 820;
  const high = HEAD + step.texts.length * ROW + FOOT;
  const context = sketch.resize(total, wide ? high : high + 280);
  const ink = getComputedStyle(el).color;
  context.textBaseline = "middle";
  const left = wide ? Math.round(total * 0.54) : total;
  paintGroup(context, { width: left - 8, ink, step, advantages, lowest: lowestOf(steps) });
  const box = wide
    ? { x: left + 16, y: 0, width: total - left - 16, height: high }
    : { x: 0, y: high + 8, width: total, height: 270 };
  const xs = steps.map((_, i) => i + 1);
  const plot = drawLines(context, box, {
    title: "Of all answers in a step",
    x: { name: "step", low: 1, high: steps.length },
    y: { name: "share", low: 0, high: 1 },
    series: shares().map(([key, name, colour]) => ({ name, colour, xs, ys: steps.map((one) => one[key]) })),
    at,
    ink,
  });
  const [first, end] = [plot.across(1), plot.across(steps.length)];
  sketch.node.plot = { x: first, width: end - first, top: wide ? 0 : high };
}

// The least power of ten that the answers of a run need, so that the axis stays where it is from step to step.
export function lowestOf(steps) {
  const least = Math.min(...steps.flatMap(({ before, after }) => [...before, ...after]));
  return Math.max(-9, Math.floor(least / Math.LN10));
}

function paintGroup(context, { width, ink, step, advantages, lowest }) {
  const [text, mark, room] = [126, 30, 52];
  const from = text + mark;
  const across = (log) => from + (1 - clamp(log / Math.LN10 / lowest, 0, 1)) * (width - from - room);
  Object.assign(context, { fillStyle: ink, font: `bold ${FONT}`, textAlign: "left" });
  context.fillText(`${step.problem} = ?`, 0, 14);
  context.textAlign = "right";
  context.fillText("A", width - 6, 14);
  context.font = FONT;
  context.textAlign = "center";
  context.fillText("probability of the answer", (from + width - room) / 2, 14);
  const bottom = HEAD + step.texts.length * ROW;
  for (let power = 0; power >= lowest; power -= Math.max(1, Math.ceil(-lowest / (width > 480 ? 5 : 3)))) {
    const x = across(power * Math.LN10);
    Object.assign(context, { globalAlpha: 0.25, fillStyle: ink });
    context.fillRect(x, HEAD - 6, 1, bottom - HEAD + 10);
    context.globalAlpha = 1;
    context.fillText(power > -4 ? String(10 ** power) : `1e−${-power}`, x, bottom + 18);
  }
  step.texts.forEach((one, i) => {
    const y = HEAD + (i + 0.5) * ROW;
    Object.assign(context, { fillStyle: ink, font: MONO, textAlign: "left" });
    context.fillText(visible(one), 0, y, text - 6);
    paintMark(context, { x: text + 6, y, ink, rewarded: step.rewards[i], exact: step.exact[i] });
    paintMove(context, { y, from: across(step.before[i]), to: across(step.after[i]) });
    Object.assign(context, { fillStyle: ink, font: FONT, textAlign: "right" });
    context.fillText(signed(advantages[i]), width - 2, y);
  });
}

function paintMark(context, { x, y, ink, rewarded, exact }) {
  Object.assign(context, { fillStyle: ink, font: `bold 15px ${SANS}`, textAlign: "center" });
  context.fillText(rewarded ? "✓" : "✗", x, y);
  if (!rewarded || exact) return;
  Object.assign(context, { strokeStyle: COLOURS[3], lineWidth: 2 });
  context.setLineDash([4, 3]);
  context.beginPath();
  context.arc(x, y, 12, 0, 2 * Math.PI);
  context.stroke();
  context.setLineDash([]);
}

// From an open circle to an arrow: blue to the right if the answer became likelier, orange to the left if less likely.
function paintMove(context, { y, from, to }) {
  const gains = to >= from;
  const colour = gains ? MEANINGS.with : MEANINGS.without;
  Object.assign(context, { strokeStyle: colour, fillStyle: colour, lineWidth: 3 });
  context.beginPath();
  context.moveTo(from, y);
  context.lineTo(to, y);
  context.stroke();
  context.lineWidth = 2;
  context.beginPath();
  context.arc(from, y, 4, 0, 2 * Math.PI);
  context.stroke();
  const tip = gains ? 7 : -7;
  context.beginPath();
  context.moveTo(to + tip, y);
  context.lineTo(to - tip * 0.4, y - 6);
  context.lineTo(to - tip * 0.4, y + 6);
  context.fill();
}
