// The machine: a Transformer at work in the page. Its first screen is the weave; from there one opens its matrices,
// each in its place, and switches on each of its parts.

import { field } from "./machine_controls.js";
import { stateOf } from "./machine_state.js";
import { STYLE } from "./machine_style.js";
import { workshopOf } from "./machine_workshop.js";
import { tokenizerOf } from "./computing/machine_tokenizer.js";
import { weightsOf } from "./computing/machine_weights.js";
import { dividedOff } from "./weave/weave_cuts.js";
import { pageOf, setOf, settingsOf } from "./screen/weave_page.js";
import { nameOf, pictureFor, saved } from "./screen/weave_save.js";
import { screenOf } from "./screen/weave_screen.js";
import { FOOT } from "./screen/weave_style_foot.js";
import { STEPS } from "./screen/weave_style_steps.js";
import { WEAVE } from "./screen/weave_style.js";
import { weaveTable } from "./screen/weave_table.js";
import { button, eachFrame, element, onKeys, watch } from "../shared/ui.js";
import { still } from "../shared/motion.js";

export default {
  render({ model, el }) {
    el.style.maxWidth = "1400px";
    const picture = el.parentElement?.querySelector("img");
    const show = (live) => {
      el.hidden = !live;
      if (picture) picture.hidden = live; // the picture stays until there is something to see in its place
    };
    show(false);
    const tokenizer = tokenizerOf(model.get("tokenizer"));
    const symbols = model.get("tokenizer").symbols.map((_, i) => tokenizer.name(i));
    weightsOf(model.get("model")).then((sent) => {
      const machine = { ...sent, symbols };
      show(true);
      begin({ el, machine, tokenizer, state: stateOf({ machine, tokenizer, text: model.get("text") }) });
    });
  },
};

function begin({ el, machine, tokenizer, state }) {
  const change = (what, anew = false) => {
    state.change(what, anew);
    if (String(Object.keys(what)) === "cursor") hover();
    else draw();
  };
  const input = field("text to translate", () => screen.act({ text: input.value, at: null }, true));
  input.classList.add("tl-sentence");
  let head = "head.0"; // an attention opens at the head that was seen last
  const open = (key, more = {}) => {
    screen.player.touch();
    change({
      open: key.replace(/head\.0$/, head),
      tab: 0,
      cell: null,
      zoomed: true,
      fromMap: false,
      trail: [],
      inside: true,
      ...more,
    });
    workshop.node.hidden = false; // what has the focus will be hidden when all is drawn
    workshop.out.focus();
  };
  const away = () => {
    change({ inside: false, mode: 0, trail: [] });
    screen.node.hidden = false;
    screen.stage.node.focus();
  };
  const swap = () => {
    open(state.now.open, { zoomed: false, fromMap: true, mode: 2 });
    if (!state.hasOther()) workshop.propose();
  };
  const table = weaveTable({ state, machine, redraw: () => draw() });
  // A button whose first word is left out where there is little room.
  const plain = (word, rest, act) => {
    const long = element("span", { class: "tl-long" }, `${word} `);
    const one = button("", act, { class: "tl-plain", "aria-label": `${word} ${rest}` });
    one.append(long, rest);
    return one;
  };
  const link = plain("copy", "link", () =>
    page.copy().then(() => {
      link.textContent = "link copied";
      link.setAttribute("aria-label", "link copied");
    }),
  );
  const keep = () => {
    const from = page.owns && location.protocol.startsWith("http") ? location.host + location.pathname : "";
    const part = state.now.inside ? workshop.pictured : null;
    const canvas = pictureFor({ ...screen.pictured(), el, part, from: from.replace(/(index\.html|\/)$/, "") });
    const what = part && (state.now.zoomed ? state.partOf(state.now.open).box.title : "every matrix");
    return saved(canvas, nameOf(`${state.kept} ${what ?? ""}`));
  };
  const save = plain("save", "picture", keep);
  const reset = button("reset", () => {
    screen.player.touch();
    state.reset();
    workshop.reset();
    table.reset();
    screen.guess = { wanted: null, said: "" };
    draw();
  });
  const every = button("every matrix", () => open(state.now.open, { zoomed: false, fromMap: true }));
  const swapWord = button("swap a word", () => screen.swap(swapWord), { class: "tl-plain" });
  const tools = [every, table.button, reset];
  const parts = {
    state,
    machine,
    tokenizer,
    change,
    input,
    open,
    swap,
    swaps: swapWord,
    tools,
    keep,
    share: [link, save],
  };
  const screen = screenOf({ ...parts, redraw: () => draw() });
  const workshop = workshopOf({ ...{ el, state, machine, tokenizer, change, away }, draw: () => draw() });
  const restore = (asked) => {
    if (!asked) return;
    const there = { cuts: screen.cuts, ids: state.ids, n_layers: machine.n_layers, partOf: state.partOf };
    const [left, near] = [state.now.inside, state.now.zoomed];
    state.change(settingsOf(asked, there), true);
    if (left && !state.now.inside) ((screen.node.hidden = false), screen.stage.node.focus());
    if (near && state.now.inside && !state.now.zoomed) workshop.toMachine();
    draw();
  };
  const page = pageOf(el, { onback: restore });
  link.hidden = !page.owns;
  screen.picks = page.owns; // a lesson's text speaks of the map of all parts, to which the swap then leads at once
  const escape = (key) => (key === "Escape" && state.now.inside ? workshop.back() : false);
  el.addEventListener("keydown", onKeys(escape));

  let [whole, look] = [0, null]; // the width when last in sight: out of sight JupyterLab gives none
  const draw = eachFrame(() => {
    if (!el.isConnected) return; // it has no colours then
    const { now, run } = state;
    whole = el.clientWidth || whole;
    const style = getComputedStyle(el);
    look = { names: state.names(), shares: state.shares() };
    screen.node.hidden = Boolean(now.inside);
    workshop.node.hidden = !now.inside;
    head = now.open.match(/head\.\d+$/)?.[0] ?? head;
    screen.show({ family: style.getPropertyValue("--tl-serif"), width: whole, away: workshop.share });
    table.show();
    const shown = workshop.show({ look });
    page.write(settings());
    el.values = {
      ...{ text: now.text, tokens: run.target.map(tokenizer.name), translation: tokenizer.decode(run.target) },
      ...{ at: now.at, probabilities: [...run.steps[now.at]], open: shown.name, map: shown.values },
    };
  });
  const hover = eachFrame(() => workshop.hover());
  const settings = () => {
    const { whole: cut, single } = dividedOff(screen.cuts, state.now.off);
    return setOf({ now: { ...state.now, text: state.kept }, cut, single });
  };
  el.append(element("style", {}, STYLE + WEAVE + FOOT + STEPS), screen.top, screen.node, workshop.node, table.room);
  const asked = page.asked();
  if (asked) restore(asked);
  watch(el, draw);
  if (page.owns && !asked && !still()) screen.player.begin();
}
