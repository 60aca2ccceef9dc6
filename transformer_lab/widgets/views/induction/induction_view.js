// Induction explorer: all heads of a model in the page, one of them large; take heads away, and see what changes.

import {
  bar,
  button,
  canvas,
  choice,
  clamp,
  eachFrame,
  element,
  onKeys,
  onLeave,
  resetButton,
  scroller,
  slider,
  tensor,
  watch,
  widthOf,
} from "../../shared/ui.js";
import { MEANINGS, NOW, SERIF } from "../../shared/palette.js";
import { FONT, diverging, paintCells, paintCursor, pooled, tokenMap } from "../../shared/grid.js";
import { languageModel, readerOf } from "../../shared/language_model.js";

const SHOWN = ["with what is taken away", "change from the whole model"];
const CHANGED = 0.01; // a weight that differs by more is a change that is marked

// ── what a model does with a text ──

// The loss in nats of each next token, and the weights of each layer and head: rows of T numbers, NaN for what a query
// may not see.
export function read(model, tokens, without = () => false) {
  const reader = readerOf(model, { without, watched: true });
  const losses = tokens.slice(1).map((next, t) => lossOf(reader.after(tokens.slice(0, t + 1)), next));
  reader.after(tokens);
  const whole = (row) => [...row, ...Array(tokens.length - row.length).fill(NaN)];
  return { losses, maps: reader.maps.map((heads) => heads.map((rows) => rows.map(whole))) };
}

// -ln p of a token.
function lossOf(logits, token) {
  const largest = Math.max(...logits);
  return largest + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - largest), 0)) - logits[token];
}

// Where each position would look to know what comes next: behind the last place where its own token stood before; null
// where there is none.
export function sources(tokens) {
  return tokens.map((token, t) => {
    const before = tokens.lastIndexOf(token, t - 1);
    return t > 0 && before >= 0 ? before + 1 : null;
  });
}

// The mean weight on the token before, and on the sources (null if there are none).
export function scores(map, tokens) {
  const mean = (all) => (all.length ? all.reduce((a, b) => a + b, 0) / all.length : null);
  const found = sources(tokens).flatMap((s, t) => (s === null ? [] : [map[t][s]]));
  return { previous: mean(map.slice(1).map((row, t) => row[t])), induction: mean(found) };
}

// By how much the weights of two maps differ at most.
export function largestChange(map, other) {
  let most = 0;
  map.forEach((row, t) => {
    for (let s = 0; s <= t; s += 1) most = Math.max(most, Math.abs(row[s] - other[t][s]));
  });
  return most;
}

const mean = (numbers) => numbers.reduce((a, b) => a + b, 0) / numbers.length;

// ── the view ──

export default {
  render({ model: state, el }) {
    return view(state, el);
  },
};

