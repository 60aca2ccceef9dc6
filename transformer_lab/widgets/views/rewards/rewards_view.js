// Training from right and wrong, step by step: a group of answers, their rewards, and the probabilities that move.

import { player } from "../../shared/motion.js";
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
import { paint, signed, small } from "./rewards_picture.js";

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
      sketch.node.plot = paint(sketch, { width: widthOf(el), steps, at: now.step, step, advantages });
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
      bar("rewarded by", element("div", { class: "tl-segments" }, ...ways)),
      bar(element("div", { class: "tl-segments" }, ...many), play.node, at.node),
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
.tl-rewards canvas { touch-action: pan-y; margin: 6px 0; }
`;

// ── words ──

const NOTE =
  "✓ and ✗ beside an answer: whether it is right. Where its thread ends is what the verifier makes of it. A " +
  "thread is as thick as the answer is probable, at its left before the step and at its right after it; dashed " +
  "lines go on as it was. A: the advantage over the group. Where all A are 0, the group taught " +
  "nothing.";

const percent = (share) => `${Math.round(100 * share)} %`;

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
