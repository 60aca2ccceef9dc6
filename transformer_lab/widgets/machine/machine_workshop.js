// A part of the machine seen near, and the map of all its matrices: what one opens from the weave. Parts can be looked
// into, switched off one by one, and swapped with those of another sentence.

import { changeChips, crumbsOf, exampleSearch, field, tokenRows } from "./machine_controls.js";
import { detailOf, valuesOf } from "./drawing/machine_detail.js";
import { legendOf } from "./drawing/machine_legend.js";
import { routeOf } from "./drawing/machine_route.js";
import { sketchOf } from "./drawing/machine_sketch.js";
import { flowOf } from "./near/machine_flow.js";
import { foldOf, leadOf } from "./near/machine_lead.js";
import { roleOf } from "./near/machine_roles.js";
import { outcomeOf } from "./weave/weave_cuts.js";
import { headsOf } from "./weave/weave_heads.js";
import { bare } from "./weave/weave_layout.js";
import { stepsOf } from "./weave/weave_steps.js";
import { otherOf } from "./weave/weave_swap.js";
import { still } from "../shared/motion.js";
import { button, element } from "../shared/ui.js";

const MODES = ["look inside", "switch off", "swap"];
const HELP = [
  "",
  "Press a part to switch it off, and again to switch it on.",
  "Press a part: at one token its numbers become those of the other sentence.",
];

