// The machine's drawing in a page: as wide as its place, painted anew when it is asked to, with a cursor that the mouse
// and the keys move, and a line that says what is under it.
//   const sketch = sketchOf({ state, symbols, change, press });
//   sketch.paint({ ink, names, shares });

import { layoutOf, neighbour, partAt } from "./machine_layout.js";
import { paintMachine } from "./machine_overview.js";
import { ranked } from "../computing/machine_products.js";
import { canvas, element, onKeys, readout } from "../../shared/ui.js";

const NARROWEST = 280;
const HINT = "Point at a part, or go there with the arrow keys, to see its name.";

export function sketchOf({ state, symbols, change, press }) {
  const says = readout();
  const { node, at, resize } = canvas(
    "The Transformer, from the bottom up. Arrow keys go from part to part, Enter presses one.",
  );
  const tip = element("div", { class: "tl-tip" });
  const spot = element("div", { class: "tl-spot", "aria-hidden": "true", hidden: true }, tip); // the readout says it
  const room = element("div", { class: "tl-left" }, node, says, spot);
  let [plan, half] = [null, 0]; // how wide it was when last in sight: out of sight JupyterLab gives it no width
  let follow = false; // whether the page scrolls to the part under the cursor

  const paint = (look) => {
    if (room.hidden) return;
    const { now, run } = state;
    half = room.clientWidth || half;
    const rows = [run.src.length, run.target.length];
    plan = layoutOf({ boxes: state.boxes, width: Math.max(NARROWEST, half), rows });
    const context = resize(plan.width, plan.height);
    node.layout = plan;
    const cursor = now.cursor === null ? null : plan.items[now.cursor];
    paintMachine(context, plan, { ...look, ...inksOn(look.ink), ...seen(state, symbols, plan), cursor });
    says.say(cursor ? sayPart(cursor) : HINT);
    spot.hidden = !cursor;
    if (cursor) placeSpot(cursor);
    if (cursor && follow) spot.scrollIntoView({ block: "nearest" });
    follow = false;
  };
  // Over the part under the cursor, with its name above it, towards the side that has more room.
  const placeSpot = (part) => {
    const [x, right] = [part.x, plan.width - part.x - part.width];
    Object.assign(spot.style, { left: `${x}px`, top: `${part.y}px` });
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

// What the drawing shows of a state.
function seen({ now, run, intact, changeOf }, symbols, plan) {
  const shares = run.steps[now.at];
  return {
    ...{ run, off: now.off, swaps: now.swaps, change: changeOf, at: now.at, target: run.target[now.at] },
    changedInput: (side, t) => side === "decoder" && t > 0 && run.target[t - 1] !== intact.target[t - 1],
    best: ranked(shares, 5).map((key) => ({ key, name: symbols[key], p: shares[key] })),
    chosen: plan.items.find(({ part }) => part.key === now.open),
  };
}

// The colours that go with that of the text.
export function inksOn(ink) {
  const dim = ink.replace("rgb(", "rgba(").replace(/\)$/, ink.includes("rgba") ? ")" : ", .6)");
  const [r, g, b] = ink.match(/[\d.]+/g).map(Number);
  const dark = r + g + b > 382; // light text stands on something dark
  return { dim, dark, paper: dark ? "rgb(255 255 255 / .05)" : "#fff" };
}
