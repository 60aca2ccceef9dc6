// Under a weave: what the followed token looks at, in a sentence; what could stand in its place; and the riddle of the
// cuts, or, while something is cut, what became of the sentence.

import { candidatesOf, changesOf, differenceOf, keptOf } from "../weave/weave_seen.js";
import { PURPOSES, riddleOf } from "../weave/weave_cuts.js";
import { bare } from "../weave/weave_layout.js";
import { pieces } from "../weave/weave_say.js";
import { button, element } from "../../shared/ui.js";

const MOST = 3; // tokens of a difference that are shown
// A thread with six knots.
const KNOTS = [...Array(6).keys()].map((i) => `<circle style="--i:${i}" cx="${7 + 18 * i}" cy="8" r="6"/>`).join("");
const SEAL = `<svg width="104" height="16" viewBox="0 0 104 16"><path d="M7 8H97"/>${KNOTS}</svg>`;
const COUNTED = ["No", "One", "Two", "Three", "Four", "Five", "Six"];

// Replaces what a node says, its quoted words bold; the same text again is no change.
export function tell(node, text) {
  if (node.said === text) return;
  node.said = text;
  node.replaceChildren(...pieces(text).map(([piece, strong]) => (strong ? element("b", {}, piece) : piece)));
}

// The three likeliest tokens, with bars.
export function candidates({ nameOf }) {
  const list = element("ol", { class: "tl-candidates" });
  const rest = element("div", { class: "tl-quiet" });
  const node = element(
    "div",
    { class: "tl-could" },
    element("div", { class: "tl-quiet" }, "What could stand here, and how sure it is"),
    list,
    rest,
  );
  const line = ({ id, p }, chosen, isNew) => {
    const bar = element("span", { class: "tl-meter" }, element("i", { style: `width:${Math.max(1, 100 * p)}%` }));
    const kind = `${id === chosen ? "tl-chosen" : ""} ${id === chosen && isNew ? "tl-new" : ""}`;
    return element("li", { class: kind }, element("b", {}, bare(nameOf(id))), bar, element("span", {}, p.toFixed(2)));
  };
  const show = ({ run, intact, at }) => {
    const { best, others, rest: left } = candidatesOf(run.steps[at], 3);
    const isNew = changesOf(intact.target, run.target)[at];
    list.replaceChildren(...best.map((one) => line(one, run.target[at], isNew)));
    rest.textContent = others > 0 ? `and ${others} others, together ${left.toFixed(2)}` : "";
  };
  return { node, show };
}

// The wrong answers of the cuts: one is picked, then the breaker that is guessed to make it say so. What was found
// stays. `outcomes`: key of a cut → { label, changed }.
export function riddle({ pick, keep, mendAll }) {
  const mend = button("mend all", mendAll, { class: "tl-outline" });
  const save = button("", keep, { class: "tl-primary" });
  const seal = element("span", { "aria-hidden": "true" });
  seal.innerHTML = SEAL;
  const prize = element("div", { class: "tl-head tl-prize", role: "status" });
  const [title, found] = [element("b", { class: "tl-title" }), element("span", { class: "tl-quiet" })];
  const how = element("div", { class: "tl-how" });
  const chips = element("div", { class: "tl-answers" });
  const head = element("div", { class: "tl-head" }, title, found);
  const node = element("div", { class: "tl-riddle" }, head, prize, how, chips);
  const me = { node, won: false };
  me.show = ({ outcomes, known, wanted, said, cuts, changed }) => {
    const wrong = riddleOf(new Map([...outcomes].filter(([, { changed }]) => changed)));
    const done = wrong.filter(({ key }) => known.has(key)).length;
    const whole = outcomes.size === cuts.length; // before, nothing is counted that would change while one looks
    title.textContent = whole ? titleOf(wrong.length) : "Six cuts: what do they make it say?";
    found.textContent = whole && wrong.length ? `${done} of ${wrong.length} found` : "";
    const seen = whole ? wrong : wrong.filter(({ key }) => known.has(key));
    tell(
      how,
      said ||
        (wanted === null
          ? whole
            ? "Which cut says which? Pick one, then open its breaker."
            : "Open a breaker: it takes a part out."
          : wanted === "never stops"
            ? "Without which part does it never stop? Open its breaker."
            : `Which cut makes it say ${wanted}? Open its breaker.`),
    );
    const all = whole && wrong.length > 0 && done === wrong.length;
    if (all !== me.won)
      prize.replaceChildren(...(all ? [seal, element("b", {}, prizeOf(done, cuts.length)), save, mend] : []));
    me.won = all;
    mend.hidden = !changed; // the cut that was found last
    [head.hidden, how.hidden, save.textContent] = [all, all, `Save the picture “${waysOf(done)}”`];
    chips.classList.toggle("tl-purposes", all);
    chips.replaceChildren(
      ...(all ? wrong.map(purpose) : chipsOf(seen, known).map((one) => chip(one, known, wanted, cuts, pick))),
      ...(whole ? [] : cuts.slice(seen.length).map(blank)), // their room, so that nothing moves when they are there
    );
  };
  return me;
}