function view(model, el) {
  const lm = languageModel(model.get("model"));
  const [ids, tokens] = [Array.from(tensor(model.get("ids")).data), model.get("tokens")];
  const heads = lm.layers.flatMap(({ attention }, layer) =>
    Array.from({ length: attention.n_heads }, (_, head) => ({ layer, head, name: `${layer}.${head}` })),
  );
  const intact = read(lm, ids);
  const start = { at: 0, shown: 0, position: tokens.length - 2, gone: new Set() };
  const now = { ...start };
  let run = intact; // as it is with the heads that are gone

  const mapOf = ({ maps }, i) => maps[heads[i].layer][heads[i].head];
  const changes = () => heads.map((_, i) => largestChange(mapOf(run, i), mapOf(intact, i)));
  const large = () => {
    const map = mapOf(run, now.at);
    if (!now.shown) return map;
    return map.map((row, t) => row.map((weight, s) => weight - mapOf(intact, now.at)[t][s]));
  };
  let broughtTo = null;
  // Where the text is wider than its room, what was chosen is brought into the middle of it, until somebody scrolls.
  const showColumn = () => {
    const [{ left, size }, wide] = [chart.node.layout, room.clientWidth];
    if (broughtTo === (broughtTo = `${now.position} of ${wide}`)) return;
    room.scrollLeft = left + (now.position + 0.5) * size - wide / 2;
  };
  const draw = eachFrame(() => {
    const [values, changed, ink] = [large(), changes(), getComputedStyle(el).color];
    const { previous, induction } = scores(mapOf(run, now.at), ids);
    el.values = { head: heads[now.at].name, map: values, changed, intact: intact.losses, losses: run.losses };
    Object.assign(el.values, { previous, induction, position: now.position });
    grid.show({ run, changed, now, cursor: map.cursor, width: widthOf(el), ink });
    const most = Math.max(...values.flat().map((x) => Math.abs(x) || 0)) || 1;
    map.show(
      values,
      now.shown ? { name: "change", colours: diverging, range: [-most, most] } : { name: "weight", range: [0, 1] },
    );
    // Arcs that are cut are seen where they were.
    const arcs = now.gone.has(heads[now.at].name) ? intact : run;
    arcsAndLoss(chart, { el, intact, run, map: mapOf(arcs, now.at), now, heads, tokens, ink });
    showColumn();
    refresh();
  });
  const change = (what) => {
    Object.assign(now, what);
    if ("gone" in what) run = now.gone.size ? read(lm, ids, (layer, head) => now.gone.has(`${layer}.${head}`)) : intact;
    position.set(now.position);
    draw();
  };

  const map = tokenMap({
    el,
    room: () => (tokens.length > FEW ? widthOf(el) : Math.min(widthOf(el), LARGE)),
    label: "Attention of one head.",
    state: (values) => describe(values, null, { now, heads, run, intact, mapOf, ids, tokens }),
    rows: tokens,
    columns: tokens,
    axes: ["query", "key"],
    redraw: () => draw(),
    describe: (values, cell) => describe(values, cell, { now, heads, run, intact, mapOf, ids, tokens }),
    onmove: (cell) => {
      if (cell) change({ position: Math.min(cell[0], tokens.length - 2) });
    },
  });
  const grid = headGrid({ heads, T: tokens.length, mapOf, onpoint: map.move, onchoose: (at) => change({ at }) });
  const chart = canvas("The arcs of a head, and the loss of each next token.", { keys: false });
  const room = scroller("the arcs of a head over the text");
  room.append(chart.node);
  // A press on a word chooses it, and one among the arcs cuts them.
  chart.node.onpointerdown = (event) => {
    const { left, size, line } = chart.node.layout;
    const [x, y] = chart.at(event);
    const t = clamp(Math.floor((x - left) / size), 0, tokens.length - 2);
    if (y > line - 14) map.move([t, sources(ids)[t] ?? t]);
    else cut();
  };
  const shown = choice("show", SHOWN, (i) => change({ shown: i }));
  const position = slider(
    "position",
    { min: 0, max: tokens.length - 2, step: 1, value: start.position, show: (t) => `${t}: ${tokens[t]}` },
    (t) => map.move([t, sources(ids)[t] ?? t]),
  );
  const cut = () => {
    const gone = new Set(now.gone);
    if (!gone.delete(heads[now.at].name)) gone.add(heads[now.at].name);
    change({ gone });
  };
  const ablate = button("ablate", cut);
  const restore = button("restore all", () => change({ gone: new Set() }));
  const refresh = () => {
    ablate.textContent = `ablate head ${heads[now.at].name}`;
    ablate.setAttribute("aria-pressed", now.gone.has(heads[now.at].name));
  };
  const reset = resetButton([shown, position, map], () => change(start));
  const named = new Map(heads.map((head, at) => [head.name, at]));
  el.kept = {
    head: { get: () => heads[now.at].name, set: (name) => named.has(name) && change({ at: named.get(name) }) },
    cut: {
      get: () => [...now.gone].sort().join(","),
      set: (text) => change({ gone: new Set(text.split(",").filter((name) => named.has(name))) }),
    },
  };
  el.append(
    element("style", {}, ".tl-induction .tl-scroll { max-height: none; }"),
    grid.node,
    element(
      "div",
      { class: "tl-note" },
      "Press a head to see its arcs, and press among the arcs to cut them: the loss rises. Crossed out: taken away. " +
        "A dashed frame: its weights have changed, by so much at most.",
    ),
    bar(ablate, restore),
    room,
    bar(position.node, shown.node),
    map.beside(bar(...map.buttons, reset)),
    map.table,
  );
  return watch(el, draw);
}

// ── drawing ──

const [LEAST, MOST] = [18, 40]; // how wide the column of a token is
const [LEAST_WIDE, LARGE, FEW] = [90, 440, 30]; // a small map in a row; the large one, if it has so few tokens at most
const [ARCS, BARS] = [150, 96]; // how high the arcs are, and the bars of the loss
const SEEN = 0.05; // weights from here on have an arc

