// The machine's drawing in a page: as wide as its place, painted anew when it is asked to, with a cursor that the mouse
// and the keys move, and a line that says what is under it.
//   const sketch = sketchOf({ state, machine, change, press, follow });  // follow(side, row): a word that was pressed
//   sketch.paint({ names, shares });

import { layoutOf, neighbour, partAt } from "./machine_layout.js";
import { paintMachine } from "./machine_overview.js";
import { bare } from "../weave/weave_layout.js";
import { meanOf } from "../weave/weave_seen.js";
import { still } from "../../shared/motion.js";
import { canvas, element, onKeys, readout } from "../../shared/ui.js";

const NARROWEST = 280;
const HINT =
  "Each line is a word: its bars are its numbers, amber is where it looks. " +
  "Press a word to follow it, a part to look into it.";

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
  let [plan, half] = [null, 0]; // how wide it was when last in sight: out of sight JupyterLab gives it no width
  let follow = false; // whether the page scrolls to the part under the cursor
  let [listed, shown] = ["", ""];

  const paint = (look) => {
    if (room.hidden) return;
    const { now, run } = state;
    half = room.clientWidth || half;
    const rows = [run.src.length, run.target.length];
    const lit = litIn(state, look.shares);
    plan = layoutOf({ boxes: state.boxes, width: Math.max(NARROWEST, half), rows, lit });
    const context = resize(plan.width, plan.height);
    node.layout = plan;
    const cursor = now.cursor === null ? null : plan.items[now.cursor];
    const what = { ...look, ...seen(state, machine, plan), lit, cursor };
    paintMachine(context, plan, what);
    listWords(what);
    says.say(cursor ? sayPart(cursor) : look.hint || HINT);
    if (shown && shown !== now.open) pan.scrollLeft = what.chosen.x - half / 2;
    shown = now.open;
    spot.hidden = !cursor;
    if (cursor) placeSpot(cursor);
    if (cursor && follow) spot.scrollIntoView({ block: "nearest" });
    follow = false;
  };
  const listWords = ({ names, shares, lit }) => {
    const key = JSON.stringify([plan, names, shares, lit]);
    if (key === listed) return;
    listed = key;
    words.style.width = `${plan.labels - 4}px`;
    const wordOf = (side, { y, high }, t) => {
      const word = element("span", { onclick: () => pick(side, t) });
      const seen = t === lit[side] || !(t % Math.ceil(11 / high));
      if (seen) word.append(bare((side === "encoder" ? names.source : names.fed)[t]));
      if (t === lit[side]) word.classList.add("tl-lit");
      const share = side === "encoder" ? Math.round(10 + 40 * shares[t]) : 0;
      const [size, tall] = [`${Math.min(plan.labels > 70 ? 16 : 14, Math.max(9, high - 2))}px`, `${high}px`];
      Object.assign(word.style, { top: `${y}px`, height: tall, lineHeight: tall, fontSize: size });
      if (share > 12) word.style.background = `color-mix(in srgb, var(--tl-amber) ${share}%, var(--tl-paper))`;
      return word;
    };
    const over = ({ top }) => {
      const word = element("small", {}, "reads");
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
    runs.replaceChildren(...beads);
    if (still()) return;
    plan.bands.forEach(({ left, right }, i) => {
      const way = [{ opacity: 1 }, { opacity: 1, translate: `${right - left - 10}px` }];
      beads[i].animate(way, { duration: 700, delay: 700 * i });
    });
  };
  // Over the part under the cursor, with its name above it, towards the side that has more room.
  const placeSpot = (part) => {
    const x = part.x - (pan.scrollLeft || 0); // in what is seen of the drawing
    const right = half - x - part.width;
    Object.assign(spot.style, { left: `${part.x}px`, top: `${part.y}px` });
    Object.assign(spot.style, { width: `${part.width}px`, height: `${part.height}px` });
    Object.assign(tip.style, x < right ? { left: "0", right: "auto" } : { left: "auto", right: "0" });
    tip.style.maxWidth = `${part.width + Math.max(x, right)}px`;
    tip.textContent = sayPart(part);
  };
  const sayPart = ({ part }) => {
    const gone = state.now.off.has(part.off) ? ", switched off" : "";
    const by = part.thumb ? state.changeOf(part.thumb) : 0;
    const differs = by > 0.005 ? ` Changed by ${Math.round(100 * by)} % of its size.` : "";
    return `${state.partOf(part.key).path.join(", ")}${gone}.${differs}`;
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
  return { node, room, paint };
}

// The rows that are followed: the output's, and of the input that of the part which is open, or else the one that is
// looked at most.
function litIn({ now, partOf, cellOf }, shares) {
  const at = partOf(now.open);
  const encoder = at.side === "encoder" ? cellOf(at)[0] : shares.indexOf(Math.max(...shares));
  return { encoder, decoder: now.at };
}

// What the drawing shows of a state.
function seen({ now, run, intact, changeOf }, { n_heads }, plan) {
  return {
    ...{ run, off: now.off, swaps: now.swaps, change: changeOf, before: intact.target },
    chosen: plan.items.find(({ part }) => part.key === now.open),
    looks: ({ name }) => meanOf(run, name, n_heads, now.off),
  };
}