export function workshopOf({ el, state, machine, tokenizer, change, draw, away }) {
  const nameOf = tokenizer.name;
  const from = field("the other sentence", () => change({ other: from.value }));
  const tokens = tokenRows({ state, nameOf, change });
  const shows = (what, anew) => {
    change(what, anew);
    (state.now.zoomed ? out : modes[state.now.mode]).focus({ preventScroll: true }); // what was pressed is gone
  };
  const example = exampleSearch({ state, shows });
  const enter = (i) => {
    if (i === 2 && !state.hasOther()) propose();
    change(i ? { mode: i, zoomed: false } : { mode: i });
  };
  // The other sentence is never empty: one word of the text is another.
  const propose = () => {
    const other = otherOf(state.reads)?.text ?? state.reads;
    from.value = other;
    change({ other });
    change({ spot: state.firstOther() });
    tokens.reset();
  };
  const modes = MODES.map((name, i) => button(name, () => enter(i)));
  const other = element("label", {}, "the other sentence", from);
  const swapBar = element("div", { class: "tl-bar" }, other, tokens.spot);
  const chips = changeChips({ state, change, home: () => sketch.node });
  const sketch = sketchOf({
    ...{ state, machine, change },
    follow: (side, t) =>
      side === "encoder" ? change({ ...inEncoder(), cell: [t, 0] }) : change({ at: t, cell: null }),
    press: (place) => press(place),
  });
  const press = (place) => {
    const what = state.pressed(place);
    if (!what) return;
    if (what.zoomed && !state.now.zoomed) grows = middleOf(place);
    change(what.zoomed ? { ...what, fromMap: state.now.fromMap || !state.now.zoomed } : what);
  };
  const route = routeOf({
    ...{ state, machine },
    outcome: (run) => outcomeOf(run, { decode: tokenizer.decode, eos: machine.eos }).label,
    open: (key) => {
      change({ mode: 0 });
      press(sketch.node.layout?.items.find(({ part }) => part.key === key) ?? state.partOf(key));
    },
  });
  const middleOf = ({ x, y, width, height }) => {
    const { left, top } = sketch.node.getBoundingClientRect();
    return [left + x + width / 2, top + y + height / 2];
  };
  const inEncoder = () =>
    state.partOf(state.now.open).side === "encoder" ? {} : { open: "src_embedding.tokens", tab: 0, trail: [] };
  // What the part that is open does, and the way to the one before it and the next.
  const step = (says, by) =>
    button(says, () => {
      const all = Object.values(state.boxes).flatMap((boxes) => boxes.flatMap(({ parts }) => parts));
      const at = all.findIndex(({ key }) => key === state.now.open) + by;
      change({ open: all.at(at % all.length).key, tab: 0, cell: null, trail: [] });
    });
  const [role, equation, shapes] = ["span", "i", "small"].map((name) => element(name));
  const steppers = [step("‹", -1), step("›", 1)];
  ["previous part", "next part"].forEach((label, i) => steppers[i].setAttribute("aria-label", label));
  const legend = legendOf();
  const toMachine = () => {
    change({ zoomed: false });
    sketch.room.hidden = false;
    sketch.node.focus();
  };
  const crumbs = crumbsOf({ ...{ state, change, steppers }, toMachine });
  const detail = detailOf({
    onopen: (open, tab, cell) => change({ open, tab, cell }),
    oncell: (cell) => change({ cell }),
    redraw: draw,
  });
  const heads = headsOf({ state, machine, open: (key) => openHead(key) });
  const openHead = (key) => {
    change({ open: key, tab: 0, cell: null });
    focusHead = key.split(".").at(-1); // the buttons are made anew
  };
  let focusHead = null;
  const steps = stepsOf({ state, machine, goto: (number) => goto(number) });
  const flow = flowOf({ state, machine, oncell: (cell) => change({ cell }) });
  // In the decoder a row is what the machine writes there; in the encoder it is one of the tokens that are read.
  const lead = leadOf({
    pick: (t) => change(state.partOf(state.now.open).side === "encoder" ? { cell: [t, 0] } : { at: t, cell: null }),
  });
  lead.node.append(element("p", { class: "tl-say" }, role, " ", equation, " ", shapes));
  const fold = foldOf(detail.node, draw);
  const fault = element("p", { role: "alert", hidden: true });
  const right = element(
    ...["div", { class: "tl-right" }, lead.node, fault, heads.node, steps.node, flow.node, fold.node],
  );
  const out = button("← back to the weave", ({ shiftKey }) => shiftKey || away(), {
    class: "tl-out",
    "aria-label": "← back to the weave",
  });
  out.replaceChildren("← ", element("span", { class: "tl-long" }, "back to the "), "weave");
  let [focusSum, grows, was] = [false, null, null];
  const goto = (number) => {
    change(state.followed(number));
    focusSum = true; // what was pressed will be gone
  };
  const modeBar = element("div", { class: "tl-segments tl-modes" }, ...modes);
  const key = element("span", { class: "tl-key-of" }, element("i"), "the taller, the more changed");
  const under = element("div", { class: "tl-changes" }, chips.node, key, example.node);
  const row = element("div", { class: "tl-one-row" }, route.node, swapBar);
  const stack = element("div", { class: "tl-stack" }, route.title, legend.node);
  const left = element("div", { class: "tl-leftside" }, sketch.room, sketch.strip.room);
  const share = element("div", { class: "tl-share" });
  const head = element("div", { class: "tl-back" }, out, tokens.writes, modeBar, crumbs.node);
  const me = { out, sketch, right, propose, share, toMachine, pictured: null };
  me.node = element(
    // It takes the focus of a press on what is blank, since Escape would not be heard from the page's body.
    ...["div", { class: "tl-zoom", hidden: true, tabindex: -1, "data-lm-suppress-shortcuts": "true" }, head],
    ...[stack, row, element("div", { class: "tl-both" }, left, right)],
    share,
  );
  // One step back: from a number that was followed, from a part to the map, from the map to the weave.
  me.back = () => {
    if (state.now.trail.length) return crumbs.back.onclick();
    state.now.zoomed && state.now.fromMap ? toMachine() : away();
  };
  me.reset = () => {
    from.value = "";
    tokens.reset();
    detail.reset();
  };
  let seen = null;
  // A part that is pressed in the map grows from its place there.
  const grow = ([x, y]) => {
    crumbs.node.querySelector("button").focus(); // what was pressed is gone
    if (still()) return;
    intoSight(); // while it is as large as it will be
    for (const { node } of [heads, flow]) {
      const { left, top } = node.getBoundingClientRect();
      const from = `${x - left}px ${y - top}px`;
      const way = { transformOrigin: [from, from], scale: [0.1, 1], opacity: [0, 1] };
      node.animate(way, { duration: 450, easing: "cubic-bezier(.2,.7,.2,1)" });
    }
  };
  // A picture that ends below the window, as on a phone, is scrolled to for one who has opened it, if it then still
  // has its headings.
  const intoSight = () => {
    if (!document.activeElement?.closest?.(".tl-zoom")) return;
    const { node } = heads.node.hidden ? flow : heads;
    const tall = node.getBoundingClientRect().bottom - me.node.getBoundingClientRect().top;
    if (tall < innerHeight) node.scrollIntoView({ block: "nearest", behavior: "smooth" });
  };
  me.show = ({ look }) => {
    const { now, run } = state;
    const at = state.partOf(now.open);
    const looks = { source: look.names.source, shares: look.shares };
    [tokens, example].forEach((one) => one.show(looks));
    modes.forEach((one, i) => one.setAttribute("aria-pressed", i === now.mode));
    swapBar.hidden = now.zoomed || now.mode !== 2;
    route.node.hidden = !swapBar.hidden || run !== state.intact; // what is changed has its place
    const home = now.zoomed ? right : row;
    if (under.parentNode !== home) home.append(under);
    if (now.zoomed !== lead.node.contains(route.title)) now.zoomed ? lead.say(route.title) : stack.prepend(route.title);
    route.title.hidden = now.zoomed && run === state.intact; // a part has its own headline
    const hint = now.mode === 2 && !state.hasOther() ? "Type the other sentence first." : HELP[now.mode];
    route.show({ ...look, hint });
    const does = roleOf(at, machine, run);
    [role.textContent, equation.textContent, shapes.textContent] = [does.says, does.equation, does.shapes];
    if (document.activeElement !== from) from.value = now.other;
    chips.show();
    crumbs.show(at);
    me.node.classList.toggle("tl-near", now.zoomed); // the strip stands for the whole
    me.node.classList.toggle("tl-acts", !now.zoomed && now.mode > 0); // where a press changes a part, nothing moves
    for (const [node, there] of [
      ...[modeBar, tokens.writes, sketch.room].map((one) => [one, !now.zoomed]),
      ...[crumbs.node, right].map((one) => [one, now.zoomed]),
    ])
      node.hidden = !there;
    legend.show(bare(look.names.written[now.at]));
    key.hidden = run === state.intact;
    seen = { ...look, hint: now.mode && run === state.intact ? " " : hint }; // it is said once
    if (me.node.hidden) return shut(at.part.tabs[now.tab], run);
    sketch.paint(seen);
    if (!now.zoomed) me.pictured = { says: route.says(look.names.written), draw: sketch.draw };
    const shown = right.hidden ? shut(at.part.tabs[now.tab], run) : open(at, look.names);
    const opened = now.zoomed && now.open;
    if (grows) grow(grows);
    else if (opened && opened !== was && !still()) intoSight();
    [grows, was] = [null, opened];
    return shown;
  };
  me.hover = () => sketch.paint(seen); // under another cursor all else is as it was
  const shut = (tab, run) => ({ name: tab.name, values: valuesOf(tab, run) });
  const picture = (at, place, names) => {
    const { now } = state;
    const decoder = at.side === "decoder";
    me.pictured = null;
    const seenHeads = heads.show(at, decoder ? now.at : place.cell[0]);
    steps.show(at, seenHeads);
    if (focusHead !== null) heads.node.querySelectorAll("button")[focusHead].focus();
    focusHead = null;
    const flowing = flow.show(at, { cell: place.cell, names });
    me.pictured = seenHeads ?? flowing;
    const fed = decoder && at.box.kind === "embedding";
    lead.show({
      ...{ says: me.pictured.says, t: at.box.kind === "attention" && decoder ? now.at : place.cell[0] },
      ...{ names: fed ? names.fed : decoder ? names.written : names.source, of: decoder && !fed ? "to write" : "for" },
    });
  };
  const open = (at, names) => {
    const { now, run, cellOf, nameOf: nameOfNumber } = state;
    const place = { ...at, path: at.path.join(", "), ...now, cell: cellOf(at) };
    [fault.hidden, lead.node.hidden] = [true, false];
    try {
      picture(at, place, names);
    } catch (error) {
      console.error(error);
      [lead, heads, steps, flow].forEach(({ node }) => (node.hidden = true));
      [fault.hidden, fault.textContent] = [false, `The picture of this part cannot be drawn: ${error.message}.`];
    }
    const titles = at.part.tabs.map(({ title }) => title);
    fold.show({ ...now, titles });
    const shown = detail.show({ ...place, run, machine, names, goto, nameOf: nameOfNumber });
    if (focusSum) (detail.node.querySelector(".tl-go") ?? crumbs.back).focus();
    focusSum = false;
    return shown;
  };
  return me;
}
