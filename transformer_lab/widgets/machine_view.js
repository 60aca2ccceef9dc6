// The machine: a Transformer at work in the page, its matrices in their places, and switches on its parts.

import { detailOf, valuesOf } from "./machine_detail.js";
import { NOTHING, translated, writtenAs } from "./machine_model.js";
import { layoutOf, neighbour, paintMachine, partAt } from "./machine_overview.js";
import { boxesOf, pathOf } from "./machine_parts.js";
import { tokenizerOf } from "./machine_tokenizer.js";
import { weightsOf } from "./machine_weights.js";
import { bar, button, canvas, choice, cividis, css, eachFrame, element, inkOn, onKeys, readout } from "./ui.js";
import { slider, watch } from "./ui.js";

const MODES = ["look inside", "switch off", "swap"];
const HELP = [
  "Press a box to see its matrices.",
  "Press a head, a residual connection, a norm, an encoding, a feed-forward network or a mask: off, and on again.",
  "Press a head, a norm, a feed-forward network or an encoding: at the chosen token (in the decoder, that of the" +
    " output) it writes what it writes there for the other sentence.",
];
const WIDE = 1000; // pixels from which on a part is seen beside the whole

export default {
  render({ model, el }) {
    el.style.maxWidth = "1560px";
    weightsOf(model.get("model")).then((sent) => begin({ model, el, sent }));
  },
};

