// The machine: a Transformer at work in the page, its matrices in their places, and switches on its parts.

import {
  answerLine,
  changeChips,
  crumbsOf,
  exampleSearch,
  field,
  firstSwitches,
  tokenRows,
} from "./machine_controls.js";
import { detailOf, valuesOf } from "./drawing/machine_detail.js";
import { rangeOf } from "./machine_hints.js";
import { sketchOf } from "./drawing/machine_sketch.js";
import { stateOf } from "./machine_state.js";
import { tokenizerOf } from "./computing/machine_tokenizer.js";
import { weightsOf } from "./computing/machine_weights.js";
import { bar, button, eachFrame, element, onKeys, watch } from "../shared/ui.js";

const MODES = ["look inside", "switch off", "swap"];
const HELP = [
  "Press a box in the drawing to see its matrices.",
  "Press a head, a residual connection, a norm, an encoding, a feed-forward network or a mask in the drawing to" +
    " switch it off. Press it again to switch it on.",
  "Press a head, a norm, a feed-forward network or an encoding in the drawing. Its numbers at one token are" +
    " replaced by those computed for the other sentence. In the encoder this is the input token, in the decoder the" +
    " output token.",
];
const WIDE = 1000; // pixels from which on a part is seen beside the whole

export default {
  render({ model, el }) {
    el.style.maxWidth = "1560px";
    const tokenizer = tokenizerOf(model.get("tokenizer"));
    const symbols = model.get("tokenizer").symbols.map((_, i) => tokenizer.name(i));
    weightsOf(model.get("model")).then((sent) => {
      const machine = { ...sent, symbols };
      begin({ el, machine, tokenizer, state: stateOf({ machine, tokenizer, text: model.get("text") }) });
    });
  },
};

function begin({ el, machine, tokenizer, state }) {
  const nameOf = tokenizer.name;
  const change = (what, anew = false) => {
    state.change(what, anew);
    if (String(Object.keys(what)) === "cursor") hover();
    else draw();
  };

  // ── controls ──

  const input = field("text to translate", () => change({ text: input.value }, true));
  const from = field("the other sentence", () => change({ other: from.value }));
  const tokens = tokenRows({ state, nameOf, change });
  const [answer, first] = [answerLine({ state, nameOf }), firstSwitches({ state, change })];
  const range = element("div", { class: "tl-note" }, rangeOf(tokenizer));
  const example = exampleSearch({
    state,
    onfound: (text) => {
      input.value = text;
      change({ text }, true);
      input.focus(); // the button is gone
    },
  });
  const notice = element("div", { class: "tl-note", "aria-live": "polite" });
  const modes = MODES.map((name, i) => button(name, () => change(i ? { mode: i, zoomed: false } : { mode: i })));
  const help = element("span", { class: "tl-note" });
  const swapBar = element("div", { class: "tl-bar" }, element("label", {}, "the other sentence ", from), tokens.spot);
  const chips = changeChips({ state, change, home: () => sketch.node });
  const sketch = sketchOf({
    ...{ state, symbols: machine.symbols, change },
    press: (place) => {
      const what = state.pressed(place);
      if (what) change(what);
    },
  });
  const crumbs = crumbsOf({
    ...{ state, change },
    toMachine: () => toMachine(sketch.room.hidden), // where this button is gone
  });
  const toMachine = (away) => {
    change({ zoomed: false });
    sketch.room.hidden = false;
    if (away) sketch.node.focus();
  };
  const detail = detailOf({
    onopen: (open, tab, cell) => change({ open, tab, cell }),
    oncell: (cell) => change({ cell }),
    redraw: () => draw(),
  });
  const right = element("div", { class: "tl-right" }, crumbs.node, detail.node);
  const escape = (key) => {
    if (key !== "Escape") return false;
    if (state.now.trail.length) crumbs.back.onclick();
    else if (right.contains(document.activeElement)) toMachine(true);
  };
  el.addEventListener("keydown", onKeys(escape));
  let focusSum = false;
  const goto = (number) => {
    change(state.followed(number));
    focusSum = true; // what was pressed will be gone
  };
  const reset = button("reset", () => {
    state.reset();
    input.value = state.now.text;
    from.value = "";
    tokens.reset();
    detail.reset();
    draw();
  });

  // ── showing ──

  let [seen, whole] = [null, 0]; // the width when last in sight: out of sight JupyterLab gives none
  const draw = eachFrame(() => {
    const { now, run } = state;
    whole = el.clientWidth || whole;
    const wide = whole >= WIDE;
    const [at, look] = [state.partOf(now.open), { names: state.names(), shares: state.shares() }];
    seen = { ...look, ink: getComputedStyle(el).color };
    const looks = { source: look.names.source, shares: look.shares };
    [tokens, answer, example, first].forEach((one) => one.show(looks));
    modes.forEach((one, i) => one.setAttribute("aria-pressed", i === now.mode));
    help.textContent = now.mode === 2 && !state.hasOther() ? "Type the other sentence first." : HELP[now.mode];
    swapBar.hidden = now.mode !== 2;
    chips.show();
    crumbs.show(at);
    notice.textContent = state.unknown;
    el.classList.toggle("tl-wide", wide);
    el.classList.toggle("tl-changing", now.mode !== 0);
    sketch.room.hidden = !wide && now.zoomed;
    right.hidden = !wide && !now.zoomed;
    sketch.paint(seen);
    const shown = right.hidden ? closed(at.part.tabs[now.tab], run) : open(at, look.names);
    el.values = {
      ...{ text: now.text, tokens: run.target.map(nameOf), translation: tokenizer.decode(run.target) },
      ...{ at: now.at, probabilities: [...run.steps[now.at]], open: shown.name, map: shown.values },
    };
  });
  const hover = eachFrame(() => sketch.paint(seen)); // under another cursor all else is as it was
  const closed = (tab, run) => ({ name: tab.name, values: valuesOf(tab, run) });
  const open = (at, names) => {
    const { now, run, cellOf, nameOf: nameOfNumber } = state;
    const place = { ...at, path: at.path.join(", "), ...now, cell: cellOf(at) };
    const shown = detail.show({ ...place, run, machine, names, goto, nameOf: nameOfNumber });
    crumbs.follow();
    if (focusSum) (detail.node.querySelector(".tl-go") ?? crumbs.back).focus();
    focusSum = false;
    return shown;
  };

  el.append(
    element("style", {}, STYLE),
    element("div", { class: "tl-bar" }, element("label", {}, "translate ", input), tokens.step),
    ...(range.textContent ? [range] : []),
    ...[
      notice,
      tokens.reads,
      tokens.writes,
      element("div", { class: "tl-stack" }, tokens.before, example.node),
      answer.node,
    ],
    bar(...modes, reset, help),
    ...[first.node, swapBar, chips.node],
    element("div", { class: "tl-both" }, sketch.room, right),
  );
  input.value = state.now.text;
  watch(el, draw);
}

