// Decoding explorer: greedy choice, sampling and beam search over a table of next-token distributions.

import {
  bar,
  button,
  canvas,
  clamp,
  eachFrame,
  element,
  onKeys,
  onLeave,
  readout,
  resetButton,
  scroller,
  slider,
  softmax,
  stripes,
  tableOfTexts,
  tableSwitch,
  temperatureSlider,
  tensor,
  watch,
  widthOf,
} from "../../shared/ui.js";
import { numbersIn } from "../../shared/numbers.js";
import { motion, player } from "../../shared/motion.js";
import { MEANINGS, NOW, SANS, SERIF, inkOn, rgbOf } from "../../shared/palette.js";

// ── the methods; a table is a list of beginnings { ids, logProbs, next }: where each extension stands in it, or −1 ──

export function tableOf(ids, logProbs, { branching, depth, eos }) {
  const table = [];
  let [known, level] = [1, 1];
  for (let length = 1; length <= depth; length += 1) {
    const end = table.length + level;
    while (table.length < end) {
      const from = table.length * branching;
      const [some, logs] = [ids, logProbs].map((all) => [...all.subarray(from, from + branching)]);
      const next = some.map((token, i) => (length < depth && token !== eos && logs[i] > -Infinity ? known++ : -1));
      table.push({ ids: some, logProbs: logs, next });
    }
    level = known - table.length;
  }
  return table;
}

// Temperature, then top-k, then top-p, as `decoding.sample` does it: probabilities before the cut and after it.
export function filtered(logProbs, { temperature = 1, k = Infinity, p = 1 }) {
  const scaled = logProbs.map((log) => log / temperature);
  const before = softmax(scaled);
  const order = scaled.map((_, i) => i).sort((a, b) => scaled[b] - scaled[a]);
  const inK = new Set(order.slice(0, k));
  const renewed = softmax(scaled, (i) => inK.has(i));
  let reached = 0;
  const kept = new Set(
    order.filter((i) => {
      const keep = inK.has(i) && (p >= 1 || reached < p);
      reached += renewed[i];
      return keep;
    }),
  );
  return { before, kept: before.map((_, i) => kept.has(i)), after: softmax(scaled, (i) => kept.has(i)) };
}

// A hypothesis extended by the i-th token after it.
function extended(table, eos, from, i) {
  const { ids, logProbs, next } = table[from.row];
  const ended = ids[i] === eos;
  return {
    parent: from,
    i,
    token: ids[i],
    ids: [...from.ids, ids[i]],
    logProb: logProbs[i],
    total: from.total + logProbs[i],
    row: next[i],
    ended,
  };
}

const root = () => ({ parent: null, ids: [], total: 0, row: 0, ended: false });

// One token after the other, `choose(logProbs)` says which; the hypotheses on the way, the empty one first.
function pathOf(table, eos, choose) {
  const path = [root()];
  while (path.at(-1).row >= 0) path.push(extended(table, eos, path.at(-1), choose(table[path.at(-1).row].logProbs)));
  return path;
}

// The step of a path at which a tree is seen, and something is left to come.
export const opening = (path) => clamp(path.length - 2, 1, OPENING);

export function greedy(table, eos) {
  return pathOf(table, eos, (logProbs) => logProbs.indexOf(Math.max(...logProbs)));
}

// Uniform numbers from a seed (mulberry32), so that a draw can be repeated.
export function uniform(seed) {
  let state = (seed * 0x9e3779b9) | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296;
  };
}

export function sample(table, eos, settings, seed) {
  const random = uniform(seed);
  return pathOf(table, eos, (logProbs) => {
    const { after } = filtered(logProbs, settings);
    let left = random();
    const found = after.findIndex((p) => {
      left -= p;
      return left < 0;
    });
    return found < 0 ? after.findLastIndex((p) => p > 0) : found;
  });
}

// The `size` best extensions of all live hypotheses at each step; one that ends is set aside and leaves the beam.
export function beamSearch(table, eos, size) {
  const steps = [];
  const done = [];
  let live = [root()];
  while (live.some(({ row }) => row >= 0)) {
    const candidates = live
      .flatMap((from) => table[from.row].ids.map((_, i) => extended(table, eos, from, i)))
      .filter(({ total }) => total > -Infinity)
      .sort((a, b) => b.total - a.total);
    candidates.forEach((one, i) => {
      one.kept = i < size;
    });
    const kept = candidates.filter((one) => one.kept);
    steps.push({ live, candidates, kept });
    done.push(...kept.filter(({ ended }) => ended));
    live = kept.filter(({ ended }) => !ended);
  }
  return { steps, found: ranked([...done, ...live]) };
}

