// A tour in six steps. Its card takes the place of the riddle, so that it hides no breaker; each step frames a part of
// the weave, and the last one makes a cut and leaves the reader at the breakers, which call.
//   const tour = tourOf({ begin: () => …, frame: (id) => …, cut: () => "Without …", done: () => … });
//   // tour.button opens it, tour.node is the card

import { button, element } from "../../shared/ui.js";

export const STEPS = [
  ["reads", "English words are cut into tokens. Each token is a thread that runs through the machine."],
  ["positions", "Positions (the clocks) tell where a token stands. Without them a sentence is a bag of words."],
  [
    "encoder.0.attention",
    "In each encoder layer a token looks around by self-attention (thin crossings), then feed-forward follows (◇).",
  ],
  ["cross", "The ribbons are cross-attention: to write a German token the decoder looks here, the thicker the more."],
  [
    "decoder.0.attention",
    "Before that, in each layer, self-attention looks back at what was written. The mask keeps it from looking ahead.",
  ],
  [null, "Open another breaker, or drag an English word onto another’s row."],
];

const coarse = () => matchMedia("(pointer: coarse)").matches;

export function tourOf({ begin, frame, cut, done, narrow = () => false }) {
  const title = element("b", { class: "tl-title" });
  const says = element("div", { class: "tl-said", "aria-live": "polite" });
  const me = { at: null };
  const on = button("next", () => go(me.at + 1), { class: "tl-primary" });
  const back = button("back", () => go(me.at - 1));
  const leave = button("leave the tour", () => me.leave());
  me.node = element(
    ...["div", { class: "tl-tour", role: "group", "aria-label": "tour", hidden: true }],
    ...[title, says, element("div", { class: "tl-play" }, back, on, leave)],
  );
  me.button = button("tour", () => (me.at === null ? go(0) : me.leave()), {
    "aria-expanded": "false",
    class: "tl-plain",
  });
  const go = (to) => {
    if (to >= STEPS.length) return me.leave();
    const last = STEPS.length - 1;
    if (me.at === null || me.at === last) begin(); // what the last step cuts is mended on the way back
    me.at = Math.max(0, to);
    const [part, all] = STEPS[me.at];
    const text = narrow() ? all.replace(/ \(.*?\)/g, "") : all; // a phone draws neither clocks nor crossings
    title.setAttribute("style", `--far:${(100 * me.at) / last}%`); // an amber thread, drawn on from step to step
    title.textContent = `Step ${me.at + 1} of ${STEPS.length}`;
    says.textContent = me.at === last ? `${cut()} ${text}${coarse() ? " A finger holds it first." : ""}` : text;
    on.textContent = me.at === last ? "to the breakers" : "next";
    back.disabled = me.at === 0;
    me.button.setAttribute("aria-expanded", "true");
    frame(narrow() && part === "positions" ? "reads" : part);
    on.focus();
  };
  // At the end the focus goes to the first breaker; a tour that is left before gives it back to what opened it.
  me.leave = () => {
    const ended = me.at === STEPS.length - 1 && document.activeElement === on;
    me.at = null;
    me.button.setAttribute("aria-expanded", "false");
    frame(null);
    if (!ended) return me.button.focus();
    done();
  };
  // A finger turns the card.
  let from = 0;
  me.node.ontouchstart = ({ touches }) => (from = touches[0].clientX);
  me.node.ontouchend = ({ changedTouches }) => {
    const by = changedTouches[0].clientX - from;
    if (Math.abs(by) > 50) go(me.at - Math.sign(by));
  };
  me.node.onkeydown = (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    me.leave();
  };
  return me;
}