// The text in a line. Above it the arcs of the chosen head, as thick as its weights, and cut where it is taken away;
// below it the loss of what comes next, and in the colour of change by how much it has risen.
function arcsAndLoss(sketch, { el, intact, run, map, now, heads, tokens, ink }) {
  const T = tokens.length;
  const size = clamp((widthOf(el) - 60) / T, LEAST, MOST);
  const [left, line] = [52, ARCS + 24];
  const bars = line + 34;
  const context = sketch.resize(left + T * size + 6, bars + BARS + 22);
  sketch.node.layout = { left, size, line, arcs: ARCS };
  const at = (t) => left + (t + 0.5) * size;
  const gone = [...now.gone].sort().join(", ");
  const lost = gone ? `, ${mean(run.losses).toFixed(2)} without ${gone}` : "";
  sketch.describe(
    `The arcs of head ${heads[now.at].name}, and the loss of each next token: on average ` +
      `${mean(intact.losses).toFixed(2)} nats${lost}.`,
  );
  const cut = now.gone.has(heads[now.at].name);
  for (const on of [false, true])
    map.forEach((row, t) => {
      if ((t === now.position) !== on) return;
      row.forEach((weight, s) => {
        if (weight >= SEEN) arc(context, at(t), at(s), line - 14, { weight, on, cut, far: T * size });
      });
    });
  Object.assign(context, { textAlign: "center", textBaseline: "middle" });
  tokens.forEach((token, t) => {
    const chosen = t === now.position;
    Object.assign(context, { fillStyle: ink, font: `${chosen ? "bold " : ""}17px ${SERIF}` });
    context.fillText(token.slice(0, Math.max(1, Math.floor(size / 9))), at(t), line);
    if (chosen) context.fillRect(at(t) - size / 2 + 2, line + 12, size - 4, 2);
  });
  const most = Math.max(...intact.losses, ...run.losses, 0.1);
  const tall = (loss) => (BARS * loss) / most;
  Object.assign(context, { font: FONT, fillStyle: ink, textAlign: "left" });
  context.fillText("loss ↓", 0, bars + 8);
  context.fillText("looks", 0, line - 60);
  context.fillText("back ⤺", 0, line - 42);
  intact.losses.forEach((before, t) => {
    const [x, wide, after] = [at(t) - size / 2 + 3, size - 6, run.losses[t]];
    context.fillStyle = t === now.position ? ink : NOW.thread;
    context.fillRect(x, bars, wide, Math.max(1, tall(Math.min(before, after))));
    if (after > before) {
      context.fillStyle = NOW.change;
      context.fillRect(x, bars + tall(before), wide, tall(after - before));
    } else if (after < before) {
      Object.assign(context, { strokeStyle: NOW.thread, lineWidth: 1 });
      context.setLineDash([3, 2]);
      context.strokeRect(x + 0.5, bars + tall(after), wide - 1, tall(before - after));
      context.setLineDash([]);
    }
  });
  Object.assign(context, { fillStyle: ink, font: FONT, textAlign: "left" });
  const then = gone ? ` → ${mean(run.losses).toFixed(2)} without ${gone}` : "";
  context.fillText(`mean loss ${mean(intact.losses).toFixed(2)}${then} nats`, left, bars + BARS + 12);
}

// An arc from a token back to what it looks at; one to itself is a loop.
function arc(context, from, to, line, { weight, on, cut, far }) {
  const high = from === to ? 16 : 18 + (ARCS - 30) * Math.sqrt(Math.abs(from - to) / far);
  context.beginPath();
  context.moveTo(from === to ? from - 5 : from, line);
  context.bezierCurveTo(from, line - 1.3 * high, to, line - 1.3 * high, from === to ? to + 5 : to, line);
  context.setLineDash(cut ? [3, 4] : []);
  Object.assign(context, {
    strokeStyle: cut ? NOW.change : on ? NOW["amber-edge"] : NOW.amber,
    lineWidth: cut ? 1 : Math.max(1, 9 * weight),
    globalAlpha: on || cut ? 1 : 0.4,
  });
  context.stroke();
  context.setLineDash([]);
  context.globalAlpha = 1;
}

