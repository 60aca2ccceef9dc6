// Training monitor: curves that grow while the kernel trains; a slider goes back to any step, to what the model made of
// its samples, and to its attention. A translator's score is its exact match; a language model's is a loss, which
// stands beside that of the training, and its samples are texts that it goes on with.

import {
  bar,
  button,
  canvas,
  checkbox,
  choice,
  eachFrame,
  element,
  floats,
  readout,
  resetButton,
  scroller,
  slider,
  tableOfTexts,
  tensor,
  watch,
  widthOf,
} from "../../shared/ui.js";
import { COLOURS, drawLines } from "../../shared/chart.js";
import { tokenMap } from "../../shared/grid.js";
import { linked } from "../../shared/link.js";
import { player } from "../../shared/motion.js";
import { NOW, SANS, amounts, css } from "../../shared/palette.js";
import { mapOf, stackChoice } from "../../shared/stack.js";

const ROW = 4; // step, loss, rate, score (NaN where it was not measured)
const HALF = 50; // milliseconds: the kernel sends ten messages a second, and each is drawn in two halves

// The last place in ascending numbers whose number is at most x; -1 if there is none.
export function lastAt(numbers, x) {
  let found = -1;
  numbers.forEach((number, i) => {
    if (number <= x) found = i;
  });
  return found;
}

// How much of a history there is halfway from step `before` to its end.
export function halfway(history, before) {
  const steps = history.filter((_, k) => k % ROW === 0);
  return ROW * (lastAt(steps, Math.ceil((before + steps.at(-1)) / 2)) + 1);
}

// Ticks of a logarithmic axis: 1, 2 and 5 times a power of ten, or the powers alone where those would be many.
export function logTicks(low, high) {
  const ticks = [];
  for (let k = Math.floor(Math.log10(low)); k <= Math.log10(high); k += 1) {
    for (const factor of high / low > 100 ? [1] : [1, 2, 5]) {
      const value = factor * 10 ** k;
      if (value >= low && value <= high) ticks.push([value, String(Number(value.toPrecision(1)))]);
    }
  }
  return ticks;
}