// Every sentence of the table, ended by eos or by its depth, the most probable first.
export function sentences(table, eos) {
  const all = [];
  const grow = (from) => {
    if (from.row < 0) return void all.push(from);
    table[from.row].ids.forEach((_, i) => {
      if (table[from.row].logProbs[i] > -Infinity) grow(extended(table, eos, from, i));
    });
  };
  grow(root());
  return ranked(all);
}

function ranked(hypotheses) {
  return hypotheses.sort((a, b) => b.total - a.total);
}

// ── the view ──

const STEP = 1500; // milliseconds for which a step is seen when they play
const GROW = 900; // milliseconds in which a step grows

const MODES = ["greedy", "sampling", "beam"];
const START = { mode: "greedy", temperature: 1, k: null, p: 1, size: 2, draws: 1 };
const OPENING = 3; // the step at which the view opens, where the sentence goes on behind it
const NOTES = {
  greedy:
    "A branch is as wide and as strong as all its tokens together are probable. Amber: the tokens taken. Dashed: " +
    "not taken. What fades are all other tokens.",
  sampling:
    "A branch is as wide and as strong as the model finds its tokens probable. Amber: the tokens drawn. Dashed: " +
    "not drawn. Bars: after the cut; frames: before it.",
  beam:
    "A branch is as wide and as strong as all its tokens together are probable. Amber: the result. Grey: kept in " +
    "the beam, pale where it had no extension good enough. Dashed: cut. Bars: the probability of all tokens so far.",
};
const MOST_BARS = 10;
const SIBLINGS = 3; // drawn of what is not taken