// All heads as small maps, a row for each layer; the cursor of the large map is in each.
function headGrid({ heads, T, mapOf, onpoint, onchoose }) {
  const sketch = canvas("Heads as small maps.", { how: "Arrow keys choose one." });
  const across = Math.max(...heads.map(({ head }) => head + 1));
  const at = (layer, head) => heads.findIndex((one) => one.layer === layer && one.head === head);
  let boxes = [];
  let chosen = 0;
  const show = ({ run, changed, now, cursor, width: total, ink }) => {
    const gone = now.gone.size ? ` Taken away: ${[...now.gone].sort().join(", ")}.` : "";
    sketch.describe(`${heads.length} heads as small maps, a row for each layer. Chosen: ${heads[now.at].name}.${gone}`);
    // All heads stand in a row where there is room for that, and else each layer in its own.
    const layers = heads.at(-1).layer + 1;
    const inRow = total / (across * layers) - 14 >= LEAST_WIDE ? 1 : 0;
    const side = Math.min(150, total / (inRow ? across * layers : across) - 14);
    const [size, down] = [side / T, side + 36];
    const context = sketch.resize(across * (inRow ? layers : 1) * (side + 14), (inRow ? 1 : layers) * down);
    chosen = now.at;
    boxes = heads.map(({ layer, head }) => ({
      left: (head + inRow * layer * across) * (side + 14) + 3,
      top: (inRow ? 0 : layer * down) + 22,
      size,
      shown: [T, T],
    }));
    sketch.node.layout = { boxes };
    const k = Math.max(1, Math.ceil(1 / size));
    boxes.forEach((box, i) => {
      const [{ left, top }, gone] = [box, now.gone.has(heads[i].name)];
      const differs = changed[i] > CHANGED;
      Object.assign(context, { fillStyle: ink, textAlign: "left", textBaseline: "middle" });
      context.font = i === now.at ? `bold ${FONT}` : FONT;
      context.fillText(side < 70 ? heads[i].name : `head ${heads[i].name}`, left, top - 10);
      if (differs && side >= 60) {
        Object.assign(context, { textAlign: "right", font: FONT });
        context.fillText(`Δ ${changed[i].toFixed(2)}`, left + side, top - 10);
      }
      const map = k > 1 ? pooled(mapOf(run, i), k, false) : mapOf(run, i);
      context.globalAlpha = gone ? 0.25 : 1;
      paintCells(context, map, { left, top, size: size * k }, { range: [0, 1], ink });
      context.globalAlpha = 1;
      if (gone) cross(context, left, top, side, ink);
      if (differs) frame(context, left, top, side, MEANINGS.change, [5, 3]);
      if (i === now.at) frame(context, left - 2, top - 2, side + 4, MEANINGS.chosen, []);
      if (cursor) paintCursor(context, box, cursor, ink);
    });
  };
  const under = (event) => {
    const [x, y] = sketch.at(event);
    const i = boxes.findIndex(
      ({ left, top, size }) => x >= left && x < left + T * size && y >= top && y < top + T * size,
    );
    if (i < 0) return null;
    const [t, s] = [(y - boxes[i].top) / boxes[i].size, (x - boxes[i].left) / boxes[i].size].map(Math.floor);
    return { i, cell: [t, s] };
  };
  Object.assign(sketch.node, {
    onpointermove: (event) => onpoint(under(event)?.cell ?? null),
    onpointerleave: onLeave(() => onpoint(null)),
    onpointerdown: (event) => {
      const found = under(event);
      onpoint(found?.cell ?? null);
      if (found) onchoose(found.i);
    },
    onkeydown: onKeys((key) => {
      const { layer, head } = heads[chosen];
      const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[key];
      const to = by
        ? at(clamp(layer + by[0], 0, heads.at(-1).layer), clamp(head + by[1], 0, across - 1))
        : { Home: 0, End: heads.length - 1 }[key];
      if (to === undefined) return false;
      if (to >= 0) onchoose(to);
    }),
  });
  return { node: sketch.node, show };
}

function frame(context, x, y, side, colour, dash) {
  context.setLineDash(dash);
  Object.assign(context, { strokeStyle: colour, lineWidth: 3 }).strokeRect(x, y, side, side);
  context.setLineDash([]);
}

function cross(context, x, y, side, ink) {
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + side, y + side);
  context.moveTo(x + side, y);
  context.lineTo(x, y + side);
  Object.assign(context, { strokeStyle: ink, lineWidth: 1.5 }).stroke();
}

// ── words ──

function describe(values, cell, { now, heads, run, intact, mapOf, ids, tokens }) {
  const { name } = heads[now.at];
  const losses = lossesAt(now.position, { now, run, intact, tokens });
  if (cell) {
    const [t, s] = cell;
    const weight = (x) => (Number.isNaN(x) ? "may not be seen" : `weight ${x.toFixed(3)}`);
    const change = now.shown && s <= t ? `, a change of ${values[t][s].toFixed(3).replace("-", "−")}` : "";
    const seen = weight(mapOf(run, now.at)[t][s]);
    return `head ${name}, query ${tokens[t]} (${t}), key ${tokens[s]} (${s}): ${seen}${change}. ${losses}`;
  }
  const { previous, induction } = scores(mapOf(run, now.at), ids);
  const found =
    induction === null ? "no token stands twice" : `on what followed the same token before ${induction.toFixed(2)}`;
  const gone = now.gone.has(name) ? ", taken away" : "";
  return `head ${name}${gone}: mean weight on the token before ${previous.toFixed(2)}; ${found}. ${losses}`;
}

function lossesAt(t, { now, run, intact, tokens }) {
  const said = `After ${tokens[t]} (${t}) comes ${tokens[t + 1]}: loss ${intact.losses[t].toFixed(2)}`;
  return now.gone.size ? `${said}, now ${run.losses[t].toFixed(2)}.` : `${said}.`;
}
