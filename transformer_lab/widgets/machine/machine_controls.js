// What stands above the machine's drawing, and beside it: fields for texts, the tokens that are read and written, what
// is switched off or swapped, and the way back from a part. Each has a `node` and a `show(…)`, which makes it say what
// is so; `change` is called with what a reader asks for.

import { OTHERS } from "./machine_hints.js";
import { bar, button, choice, element } from "../shared/ui.js";

export function field(label, oninput) {
  return element("input", {
    type: "text",
    maxlength: 300,
    spellcheck: "false",
    autocomplete: "off",
    autocapitalize: "none", // capitals are not what it has learned
    autocorrect: "off",
    "aria-label": label,
    "data-lm-suppress-shortcuts": "true",
    oninput,
    onkeydown: (event) => event.stopPropagation(),
  });
}

// The tokens that are written, one of which is followed, and the choice among those of the input: made anew when they
// change, so that a focus stays where it is.
export function tokenRows({ state, nameOf, change }) {
  const writes = element("div", { class: "tl-tokens tl-writes" });
  const me = { writes, spot: element("div", { class: "tl-bar" }) };
  let seen = "";
  const chip = (text, i, marked) => {
    const one = button(text, () => change({ at: i }));
    if (marked) one.classList.add("tl-changed");
    return one;
  };
  const make = (source, written) => {
    const chips = written.map((token, i) => chip(token, i, state.replaced[i] !== null));
    writes.replaceChildren(element("i", {}, "to write"), ...chips);
    const spots = choice(
      "at input token",
      source.map((token, i) => `${i}: ${token}`),
      (i) => change({ spot: i }),
    );
    state.now.spot = Math.min(state.now.spot, source.length - 1);
    spots.set(state.now.spot);
    me.spot.replaceChildren(spots.node);
  };
  me.show = ({ source }) => {
    const written = state.run.target.map(nameOf);
    const key = JSON.stringify([source, written, state.replaced]);
    if (key !== seen) make(source, written);
    seen = key;
    [...writes.querySelectorAll("button")].forEach((one, i) => one.setAttribute("aria-pressed", i === state.now.at));
  };
  me.reset = () => {
    seen = "";
  };
  return me;
}

// Where a change shows in no token: a search for a number in which it does, and, where there is none, a part whose cut
// does show; `shows` is called with the change that leads there, and with whether the text is another.
export function exampleSearch({ state, shows, later = setTimeout }) {
  let [tried, other, found] = [null, null, {}]; // the run for which none was found, and the part; the text that was
  const search = () => {
    const text = state.example();
    if (text) {
      found = { text, was: state.kept };
      return shows({ text }, true);
    }
    [tried, other] = [state.run, state.telling()];
    show();
  };
  const says = element("span");
  const seek = button("", () => {
    if (tried === state.run) return shows({ off: new Set([other]) });
    if (says.textContent) return shows({ text: found.was }, true);
    seek.textContent = `trying ${OTHERS.length} numbers …`;
    later(search, 30); // when that is seen
  });
  const node = element("div", { class: "tl-bar tl-example", hidden: true, "aria-live": "polite" }, says, seek);
  // What came of the search is a sentence; the button leads on from it.
  const show = () => {
    const { run, intact, now } = state;
    const [tells, none] = [String(run.target) !== String(intact.target), tried === run];
    node.hidden = !now.off.size || now.swaps.length > 0 || (tells && found.text !== now.text);
    says.textContent = tells ? "In this number it shows." : none ? `None of ${OTHERS.length} numbers shows it.` : "";
    says.hidden = !says.textContent;
    seek.hidden = none && !other;
    const instead =
      other &&
      `cut ${state
        .partOf(other)
        .path.at(-1)
        .replace(/ of .*/, "")} instead`;
    seek.textContent = tells ? "back to the first number" : none ? instead : "find a number where it shows";
  };
  return { node, show };
}

// “decoder, layer 0, masked self-attention, head 0” → “dec 0 · self · head 0”
export function shortOf(name) {
  const short = name.replace(/^(...)oder, layer (\d+)/, "$1 $2").replace(/(masked )?(self|cross)-attention/, "$2");
  return short.replaceAll(", ", " · ");
}

// What is switched off and swapped, each with a button that takes it back; what is pressed is gone, so `home` gets the
// focus.
export function changeChips({ state, change, home }) {
  const node = element("div", { class: "tl-bar tl-chips", hidden: true });
  let seen = "";
  const back = (what) => () => {
    change(what());
    home().focus();
  };
  const chip = ([name, what]) =>
    button(`${shortOf(name)} ✕`, back(what), { class: "tl-gone", title: name, "aria-label": `${name} ✕` });
  const make = () => {
    const { off, swaps } = state.now;
    const pathOf = (id) => state.partOf(id).path.join(", ");
    const all = [
      ...[...off].map((id) => [pathOf(id), () => state.flipped(id)]),
      ...swaps.map((swap) => [
        `${pathOf(swap.key)}, ${swap.position}: ` +
          (state.valueOf(swap) ? (state.swapName(swap) ?? "swapped") : "no such position there"),
        () => ({ swaps: state.now.swaps.filter((one) => one !== swap) }),
      ]),
    ];
    node.hidden = !all.length;
    const allBack = button("all back", () => change({ off: new Set(), swaps: [] }));
    node.replaceChildren(...all.map(chip), ...(all.length > 1 ? [allBack] : []));
  };
  const show = () => {
    const { off, swaps, other } = state.now;
    const key = JSON.stringify([[...off], swaps.map(({ key: part, position }) => [part, position]), other]);
    if (key !== seen) make();
    seen = key;
  };
  return { node, show };
}

// Where the part that is open stands in the machine, and the ways out of it; `toMachine` leads to the whole.
export function crumbsOf({ state, change, steppers, toMachine }) {
  const out = button("every matrix", toMachine);
  const here = element("span");
  const turn = button("switch this part off", () => change(state.flipped(state.partOf(state.now.open).part.off)));
  const back = button("back", () => {
    const { trail } = state.now;
    change({ ...trail.at(-1), trail: trail.slice(0, -1) });
    if (!state.now.trail.length) out.focus();
  });
  const node = bar(out, here, ...steppers, turn, back);
  node.classList.add("tl-crumbs");
  const show = ({ path, part }) => {
    const off = state.now.off.has(part.off);
    here.textContent = `${path.join(" › ")}${off ? ": switched off" : ""}`;
    here.classList.toggle("tl-gone", off);
    turn.hidden = !part.off;
    turn.textContent = off ? "switch it on again" : "switch this part off";
    back.hidden = !state.now.trail.length;
  };
  return { node, back, show };
}
