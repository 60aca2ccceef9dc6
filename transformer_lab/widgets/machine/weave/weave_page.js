// The address of a page that belongs to one machine: an element around it says so by the attribute `data-tl-page`. Such
// a page keeps what the machine is set to in its address, plays by itself at first, and has a link to copy. Anywhere
// else, in a notebook or a lesson, the address is the page's own and nothing moves by itself.

import { addressOf, askedOf } from "./weave_address.js";

export function pageOf(el, { onback }) {
  const owns = Boolean(el.closest?.("[data-tl-page]"));
  const me = { owns, asked: () => (owns ? askedOf(location.hash) : null) };
  let last = null;
  // A part that is opened is a step of the history; all else takes the place of what was there.
  me.write = (set) => {
    if (!owns) return;
    const [now, opened] = [`#${addressOf(set)}`, set.open ?? ""];
    if (now === location.hash) return void (last = opened);
    const push = last !== null && opened !== "" && last === "";
    last = opened;
    history[push ? "pushState" : "replaceState"](null, "", now);
  };
  // Where the part was opened from, if that is a step of the history.
  me.stepped = () => owns && last !== "" && last !== null;
  if (owns) window.addEventListener("popstate", () => el.isConnected && onback(askedOf(location.hash)));
  me.copy = () => navigator.clipboard.writeText(location.href);
  return me;
}

// What a page asks a state for: parts by the keys of cuts or by their own names, everything within what there is.
export function settingsOf(asked, { cuts, ids, n_layers }) {
  const known = new Set(ids);
  const whole = (name) => cuts.find(({ key }) => key === name)?.ids ?? (known.has(name) ? [name] : []);
  const layer = asked.layer === undefined ? n_layers - 1 : Math.min(asked.layer, n_layers - 1);
  return { text: asked.text.slice(0, 300), at: asked.at ?? 0, layer, off: new Set(asked.off.flatMap(whole)) };
}
