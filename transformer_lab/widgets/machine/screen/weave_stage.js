// The weave in a page: drawn anew when it is asked to, one Tab stop, with keys, pointer and finger.
//   const stage = stageOf({ state, machine, act });  // act: { choose(t), open(part), cut(key), play(), … }
//   stage.show({ shown, cut, still });

import { bare, mostRows, weaveOf } from "../weave/weave_layout.js";
import { LOUD, aboveOf, heightOf, pictureOf } from "../weave/weave_picture.js";
import { beside, frameOf, looksOf, partsOf, tipOf, veilOf } from "../weave/weave_parts.js";
import { between, ribbonNear, ribbonsOf } from "../weave/weave_ribbons.js";
import { seenOf } from "../weave/weave_seen.js";
import { windowed } from "../weave/weave_window.js";
import { draggable } from "../weave/weave_drag.js";
import { element, onKeys } from "../../shared/ui.js";
import { motion } from "../../shared/motion.js";

const REWEAVE = 400; // milliseconds

export function stageOf({ state, machine, act }) {
  const node = element("div", {
    ...{ class: "tl-weave", tabindex: 0, role: "application", "data-lm-suppress-shortcuts": "true" },
    "aria-label":
      "The weave. Up and down go from token to token, left and right from part to part; Enter opens a part," +
      " X cuts it, Space plays.",
  });
  const me = { node, plan: null, parts: [], cursor: null, veiled: false }; // veiled: all but the part at the cursor
  let [last, from, look, width] = [null, null, null, 0];
  const weave = motion(() => paint(), REWEAVE);

  const paint = () => {
    const { plan, seen } = last;
    const share = weave.share * weave.share * (3 - 2 * weave.share);
    const ribbons = from && weave.share < 1 ? between(from, plan.ribbons, share) : plan.ribbons;
    const part = me.parts[me.cursor];
    const at = (me.veiled && part?.rails) || part;
    const frame = at ? frameOf(at, plan.height, aboveOf(plan)) : "";
    const tall = heightOf(plan);
    const veil = me.veiled && frame ? veilOf(at, plan.width, tall, aboveOf(plan) - 9) : "";
    const head = `<svg class="tl-picture" width="${plan.width}" height="${tall}" viewBox="0 0 ${plan.width} ${tall}"`;
    const svg = `${head} aria-hidden="true">${pictureOf({ ...plan, ribbons }, seen, look)}${veil}${frame}`;
    const whole = `${svg}${looksOf(me.parts, plan, aboveOf(plan))}<g class="w-says"></g></svg>`;
    if (whole === node.drawn) return;
    node.innerHTML = node.drawn = whole;
    light();
  };
  // The word that the pointer is at, as ["s", its row] or ["t", its row], lights its ribbons and the words at their
  // ends. A ribbon is that of the word that it writes, and says which it joins: ["t", row, the other end's].
  let near = null;
  const light = () => {
    const [side, row, end] = near ?? [];
    const far = side === "s" ? "t" : "s";
    const ribbons = [...node.querySelectorAll(".w-ribbon")];
    const lit = ribbons.filter(({ dataset }) => near && dataset[side] === row);
    const ends = new Set(lit.filter(({ dataset }) => dataset.weight >= LOUD).map(({ dataset }) => dataset[far]));
    node.classList.toggle("tl-points", lit.length > 0);
    ribbons.forEach((one) => one.classList.toggle("w-near", lit.includes(one)));
    for (const one of node.querySelectorAll("g[data-s], .w-out"))
      one.classList.toggle("w-near", Boolean(near) && (one.dataset[side] === row || ends.has(one.dataset[far])));
    for (const one of node.querySelectorAll(".w-says")) one.innerHTML = end === undefined ? "" : joins(+row, +end);
  };
  const joins = (t, s) => {
    const { plan, seen } = last;
    const found = plan.ribbons.find((one) => one.t === t && one.s === s);
    if (!found) return "";
    const pair = `${bare(seen.source[s])} → ${bare(seen.target[t].text)}`;
    const y = Math.max(12, (found.from + found.to) / 2 + aboveOf(plan) - 15);
    const text = `${pair} ${found.weight.toFixed(2)}: look inside`;
    return tipOf(text, (plan.columns.from + plan.columns.to) / 2, y, plan.width);
  };
  // Beside a ribbon, where nothing else is, the nearest answers.
  const beneath = (event) => {
    const hit = event.target?.closest?.("[data-part], [data-t], [data-s]")?.dataset;
    if (hit?.part !== "cross" || hit.t !== undefined || last.plan.narrow) return hit;
    const { left, top } = node.getBoundingClientRect();
    const { plan, shown } = last;
    const written = plan.ribbons.filter(({ t }) => t < shown);
    const found = ribbonNear(written, plan.columns, event.clientX - left, event.clientY - top - aboveOf(plan));
    return found ? { part: "cross", t: String(found.t), s: String(found.s) } : hit;
  };
  const point = (event) => {
    const { t, s } = (event.pointerType !== "touch" && beneath(event)) || {};
    const now = t !== undefined ? ["t", t, ...(s === undefined ? [] : [s])] : s !== undefined ? ["s", s] : null;
    if (String(now) === String(near)) return;
    near = now;
    light();
  };
  node.addEventListener("pointermove", point);
  Object.assign(node, { onpointerover: point, onpointerleave: () => point({}) });
  // The words whose vectors stand in the place of others in the encoder.
  me.puts = () =>
    state.now.swaps.flatMap((swap) => {
      const slab = swap.key.match(/^encoder\.layers\.(\d+)/)?.[1] ?? (swap.key.startsWith("src_") ? -1 : null);
      const text = state.swapName(swap)?.split(" ")[0];
      return slab === null || !text || !state.valueOf(swap) ? [] : [{ slab: Number(slab), row: swap.position, text }];
    });
  me.seen = () => {
    const { now, run, intact } = state;
    return seenOf({ run, intact, machine, off: now.off, layer: now.layer, names: state.names() });
  };
  // `again`: what was woven before moves to what is woven now.
  me.show = ({ shown, cut, again }) => {
    const { now, run, intact } = state;
    width = Math.floor(node.clientWidth) || width || 900;
    const names = state.names();
    const of = (one) =>
      seenOf({ run: one, intact, machine, off: one === run ? now.off : new Set(), layer: now.layer, names });
    const rows = { at: now.at, most: mostRows(width) };
    const seen = windowed(of(run), rows);
    const { first } = seen;
    const low = globalThis.innerHeight < 500;
    const plan = weaveOf({ width, cross: seen.cross, layers: machine.n_layers, low });
    const old = run === intact ? null : oldRibbons(windowed(of(intact), { ...rows, first }), plan, now.at - first);
    look = { at: now.at - first, shown: shown - first, layer: now.layer, cut, old, puts: me.puts() };
    from = last?.plan.ribbons ?? null;
    const moves = again && last && last.plan.width === width;
    last = { plan, seen, shown: look.shown ?? Infinity };
    Object.assign(me, { plan, parts: partsOf(plan, now.layer) });
    moves ? weave.start() : weave.stop();
    paint();
  };
  // Drawn among the rows that are there now, of which a cut may have made more or fewer.
  const oldRibbons = ({ cross }, { left, right, unit, height }, at) =>
    ribbonsOf({ cross: cross.slice(0, right.length), left, right, unit, height }).filter(({ t }) => t === at);

  // ── pointer ──

  const partAt = (event) => {
    const { part, t, s } = beneath(event) ?? {};
    if (!part) return null;
    const row = part === "reads" && s !== undefined ? { cell: [Number(s), 0] } : {};
    const at = t === undefined ? null : Number(t) + last.seen.first;
    return { id: part, t: at, row: at === null ? row : { at } };
  };
  const drag = draggable(node, {
    ...{ plan: () => me.plan, above: () => aboveOf(me.plan), lift: () => act.lift() },
    drop: (what) => act.drop(what),
  });
  node.onclick = (event) => {
    if (drag.dragged()) return;
    const found = partAt(event);
    if (!found) return;
    if (found.id === "writes" && found.t !== null) return act.choose(found.t); // again, too: it opens nothing
    const [side] = found.id.split(".");
    if (me.plan.narrow && side !== found.id) return act.ask(side);
    act.open(
      me.parts.find(({ id }) => id === found.id),
      found.row,
    ); // a word opens its own row, a ribbon that of the word it writes
  };
  swipes(node, (by) => drag.dropped() || act.step(by));

  // ── keys ──

  const move = (by) => {
    me.cursor = beside(me.parts, me.cursor, by);
    act.moved(me.parts[me.cursor]);
  };
  const here = () => me.parts[me.cursor ?? beside(me.parts, null, 0)];
  const KEYS = {
    ...{ ArrowUp: () => act.step(-1), ArrowDown: () => act.step(1), ",": () => act.step(-1), ".": () => act.step(1) },
    ...{ ArrowLeft: () => move(-1), ArrowRight: () => move(1), Home: () => act.choose(0) },
    ...{ End: () => act.choose(Infinity), Enter: () => act.open(here()), " ": () => act.play(), "?": () => act.help() },
    ...{ x: () => act.cut(here().cut), X: () => act.cut(here().cut), s: () => act.swap(), S: () => act.swap() },
  };
  node.onkeydown = onKeys((key) => (KEYS[key] ? KEYS[key]() : false) ?? true);
  node.onblur = () => {
    if (me.cursor === null) return;
    me.cursor = null;
    act.moved(null);
  };
  return me;
}

// A finger that goes sideways: the next token, or the one before. What goes up and down scrolls the page.
export function swipes(node, step, least = 36) {
  let start = null;
  node.addEventListener("touchstart", ({ touches: [one] }) => (start = [one.clientX, one.clientY]), { passive: true });
  node.addEventListener("touchend", ({ changedTouches: [one] }) => {
    if (!start) return;
    const [dx, dy] = [one.clientX - start[0], one.clientY - start[1]];
    start = null;
    if (Math.abs(dx) >= least && Math.abs(dx) > 2 * Math.abs(dy)) step(dx < 0 ? 1 : -1);
  });
}
