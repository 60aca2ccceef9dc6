// The machine's drawing in a page: as wide as its place, painted anew when it is asked to, with a cursor that the mouse
// and the keys move, and a line that says what is under it.
//   const sketch = sketchOf({ state, machine, change, press, follow });  // follow(side, row): a word that was pressed
//   sketch.paint({ names, shares });

import { LINE, layoutOf, neighbour, partAt } from "./machine_layout.js";
import { paintMachine } from "./machine_overview.js";
import { ROWS } from "./machine_route.js";
import { stepsIn, stripOf } from "./machine_strip.js";
import { SMALL, topOf } from "./machine_thumbs.js";
import { bare } from "../weave/weave_layout.js";
import { wideOf } from "../weave/weave_marks.js";
import { meanOf } from "../weave/weave_seen.js";
import { still } from "../../shared/motion.js";
import { NOW, SERIF } from "../../shared/palette.js";
import { canvas, element, onKeys, readout } from "../../shared/ui.js";

const [NARROWEST, LOOKED] = [280, 84]; // pixels of the drawing, and of “looked at 0.65”

export function sketchOf({ state, machine, change, press, follow: pick }) {
  const says = readout();
  const { node, at, resize } = canvas(
    "The Transformer, from left to right. Arrow keys go from part to part, Enter presses one.",
  );
  const tip = element("div", { class: "tl-tip" });
  const spot = element("div", { class: "tl-spot", "aria-hidden": "true", hidden: true }, tip); // the readout says it
  const words = element("div", { class: "tl-words", "aria-hidden": "true" }); // they stay where a finger pulls the rest
  const runs = element("div", { class: "tl-beads", "aria-hidden": "true" });
  const pan = element("div", { class: "tl-pan" }, node, words, runs, spot);
  const room = element("div", { class: "tl-left" }, pan, says);
  const strip = stripOf({ state, machine, pan, press });
  let [plan, half] = [null, 0]; // how wide it was when last in sight: out of sight JupyterLab gives it no width
  let follow = false; // whether the page scrolls to the part under the cursor
  let [listed, shown, opened, last] = ["", "", "", null];
  let fresh = true; // until a part is opened one of them is marked

  const paint = (look) => {
    const lit = litIn(state, look.shares);
    last = { ...look, ...seen(state, machine), lit };
    if (state.now.zoomed && fresh) [fresh, listed] = [false, " "];
    if (!room.hidden) paintMap(last);
    strip.show(last);
  };
  const planOf = ({ run, names, lit }, width) =>
    layoutOf({
      ...{ boxes: state.boxes, width, lit },
      ...{ rows: [run.src.length, run.target.length], labels: roomOf(names) },
    });
  // The map as it is, its words with it, for a picture of this width.
  const draw = (width) => {
    const map = planOf(last, width);
    const by = width / map.width; // it may need more
    const onto = (context) => {
      context.scale(by, by);
      paintMachine(context, map, { ...last, cursor: null });
      paintWords(context, map, last);
    };
    return { tall: by * map.height, onto };
  };
  const paintMap = (look) => {
    const { now } = state;
    half = room.clientWidth || half;
    plan = planOf(look, Math.max(NARROWEST, half));
    const context = resize(plan.width, plan.height);
    node.layout = plan;
    const cursor = now.cursor === null ? null : plan.items[now.cursor];
    paintMachine(context, plan, { ...look, cursor });
    listWords(look);
    says.say(cursor ? sayPart(cursor) : look.hint || ROWS);
    toSight(now);
    spot.hidden = !cursor;
    if (cursor) placeSpot(cursor);
    if (cursor && follow) spot.scrollIntoView({ block: "nearest" });
    follow = false;
  };
  // What was cut last, or else the part that was opened, is in what is seen of the drawing.
  const toSight = ({ off, open }) => {
    const cut = [...off].at(-1);
    const [to, news] = [cut ?? open, cut ?? (opened && opened !== open)];
    const goal = plan.items.find(({ part }) => (cut ? part.off : part.key) === to);
    const from = goal && goal.x - (pan.scrollLeft || 0);
    if (goal && news && to !== shown && (from < plan.labels || from + goal.width > half - 40))
      pan.scrollLeft = goal.x + (goal.width - plan.labels - half) / 2;
    [shown, opened] = [to, open];
  };
  const listWords = ({ names, shares, lit }) => {
    const key = JSON.stringify([plan, names, shares, lit]);
    if (key === listed) return;
    const begins = !listed;
    listed = key;
    words.style.width = `${plan.labels - 4}px`;
    const wordOf = (side, { y, high }, t) => {
      const word = element("span", { onclick: () => pick(side, t) });
      const seen = t === lit[side] || !(t % Math.ceil(LINE / high));
      const reads = side === "encoder";
      if (seen) word.append(bare((reads ? names.source : names.written)[t]));
      if (t === lit[side]) {
        word.classList.add("tl-lit");
        word.append(element("em", {}, reads ? `looked at ${shares[t].toFixed(2)}` : `reads ${bare(names.fed[t])}`));
      }
      const share = reads ? Math.round(10 + 40 * shares[t]) : 0;
      const [size, tall] = [
        `${Math.min(half < 700 ? 14 : 16, Math.max(12, high - 3))}px`,
        `${t === lit[side] ? high / 2 : high}px`,
      ];
      Object.assign(word.style, { top: `${y}px`, height: `${high}px`, lineHeight: tall, fontSize: size });
      if (share > 12) word.style.background = `color-mix(in srgb, var(--tl-amber) ${share}%, var(--tl-paper))`;
      return word;
    };
    const over = ({ side, top }) => {
      const word = element("small", {}, side === "encoder" ? "reads" : "to write");
      word.style.top = `${top - 17}px`;
      return word;
    };
    const listOf = (band) => [over(band), ...band.rows.map((row, t) => wordOf(band.side, row, t))];
    words.replaceChildren(...plan.bands.flatMap(listOf));
    // Along the rows that are followed a bead runs, from band to band.
    const beads = plan.bands.map(({ side, rows, left }) => {
      const { y, high } = rows[lit[side]];
      const bead = element("i");
      Object.assign(bead.style, { top: `${y + high / 2 - 5}px`, left: `${left}px` });
      return bead;
    });
    const steps = stepsIn(plan, machine);
    const call = fresh ? [markOf(lit.encoder)] : [];
    runs.replaceChildren(...beads, ...steps, ...call);
    if (still()) return;
    if (begins) call[0]?.animate({ outlineOffset: ["0px", "9px", "0px"] }, { duration: 1200, delay: 400 });
    plan.bands.forEach(({ left, right }, i) => {
      const way = [{ opacity: 1 }, { opacity: 1, translate: `${right - left - 10}px` }];
      beads[i].animate(way, { duration: 700, delay: 700 * i });
    });
  };
  // Around the matrix of the first band that looks most, of those in sight: one that is worth a press.
  const markOf = (row) => {
    const most = ({ part }) => Math.max(...state.run.at.get(part.thumb).rows[row]);
    const heads = plan.bands[0].boxes.flatMap(({ parts }) => parts.filter(({ part }) => /weights/.test(part.thumb)));
    const seen = heads.filter(({ x, width }) => x + width < half - 40);
    const { x, y, width, height } = (seen[0] ? seen : heads).reduce((a, b) => (most(b) > most(a) ? b : a));
    const mark = element("u");
    Object.assign(mark.style, { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` });
    return mark;
  };
  // Over the part under the cursor, with its name under it, where nothing is said, towards the side with more room.
  const placeSpot = (part) => {
    const x = part.x - (pan.scrollLeft || 0); // in what is seen of the drawing
    const right = half - x - part.width;
    Object.assign(spot.style, { left: `${part.x}px`, top: `${part.y}px` });
    Object.assign(spot.style, { width: `${part.width}px`, height: `${part.height}px` });
    Object.assign(tip.style, x < right ? { left: "0", right: "auto" } : { left: "auto", right: "0" });
    tip.style.maxWidth = `${part.width + Math.max(x, right)}px`;
    tip.textContent = part.part.title;
  };
  const most = ({ thumb }) => topOf(state.run.at.get(thumb).rows).toFixed(1);
  const sayPart = ({ part }) => {
    const gone = state.now.off.has(part.off) ? ", switched off" : "";
    const by = part.thumb ? state.changeOf(part.thumb) : 0;
    const differs = by > 0.005 ? ` Changed by ${Math.round(100 * by)} % of its size.` : "";
    const bars = !part.thumb || /weights|probab/.test(part.thumb) ? "" : ` A full bar is ±${most(part)}.`;
    return `${state.partOf(part.key).path.join(", ")}${gone}.${bars}${differs}`;
  };

  // ── mouse and keys ──

  const point = (event) => {
    const found = plan && partAt(plan, ...at(event));
    const cursor = found ? plan.items.indexOf(found) : null;
    node.style.cursor = found ? "pointer" : "";
    if (cursor !== state.now.cursor) change({ cursor });
    return found;
  };
  Object.assign(node, {
    onpointermove: point,
    onclick: (event) => {
      const found = point(event);
      if (found) press(found);
    },
    onpointerleave: () => change({ cursor: null }),
    onfocus: () => {
      if (state.now.cursor !== null) return;
      follow = node.matches(":focus-visible");
      change({ cursor: Math.max(0, plan?.items.findIndex(({ part }) => part.key === state.now.open) ?? 0) });
    },
    onblur: () => change({ cursor: null }),
    onkeydown: onKeys((key) => {
      const here = state.now.cursor ?? 0;
      follow = true;
      if (key === "Enter" || key === " ") press(plan.items[here]);
      else if (key === "Home" || key === "End") change({ cursor: key === "Home" ? 0 : plan.items.length - 1 });
      else if (key.startsWith("Arrow")) change({ cursor: neighbour(plan.items, here, key) });
      else return false;
    }),
  });
  return { node, room, paint, draw, strip };
}

// The pixels that the longest word needs, and the longest note under one.
function roomOf({ source, written, fed }) {
  const most = (all, size, more) => Math.max(...all.map((name) => size * wideOf(`${more}${bare(name)}`)));
  return 16 + Math.max(LOOKED, most([...source, ...written], 13, ""), most(fed, 10, "reads "));
}

// The words before their rows, as in the page.
function paintWords(context, { labels, bands }, { names, lit }) {
  Object.assign(context, { textAlign: "right", textBaseline: "middle" });
  for (const { side, top, rows } of bands) {
    const reads = side === "encoder";
    Object.assign(context, { font: SMALL, fillStyle: NOW.soft });
    context.fillText(reads ? "reads" : "to write", labels - 9, top - 8);
    context.fillStyle = NOW.ink;
    rows.forEach(({ y, high }, t) => {
      context.font = `${t === lit[side] ? 700 : 400} ${Math.min(15, Math.max(9, high))}px ${SERIF}`;
      context.fillText(bare((reads ? names.source : names.written)[t]), labels - 9, y + high / 2);
    });
  }
}

// The rows that are followed: the output's, and of the input that of the part which is open, or else the one that is
// looked at most.
function litIn({ now, partOf, cellOf }, shares) {
  const at = partOf(now.open);
  const encoder = at.side === "encoder" ? cellOf(at)[0] : shares.indexOf(Math.max(...shares));
  return { encoder, decoder: now.at };
}

// What the drawing shows of a state.
function seen({ now, run, replaced, changeOf }, { n_heads }) {
  return {
    ...{ run, off: now.off, swaps: now.swaps, change: changeOf, replaced },
    looks: ({ name }) => meanOf(run, name, n_heads, now.off),
  };
}
