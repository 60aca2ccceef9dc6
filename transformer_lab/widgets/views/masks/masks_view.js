// Mask playground: paint which query may see which key; the weights follow, and what is wrong is said.

import {
  bar,
  button,
  checkbox,
  eachFrame,
  element,
  resetButton,
  sideBySide,
  slider,
  softmax,
  tensor,
  watch,
  widthOf,
} from "../../shared/ui.js";
import { write } from "../../shared/drawing.js";
import { tokenMap } from "../../shared/grid.js";
import { numberIn } from "../../shared/cells.js";
import { NOW, amounts, css, inkOn } from "../../shared/palette.js";

const LARGE = 64; // pixels across a window, where there is room

const PATTERNS = {
  everything: () => true,
  causal: (t, s) => s <= t,
  "sliding window": (t, s, { window }) => s <= t && s > t - window,
  prefix: (t, s, { prefix }) => s <= t || s < prefix,
};

// The table of a pattern without the keys that are padding: T rows of T booleans.
export function maskOf({ pattern, window, prefix, padding }) {
  return padding.map((_, t) => padding.map((hidden, s) => !hidden && PATTERNS[pattern](t, s, { window, prefix })));
}

// Masked softmax, row by row; a row that may see nothing is all zeros.
export function weightsOf(scores, allowed) {
  return allowed.map((row, t) => softmax(scores.subarray(t * row.length, (t + 1) * row.length), (s) => row[s]));
}

// Who hears of whom in two layers: the boolean product of the table with itself.
export function twoLayers(allowed) {
  return allowed.map((row, t) => row.map((_, s) => through(allowed, t, s) >= 0));
}

// A token that query t sees and that itself sees key s, or -1.
function through(allowed, t, s) {
  return allowed[t].findIndex((seen, u) => seen && allowed[u][s]);
}

// What is wrong with a mask. A key of the prefix is known from the start, so that seeing it early leaks nothing.
export function faults(allowed, weights, { padding, known }) {
  const pairs = (wrong) => allowed.flatMap((row, t) => row.flatMap((seen, s) => (seen && wrong(t, s) ? [[t, s]] : [])));
  const all = weights.flat().reduce((a, b) => a + b, 0);
  const share = (found) => (all ? found.reduce((sum, [t, s]) => sum + weights[t][s], 0) / all : 0);
  const leaks = pairs((t, s) => s > t && s >= known);
  const heard = pairs((t, s) => padding[s]);
  const blind = allowed.flatMap((row, t) => (row.some(Boolean) ? [] : [t]));
  return { leaks, leaked: share(leaks), blind, heard, wasted: share(heard) };
}