// What a reader who has found all wrong answers is told, and may tell others.
const prizeOf = (n, all) => `You have found what ${n === all ? "each part is" : "these parts are"} for`;

export function waysOf(n) {
  return `I broke it ${n === 1 ? "one way" : `${COUNTED[n].toLowerCase()} ways`}`;
}

export function titleOf(n) {
  return n
    ? `Six cuts, ${COUNTED[n].toLowerCase()} wrong answer${n > 1 ? "s" : ""}.`
    : "Six cuts, and none changes this sentence.";
}

// What was found, as a sentence on what the part is for.
function purpose({ key }) {
  const [part, does] = PURPOSES[key];
  return element("div", {}, element("b", {}, part), ` ${does}`);
}

// Answers that more than one cut gives are one chip, until a cut of theirs is found.
function chipsOf(wrong, known) {
  const alike = ({ label }) => wrong.filter((one) => one.label === label && !known.has(one.key));
  const all = wrong.map((one) => ({ ...one, times: known.has(one.key) ? 1 : alike(one).length }));
  return all.filter((one) => known.has(one.key) || alike(one)[0].key === one.key);
}

function blank() {
  return element("span", { class: "tl-blank", "aria-hidden": "true" }, "?");
}

function chip({ key, label, times }, known, wanted, cuts, pick) {
  const found = known.has(key);
  const more = found ? cuts.find((cut) => cut.key === key).name : times > 1 ? `${times} cuts` : "";
  const kind = found ? "tl-chip tl-found" : "tl-chip";
  const node = button(label, () => pick(label), { class: kind, "aria-pressed": String(label === wanted) });
  if (more) node.append(" · ", element("span", {}, more));
  return node;
}

// What is cut, each with a button that mends it, and the sentence before and after, side by side.
export function became({ decode, mend, mendAll }) {
  const chips = element("div", { class: "tl-answers" });
  const [before, after] = [element("span", { class: "tl-text" }), element("span", { class: "tl-text" })];
  const all = button("mend all", mendAll, { class: "tl-plain" });
  const [sure, now] = [element("span", { class: "tl-quiet" }), element("span", { class: "tl-quiet" })];
  const line = (name, ...nodes) =>
    element("div", { class: "tl-line" }, element("span", { class: "tl-quiet" }, name), ...nodes);
  const title = element("b", { class: "tl-title" });
  const head = element("div", { class: "tl-head" }, title, chips);
  const says = element("div", { class: "tl-how" });
  const node = element(
    "div",
    { class: "tl-became" },
    head,
    line("before", before, sure),
    line("after", after, now),
    element("div", { class: "tl-ends" }, says, all),
  );
  let seen = "";
  const show = ({ run, intact, changes, said, at = 0 }) => {
    const key = changes.map(({ name }) => name).join("\n");
    if (key !== seen)
      chips.replaceChildren(
        ...changes.map((one) => {
          const says = { "aria-label": `mend ${one.name}`, title: one.name };
          const chip = button("", () => mend(one), { class: "tl-chip tl-gone", ...says });
          chip.append(element("span", {}, one.name), " ✕");
          return chip;
        }),
      );
    seen = key;
    all.hidden = changes.length < 2;
    node.classList.toggle(
      "tl-known-cuts",
      changes.every(({ whole }) => whole),
    ); // which their breakers show and mend
    title.textContent = changes.some(({ ids }) => ids?.length) ? "Cut" : "Swapped";
    const differ = differenceOf(intact.target, run.target);
    // Where no token differs, the one that is followed is compared.
    if (!differ.before.length && !differ.after.length) differ.start = at;
    const kept = keptOf(intact.target, run.target);
    [before, after].forEach((node, i) => {
      const [{ target }, all] = [
        [intact, differ.before],
        [run, differ.after],
      ][i];
      const same = new Set(kept.map((pair) => pair[i]));
      node.replaceChildren(...excerpt(target, differ.start, all.length, same, decode));
    });
    sure.textContent = sureness(intact, differ.start);
    now.textContent = sureness(run, differ.start);
    tell(says, said);
  };
  return { node, show };
}

// From where two sentences differ to where they meet again, as many tokens as can be compared at a glance, with a
// neighbour at either side; bold what the other sentence has not.
function excerpt(target, start, n, same, decode) {
  const to = start + (n > MOST ? MOST : n + 1);
  const pieces = [];
  for (let t = Math.max(0, start - 1); t < Math.min(to, target.length); t += 1) {
    if (pieces.at(-1)?.isSame !== same.has(t)) pieces.push({ isSame: same.has(t), ids: [] });
    pieces.at(-1).ids.push(target[t]);
  }
  const more = n > MOST ? ["…"] : [];
  return [...pieces.map(({ isSame, ids }) => (isSame ? decode(ids) : element("b", {}, decode(ids)))), ...more];
}

function sureness({ target, steps }, start) {
  const at = Math.min(start, target.length - 1);
  return steps[at][target[at]].toFixed(2);
}
