// The address of a page that belongs to one machine: an element around it says so by the attribute `data-tl-page`. Such
// a page keeps what the machine is set to in its address, plays by itself at first, and has a link to copy. Anywhere
// else, in a notebook or a lesson, the address is the page's own and nothing moves by itself.

import { addressOf, askedOf } from "../weave/weave_address.js";

export function pageOf(el, { onback }) {
  const owns = Boolean(el.closest?.("[data-tl-page]"));
  const me = { owns, asked: () => (owns ? askedOf(location.hash) : null) };
  let last = null;
  // The map, and a part that is opened, are steps of the history; all else takes the place of what was there.
  me.write = (set) => {
    if (!owns) return;
    const [now, deep] = [`#${addressOf(set)}`, Boolean(set.open) + Boolean(set.view)];
    if (now === location.hash) return void (last = deep);
    const push = last !== null && deep > last;
    last = deep;
    history[push ? "pushState" : "replaceState"](null, "", now);
  };
  if (owns) window.addEventListener("popstate", () => el.isConnected && onback(askedOf(location.hash)));
  me.copy = () => navigator.clipboard.writeText(location.href);
  return me;
}

const VIEWS = ["map", "off", "swap"];

// What of a state an address says.
export function setOf({ now, cut, single }) {
  const { text, at, layer, swaps, other, inside, zoomed, fromMap, mode, open, tab, cell } = now;
  const near = inside && zoomed;
  const view = inside && (fromMap || !zoomed) ? VIEWS[mode] : "";
  const off = [...cut.map(({ key }) => key), ...single];
  return { text, at, layer, off, swaps, other, view, ...(near ? { open, tab: tab || "", cell } : { open: "" }) };
}

// What a page asks a state for: parts by the keys of cuts or by their own names, everything within what there is.
// `partOf(key)` is a part of the machine, or undefined.
export function settingsOf(asked, { cuts, ids, n_layers, partOf }) {
  const known = new Set(ids);
  const whole = (name) => cuts.find(({ key }) => key === name)?.ids ?? (known.has(name) ? [name] : []);
  const layer = asked.layer === undefined ? n_layers - 1 : Math.min(asked.layer, n_layers - 1);
  const swaps = asked.swaps.flatMap(({ key, position, from }) => {
    const swap = partOf(key)?.part.swap;
    return swap ? [{ key, ...swap, position, ...(from === undefined ? {} : { from }) }] : [];
  });
  const part = partOf(asked.open)?.part;
  const mode = Math.max(0, VIEWS.indexOf(asked.view));
  return {
    ...{ text: asked.text.slice(0, 300), at: asked.at ?? null, layer, off: new Set(asked.off.flatMap(whole)) },
    ...{ other: asked.other.slice(0, 300), swaps, mode, trail: [], cell: part ? asked.cell : null },
    ...{ inside: Boolean(part || asked.view), zoomed: Boolean(part), fromMap: Boolean(asked.view) },
    ...(part ? { open: asked.open, tab: part.tabs[asked.tab] ? asked.tab : 0 } : { tab: 0 }),
  };
}