export default {
  render({ model, el }) {
    const [tokens, eos, depth] = [model.get("tokens"), model.get("eos"), model.get("depth")];
    const {
      data,
      shape: [, branching],
    } = tensor(model.get("log_probs"));
    const table = tableOf(tensor(model.get("ids")).data, data, { branching, depth, eos });
    const all = sentences(table, eos);
    const rankOf = new Map(all.map((one, i) => [String(one.ids), i + 1]));
    const start = { ...START, step: opening(greedy(table, eos)), k: branching, size: Math.min(START.size, branching) };
    const now = { ...start, cursor: null };
    const say = ({ ids }) => ids.map((token) => tokens[token]).join(" ");
    let run = null;

    // What the method has done: its steps, each with the bars of its distribution, and the sentences found.
    const work = () => {
      if (now.mode === "beam") {
        const { steps, found } = beamSearch(table, eos, now.size);
        return {
          steps: steps.map((step) => ({
            ...step,
            bars: step.candidates.map((one) => ({
              name: say(one),
              before: Math.exp(one.total),
              after: Math.exp(one.total),
              kept: one.kept,
              chosen: false,
              one,
            })),
          })),
          found,
        };
      }
      const drawn =
        now.mode === "greedy"
          ? [greedy(table, eos)]
          : Array.from({ length: now.draws }, (_, i) => sample(table, eos, now, i + 1));
      const path = drawn.at(-1);
      const steps = path.slice(1).map((one) => {
        const { ids, logProbs } = table[one.parent.row];
        const { before, kept, after } =
          now.mode === "greedy" ? { before: logProbs.map(Math.exp) } : filtered(logProbs, now);
        const bars = ids.map((token, i) => ({
          name: tokens[token],
          before: before[i],
          after: after?.[i] ?? before[i],
          kept: kept?.[i] ?? true,
          chosen: i === one.i,
          one: extended(table, eos, one.parent, i),
        }));
        return { one, bars };
      });
      const counts = new Map();
      drawn.forEach((each) => {
        const key = String(each.at(-1).ids);
        counts.set(key, (counts.get(key) ?? 0) + 1);
      });
      return {
        steps,
        counts,
        found: ranked([...new Map(drawn.map((each) => [String(each.at(-1).ids), each.at(-1)])).values()]),
      };
    };

    const sketch = canvas("The tree of what was written.", { how: "Arrow keys move over the tree." });
    const says = readout();
    const note = element("div", { class: "tl-note" });
    const chart = canvas("The next token.", { keys: false });
    const room = element("div", { class: "tl-tree" }, sketch.node); // a tree wider than the view is scrolled
    const list = scroller("sentences by probability");
    room.onscroll = () => fadeEdges(room);
    let [placed, width] = [null, 0]; // the step that was scrolled to, and how wide the view was
    const grow = motion(() => draw(), GROW);
    const draw = eachFrame(() => {
      const step = run.steps[now.step - 1];
      el.values = {
        mode: now.mode,
        step: now.step,
        tokens: step.bars.map(({ name }) => name),
        probabilities: step.bars.map(({ after }) => after),
        kept: step.bars.map(({ kept }) => kept),
        sentences: run.found.map(say),
        totals: run.found.map(({ total }) => total),
      };
      const shape = treeOf(run, now);
      if (now.cursor && !shape.all.some((one) => String(one.ids) === now.cursor)) now.cursor = null;
      paint(sketch, chart, { el, shape, step, now, tokens, others: tokens.length - branching, share: grow.share });
      if (placed !== step || width !== widthOf(el)) {
        [placed, width] = [step, widthOf(el)];
        room.scrollLeft = sketch.node.scrolled; // the reader's own scrolling stands until the next step
      }
      fadeEdges(room);
      says.say(describe({ now, run, step, shape, tokens, say, branching }));
      const found = run.found.slice(0, 3).map((one) => `“${say(one)}” (${minus(one.total)})`);
      const seen = describe({ now: { ...now, cursor: null }, run, step, shape, tokens, say, branching });
      chart.describe(`The bars of step ${now.step}: ${step.bars.slice(0, 3).map(barInWords).join(", ")}.`);
      sketch.describe(`Decoding, ${now.mode}. ${seen} Found: ${found.join(", ")}.`);
      list.replaceChildren(asList({ all, run, now, rankOf, say }));
      distribution.fill(() => asTable(step.bars, now));
    });

    const tabs = MODES.map((mode) => [mode, button(mode, () => again({ mode, step: Infinity }))]);
    const step = slider(
      "step",
      { min: 1, max: depth, step: 1, value: 1, show: (i) => `${i} of ${run?.steps.length ?? depth}` },
      (i) => go(i),
    );
    const back = button("← back", () => go(now.step - 1), { "aria-label": "one step back" });
    const forth = button("forth →", () => go(now.step + 1), { "aria-label": "one step forth" });
    const play = player({
      button,
      at: () => now.step,
      last: () => run.steps.length,
      go: (to) => go(to),
      milliseconds: STEP,
    });
    const temperature = temperatureSlider((temperature) => again({ temperature }));
    const topK = slider(
      "top-k",
      { min: 1, max: branching, step: 1, value: branching, show: (k) => (k >= tokens.length ? "all" : String(k)) },
      (k) => again({ k }),
    );
    const topP = slider(
      "top-p",
      { min: 0.02, max: 1, step: 0.02, value: 1, show: (p) => (p >= 1 ? "all" : p.toFixed(2)) },
      (p) => again({ p }),
    );
    const more = [1, 20].map((n) =>
      button(n > 1 ? `draw ${n}` : "draw", () => again({ draws: now.draws + n, step: Infinity })),
    );
    const size = slider(
      "beam size",
      { min: 1, max: Math.min(branching, 6), step: 1, value: start.size, show: String },
      (n) => again({ size: n }),
    );
    const drawnAs = (text) => again({ draws: clamp(numbersIn(text)[0] ?? START.draws, 1, 1000) });
    // Another method may end at another step, so where it stands is told even if that is where the view opens.
    const stands = { get: () => (now.mode === start.mode ? "" : String(now.step)), set: (text) => go(Number(text)) };
    el.kept = { drawn: { get: () => String(now.draws), set: drawnAs }, stands };
    const distribution = tableSwitch(draw);
    const reset = resetButton([temperature, topK, topP, size, distribution], () => again({ ...start, cursor: null }));
    const forSampling = bar(temperature.node, topK.node, topP.node, ...more);
    const forBeam = bar(size.node);

    const go = (to) => {
      const before = now.step;
      now.step = clamp(to, 1, run.steps.length);
      refresh();
      if (now.step > before || to < 1) grow.start();
      else grow.stop();
    };
    const again = (what) => {
      play.stop();
      // who stood at the end stands at the end again
      const end = now.step >= run?.steps.length;
      Object.assign(now, end ? { step: Infinity } : {}, what);
      run = work();
      go(now.step);
    };
    const refresh = () => {
      step.node.querySelector("input").max = run.steps.length;
      step.set(now.step);
      tabs.forEach(([mode, tab]) => tab.setAttribute("aria-pressed", mode === now.mode));
      const among = branching < tokens.length ? "; ranks are among those in the table" : "";
      note.textContent = `${NOTES[now.mode]} P: probability of a sentence${among}.`;
      forSampling.hidden = now.mode !== "sampling";
      forBeam.hidden = now.mode !== "beam";
      draw();
    };
    const point = (cursor) => {
      now.cursor = cursor;
      draw();
    };
    const under = (event) => {
      const [x, y] = sketch.at(event);
      const found = sketch.node.boxes.find(
        (one) => x >= one.x && x <= one.x + one.width && y >= one.y && y <= one.y + one.height,
      );
      point(found ? String(found.one.ids) : null);
    };
    Object.assign(sketch.node, {
      onpointerdown: under,
      onpointermove: under,
      onpointerleave: onLeave(() => point(null)),
      onfocus: () => {
        if (now.cursor === null && !sketch.node.byPointer) point("");
      },
      onkeydown: onKeys((key) => {
        const to = moved(treeOf(run, now), now.cursor ?? "", key);
        if (to === undefined) return false;
        point(to);
        const { x, width } = sketch.node.boxes.find(({ one }) => String(one.ids) === to);
        room.scrollLeft = clamp(room.scrollLeft, x + width + LEAD - room.clientWidth, Math.max(x - LEAD, 0));
      }),
    });

    el.append(
      element("style", {}, STYLE),
      bar(...tabs.map(([, tab]) => tab)),
      bar(step.node, back, forth, play.node),
      forSampling,
      forBeam,
      element("div", { class: "tl-side" }, room, chart.node),
      note,
      says,
      list,
      bar(distribution.button, reset),
      distribution.room,
    );
    again({});
    return watch(el, draw);
  },
};

