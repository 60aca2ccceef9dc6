// The two sentences over a weave: the English one is the field itself, the German one stands beside it; under each the
// number that it is, so that no one has to know the language. Where the two differ it is said why.

import { OTHERS, learnedNumbers } from "../machine_hints.js";
import { outcomeOf } from "../weave/weave_cuts.js";
import { numeral, readEnglish, readGerman } from "../computing/machine_numerals.js";
import { differenceIn } from "../computing/machine_spelling.js";
import { button, element } from "../../shared/ui.js";

const [MOST, LEAST] = [35, 17]; // pixels of a sentence's letters
const MANY = 12; // tokens that a sentence without end shows at most

// The size at which a text of this width (in sizes) fits into so much room.
export function fitted(width, room, most = MOST, least = LEAST) {
  return Math.max(least, Math.min(most, Math.floor((room / Math.max(width, 1e-9)) * 2) / 2));
}

// How wide a text is, in sizes of its font; where nothing is measured, about half of one a letter. It is measured in
// small letters: a font with optical sizes has wider ones there.
export function widthIn(text, family) {
  const context = globalThis.OffscreenCanvas && new OffscreenCanvas(1, 1).getContext?.("2d");
  if (!context?.measureText) return 0.5 * text.length;
  context.font = `${LEAST}px ${family}`;
  return context.measureText(text).width / LEAST;
}

// Whether what is written is the number that was read: true, false, or null where either is none.
export function judged(english, german) {
  const [asked, said] = [readEnglish(english), readGerman(german)];
  return { asked, said, right: asked === null ? null : asked === said };
}

export function topOf({ state, change, tokenizer, input, eos, tools = [] }) {
  const numbers = learnedNumbers(tokenizer);
  const more = element("span", { class: "tl-roomy" }, " below a million, words or digits");
  const hint = element("span", { class: "tl-hint" });
  const asked = element("b");
  const say = (text, more) => change({ text, at: null, ...more }, true);
  // Another number has other words in other places: what was swapped in the last one is not carried over.
  const clean = () => ({ swaps: [], other: "", mode: state.now.mode % 2 });
  const another = button("another", () => say(anotherOf(state.kept), clean()), { class: "tl-plain" });
  const mend = button("another spelling", () => say(mend.text), { class: "tl-spelled" });
  const why = element("span", { class: "tl-why", "aria-live": "polite" });
  const notice = element("div", { class: "tl-note", "aria-live": "polite" });
  const offer = button("", () => takeOffer(), { class: "tl-spelled" });
  const lacks = element("span", { class: "tl-lacks", "aria-live": "polite" });
  const refusal = element("div", { class: "tl-refusal", hidden: true }, lacks, offer);
  const under = element("div", { class: "tl-under" }, asked, hint, ...(numbers ? [another] : []), ...tools);
  const said = element("div");
  const german = element("div", { class: "tl-german", lang: "de" }, said);
  const [share, verdict] = [element("div", { class: "tl-share" }), element("div", { class: "tl-verdict" })];
  const reason = element("div", { class: "tl-under tl-reason", hidden: true }, why, mend);
  const node = element(
    "div",
    { class: "tl-top" },
    element("div", { class: "tl-asked" }, input, under, notice, refusal),
    element(
      "div",
      { class: "tl-answered" },
      german,
      reason,
      element("div", { class: "tl-under tl-judged" }, share, verdict),
    ),
  );
  const takeOffer = () => {
    say(offer.text);
    under.hidden = false; // what was pressed will be gone
    another.focus();
  };
  const show = ({ room, shown, family }) => {
    const { now, run, intact, unknown, refused } = state;
    if (input.value !== now.text) input.value = now.text;
    const size = fitted(widthIn(now.text, family), room - 4, MOST, 20);
    const wide = size * widthIn(now.text, family);
    input.style.fontSize = `${size}px`;
    const [text, before] = [run, intact].map(({ target }) => tokenizer.decode(target));
    const { asked: number, said: written, right } = judged(state.reads, text);
    asked.textContent = numbers && number !== null ? numeral(number) : "";
    const playing = shown < run.target.length;
    const mistake = playing || run !== intact || refused ? null : state.mistake();
    reason.hidden = !mistake;
    share.hidden = Boolean(mistake); // there the reason stands
    if (mistake) {
      const learned = mistake.spelling && differenceIn(state.reads, mistake.spelling);
      why.textContent = sayMistake(mistake, written, learned);
      mend.hidden = !mistake.spelling;
      mend.text = mistake.spelling;
      mend.textContent = learned ? `with ${learned}` : (mistake.spelling ?? "");
    }
    refusal.hidden = !refused;
    lacks.textContent = refused?.says ?? "";
    offer.hidden = !refused?.offer;
    offer.text = refused?.offer;
    offer.textContent = `try ${offer.text}`;
    input.setAttribute("aria-invalid", String(Boolean(refused)));
    node.classList.toggle("tl-held", Boolean(refused));
    notice.textContent = reason.hidden && !refused ? unknown : "";
    const spelled = state.reads !== now.text && !unknown;
    const told = spelled ? [`read as “${state.reads}”`] : ["type a number", more];
    // What digits are read as stands behind them in the field.
    hint.style.maxWidth = spelled ? `max(40%, calc(100% - ${Math.ceil(wide + 28)}px))` : "";
    if (hint.said !== told[0]) hint.replaceChildren(...(numbers ? told : ["type a text"]));
    hint.said = told[0];
    hint.classList.toggle("tl-told", spelled);
    under.hidden = Boolean(notice.textContent || refused);
    said.replaceChildren(...germanIn({ state, tokenizer, shown, eos }));
    german.style.fontSize = `${fitted(widthIn(german.textContent, family), room - 4, MOST, 15)}px`;
    const other = judged(state.reads, before);
    const asOther = now.swaps.length > 0 && judged(now.other, text).right === true;
    const struck = !playing && text !== before && other.said !== null ? [element("s", {}, numeral(other.said))] : [];
    verdict.replaceChildren(
      ...(playing || !numbers || refused
        ? []
        : [...struck, verdictOf(outcomeOf(run, { decode: tokenizer.decode, eos }), right, asOther)]),
    );
  };
  return { node, share, show };
}