export default {
  render({ model, el }) {
    const scores = tensor(model.get("scores")).data;
    const tokens = model.get("tokens");
    const start = { pattern: model.get("pattern"), window: 2, prefix: 2, twoLayers: false };
    const now = { ...start, padding: [...model.get("padding")], painted: false };
    let allowed = maskOf(now);
    let to = false; // what the brush makes of a cell

    const map = tokenMap({
      el,
      farthest: LARGE,
      label: "Masked attention weights.",
      state: (weights) => stateOf(allowed, weights, { now, tokens }),
      rows: tokens,
      columns: tokens,
      axes: ["query", "key"],
      redraw: () => draw(),
      describe: (weights, cell) => describe(weights, cell, { allowed, scores, tokens }),
      onpress: ([t, s], first) => {
        if (first) to = !allowed[t][s];
        allowed[t][s] = to;
        now.painted = true;
        change();
      },
    });
    map.node.style.touchAction = "none"; // a finger paints, and does not scroll
    const verdict = element("p", { class: "tl-verdict" });
    const checks = element("div", { "aria-live": "polite", class: "tl-checks" });

    const draw = eachFrame(() => {
      const weights = weightsOf(scores, allowed);
      const found = faults(allowed, weights, {
        padding: now.padding,
        known: now.pattern === "prefix" ? now.prefix : 0,
      });
      const wide = widthOf(el) >= 480;
      map.show(weights, {
        name: "weight",
        range: [0, 1],
        masked: (t, s) => !allowed[t][s],
        maskedName: "shut",
        cell: (context, box) => paintWindow(context, box, leaks(box, now)),
        hidden: paintShutter,
        ...(wide ? { beside: remarks(found, weights) } : {}),
      });
      if (now.twoLayers) paintDots(map.node, allowed, getComputedStyle(el).color);
      const seal = sealOf(found);
      verdict.textContent = seal.said;
      verdict.classList.toggle("tl-wrong", !seal.right);
      const lines = verdicts(found, { tokens, padding: now.padding, known: now.pattern === "prefix" });
      if (now.twoLayers) lines.push(["●", heardOf(allowed, tokens)]);
      sayAll(checks, lines);
      el.values = {
        weights,
        allowed: allowed.map((row) => [...row]),
        leaked: found.leaked,
        alarms: lines.filter(([sign]) => sign === "⚠").map(([, text]) => text),
      };
    });

    const tabs = Object.keys(PATTERNS).map((pattern) => [pattern, button(pattern, () => lay({ pattern }))]);
    const back = slider("window", { min: 1, max: tokens.length, step: 1, value: start.window, show: String }, (n) =>
      lay({ pattern: "sliding window", window: n }),
    );
    const prefix = slider("prefix", { min: 0, max: tokens.length, step: 1, value: start.prefix, show: String }, (n) =>
      lay({ pattern: "prefix", prefix: n }),
    );
    const pads = tokens.map((token, s) =>
      button(token, () => pad(s), { "aria-label": `${token}, place ${s + 1}, is padding` }),
    );
    const layers = checkbox("two layers", false, (on) => {
      now.twoLayers = on;
      change();
    });
    const reset = resetButton([back, prefix, layers, map], () => {
      Object.assign(now, start, { padding: [...model.get("padding")] });
      lay({});
    });

    const change = () => {
      tabs.forEach(([pattern, tab]) => tab.setAttribute("aria-pressed", !now.painted && pattern === now.pattern));
      pads.forEach((one, s) => one.setAttribute("aria-pressed", now.padding[s]));
      draw();
    };
    const lay = (what) => {
      // a pattern covers what was painted
      Object.assign(now, what, { painted: false });
      allowed = maskOf(now);
      change();
    };
    const pad = (s) => {
      // one column changes, the rest stays as it is painted
      now.padding[s] = !now.padding[s];
      const fresh = maskOf(now);
      allowed.forEach((row, t) => {
        row[s] = fresh[t][s];
      });
      change();
    };

    // What was painted, a row of digits for each query.
    const paintedAs = (text) => {
      const rows = text.split(".").map((row) => Array.from(row, (digit) => digit === "1"));
      if (rows.length !== tokens.length || rows.some((row) => row.length !== tokens.length)) return;
      allowed = rows;
      now.painted = true;
      change();
    };
    const inDigits = () => (now.painted ? allowed.map((row) => row.map(Number).join("")).join(".") : "");
    el.kept = { painted: { get: inDigits, set: paintedAs } };

    el.append(
      element("style", {}, STYLE),
      element("div", { class: "tl-bar tl-segments" }, ...tabs.map(([, tab]) => tab)),
      sideBySide(
        map.node,
        verdict,
        checks,
        map.note,
        map.says,
        element("div", { class: "tl-bar", role: "group", "aria-label": "padding" }, "padding", ...pads),
        bar(back.node, prefix.node, layers.node),
        bar(...map.buttons, reset),
      ),
      map.table,
    );
    change();
    return watch(el, draw);
  },
};

const STYLE = `
.tl-masks .tl-verdict {
  display: flex; gap: 12px; align-items: center; margin: 8px 0; font: 600 25px/1.2 var(--tl-serif);
}
.tl-masks .tl-verdict::before {
  content: "✓"; flex: none; display: grid; place-items: center; width: 40px; height: 40px; border-radius: 50%;
  background: var(--tl-ink); color: var(--tl-paper); font: 600 20px/1 var(--tl-sans);
}
.tl-masks .tl-verdict.tl-wrong { color: var(--tl-change); }
.tl-masks .tl-verdict.tl-wrong::before {
  content: "!"; box-sizing: border-box; border: 3px dashed; background: none; color: inherit;
}
.tl-masks .tl-checks { margin: 8px 0; }
.tl-masks .tl-checks div { padding-left: 1.6em; text-indent: -1.6em; }
.tl-masks .tl-checks b { display: inline-block; width: 1.6em; text-indent: 0; }
`;