const STYLE = `
.tl-decoding .tl-list { width: 100%; max-width: 62em; }
.tl-decoding .tl-list :is(th, td):nth-child(2) { text-align: left; width: 100%; overflow-wrap: break-word; }
@media (min-width: 600px) { .tl-decoding .tl-list td:last-child { white-space: nowrap; } }
.tl-decoding .tl-tree { overflow-x: auto; max-width: 100%; }
.tl-decoding .tl-tree:not(:focus-within) {
  mask: linear-gradient(to right, #0000, #000 var(--tl-before, 0px) calc(100% - var(--tl-behind, 0px)), #0000);
}
.tl-decoding .tl-list :is(th, td) { padding: 1px 5px; }
.tl-decoding .tl-list th[scope=row] { font-weight: inherit; }
.tl-decoding .tl-list .tl-found { font-weight: 600; }
`;

// ── the tree that is drawn: what was taken and a few that were not; a column for each step, ranked ──

function treeOf(run, now) {
  const top = { ids: [], total: 0, children: [], kept: true, best: true, depth: 0, at: 0 };
  const nodes = new Map([["", top]]);
  const best = new Set(beginnings(now.mode === "beam" ? run.found[0].ids : run.steps.at(-1).one.ids));
  let rows = 1;
  run.steps.forEach(({ bars, kept }, i) => {
    const taken = bars.filter((each) => (kept ? each.kept : each.chosen));
    const rest = bars.filter((each) => !taken.includes(each) && each.before > 0).slice(0, SIBLINGS);
    const above = ({ one }) => nodes.get(String(one.parent.ids))?.at ?? 0;
    const column = [...taken, ...rest].sort((a, b) => above(a) - above(b) || b.one.total - a.one.total);
    rows = Math.max(rows, column.length);
    column.forEach((each, at) => {
      const { ids, token, total, parent } = each.one;
      const node = {
        ids,
        token,
        total,
        at,
        depth: i + 1,
        kept: taken.includes(each),
        cut: !each.kept,
        best: best.has(String(ids)),
        children: [],
        parent: nodes.get(String(parent.ids)),
      };
      if (node.depth > now.step) return;
      node.parent.children.push(node);
      nodes.set(String(ids), node);
    });
  });
  const all = [...nodes.values()];
  const ends = new Set(run.found.map(({ ids }) => String(ids)));
  // Kept once, and yet the end of its line: none of its extensions was.
  for (const node of all)
    node.dead =
      node.kept && node.depth < now.step && !ends.has(String(node.ids)) && !node.children.some((one) => one.kept);
  return { top, all, rows, nodes };
}

function beginnings(ids) {
  return ids.map((_, i) => String(ids.slice(0, i + 1)));
}

// Where a key leads in the tree; undefined for keys that move nothing.
function moved({ nodes, all, top }, cursor, key) {
  const node = nodes.get(cursor) ?? top;
  const column = all.filter(({ depth }) => depth === node.depth).sort((a, b) => a.at - b.at);
  const to = {
    ArrowLeft: () => node.parent ?? node,
    ArrowRight: () => node.children[0] ?? node,
    Home: () => top,
    ArrowUp: () => column[Math.max(column.indexOf(node) - 1, 0)],
    ArrowDown: () => column[Math.min(column.indexOf(node) + 1, column.length - 1)],
  }[key];
  return to && String(to().ids);
}