function begin({ model, el, sent }) {
  const tokenizer = tokenizerOf(model.get("tokenizer"));
  const machine = { ...sent, symbols: model.get("tokenizer").symbols.map((_, i) => tokenizer.name(i)) };
  const boxes = { encoder: boxesOf("encoder", machine), decoder: boxesOf("decoder", machine) };
  const parts = Object.entries(boxes).flatMap(([side, all]) =>
    all.flatMap((box) => box.parts.map((part) => ({ side, box, part, path: pathOf(side, box, part) }))),
  );
  const partOf = (id) => parts.find(({ part }) => part.key === id);
  const first = `decoder.layers.${machine.n_layers - 1}.cross_attention.head.0`;
  const fresh = () => ({
    ...{ text: model.get("text"), other: "", at: 0, mode: 0, off: new Set(), swaps: [], spot: 0 },
    ...{ open: first, tab: 0, cell: null, zoomed: false, trail: [], cursor: null },
  });
  let now = fresh();
  let [run, intact, other, unknown, plan] = [null, null, null, "", null];

  // ── computing ──

  const readable = (text) => {
    const { ids, unknown: strange } = tokenizer.encode(text);
    return { src: [...ids.slice(0, machine.longest - 1), machine.eos], strange, cut: ids.length >= machine.longest };
  };
  const compute = (anew) => {
    if (anew) {
      const { src, strange, cut } = readable(now.text);
      const letters = strange.length ? [`Left out: ${strange.map((one) => `“${one}”`).join(", ")}.`] : [];
      unknown = [...letters, ...(cut ? [`The text is cut behind ${machine.longest - 1} tokens.`] : [])].join(" ");
      intact = translated(machine, src);
    }
    const swaps = now.swaps.map((swap) => ({ ...swap, value: valueOf(swap) })).filter(({ value }) => value);
    run = now.off.size + swaps.length ? translated(machine, intact.src, { off: now.off, swaps }) : intact;
    now.at = Math.min(now.at, run.target.length - 1);
  };
  // What a part writes at a position of the other sentence; nothing where that is shorter.
  const valueOf = ({ part, head, position }) => {
    const row = other?.at.get(writtenAs({ part, head })).rows[position];
    const d = machine.d_model / machine.n_heads;
    return row && (head === null ? row : row.slice(head * d, (head + 1) * d));
  };
  const names = () => ({
    source: run.src.map(tokenizer.name),
    fed: [machine.bos, ...run.target.slice(0, -1)].map(tokenizer.name),
    vocabulary: machine.symbols,
  });
  const changeOf = (name) => (run === intact ? 0 : changed(...[run, intact].map(({ at }) => at.get(name).rows)));
  // How much the last layer's cross-attention looks at each input token, on the mean of its heads.
  const shares = () => {
    const maps = Array.from({ length: machine.n_heads }, (_, head) =>
      run.at.get(`decoder.layers.${machine.n_layers - 1}.cross_attention.weights.${head}`),
    );
    return run.src.map((_, s) => maps.reduce((sum, { rows }) => sum + rows[now.at][s], 0) / maps.length);
  };

  // ── controls ──

  const field = (label, oninput) =>
    element("input", {
      type: "text",
      maxlength: 300,
      spellcheck: false,
      autocomplete: "off",
      "aria-label": label,
      "data-lm-suppress-shortcuts": "true",
      oninput,
      onkeydown: (event) => event.stopPropagation(),
    });
  const input = field("text to translate", () => change({ text: input.value }, true));
  const from = field("take it from the sentence", () => {
    other = from.value.trim() ? translated(machine, readable(from.value).src) : null;
    change({ other: from.value }, false);
  });
  const reads = element("div", { class: "tl-tokens" });
  const writes = element("div", { class: "tl-tokens" });
  const before = element("div", { class: "tl-tokens tl-before" });
  const notice = element("div", { class: "tl-note", "aria-live": "polite" });
  const modes = MODES.map((name, i) => button(name, () => change(i ? { mode: i, zoomed: false } : { mode: i })));
  const help = element("span", { class: "tl-note" });
  const spot = element("div", { class: "tl-bar" });
  const swapBar = element("div", { class: "tl-bar" }, element("label", {}, "take it from ", from), spot);
  const chips = element("div", { class: "tl-bar", hidden: true });
  const stepRoom = element("div");
  const says = readout();
  const sketch = canvas("The Transformer, from the bottom up. Arrow keys go from part to part, Enter presses one.");
  const crumbs = element("div", { class: "tl-bar tl-crumbs" });
  const detail = detailOf({
    onopen: (open, tab, cell) => change({ open, tab, cell }),
    oncell: (cell) => change({ cell }),
    redraw: () => draw(),
  });
  const right = element("div", { class: "tl-right" }, crumbs, detail.node);
  const left = element("div", { class: "tl-left" }, sketch.node, says);
  let [step, spots, seen] = [null, null, ""];

  const change = (what, anew = false) => {
    Object.assign(now, what);
    if (anew || "off" in what || "swaps" in what || "other" in what) compute(anew);
    draw();
  };
  const flip = (id) => {
    const off = new Set(now.off);
    if (!off.delete(id)) off.add(id);
    change({ off });
  };
  const press = ({ side, part }) => {
    if (now.mode === 1 && part.off) flip(part.off);
    else if (now.mode === 2 && part.swap && other) {
      const position = side === "encoder" ? now.spot : now.at;
      const same = (swap) => swap.key === part.key && swap.position === position;
      const swaps = now.swaps.filter((swap) => !same(swap));
      if (swaps.length === now.swaps.length) swaps.push({ key: part.key, ...part.swap, position });
      change({ swaps });
    } else if (now.mode === 0) change({ open: part.key, tab: 0, cell: null, zoomed: true, trail: [] });
  };
  // The number whose sum is seen: the one that was pressed, if it is still there; or the largest in the row of the
  // output token, or in the first.
  const cellOf = ({ side, part }) => {
    const values = valuesOf(part.tabs[now.tab], run);
    if (now.cell && values[now.cell[0]]?.[now.cell[1]] !== undefined) return now.cell;
    const t = side === "decoder" && values.length === run.target.length ? now.at : 0;
    const sizes = values[t].map((x) => Math.abs(x) || 0);
    return [t, sizes.indexOf(Math.max(...sizes))];
  };
  // Where a number of a matrix is seen: the part, and which of its tabs.
  const placeOf = ({ name, cell: [, j] }) => {
    const holds = (tab) => tab.name === name && j >= (tab.from ?? 0) && j < (tab.to ?? Infinity);
    const to = parts.find(({ part }) => part.tabs.some(holds));
    return { ...to, tab: to.part.tabs.findIndex(holds) };
  };
  const nameOf = (from) => {
    const { part, path, tab } = placeOf(from);
    return `${path.join(", ")}: ${part.tabs[tab].title}`;
  };
  // To the number that another number comes from.
  const goto = (number) => {
    const { tab, ...to } = placeOf(number);
    const [t, j] = number.cell;
    const trail = [...now.trail, { open: now.open, tab: now.tab, cell: now.cell }];
    change({ open: to.part.key, tab, cell: [t, j - (to.part.tabs[tab].from ?? 0)], trail });
    focusSum = true; // what was pressed will be gone
  };
  const reset = button("reset", () => {
    now = fresh();
    other = null;
    input.value = now.text;
    from.value = "";
    seen = "";
    detail.reset();
    compute(true);
    draw();
  });

  // ── showing ──

  const chip = (text, i, marked) => {
    const one = button(text, () => change({ at: i }), { "aria-pressed": i === now.at });
    if (marked) one.classList.add("tl-changed");
    return one;
  };
  // The tokens and what chooses among them: made anew when they change, so that a focus stays where it is.
  const list = ({ source }) => {
    const written = run.target.map(tokenizer.name);
    const old = intact.target.map(tokenizer.name);
    const differs = written.join("\n") !== old.join("\n");
    const key = JSON.stringify([source, written, old]);
    if (key === seen) return;
    seen = key;
    reads.replaceChildren(element("i", {}, "reads"), ...source.map((token) => element("span", {}, token)));
    writes.replaceChildren(element("i", {}, "writes"), ...written.map((token, i) => chip(token, i, token !== old[i])));
    before.hidden = !differs;
    before.replaceChildren(element("i", {}, "unchanged"), ...old.map((token) => element("span", {}, token)));
    const last = written.length - 1;
    const scale = {
      min: 0,
      max: Math.max(last, 1),
      step: 1,
      value: now.at,
      show: (t) => `${t}: ${written[Math.min(t, last)]}`,
    };
    step = slider("output token", scale, (t) => change({ at: Math.min(t, last) }));
    stepRoom.replaceChildren(step.node);
    spots = choice(
      "at input token",
      source.map((token, i) => `${i}: ${token}`),
      (i) => change({ spot: i }),
    );
    now.spot = Math.min(now.spot, source.length - 1);
    spots.set(now.spot);
    spot.replaceChildren(spots.node);
  };
  const listChips = () => {
    const off = [...now.off].map((id) => [partOf(id).path.join(", "), () => flip(id)]);
    const swapped = now.swaps.map((swap) => [
      `${partOf(swap.key).path.join(", ")}, ${swap.position}: ${valueOf(swap) ? "swapped" : "no such position there"}`,
      () => change({ swaps: now.swaps.filter((one) => one !== swap) }),
    ]);
    const all = [...off, ...swapped];
    chips.hidden = !all.length;
    chips.replaceChildren(
      ...all.map(([name, act]) =>
        button(`${name} ✕`, () => {
          act();
          sketch.node.focus(); // what was pressed is gone
        }),
      ),
      ...(all.length > 1 ? [button("all back", () => change({ off: new Set(), swaps: [] }))] : []),
    );
  };
  const out = button("machine", () => {
    const away = left.hidden;
    change({ zoomed: false });
    left.hidden = false;
    if (away) sketch.node.focus(); // this button is gone
  });
  const here = element("span");
  const turn = button("switch this part off", () => flip(partOf(now.open).part.off));
  const back = button("back", () => {
    change({ ...now.trail.at(-1), trail: now.trail.slice(0, -1) });
    if (!now.trail.length) out.focus();
  });
  crumbs.append(out, "›", here, turn, back);
  const showCrumbs = ({ path, part }) => {
    here.textContent = path.join(" › ");
    turn.hidden = !part.off;
    turn.setAttribute("aria-pressed", now.off.has(part.off));
    back.hidden = !now.trail.length;
  };
  let focusSum = false;
  let [whole, half] = [0, 0]; // widths when last in sight: out of sight JupyterLab gives none
  const draw = eachFrame(() => {
    whole = el.clientWidth || whole;
    const wide = whole >= WIDE;
    const at = partOf(now.open);
    const look = names();
    list(look);
    step.set(now.at);
    [...writes.querySelectorAll("button")].forEach((one, i) => one.setAttribute("aria-pressed", i === now.at));
    modes.forEach((one, i) => one.setAttribute("aria-pressed", i === now.mode));
    help.textContent = now.mode === 2 && !other ? "Type the other sentence first." : HELP[now.mode];
    swapBar.hidden = now.mode !== 2;
    const key = JSON.stringify([[...now.off], now.swaps.map(({ key, position }) => [key, position]), now.other]);
    if (chips.key !== key) listChips();
    chips.key = key;
    showCrumbs(at);
    notice.textContent = unknown;
    el.classList.toggle("tl-wide", wide);
    left.hidden = !wide && now.zoomed;
    right.hidden = !wide && !now.zoomed;
    const weights = shares();
    shade([...reads.querySelectorAll("span")], weights);
    paint({ look, weights });
    const shown = right.hidden
      ? { name: at.part.tabs[now.tab].name, values: valuesOf(at.part.tabs[now.tab], run) }
      : detail.show({
          ...at,
          path: at.path.join(", "),
          ...now,
          cell: cellOf(at),
          run,
          machine,
          names: look,
          goto,
          nameOf,
        });
    if (focusSum) (detail.node.querySelector(".tl-go") ?? back).focus();
    focusSum = false;
    el.values = {
      ...{ text: now.text, tokens: run.target.map(tokenizer.name), translation: tokenizer.decode(run.target) },
      ...{ at: now.at, probabilities: [...run.steps[now.at]], open: shown.name, map: shown.values },
    };
  });
  const paint = ({ look, weights }) => {
    if (left.hidden) return;
    half = left.clientWidth || half;
    const total = Math.max(320, half);
    const rows = [run.src.length, run.target.length];
    plan = layoutOf({ boxes, width: total, rows });
    const context = sketch.resize(plan.width, plan.height);
    sketch.node.layout = plan;
    const ink = getComputedStyle(el).color;
    const order = [...run.steps[now.at].keys()].sort((a, b) => run.steps[now.at][b] - run.steps[now.at][a]);
    paintMachine(context, plan, {
      ...{ run, ink, dim: ink.replace("rgb(", "rgba(").replace(/\)$/, ink.includes("rgba") ? ")" : ", .6)") },
      ...{
        dark: light(ink),
        paper: light(ink) ? "rgb(255 255 255 / .05)" : "#fff",
        off: now.off,
        swaps: now.swaps,
        change: changeOf,
      },
      ...{ names: look, at: now.at, shares: weights, target: run.target[now.at] },
      changedInput: (side, t) => side === "decoder" && t > 0 && run.target[t - 1] !== intact.target[t - 1],
      best: order.slice(0, 5).map((key) => ({ key, name: machine.symbols[key], p: run.steps[now.at][key] })),
      chosen: plan.items.find(({ part }) => part.key === now.open),
      cursor: now.cursor === null ? null : plan.items[now.cursor],
    });
    says.say(now.cursor === null ? sayRun(look, weights) : sayPart(plan.items[now.cursor]));
  };
  const sayRun = ({ source }, weights) => {
    const most = weights.indexOf(Math.max(...weights));
    const token = tokenizer.name(run.target[now.at]);
    const sure = run.steps[now.at][run.target[now.at]].toFixed(2);
    const looks = `the last layer looks most at “${source[most]}”, ${weights[most].toFixed(2)}`;
    return `Output token ${now.at}, “${token}”, has probability ${sure}; ${looks}.`;
  };
  const sayPart = ({ part }) => {
    const state = now.off.has(part.off) ? ", switched off" : "";
    const by = part.thumb ? changeOf(part.thumb) : 0;
    const changed = by > 0.005 ? ` Changed by ${Math.round(100 * by)} % of its size.` : "";
    return `${partOf(part.key).path.join(", ")}${state}.${changed}`;
  };

  // ── mouse and keys of the drawing ──

  const point = (event) => {
    const found = plan && partAt(plan, ...sketch.at(event));
    const cursor = found ? plan.items.indexOf(found) : null;
    sketch.node.style.cursor = found ? "pointer" : "";
    if (cursor !== now.cursor) change({ cursor });
    return found;
  };
  Object.assign(sketch.node, {
    onpointermove: point,
    onclick: (event) => {
      const found = point(event);
      if (found) press(found);
    },
    onpointerleave: () => change({ cursor: null }),
    onfocus: () => {
      if (now.cursor === null) change({ cursor: 0 });
    },
    onblur: () => change({ cursor: null }),
    onkeydown: onKeys((key) => {
      const at = now.cursor ?? 0;
      if (key === "Enter" || key === " ") press(plan.items[at]);
      else if (key === "Home" || key === "End") change({ cursor: key === "Home" ? 0 : plan.items.length - 1 });
      else if (key.startsWith("Arrow")) change({ cursor: neighbour(plan.items, at, key) });
      else return false;
    }),
  });

  el.append(
    element("style", {}, STYLE),
    element("div", { class: "tl-bar" }, element("label", {}, "translate ", input), stepRoom),
    reads,
    writes,
    before,
    notice,
    bar(...modes, reset, help),
    swapBar,
    chips,
    element("div", { class: "tl-both" }, left, right),
  );
  input.value = now.text;
  compute(true);
  watch(el, draw);
}