// ── words ──

const percent = (share) => `${(100 * share).toFixed(1)} %`;
const more = (n) => (n > 1 ? `, and ${n - 1} more ${n > 2 ? "pairs" : "pair"}` : "");

// What is seen from afar: the first thing that is wrong, or that nothing is.
export function sealOf({ leaks, blind, heard }) {
  const wrong = [
    [leaks, "The future leaks"],
    [blind, "A query sees nothing"],
    [heard, "Padding is heard"],
  ].find(([found]) => found.length);
  return { right: !wrong, said: wrong ? wrong[1] : "A sound mask" };
}

// For each thing that may be wrong: a sign, and a sentence.
function verdicts({ leaks, leaked, blind, heard, wasted }, { tokens, padding, known }) {
  const pair = ([t, s]) => `${tokens[t]} (${t + 1}) sees ${tokens[s]} (${s + 1})`;
  const lines = [
    leaks.length
      ? ["⚠", `Leaks the future: ${pair(leaks[0])}${more(leaks.length)}; ${percent(leaked)} of all weight lies there.`]
      : [
          "✓",
          known
            ? "Nothing leaks: later keys are seen only in the prefix, and that is known from the start."
            : "Nothing leaks: no query sees a later key.",
        ],
    blind.length
      ? [
          "⚠",
          `Sees nothing: ${blind.map((t) => `${tokens[t]} (${t + 1})`).join(", ")}. ` +
            "A softmax over −∞ alone is NaN; the package gives zeros.",
        ]
      : ["✓", "Every query sees a key."],
  ];
  if (!padding.some(Boolean)) return lines;
  return [
    ...lines,
    heard.length
      ? [
          "⚠",
          `Listens to padding: ${pair(heard[0])}${more(heard.length)}; ${percent(wasted)} of all weight lies there.`,
        ]
      : ["✓", "No query sees padding."],
  ];
}

function heardOf(allowed, tokens) {
  const reached = twoLayers(allowed);
  const far = reached.flatMap((row, t) => row.flatMap((yes, s) => (yes && !allowed[t][s] ? [[t, s]] : [])));
  if (!far.length) return "Two layers reach no further than one: whoever is heard of is seen.";
  const [t, s] = far[0];
  const first = `${tokens[t]} (${t + 1}) hears of ${tokens[s]} (${s + 1}) through ${tokens[through(allowed, t, s)]}`;
  return `In two layers ${far.length} more ${far.length > 1 ? "pairs" : "pair"}: ${first}.`;
}

function sayAll(node, lines) {
  const text = lines.flat().join();
  if (node.said === text) return;
  node.said = text;
  node.replaceChildren(
    ...lines.map(([sign, words]) =>
      element("div", { style: sign === "⚠" ? "font-weight: 600" : false }, element("b", {}, sign), words),
    ),
  );
}

// What is seen: which keys each query may see, and where it looks most.
function stateOf(allowed, weights, { now, tokens }) {
  const rows = allowed.slice(0, 8).map((row, t) => {
    const seen = tokens.filter((_, s) => row[s]);
    const most = weights[t].indexOf(Math.max(...weights[t]));
    return seen.length ? `${tokens[t]} sees ${seen.length}, most ${tokens[most]}` : `${tokens[t]} sees nothing`;
  });
  const more = allowed.length > rows.length ? `, and ${allowed.length - rows.length} more` : "";
  return `${now.painted ? "Painted" : `Pattern: ${now.pattern}`}. Of ${tokens.length} keys ${rows.join("; ")}${more}.`;
}

function describe(weights, cell, { allowed, scores, tokens }) {
  if (!cell) return "Paint: press a window, or draw over several. By keys: the arrows move, and Space paints.";
  const [t, s] = cell;
  const score = scores[t * tokens.length + s].toFixed(2).replace("-", "−");
  const said = `query ${tokens[t]}, key ${tokens[s]}: score ${score}, `;
  if (allowed[t][s]) return `${said}weight ${weights[t][s].toFixed(3)}.`;
  const via = through(allowed, t, s);
  return `${said}masked. In two layers it hears ${via < 0 ? "nothing of it either" : `of it through ${tokens[via]}`}.`;
}