// "2 min 5 s": seconds as a person says them.
export function duration(seconds) {
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

// A text letter by letter beside the right one: [letter, whether it belongs to the right text], by their longest common
// part.
export function mended(said, target) {
  const [one, other] = [[...said], [...target]];
  const longest = Array.from({ length: one.length + 1 }, () => Array(other.length + 1).fill(0));
  for (let i = one.length - 1; i >= 0; i -= 1)
    for (let j = other.length - 1; j >= 0; j -= 1)
      longest[i][j] = one[i] === other[j] ? 1 + longest[i + 1][j + 1] : Math.max(longest[i + 1][j], longest[i][j + 1]);
  const letters = [];
  for (let [i, j] = [0, 0]; i < one.length; i += 1) {
    while (j < other.length && one[i] !== other[j] && longest[i][j + 1] === longest[i][j]) j += 1;
    const right = j < other.length && one[i] === other[j];
    letters.push([one[i], right]);
    if (right) j += 1;
  }
  return letters;
}

const [FRAME, FILM] = [72, 8]; // how wide a frame of the film is, and its edge
const SHOTS = 40; // in which a whole training is played
const EARLY = 3; // a third of a training
const SHOT = 120; // milliseconds for each

export default {
  render({ model, el }) {
    const [until, samples, [layers, heads]] = [model.get("until"), model.get("samples"), model.get("depth")];
    const [levels, score] = [model.get("levels"), model.get("score")];
    const ofTexts = score.unit !== "share";
    const run = {
      history: tensor(model.get("history")).data,
      running: false,
      finished: model.get("finished"),
      seconds: 0,
      first: 0,
    };
    const snapshots = {
      at: model.get("at"),
      said: model.get("said"),
      weights: model.get("weights").map((packed) => tensor(packed).data),
    };
    const count = () => run.history.length / ROW;
    // At null: the last step there is. A training that has ended is opened where there is still something to learn.
    const start = { at: run.finished ? Math.ceil(count() / EARLY) - 1 : null, log: !ofTexts, sample: 0 };
    const now = { ...start };
    let map = null;
    let pressed = null; // the button that waits for the kernel

    // What there is to see at a row of the history.
    const seenAt = (i, scoredAt) => {
      const [step, loss, rate] = run.history.subarray(i * ROW, i * ROW + 3);
      const measured = lastAt(scoredAt, i);
      const seen = {
        step,
        loss,
        rate,
        score: measured < 0 ? null : run.history[scoredAt[measured] * ROW + 3],
        snapshot: null,
        said: [],
        map: null,
      };
      const snapshot = lastAt(snapshots.at, step);
      if (snapshot < 0) return seen;
      Object.assign(seen, {
        snapshot: snapshots.at[snapshot],
        said: snapshots.said.slice(snapshot * samples.length, (snapshot + 1) * samples.length),
      });
      if (ofTexts) return seen;
      const shape = [layers, heads, samples[now.sample].rows.length, samples[now.sample].columns.length];
      const size = shape.reduce((a, b) => a * b);
      const data = snapshots.weights[now.sample].subarray(snapshot * size, (snapshot + 1) * size);
      return { ...seen, map: mapOf({ data, shape }, stack.now) };
    };

    const progress = element("progress", { max: until, value: 0, "aria-label": "progress" });
    const status = element("span", { class: "tl-status", role: "status" });
    const sketch = canvas("Curves of a training.", { keys: false });
    const film = canvas("The film: where the decoder looked at each snapshot.", { keys: false });
    const reel = element("div", { class: "tl-film" }, film.node);
    const says = readout();
    const table = scroller(ofTexts ? "how the model goes on" : "translations of the samples");
    const room = element("div");
    const stop = button("stop", () => {
      const kernel = link.model.widget_manager?.kernel;
      kernel?.interrupt().catch(() => {});
      pressed = kernel ? "stopping after this step …" : "to stop, press ■ in the toolbar: what is learned is kept";
      draw();
    });
    const resume = button("resume", () => {
      pressed = "resuming …";
      link.send({ resume: true });
      draw();
    });

    const drawCurves = () => {
      const i = Math.min(now.at ?? Infinity, count() - 1);
      const scoredAt = [...Array(count()).keys()].filter((k) => !Number.isNaN(run.history[k * ROW + 3]));
      const seen = (el.values = i < 0 ? null : seenAt(i, scoredAt));
      // First, while the width that it reads needs no new layout.
      paint(sketch, run.history, { i, until, levels, score, log: now.log, scoredAt, el });
      const done = (progress.value = count() ? run.history[(count() - 1) * ROW] : 0);
      live.hidden = run.finished && !run.running; // what has ended is replayed, and the slider says where
      for (const node of [status, says]) node.ariaLive = run.running ? "off" : "polite"; // 20 steps a second are many
      status.textContent =
        pressed ?? told(run, { done, until, count: count(), linked: Boolean(link.model), gone: link.gone });
      stop.hidden = !(link.model && run.running);
      play.node.hidden = run.running || count() < 2;
      resume.hidden = !link.model || run.running || run.finished || !count();
      stop.disabled = resume.disabled = Boolean(pressed);
      step.rescale(Math.max(count() - 1, 0), Math.max(i, 0));
      const words = seen ? describe(seen, score) : "The curves begin with the first step.";
      says.say(words);
      sketch.describe(`Curves of a training: loss, ${score.name}, learning rate. ${words}`);
      return seen;
    };
    const written = (k) => {
      const said = snapshots.said.slice(k * samples.length, (k + 1) * samples.length);
      table.replaceChildren((ofTexts ? asTexts : asTable)(samples, { said, snapshot: snapshots.at[k] }));
    };
    // Room for the tallest of the snapshots, so that nothing below moves while they are played.
    const tallest = { width: 0, count: 0, height: 0 };
    const reserve = () => {
      if (tallest.width !== widthOf(el)) Object.assign(tallest, { width: widthOf(el), count: 0, height: 0 });
      for (; samples.length && tallest.count < snapshots.at.length; tallest.count += 1) {
        table.style.minHeight = "";
        written(tallest.count);
        tallest.height = Math.max(tallest.height, table.offsetHeight);
      }
      table.style.minHeight = `${tallest.height}px`;
    };
    let drawn; // the snapshot that stands below the curves
    const draw = eachFrame(() => {
      const seen = drawCurves();
      drawn = seen?.snapshot;
      reel.hidden = !seen?.map;
      if (seen?.map) {
        const { rows, columns } = samples[now.sample];
        const shape = [layers, heads, rows.length, columns.length];
        const size = shape.reduce((a, b) => a * b);
        const frames = snapshots.at.map((step, k) => {
          const data = snapshots.weights[now.sample].subarray(k * size, (k + 1) * size);
          return { step, map: mapOf({ data, shape }, stack.now), here: step === seen.snapshot };
        });
        paintFilm(film, frames, { width: widthOf(el), ink: getComputedStyle(el).color });
      }
      reserve();
      if (seen?.said.length) written(snapshots.at.indexOf(seen.snapshot));
      else table.replaceChildren();
      place.hidden = !seen?.map;
      if (seen?.map) map.show(seen.map, { name: "weight", range: [0, 1] });
    });
    const grow = eachFrame(() => {
      if (drawCurves()?.snapshot !== drawn) draw();
    }); // most steps come without a snapshot
    const change = (what) => {
      Object.assign(now, what);
      draw();
    };

    const step = slider(
      "step",
      { min: 0, max: 0, step: 1, value: 0, show: (i) => String(run.history[i * ROW] ?? 0) },
      (i) => change({ at: i < count() - 1 ? i : null }),
    );
    const range = step.node.querySelector("input");
    step.rescale = (max, i) => {
      range.max = max;
      step.set(i);
    };
    // It is played in so many shots, however long the training was.
    const shotOf = (i) => Math.floor((i / Math.max(count() - 1, 1)) * SHOTS);
    const play = player({
      button,
      at: () => shotOf(Math.min(now.at ?? Infinity, count() - 1)),
      last: () => SHOTS,
      go: (shot) => {
        const row = Math.ceil((shot / SHOTS) * (count() - 1));
        change({ at: row < count() - 1 ? row : null });
      },
      milliseconds: SHOT,
    });
    const log = checkbox("loss on a log scale", start.log, (on) => change({ log: on }));
    const sample = choice(
      "sample",
      samples.map(({ source }) => source),
      (i) => {
        now.sample = i;
        lay();
        draw();
      },
    );
    const stack = stackChoice(layers, heads, () => draw());
    const choices = [...(samples.length > 1 ? [sample.node] : []), ...stack.nodes];
    const place = element(
      "div",
      {},
      element("div", { class: "tl-snapshots" }, "Where the decoder looks, given the right target"),
      bar(...choices),
      room,
    );
    const reset = resetButton([log, sample, stack], () => {
      play.stop();
      Object.assign(now, start);
      lay();
      draw();
    });
    // The map of a sample: its tokens are others than those of the one before.
    const lay = () => {
      if (!samples.length || ofTexts) return;
      const { rows, columns } = samples[now.sample];
      map = tokenMap({
        el,
        label: "Cross-attention, given the right target.",
        rows,
        columns,
        axes: ["target", "source"],
        redraw: draw,
        describe: (values, cell) => cellSays(values, cell, rows, columns),
      });
      room.replaceChildren(map.beside(bar(...map.buttons)), map.table);
    };

    let rest; // the second half of a message
    // What the kernel tells and shares is never older than what the output holds.
    const take = (told, history) => {
      clearTimeout(rest);
      if (told.running !== run.running) pressed = null;
      Object.assign(run, told, { history });
      grow();
    };
    const link = linked(model.get("kernel"), {
      joined: () => {
        if (now.at === start.at) now.at = null; // who has trained sees the end
        draw();
      },
      heard: (told, [bytes]) => {
        const history = floats(bytes);
        const half = halfway(history, run.history.at(-ROW) ?? 0);
        take(told, history.subarray(0, half));
        if (half < history.length) rest = setTimeout(() => take(told, history), HALF);
      },
      left: () => {
        clearTimeout(rest);
        run.running = false;
        pressed = null;
        draw();
      },
      shared: {
        now: (told) => {
          if (told?.history) take(told, floats(told.history));
        },
        snapshots: (told) => {
          if (!told?.at) return;
          Object.assign(snapshots, told, { weights: told.weights.map(floats) });
          draw();
        },
      },
    });

    sketch.node.onpointerdown = sketch.node.onpointermove = (event) => {
      const row = sketch.node.rowAt?.(event);
      if (row === undefined) return;
      play.stop();
      change({ at: row < count() - 1 ? row : null });
    };
    film.node.onpointerdown = (event) => {
      const shot = film.node.frames.find(({ x }) => film.at(event)[0] >= x && film.at(event)[0] < x + FRAME);
      if (!shot) return;
      play.stop();
      const steps = run.history.filter((_, k) => k % ROW === 0);
      change({ at: lastAt(steps, shot.step) });
    };
    const live = bar(progress, status, stop, resume);
    lay();
    el.append(
      element("style", {}, STYLE),
      live,
      sketch.node,
      bar(play.node, step.node, log.node, reset),
      says,
      table,
      ...(ofTexts ? [] : [reel]),
      place,
    );
    return watch(el, draw);
  },
};

function told({ running, finished, seconds, first }, { done, until, count, linked, gone }) {
  if (running) {
    const taken = count - first;
    return `step ${done} of ${until}${taken > 1 ? `, ${duration((seconds / taken) * (until - done))} left` : ""}`;
  }
  if (finished || done >= until) return `${done} of ${until} steps`;
  if (gone) return `step ${done} of ${until}; the kernel is gone: to train, run the cells from the first to this one`;
  return count
    ? `stopped after step ${done} of ${until}${linked ? "" : "; to go on, run the cell again"}`
    : `0 of ${until} steps`;
}

function describe({ step, loss, rate, score: value }, { name, unit }) {
  const written = unit === "share" ? percent : (x) => x.toPrecision(3);
  const measured = value === null ? "" : `, ${name} ${written(value)} when last measured`;
  return `Step ${step}: loss ${loss.toPrecision(3)}, learning rate ${rate.toPrecision(2)}${measured}.`;
}

function percent(share) {
  return `${Number((100 * share).toFixed(1))} %`;
}

function cellSays(values, cell, rows, columns) {
  if (!cell) return "Point at a cell, or go over the map with the arrow keys.";
  const [t, s] = cell;
  return `To predict “${rows[t]}”, the decoder gives “${columns[s]}” a weight of ${values[t][s].toFixed(3)}.`;
}

const NOTHING = "(it wrote nothing)";

// The translations, letter by letter: what does not belong is struck out, until it has mended.
function asTable(samples, { said, snapshot }) {
  const table = tableOfTexts(
    [
      ["source", `translation at step ${snapshot}`, ""],
      ...samples.map(({ source, target }, i) => [
        source,
        said[i] || NOTHING,
        said[i] === target ? "✓ right" : `✗ ${target}`,
      ]),
    ],
    { class: "tl-samples tl-mended" },
  );
  samples.forEach(({ target }, i) => {
    if (!said[i]) return;
    const runs = []; // of letters that belong there, and of those that do not
    for (const [letter, right] of mended(said[i], target)) {
      if (runs.at(-1)?.right === right) runs.at(-1).text += letter;
      else runs.push({ text: letter, right });
    }
    const cell = table.rows[i + 1].cells[1];
    cell.replaceChildren(...runs.map(({ text, right }) => element(right ? "span" : "s", {}, text)));
  });
  return table;
}

// A film strip: the map of each snapshot in a frame, its step below it; that of the present one is in ink.
function paintFilm(film, frames, { width, ink }) {
  const across = Math.min(FRAME, (width - FILM) / frames.length);
  const small = across - FILM;
  const tall = small + 2 * FILM + 4;
  const context = film.resize(Math.max(across * frames.length + FILM, 40), tall + 20);
  context.fillStyle = NOW.slab;
  context.fillRect(0, 0, across * frames.length + FILM, tall);
  Object.assign(context, { textAlign: "center", textBaseline: "middle" });
  film.node.frames = frames.map(({ step, map, here }, k) => {
    const [x, y] = [FILM + k * across, FILM + 2];
    for (let hole = 0; hole < 4; hole += 1) {
      context.fillStyle = NOW.thread;
      for (const edge of [2, tall - 5]) context.fillRect(x + ((hole + 0.3) * small) / 4, edge, (0.4 * small) / 4, 3);
    }
    map.forEach((row, t) =>
      row.forEach((weight, s) => {
        context.fillStyle = css(amounts(weight));
        context.fillRect(
          x + (s * small) / row.length,
          y + (t * small) / map.length,
          small / row.length + 0.5,
          small / map.length + 0.5,
        );
      }),
    );
    Object.assign(context, { strokeStyle: here ? ink : NOW.edge, lineWidth: here ? 3 : 1 });
    context.strokeRect(x, y, small, small);
    Object.assign(context, { fillStyle: here ? ink : NOW.soft, font: `${here ? "bold " : ""}12px ${SANS}` });
    const every = Math.ceil(34 / across);
    if (here || (k % every === 0 && !frames.some((one, j) => one.here && Math.abs(j - k) < every)))
      context.fillText(String(step), x + small / 2, tall + 11);
    return { x, step };
  });
  const seen = frames.findIndex(({ here }) => here);
  film.describe(`The film: where the decoder looked at ${frames.length} snapshots. Seen: number ${seen + 1}.`);
}

// What a language model wrote, behind the beginning that it was given. Where that stays as it was, it says so.
function asTexts(samples, { said, snapshot }) {
  const lines = samples.map(({ source }, i) => [source, said[i]]);
  const head = ["beginning", `written at step ${snapshot}`];
  const table = tableOfTexts([head, ...lines], { class: "tl-samples tl-texts" });
  said.forEach((text, i) => {
    const silent = silence(text);
    if (silent) table.rows[i + 1].cells[1].prepend(element("i", {}, silent));
  });
  return table;
}

// What is said where a model did not go on with the line that it was given.
export function silence(text) {
  if (!text.trim()) return NOTHING;
  return text.startsWith("\n") ? "(it ended the line)" : "";
}

// Charts side by side, or where that is narrow the loss above the others; the row `i` is marked in each.
function paint(sketch, history, { i, until, levels, score, log, scoredAt, el }) {
  const width = widthOf(el);
  const wide = width >= 600;
  const context = sketch.resize(width, wide ? 210 : 390);
  const column = (place, rows) => rows.map((row) => history[row * ROW + place]);
  const all = [...Array(history.length / ROW).keys()];
  const [steps, loss, rate] = [column(0, all), column(1, all), column(2, all)];
  const apart = score.unit === "share"; // the score has a chart of its own
  const scored = { name: score.name, xs: column(0, scoredAt), ys: column(3, scoredAt), colour: COLOURS[2] };
  const marked = Math.max(lastAt(scoredAt, i), -1);
  const losses = apart ? loss : [...loss, ...scored.ys];
  const finite = losses.filter((value) => Number.isFinite(value) && (!log || value > 0));
  const limits = [...finite, ...levels.map(({ value }) => value)];
  const [low, high] = limits.length ? [Math.min(...limits), Math.max(...limits)] : [0.1, 10];
  const x = { name: "step", low: 0, high: until };
  const [ink, at] = [getComputedStyle(el).color, i < 0 ? null : i];
  const most = Math.max(...rate, 0) || 1;
  const charts = [
    {
      title: "loss",
      y: log ? { log: 10, low, high, ticks: logTicks(low, high) } : { low: 0, high },
      series: [{ name: "loss", xs: steps, ys: loss }, ...(apart ? [] : [{ ...scored, marker: 1, at: marked }])],
      levels: levels.map((one) => ({ ...one, name: `${one.name}: ${one.value.toPrecision(3)}`, right: !apart })),
      at,
    },
    {
      title: score.name,
      y: {
        low: 0,
        high: 1,
        ticks: [
          [0, "0 %"],
          [0.5, "50 %"],
          [1, "100 %"],
        ],
      },
      series: [scored],
      at: marked,
    },
    {
      title: "learning rate",
      y: {
        low: 0,
        high: most,
        ticks: [
          [0, "0"],
          [most, most.toPrecision(2)],
        ],
      },
      series: [{ name: "rate", xs: steps, ys: rate, colour: COLOURS[4] }],
      at,
    },
  ];
  if (!apart) charts.splice(1, 1);
  const drawn = charts.map((chart, k) => {
    const [left, top, w, h] = boxOf(k, charts.length, width, wide);
    return drawLines(
      context,
      { x: left, y: top, width: w - 8, height: h },
      { ...chart, x, at: chart.at < 0 ? null : chart.at, ink },
    );
  });
  sketch.node.rowAt = (event) => {
    const [px, py] = sketch.at(event);
    const inside = drawn.find(
      (plot) => px >= plot.x - 4 && px <= plot.x + plot.width + 4 && py >= plot.y && py <= plot.y + plot.height,
    );
    const found =
      inside &&
      lastAt(
        steps.map((value) => inside.across(value)),
        px + 2,
      );
    return found === undefined ? undefined : Math.max(found, 0);
  };
}

// Where the chart `k` of `n` stands: [left, top, width, height].
function boxOf(k, n, width, wide) {
  const [first, rest] = n === 3 ? [0.42, 0.29] : [0.64, 0.36];
  if (wide) return k ? [width * (first + (k - 1) * rest), 0, width * rest, 205] : [0, 0, width * first, 205];
  return k ? [((k - 1) * width) / (n - 1), 200, width / (n - 1), 185] : [0, 0, width, 200];
}

const STYLE = `
.tl-training_monitor progress { width: min(20em, 60vw); accent-color: var(--tl-ink); }
.tl-training_monitor .tl-snapshots { margin: 12px 0 2px; font-weight: bold; }
.tl-training_monitor .tl-samples :is(td, th) { text-align: left; vertical-align: top; font-weight: normal; }
.tl-training_monitor .tl-mended tr:not(:first-child) > :not(:last-child) { font: 20px/1.5 var(--tl-serif); }
.tl-training_monitor .tl-mended s { color: var(--tl-change); text-decoration-thickness: 1.5px; }
.tl-training_monitor .tl-film { margin-top: 12px; max-width: 100%; }
.tl-training_monitor .tl-film canvas { cursor: pointer; }
.tl-training_monitor .tl-texts i { color: var(--tl-soft); font: italic 13px var(--tl-sans); }
@media (max-width: 600px) { /* what is written stands below the button that plays it, and the charts below that */
  .tl-training_monitor { display: flex; flex-direction: column; }
  .tl-training_monitor > canvas { order: 1; }
  .tl-training_monitor > :is(.tl-film, .tl-film ~ div) { order: 2; }
}
.tl-training_monitor .tl-texts { font-family: ui-monospace, Menlo, Consolas, monospace; }
.tl-training_monitor .tl-texts tr:not(:first-child) > * { white-space: pre-wrap; }
.tl-training_monitor .tl-samples tr:not(:first-child) > * { overflow-wrap: anywhere; }
.tl-training_monitor .tl-samples tr:first-child th { opacity: .8; font-style: italic; }
`;