// By how much rows differ from others, where both have numbers: the difference's size, in shares of the others'.
export function changed(rows, others) {
  let [apart, size] = [0, 1e-12];
  rows.forEach((row, t) =>
    row.forEach((x, j) => {
      const before = others[t]?.[j];
      if (before === undefined || Number.isNaN(x) || Number.isNaN(before)) return;
      apart += (x - before) ** 2;
      size += before ** 2;
    }),
  );
  return Math.sqrt(apart / size);
}

// Whether a colour is that of text on something dark.
function light(colour) {
  const [r, g, b] = colour.match(/[\d.]+/g).map(Number);
  return r + g + b > 382;
}

// Colour each input token by how much it is looked at.
function shade(tokens, weights) {
  tokens.forEach((token, s) => {
    const rgb = cividis(weights[s]);
    token.style.cssText = weights[s] >= 0.05 ? `background: ${css(rgb)}; color: ${inkOn(rgb)};` : "";
  });
}

const STYLE = `
.tl-view input[type=text] {
  font: inherit; font-size: 15px; color: inherit; background: transparent; border: 1px solid rgba(127,127,127,.7);
  border-radius: 4px; padding: 3px 8px; width: min(34em, 70vw); box-sizing: border-box;
}
.tl-view .tl-tokens:not([hidden]) { display: flex; flex-wrap: wrap; gap: 3px; align-items: center; margin: 5px 0;
  font-size: 15px; }
.tl-tokens i { width: 5.2em; opacity: .75; font-size: 13px; }
.tl-tokens span, .tl-tokens button {
  font: inherit; color: inherit; background: transparent; border: 1px solid rgba(127,127,127,.4); border-radius: 4px;
  padding: 1px 6px; min-height: 26px; box-sizing: border-box;
}
.tl-tokens button { cursor: pointer; font-weight: 600; min-width: 26px; }
.tl-tokens button[aria-pressed=true] { border-color: #0072b2; box-shadow: 0 0 0 1px #0072b2; }
.tl-tokens button.tl-changed { background: rgba(213,94,0,.18); border-bottom: 3px solid #d55e00; }
.tl-before span { opacity: .85; border-style: dashed; }
.tl-view .tl-bar button { min-height: 26px; }
.tl-crumbs { border-bottom: 1px solid rgba(127,127,127,.4); padding-bottom: 5px; }
.tl-wide .tl-both { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 28px; }
.tl-sum { border-top: 1px solid rgba(127,127,127,.4); margin-top: 8px; padding-top: 8px; }
.tl-sum .tl-go {
  font: inherit; color: inherit; background: transparent; border: 0; border-bottom: 1px solid currentColor; padding: 0;
  min-height: 24px; cursor: pointer;
}
@media (pointer: coarse) { .tl-tokens button, .tl-view .tl-bar button { min-height: 44px; min-width: 44px; } }
`;