// What is wrong with an answer, and why, as far as it is known: the numbers that the machine has learned were all
// spelled in one way.
export function sayMistake({ number, spelling }, said, learned) {
  const says = `It says ${said === null ? "no number" : numeral(said)}, not ${numeral(number)}.`;
  if (!spelling) return `${says} Here it has not learned enough.`;
  return `${says} It has learned ${learned ? "such numbers" : "to read"}`;
}

// A swapped word is judged by its own name: what is said may be the other sentence's number.
function verdictOf({ label }, right, asOther) {
  if (right === null) return "";
  const other = element("span", { class: "tl-long" }, " as in the other sentence");
  if (!right && asOther) return element("b", { class: "tl-right" }, `${label} ✓`, other);
  return element("b", { class: right ? "tl-right" : "tl-wrong" }, `${label} ${right ? "✓" : "✗"}`);
}

// The German in pieces: what is followed is underlined; what a cut has changed stands beside what it replaced, struck.
function germanIn({ state: { now, run, intact, replaced }, tokenizer, shown, eos }) {
  const text = (ids) => tokenizer.decode(ids);
  // A line may end between tokens.
  const spans = (ids, first, more) =>
    ids.flatMap((id, i) => [
      element("span", { class: `${more} ${first + i === now.at ? "tl-at" : ""}` }, text([id])),
      element("wbr"),
    ]);
  if (shown < run.target.length) {
    // What is not written yet keeps its room.
    const later = element("span", { class: "tl-later" }, ...spans(run.target.slice(shown), shown, ""));
    return [...spans(run.target.slice(0, shown), 0, ""), element("i", { class: "tl-caret" }), later];
  }
  const isNew = (t) => replaced[t] !== null;
  const [start, end] = [replaced.findIndex(Boolean), run.target.length];
  const endless = run.target.at(-1) !== eos; // of a text without end the beginning is enough
  const same = endless && run.target.slice(start).every((id) => id === run.target[start]);
  const to = endless ? Math.min(end, same ? start + 2 : MANY) : end;
  // All that is gone, each before what is in its place; or none of it, where that is long.
  const gone = replaced.slice(0, to).map((places) => text((places ?? []).map((i) => intact.target[i])));
  const strikes = gone.join("").length < 16;
  const pieces = run.target.slice(0, to).flatMap((id, t) => {
    const first = isNew(t) && !(t && isNew(t - 1));
    let last = t;
    while (last + 1 < to && isNew(last + 1)) last += 1;
    const old = first && strikes ? gone.slice(t, last + 1).join("") : "";
    return [...(old ? [element("s", {}, old)] : []), ...spans([id], t, isNew(t) ? "tl-new" : "")];
  });
  return [...pieces, ...(endless ? ["…"] : [])];
}

// The next of some numbers, in a circle.
export function anotherOf(text) {
  return OTHERS[(OTHERS.indexOf(text) + 1) % OTHERS.length];
}