// ── drawing ──

// A key that comes later than its query, and is not known from the start, may not be seen.
const leaks = ({ t, s, value }, { pattern, prefix }) =>
  !Number.isNaN(value) && s > t && !(pattern === "prefix" && s < prefix);

// A window: open, the light behind it is the weight; a leak is a spark in it.
function paintWindow(context, { x, y, size, value }, leak) {
  if (Number.isNaN(value)) return paintShutter(context, { x, y, size });
  const light = amounts(value);
  context.fillStyle = css(light);
  context.fillRect(x, y, size, size);
  const rolled = Math.max(3, size * 0.1);
  Object.assign(context, { fillStyle: NOW.thread }).fillRect(x, y, size, rolled);
  if (size >= 30)
    write(context, numberIn(value), x + size / 2, y + (size + rolled) / 2, {
      size: 12,
      align: "center",
      colour: inkOn(light),
    });
  Object.assign(context, { strokeStyle: NOW.edge, lineWidth: 1 }).strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
  if (leak) paintSpark(context, x + size - size * 0.2, y + size * 0.26, Math.max(5, size * 0.19));
}

// A shutter that is down: slats all the way.
function paintShutter(context, { x, y, size }) {
  Object.assign(context, { fillStyle: NOW.slab }).fillRect(x, y, size, size);
  const slat = Math.max(4, size / 7);
  Object.assign(context, { fillStyle: NOW.thread, globalAlpha: 0.8 });
  for (let line = y; line < y + size - 1; line += slat) context.fillRect(x + 1, line, size - 2, slat * 0.56);
  context.globalAlpha = 1;
  Object.assign(context, { strokeStyle: NOW.edge, lineWidth: 1 }).strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
}

function paintSpark(context, x, y, r) {
  context.beginPath();
  for (let i = 0; i < 16; i += 1) {
    const [angle, far] = [(i * Math.PI) / 8, i % 2 ? r * 0.42 : r];
    context.lineTo(x + far * Math.sin(angle), y - far * Math.cos(angle));
  }
  context.closePath();
  Object.assign(context, { fillStyle: NOW.change, strokeStyle: NOW.paper, lineWidth: 2, lineJoin: "round" });
  context.stroke();
  context.fill();
}

// What is wrong with a row stands beside it.
function remarks({ leaks, blind }, weights) {
  const ofRow = (row) => leaks.filter(([t]) => t === row).reduce((sum, [t, s]) => sum + weights[t][s], 0);
  const leaky = new Set(leaks.map(([t]) => t));
  return {
    width: 124,
    draw: (context, { x, top, size, first, count }) => {
      for (let t = first; t < first + count; t += 1) {
        const y = top + (t - first + 0.5) * size;
        if (blind.includes(t)) write(context, "⚠ sees nothing", x, y, { bold: true });
        else if (leaky.has(t)) {
          paintSpark(context, x + 7, y, 7);
          write(context, `leaks ${percent(ofRow(t))}`, x + 20, y, { colour: NOW.change, bold: true });
        }
      }
    },
  };
}

// A dot where a key is not seen, but heard of in two layers.
function paintDots(node, allowed, ink) {
  const { left, top, size, first, shown } = node.layout;
  const context = node.getContext("2d");
  Object.assign(context, { fillStyle: ink, strokeStyle: NOW.paper, lineWidth: 2 });
  twoLayers(allowed).forEach((row, t) =>
    row.forEach((yes, s) => {
      const [i, j] = [t - first[0], s - first[1]];
      if (!yes || allowed[t][s] || i < 0 || j < 0 || i >= shown[0] || j >= shown[1]) return;
      context.beginPath();
      context.arc(left + (j + 0.5) * size - 0.5, top + (i + 0.5) * size - 0.5, Math.max(2, size / 8), 0, 2 * Math.PI);
      context.stroke();
      context.fill();
    }),
  );
}