// ── words ──

const minus = (x, digits = 2) => x.toFixed(digits).replace("-", "−");
const quoted = (text) => `“${text}”`;

function describe({ now, run, step, shape, tokens, say, branching }) {
  if (now.cursor !== null) {
    const node = shape.nodes.get(now.cursor);
    if (!node.parent) return "The beginning: nothing is written yet, log probability 0.";
    const last = node.total - node.parent.total;
    return (
      `${quoted(say(node))}: log probability ${minus(node.parent.total)} + ${minus(last)} = ${minus(node.total)}, ` +
      `probability ${Math.exp(node.total).toFixed(4)}. ${node.kept ? "Kept." : node.cut ? "Cut." : "Not taken."}`
    );
  }
  const head = `Step ${now.step} of ${run.steps.length}`;
  if (now.mode === "beam") {
    const { live, candidates, kept } = step;
    const ended = kept.filter((one) => one.ended);
    const leave = `, and ${ended.length} of them ended and ${ended.length > 1 ? "leave" : "leaves"} the beam`;
    return (
      `${head}: ${live.length} live ${live.length > 1 ? "sentences have" : "sentence has"} ${candidates.length} ` +
      `extensions; the best ${kept.length} are kept${ended.length ? leave : ""}.`
    );
  }
  const { one, bars } = step;
  const chosen = bars.find((each) => each.chosen);
  const after = one.parent.ids.length ? `after ${quoted(say(one.parent))}` : "at the beginning";
  const sum = `Log probability so far ${minus(one.total)}.`;
  if (now.mode === "greedy") {
    const most = `${tokens[one.token]} is the most probable token (${chosen.before.toFixed(3)})`;
    return `${head}, ${after}: ${most}. ${sum}`;
  }
  const kept = bars.filter((each) => each.kept);
  const held = kept.reduce((sum, { before }) => sum + before, 0);
  const whole = branching < tokens.length ? ` of the ${branching} in the table` : "";
  const share = kept.length < branching ? `; they held ${held.toFixed(3)}${whole} before the cut` : "";
  const drawn = `Drawn: ${tokens[one.token]}, with probability ${chosen.after.toFixed(3)}.`;
  const cut = `${kept.length} of ${tokens.length} tokens are kept${share}.`;
  return `${head} of draw ${now.draws}, ${after}: ${cut} ${drawn} ${sum}`;
}

const barInWords = ({ name, before, kept }) => `${name} ${before.toFixed(3)}${kept ? "" : ", cut"}`;

// The three most probable sentences of all, and what the method has found, ranked.
function asList({ all, run, now, rankOf, say }) {
  const found = new Set(run.found.map(({ ids }) => String(ids)));
  const rows = ranked([...run.found, ...all.slice(0, 3).filter(({ ids }) => !found.has(String(ids)))]).slice(0, 12);
  const how = (one) => {
    if (!found.has(String(one.ids))) return "not found";
    if (now.mode === "sampling") return `✓ ${run.counts.get(String(one.ids))} of ${now.draws}`;
    return one === run.found[0] ? "✓ the result" : "✓ found";
  };
  const line = (one) => [
    `${rankOf.get(String(one.ids))}`,
    one.ended ? say(one) : `${say(one)} …`,
    minus(one.total),
    Math.exp(one.total).toFixed(4),
    how(one),
  ];
  const head = ["rank", "sentence", "log P", "P", now.mode === "sampling" ? "drawn" : now.mode];
  const made = tableOfTexts([head, ...rows.map(line)], { class: "tl-list" });
  rows.forEach(({ ids }, i) => made.rows[i + 1].classList.toggle("tl-found", found.has(String(ids))));
  return made;
}

function asTable(bars, { mode }) {
  const sampling = mode === "sampling";
  const head = [
    mode === "beam" ? "extension" : "token",
    "probability",
    "kept",
    ...(sampling ? ["after the cut"] : ["log probability so far"]),
  ];
  const line = ({ name, before, after, kept, one }) => [
    name,
    before.toFixed(4),
    kept ? "yes" : "cut",
    sampling ? after.toFixed(4) : minus(one.total),
  ];
  return [head, ...bars.map(line)];
}

// ── drawing ──

