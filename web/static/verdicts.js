// What a card says of an answer: the named slip, yours beside what is expected, or what was found out and the next step.

import { element, html, sayDone, shown } from "./elements.js";
import { copy } from "./hand_on.js";
import { masksToKeep } from "./masks.js";
import { kept } from "./progress.js";

export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export const heading = (text) => element("h3", {}, text);
export const named = ({ words, said }) => [heading(capital(words)), html(said, "p")];

// What one wrong answer may come from. One alone is too little to be sure.
export function perhaps(makers, value) {
  const names = makers.map(({ words }) => `<em>${words}</em>`);
  const [given, last] = [shown(value), names.pop()];
  if (!last) return html(`It is not ${given}, and no mistake that is known here leads to that.`, "p");
  if (!names.length) return html(`One way to arrive at ${given} is a mistake that is known here. ${makers[0].said}`, "p");
  const all = `${names.join(", ")} and ${last}`;
  return html(`${makers.length} known mistakes give ${given} here: ${all}. Other cases tell them apart.`, "p");
}

// The hints of a card, each of which contains the next.
export const hintsOf = (card) =>
  [...card.querySelectorAll(".folds > details")].find((one) => /^hint/.test(one.textContent));

export function lines(text) {
  const [first, ...rest] = text.split("\n");
  return element("div", {}, element("p", {}, first), ...(rest.length ? [element("pre", {}, rest.join("\n"))] : []));
}

const address = (name) => new URL(`#exercise-${name}`, location.href).href;

// What was found, in a sentence that can be sent to somebody, with the address of the exercise.
export function sharing(name, said, words = "Copy what I found") {
  const button = element("button", { type: "button", class: "quiet" }, words);
  const lesson = document.querySelector("h1").firstChild.textContent.trim();
  button.onclick = async () => {
    await copy(`${said} (Transformer Lab, ${lesson}) ${address(name)}`);
    sayDone(button, "Copied", words);
  };
  return button;
}

// Where the next exercise is, on this page or on the next.
function nextStep(next) {
  if (!next) return [];
  const link = document.getElementById(`exercise-${next.name}`);
  const href = link ? `#${link.id}` : document.querySelector(".next-page")?.href;
  const text = link ? `Next: ${next.name} →` : "Next lesson →";
  return href ? [element("a", { class: "button primary", href }, text)] : [];
}

// The way to the notebook, where code is written and checked, as the next step of a card.
export function toNotebook(card, verb) {
  const next = card.querySelector(".exercise-ways > a");
  next.classList.add("primary");
  const way = next.hasAttribute("download") ? "download the notebook" : "open it in Colab";
  next.textContent = `Now ${verb} it: ${way} →`;
  return next;
}

// All cases are right.
export function passed(table) {
  const able = html(table.able.replace(/^<p[^>]*>|<\/p>$/g, ""), "span");
  const said = `I worked this out: ${able.textContent.trim()} Right in all ${table.cases.length} cases. Can you do it?`;
  const keeping = table.how === "paint" ? masksToKeep(table, able.textContent.trim()) : null;
  const ways = [...(keeping ? [keeping.button] : []), sharing(table.name, said)];
  return [
    heading(`Right in all ${table.cases.length} cases`),
    element("p", {}, "You have worked out: ", able),
    ...(keeping ? [keeping.small] : []),
    dots(),
    element("p", { class: "exercise-ways" }, ...nextStep(table.then), ...ways),
  ];
}

// The dots of this lesson's exercises.
function dots() {
  const { exercises } = kept();
  const names = [...document.querySelectorAll("[data-seal]")].map((seal) => seal.dataset.seal);
  const solved = names.filter((name) => exercises[name] === "solved").length;
  const row = names.map((name) => element("i", { class: `dot ${exercises[name] ?? ""}` }));
  const said = element("span", { class: "label" }, `${solved} of ${names.length} in this lesson`);
  return element("p", { class: "dots" }, ...row, said);
}