const STYLE = `
.tl-machine .tl-bar label { max-width: 100%; min-width: 0; white-space: nowrap; }
.tl-machine input[type=text] {
  font: inherit; font-size: 15px; color: inherit; background: transparent; border: 1px solid rgba(127,127,127,.7);
  border-radius: 4px; padding: 3px 8px; width: 34em; min-width: 0; box-sizing: border-box;
}
.tl-machine .tl-tokens { display: flex; flex-wrap: wrap; gap: 3px; align-items: center; margin: 5px 0;
  font-size: 15px; }
.tl-machine .tl-tokens i { width: 5.2em; opacity: .75; font-size: 13px; }
.tl-machine .tl-tokens :is(span, button) {
  font: inherit; color: inherit; background: transparent; border: 1px solid rgba(127,127,127,.4); border-radius: 4px;
  padding: 1px 6px; min-height: 26px; box-sizing: border-box;
}
.tl-machine .tl-tokens button { cursor: pointer; font-weight: 600; min-width: 26px; }
.tl-machine .tl-tokens button[aria-pressed=true] { border-color: #0072b2; box-shadow: 0 0 0 1px #0072b2; }
.tl-machine .tl-tokens button.tl-changed {
  background: linear-gradient(#d55e00, #d55e00) bottom / 100% 3px no-repeat, rgba(213,94,0,.18);
}
.tl-machine .tl-answer { font-size: 14px; margin: 6px 0; min-height: 1.5em; }
.tl-machine .tl-tokens b { min-width: 0; overflow-wrap: anywhere; padding-left: 6px; }
/* What a change will need has its room before, but on a phone: the drawing stays where it is. */
@media (min-width: 600px) {
  .tl-machine.tl-changing :is(.tl-before, .tl-chips)[hidden] { display: flex !important; visibility: hidden; }
  .tl-machine.tl-changing .tl-chips { min-height: 28px; }
  .tl-machine.tl-changing:not(.tl-wide) .tl-answer { min-height: 3em; }
}
.tl-machine .tl-stack { display: grid; }
.tl-machine .tl-stack > * { grid-area: 1 / 1; min-width: 0; }
.tl-machine .tl-left { position: relative; }
.tl-machine .tl-spot { position: absolute; pointer-events: none; scroll-margin: 44px 8px 8px; }
.tl-machine .tl-tip {
  position: absolute; bottom: calc(100% + 7px); width: max-content; box-sizing: border-box; padding: 1px 8px;
  border-radius: 4px; border: 1px solid rgba(127,127,127,.7); background: #222; color: #fff;
}
.tl-machine .tl-before span { opacity: .85; border-style: dashed; }
.tl-machine .tl-bar button { min-height: 26px; }
.tl-machine :is(input[type=range], select) { min-height: 26px; }
.tl-machine .tl-crumbs { border-bottom: 1px solid rgba(127,127,127,.4); padding-bottom: 5px; }
.tl-machine.tl-wide .tl-both { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 28px; }
.tl-machine .tl-sum { border-top: 1px solid rgba(127,127,127,.4); margin-top: 8px; padding-top: 8px; }
.tl-machine .tl-sum, .tl-machine .tl-crumbs { scroll-margin: 8px; }
.tl-machine .tl-sum .tl-go {
  font: inherit; color: inherit; background: transparent; border: 0; border-bottom: 1px solid currentColor; padding: 0;
  min-height: 24px; cursor: pointer;
}
@media (pointer: coarse) { .tl-machine :is(.tl-tokens, .tl-bar) button { min-height: 44px; min-width: 44px; } }
`;