const FONT = `13px ${SANS}`;
const SMALL = `12px ${SANS}`;
const WORDS = `18px ${SERIF}`; // what the model writes
const LEAD = 26; // from the edge of a tree that is scrolled to what stands there, at least
const ASIDE = 330; // how wide the bars are where they stand beside the tree

// The edges of a tree that is scrolled fade where more of it is hidden.
function fadeEdges(room) {
  const { scrollLeft, clientWidth, scrollWidth } = room;
  const hidden = { before: scrollLeft, behind: scrollWidth - clientWidth - scrollLeft };
  for (const [side, pixels] of Object.entries(hidden))
    room.style.setProperty(`--tl-${side}`, `${clamp(pixels, 0, LEAD)}px`);
}

// How far a tree is scrolled so that its last step is in sight, behind as many whole ones as have room.
export function scrolledTo(columns, room) {
  const end = columns.at(-1).x + columns.at(-1).width;
  if (end <= room) return 0;
  const last = columns.at(-1);
  const first = columns.find(({ x }) => end - x + LEAD <= room);
  return first && first !== last ? first.x - LEAD : Math.min(end - room, last.x - LEAD);
}

// The tree, and beside it or below it the bars of its last step.
function paint(sketch, chart, { el, shape, step, now, tokens, others, share }) {
  const total = widthOf(el);
  const ink = getComputedStyle(el).color;
  const measure = sketch.node.getContext("2d");
  const wide = Array.from({ length: now.step }, (_, d) => {
    const column = shape.all.filter((one) => one.depth === d + 1);
    return Math.max(0, ...column.map((one) => widthOfNode(measure, one, tokens)));
  });
  const least = columnsOf(wide, 0).at(-1);
  const natural = least.x + least.width + 4;
  const aside = total >= 640 && natural <= total - ASIDE - 28;
  const room = Math.max(aside ? total - ASIDE - 28 : total - 4, natural);
  const rows = placesOf(shape.all, now.step);
  const columns = columnsOf(wide, room);
  const scrolled = (sketch.node.scrolled = scrolledTo(columns, total - 4));
  const context = sketch.resize(Math.max(room + 4, scrolled && scrolled + total), rows.height + 8);
  const tree = { x: 2, y: 4, columns, rows };
  sketch.node.boxes = paintTree(context, shape, { ...tree, tokens, ink, cursor: now.cursor, step: now.step, share });
  const bars = step.bars.slice(0, MOST_BARS);
  const rest = step.bars.length - bars.length;
  const width = aside ? ASIDE : Math.min(total, 560);
  const lower = chart.resize(width, 36 + 24 * (bars.length + (rest || others ? 1 : 0)));
  paintBars(lower, bars, { x: 2, y: 0, width: width - 4, rest, others, now, ink });
}

const TRUNK = 66; // how wide a branch is whose tokens are certain
const [WORD, GAP] = [24, 10]; // above a branch too thin for its word, and between branches
const SLIGHT = 0.001; // a kept branch less probable than that has no bold word
const bandOf = ({ total }) => Math.max(1, TRUNK * Math.exp(total));

function widthOfNode(context, one, tokens) {
  context.font = `600 ${WORDS}`;
  const word = context.measureText(tokens[one.token]).width;
  context.font = SMALL;
  return word + 8 + context.measureText(chanceOf(one)).width;
}

function chanceOf({ total }) {
  const p = Math.exp(total);
  return p >= 0.0005 ? p.toFixed(3) : "<0.001";
}

// From top to bottom: a column stands so that what was taken last goes straight on from where it grew. `of` gives a
// node's top, its height, and where in it the branch runs.
export function placesOf(all, step) {
  const tall = (one) => (bandOf(one) >= WORD + 6 ? bandOf(one) : WORD + bandOf(one));
  const places = new Map();
  const set = (one, top) =>
    places.set(one, { top, height: tall(one), band: bandOf(one), at: top + tall(one) - bandOf(one) });
  set(all[0], 0);
  for (let depth = 1; depth <= step; depth += 1) {
    const column = all.filter((one) => one.depth === depth).sort((a, b) => a.at - b.at);
    if (!column.length) continue;
    let top = 0;
    column.forEach((one) => {
      set(one, top);
      top += tall(one) + GAP;
    });
    const straight = column.find((one) => one.best) ?? column[0];
    const [here, from] = [places.get(straight), places.get(straight.parent)];
    const down = from.at + from.band / 2 - (here.at + here.band / 2);
    column.forEach((one) => set(one, places.get(one).top + down));
  }
  const every = [...places.values()];
  const least = Math.min(...every.map(({ top }) => top));
  for (const one of every) Object.assign(one, { top: one.top - least, at: one.at - least });
  return { of: (one) => places.get(one), height: Math.max(...every.map(({ top, height }) => top + height)) };
}

