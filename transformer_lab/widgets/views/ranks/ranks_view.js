// Four ranks in a training step: who holds which piece of which matrix, and who computes, sends or waits when.

import { player } from "../../shared/motion.js";
import {
  bar,
  button,
  canvas,
  checkbox,
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
import { inUnits } from "../cache/cache_view.js";
import { inTime, mean, paint, paintWays, ROW } from "./ranks_picture.js";
import { doing, lengthOf, schedule, useOfTime, WAYS } from "./ranks_schedule.js";

const MOMENTS = 200; // into which a step is cut
const FIRST_MOMENT = 64;
const MOST_SLOW = 3;

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
      const width = widthOf(el);
      sketch.node.layout = paint(sketch, { width, way: WAYS[now.way], step, tasks, uses, time });
      five.node.top = paintWays(five, { width, now: now.way, all, n: now.n });
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
      const [x, y] = sketch.at(event);
      const { left, width, top, lane } = sketch.node.layout;
      if (!event.buttons || x < left - 8 || y > top + now.n * lane) return;
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
        element("div", { class: "tl-segments" }, ...ways),
        element("div", { class: "tl-segments" }, ...many),
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
.tl-ranks .tl-moment { min-height: 1.5em; font-variant-numeric: tabular-nums; }
.tl-ranks canvas { touch-action: pan-y; margin: 6px 0; }
`;

// ── words ──

const NOTE =
  "F2 is layer 2 forward and B2 backward; in a pipeline, the third micro-batch. An amber thread is a message, " +
  "from the wire of the rank that sends it to that of the rank that gets it. In each machine: the part of the " +
  "batch that it computes with, and the pieces that it holds of the first and the last matrix of each layer, " +
  "hatched where all have gathered the rest, with a line under what it works on.";

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

export function atMoment(does, time, way) {
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
