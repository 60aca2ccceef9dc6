// A word of the sentence and the one that is to take its place, picked in two presses; what takes place of what is the
// vector that the encoder makes of it. The card stands where the riddle does.
//   const swapping = swappingOf({ state, put, parts, changed });
//   swapping.open(from);  // false where no word has another; `from` gets the focus back
//   swapping.follow();  // after each change of the text

import { choicesIn } from "../weave/weave_swap.js";
import { button, element } from "../../shared/ui.js";

// The words that can be swapped: another text must have as many tokens, since a vector has its place.
export function swapsIn(text, apart) {
  return choicesIn(text)
    .map((one) => ({
      ...one,
      others: one.others
        .map((other) => ({ ...other, positions: apart(other.text) }))
        .filter(({ positions: { length } }) => length),
    }))
    .filter(({ others: { length } }) => length);
}

// `put({ text, positions })` puts them in, `parts()` leads to where any part can be swapped, `changed()` draws.
export function swappingOf({ state, put, parts, changed }) {
  const [words, others] = [element("div", { class: "tl-answers" }), element("div", { class: "tl-answers" })];
  const how = element("div", { class: "tl-how" });
  const leave = button("leave", () => me.close());
  const more = button("heads and other parts →", () => (me.close(false), parts()), { class: "tl-plain" });
  const title = element("b", { class: "tl-title" }, "Swap a word");
  const me = { at: null };
  let [choices, opener, text] = [[], null, ""]; // the text whose words they are
  me.node = element(
    ...["div", { class: "tl-swap", role: "group", "aria-label": "swap a word", hidden: true }],
    ...[element("div", { class: "tl-head" }, title, more, leave), words, how, others],
  );
  const chip = (text, act, pressed) =>
    button(text, act, { class: "tl-chip", ...(pressed ? { "aria-pressed": pressed } : {}) });
  const draw = () => {
    const { word, others: all } = choices[me.at];
    how.textContent = `What the encoder makes of “${word}” gives way to what it makes of …`;
    words.replaceChildren(...choices.map((one, i) => chip(one.word, () => pick(i), String(i === me.at))));
    others.replaceChildren(...all.map(({ to, ...what }) => chip(to, () => (me.close(false), put(what)))));
  };
  const pick = (i) => {
    me.at = i;
    draw();
    words.children[i].focus();
  };
  // The words of the sentence as it now stands, and which of them is chosen at first: one that is one token.
  const first = () => {
    text = state.reads;
    choices = swapsIn(text, state.apart);
    return Math.max(
      0,
      choices.findIndex(({ others }) => others[0].positions.length === 1),
    );
  };
  me.open = (from) => {
    const one = first();
    if (!choices.length) return false;
    opener = from;
    me.node.hidden = false; // the focus goes there
    pick(one);
    changed();
    me.node.scrollIntoView?.({ block: "nearest" });
    return true;
  };
  // Another sentence has other words, or none to swap.
  me.follow = () => {
    if (me.at === null || text === state.reads) return;
    me.at = first();
    choices.length ? draw() : (me.at = null);
  };
  me.close = (back = true) => {
    me.at = null;
    if (back) opener.focus();
    changed();
  };
  me.node.onkeydown = (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    me.close();
  };
  return me;
}