// Where the columns of the tree begin and how wide they are: as wide as their longest token, and as far apart as there
// is room for.
export function columnsOf(wide, room, { least = LEAD, most = 72, first = 16 } = {}) {
  const natural = wide.map((one) => Math.max(46, one + 18));
  const sum = natural.reduce((a, b) => a + b, 0);
  const space = clamp((room - first - 2 - sum) / wide.length, least, most);
  let end = first;
  return natural.map((width) => {
    const column = { x: end + space, width };
    end = column.x + width;
    return column;
  });
}

// How strongly a branch is drawn: where it is not the one that was taken, the weaker the less probable it is than 0.1.
export function strength({ total, best }) {
  return best ? 1 : clamp(1 + (total / Math.LN10 + 1) / 4, 0.3, 1);
}

// How much of a node is there, of the line to it, and how pale it is. In the first half of a step's motion its lines
// grow, in the second what was not taken pales, and so do lines that end here.
export const PALE = 0.65; // a text of that strength is still read on either theme
export function growth(node, step, share) {
  const pale = node.kept && !node.dead ? 1 : PALE;
  if (node.depth < step) {
    const dying = node.dead && node.depth === step - 1;
    return { line: 1, box: 1, pale: dying ? 1 - (1 - pale) * share : pale };
  }
  const [line, fate] = [Math.min(1, 2 * share), Math.max(0, 2 * share - 1)];
  return { line, box: clamp(4 * share - 1, 0, 1), pale: 1 - (1 - pale) * fate };
}

function paintTree(context, { all }, { x, y, columns, rows, tokens, ink, cursor, step, share }) {
  Object.assign(context, { textBaseline: "middle", textAlign: "left", lineJoin: "round" });
  const boxOf = (one) => {
    const { top, height, band, at } = rows.of(one);
    const left = x + (one.depth ? columns[one.depth - 1].x : 0);
    return { one, x: left, y: y + top, width: one.depth ? columns[one.depth - 1].width : 16, height, band, at: y + at };
  };
  const boxes = all.map(boxOf);
  for (const box of boxes) paintBranches(context, box, { boxOf, step, share });
  for (const box of boxes) paintNode(context, box, { tokens, ink, cursor, step, share });
  context.globalAlpha = 1;
  return boxes;
}

// What fills a branch: amber is the path that was taken, grey what was kept besides, and nothing what was not taken.
function inked(context, { best, kept }) {
  Object.assign(context, {
    fillStyle: best ? NOW.amber : kept ? NOW.line : "transparent",
    strokeStyle: best ? NOW["amber-edge"] : NOW.thread,
    lineWidth: 1,
  });
  context.setLineDash(kept ? [] : [4, 3]);
}

// The branches that leave a node, one below the other; the rest of its width are the tokens that are not drawn.
function paintBranches(context, from, { boxOf, step, share }) {
  const children = [...from.one.children].sort((a, b) => a.at - b.at);
  const [x0, end] = [from.x + from.width, from.at + from.band];
  let y0 = from.at;
  for (const one of children) {
    const { line, pale } = growth(one, step, share);
    const [to, band] = [boxOf(one), Math.min(bandOf(one), Math.max(end - y0, 1))];
    const middle = (x0 + to.x) / 2;
    context.save();
    context.beginPath();
    context.rect(x0, 0, (to.x - x0) * line, 1e5);
    context.clip();
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(middle, y0, middle, to.at, to.x, to.at);
    context.lineTo(to.x, to.at + to.band);
    context.bezierCurveTo(middle, to.at + to.band, middle, y0 + band, x0, y0 + band);
    inked(context, one);
    context.globalAlpha = pale * strength(one);
    context.fill();
    context.beginPath(); // the ends have no edge: there the branch goes on
    context.moveTo(x0, y0);
    context.bezierCurveTo(middle, y0, middle, to.at, to.x, to.at);
    context.moveTo(to.x, to.at + to.band);
    context.bezierCurveTo(middle, to.at + to.band, middle, y0 + band, x0, y0 + band);
    context.stroke();
    context.restore();
    y0 += band;
  }
  if (children.length && end - y0 > 1.5) {
    const fade = context.createLinearGradient(x0, 0, x0 + 22, 0);
    fade.addColorStop(0, from.one.best ? NOW.amber : NOW.line);
    fade.addColorStop(1, "transparent");
    context.fillStyle = fade;
    context.fillRect(x0, y0, 22, end - y0);
  }
}

