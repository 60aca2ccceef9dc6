// The two sentences over a weave: the English one is the field itself, the German one stands beside it; under each the
// number that it is, so that no one has to know the language.

import { OTHERS, learnedNumbers } from "../machine_hints.js";
import { outcomeOf } from "../weave/weave_cuts.js";
import { numeral, readEnglish, readGerman } from "../weave/weave_numerals.js";
import { differenceOf } from "../weave/weave_seen.js";
import { button, element } from "../../shared/ui.js";

const [MOST, LEAST] = [35, 17]; // pixels of a sentence's letters
const MANY = 20; // tokens that a sentence shows at most

// The size at which a text of this width (in sizes) fits into so much room.
export function fitted(width, room, most = MOST, least = LEAST) {
  return Math.max(least, Math.min(most, Math.floor((room / Math.max(width, 1e-9)) * 2) / 2));
}

// How wide a text is, in sizes of its font; where nothing is measured, about half of one a letter.
export function widthIn(text, family) {
  const context = globalThis.OffscreenCanvas && new OffscreenCanvas(1, 1).getContext?.("2d");
  if (!context?.measureText) return 0.5 * text.length;
  context.font = `100px ${family}`;
  return context.measureText(text).width / 100;
}

// Whether what is written is the number that was read: true, false, or null where either is none.
export function judged(english, german) {
  const [asked, said] = [readEnglish(english), readGerman(german)];
  return { asked, said, right: asked === null ? null : asked === said };
}

export function topOf({ state, change, tokenizer, input, eos }) {
  const numbers = learnedNumbers(tokenizer);
  const hint = numbers ? "type any number below a million, in words" : "type a text";
  const asked = element("b");
  const another = button("another", () => change({ text: anotherOf(state.now.text) }, true), { class: "tl-plain" });
  const notice = element("div", { class: "tl-note", "aria-live": "polite" });
  const under = element(
    "div",
    { class: "tl-under" },
    asked,
    element("span", { class: "tl-hint" }, hint),
    numbers ? another : "",
  );
  const said = element("div");
  const german = element("div", { class: "tl-german", lang: "de" }, said);
  const verdict = element("div", { class: "tl-under tl-verdict" });
  const node = element(
    "div",
    { class: "tl-top" },
    element("div", {}, input, under, notice),
    element("div", { class: "tl-answered" }, german, verdict),
  );
  const show = ({ room, shown, family }) => {
    const { now, run, intact, unknown } = state;
    if (input.value !== now.text) input.value = now.text;
    input.style.fontSize = `${fitted(widthIn(now.text, family), room - 4, MOST, 20)}px`;
    const [text, before] = [run, intact].map(({ target }) => tokenizer.decode(target));
    const { asked: number, right } = judged(now.text, text);
    asked.textContent = numbers && number !== null ? numeral(number) : "";
    notice.textContent = unknown;
    under.hidden = Boolean(unknown);
    const playing = shown < run.target.length;
    said.replaceChildren(...germanIn({ state, tokenizer, shown }));
    german.style.fontSize = `${fitted(widthIn(german.textContent, family), room - 4)}px`;
    const other = judged(now.text, before);
    const asOther = now.swaps.length > 0 && judged(now.other, text).right === true;
    const struck = !playing && text !== before && other.said !== null ? [element("s", {}, numeral(other.said))] : [];
    verdict.replaceChildren(
      ...(playing || !numbers
        ? []
        : [...struck, verdictOf(outcomeOf(run, { decode: tokenizer.decode, eos }), right, asOther)]),
    );
  };
  return { node, show };
}

// A swapped word is judged by its own name: what is said may be the other sentence's number.
function verdictOf({ label }, right, asOther) {
  if (right === null) return "";
  if (!right && asOther) return element("b", { class: "tl-right" }, `${label} ✓ as in the other sentence`);
  return element("b", { class: right ? "tl-right" : "tl-wrong" }, `${label} ${right ? "✓" : "✗"}`);
}

// The German in pieces: what is followed is underlined; what a cut has changed stands beside what it replaced, struck.
function germanIn({ state: { now, run, intact }, tokenizer, shown }) {
  const text = (ids) => tokenizer.decode(ids);
  const spans = (ids, first, more) =>
    ids.map((id, i) => element("span", { class: `${more} ${first + i === now.at ? "tl-at" : ""}` }, text([id])));
  if (shown < run.target.length)
    return [...spans(run.target.slice(0, shown), 0, ""), element("i", { class: "tl-caret" })];
  const { start, before, after } = differenceOf(intact.target, run.target);
  const struck = text(before);
  const old = struck && struck.length < 16 ? [element("s", {}, struck)] : [];
  const end = start + after.length;
  const endless = run.target.length > MANY; // of a text without end the beginning is enough
  const seen = endless ? after.slice(0, Math.max(0, MANY - start)) : after;
  return [
    ...spans(run.target.slice(0, start), 0, ""),
    ...old,
    ...spans(seen, start, run === intact ? "" : "tl-new"),
    ...(endless ? ["…"] : spans(run.target.slice(end), end, "")),
  ];
}

// The next of some numbers, in a circle.
export function anotherOf(text) {
  return OTHERS[(OTHERS.indexOf(text) + 1) % OTHERS.length];
}