// A node: its word stands in its branch, or above it where that is thin.
function paintNode(context, { one, ...box }, { tokens, ink, cursor, step, share }) {
  const { box: there, pale } = growth(one, step, share);
  context.globalAlpha = there * pale * strength(one);
  inked(context, one);
  context.fillRect(box.x, box.at, box.width, box.band);
  context.beginPath();
  for (const edge of [box.at, box.at + box.band]) {
    context.moveTo(box.x, edge);
    context.lineTo(box.x + box.width, edge);
  }
  context.stroke();
  context.setLineDash([]);
  context.globalAlpha = there * Math.min(pale, Math.max(PALE, strength(one))); // a word is read all the same
  if (one.parent) {
    const inside = box.band >= WORD + 6;
    const line = inside ? box.at + box.band / 2 : box.at - WORD / 2;
    context.fillStyle = inside && one.best ? inkOn(rgbOf(NOW.amber)) : ink;
    context.font = one.kept && (one.best || Math.exp(one.total) >= SLIGHT) ? `600 ${WORDS}` : WORDS;
    const word = fit(context, tokens[one.token], box.width - 10);
    context.fillText(word, box.x + 5, line);
    const written = context.measureText(word).width;
    context.font = SMALL;
    context.fillText(chanceOf(one), box.x + written + 13, line + 2);
  } else context.fillRect(box.x, box.at, 3, box.band);
  context.globalAlpha = 1;
  if (cursor === String(one.ids)) {
    Object.assign(context, { strokeStyle: MEANINGS.cursor, lineWidth: 3 });
    context.strokeRect(box.x + 1, box.y - 1, box.width - 2, box.height + 2);
  }
}

// Bars of the step: filled after the cut, framed before it; what is cut is striped and says so.
function paintBars(context, bars, { x, y, width, rest, others, now, ink }) {
  Object.assign(context, { font: `bold ${FONT}`, fillStyle: ink, textAlign: "left", textBaseline: "middle" });
  context.fillText(now.mode === "beam" ? "extensions of the beam" : "next token", x, y + 10);
  // Names are measured bold, as that of the chosen token is written.
  const lettering = (chosen) => `${chosen ? "600 " : ""}16px ${SERIF}`;
  context.font = lettering(true);
  const named = Math.min(Math.max(...bars.map(({ name }) => context.measureText(name).width)) + 22, width * 0.55);
  context.font = FONT;
  const room = width - named - 54;
  const most = Math.max(...bars.flatMap(({ before, after, kept }) => (kept ? [before, after] : [before])));
  bars.forEach(({ name, before, after, kept, chosen, one }, i) => {
    const line = y + 30 + 24 * i;
    const long = (p) => (room * p) / most;
    Object.assign(context, { font: lettering(chosen), fillStyle: ink, textAlign: "left" });
    if (chosen) context.fillText("▸", x, line + 8);
    context.fillText(fit(context, name, named - 18), x + 13, line + 8);
    if (kept) {
      context.fillStyle = NOW.amber;
      context.fillRect(x + named, line + 1, long(after), 14);
    } else stripes(context, x + named, line + 1, long(before), 14, ink);
    Object.assign(context, { strokeStyle: ink, lineWidth: 1 });
    context.strokeRect(x + named + 0.5, line + 1.5, Math.max(long(before), 1), 13);
    Object.assign(context, { fillStyle: ink, textAlign: "right", font: chosen ? `bold ${FONT}` : FONT });
    context.fillText(!kept ? "cut" : now.mode === "beam" ? minus(one.total) : after.toFixed(3), x + width, line + 8);
  });
  Object.assign(context, { font: FONT, fillStyle: ink, textAlign: "left" });
  const hidden = [rest && `${rest} more`, now.mode !== "beam" && others && `${others} tokens outside the table`]
    .filter(Boolean)
    .join(", ");
  if (hidden) context.fillText(`… ${hidden}`, x + 13, y + 38 + 24 * bars.length);
}

// A text, or as much of it as has room: the last words of several, the beginning of one.
function fit(context, text, room) {
  let short = text;
  while (context.measureText(short).width > room && short.includes(" "))
    short = `… ${short
      .split(" ")
      .slice(short.startsWith("…") ? 2 : 1)
      .join(" ")}`;
  if (short.length < text.length && short.split(" ").length <= 2) short = text.split(" ").at(-1);
  if (context.measureText(short).width <= room) return short;
  while (short && context.measureText(`${short}…`).width > room) short = short.slice(0, -1);
  return `${short}…`;
}
