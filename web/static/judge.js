// Exercises that are answered in the page: numbers and choices case by case, painted masks and matrices all at once, and
// lines that are pointed at. Before code is written, one result of several is chosen.

import { beside } from "./beside.js";
import { oneByOne } from "./cases.js";
import { element } from "./elements.js";
import { picture } from "./grids.js";
import { judged } from "./judging.js";
import { pointAt } from "./pointing.js";
import { kept, record } from "./progress.js";
import { heading, lines, named, passed } from "./verdicts.js";
import { WAYS } from "./ways.js";
import { judgedMatrices } from "./weights.js";
import { askWhich } from "./which.js";

function wrongParts(table, result, answers) {
  const first = result.mistake ? named(result.mistake) : [heading("Not yet")];
  const { label } = table.cases[result.failed];
  if (table.how === "matrices")
    return [...first, element("p", {}, `The simplest case that fails: ${label}.`), lines(result.lacks)];
  return [...first, element("p", { class: "label" }, label), beside(table, result.failed, answers[result.failed])];
}

// All cases side by side, and one button for all.
function allAtOnce(table) {
  const verdict = element("div", { class: "verdict", role: "status" });
  const fresh = () => {
    verdict.replaceChildren();
    way.rows.forEach((row) => (row.querySelector(".mark").textContent = ""));
    if (table.how === "matrices") showEffects();
  };
  const way = WAYS[table.how](table, () => fresh());
  const showEffects = () => {
    const { effects, failed } = judgedMatrices(table, way.read()[0]);
    for (const { cases, seen } of way.sets) {
      const i = cases.includes(failed) ? failed : cases.at(-1);
      seen.replaceChildren(...effectPictures(table, effects[i], i));
    }
  };
  const check = () => {
    const [answers] = way.read();
    const result = table.how === "matrices" ? judgedMatrices(table, answers) : judged(table, answers);
    if (result.answered === 0) return void verdict.replaceChildren(element("p", {}, "Fill in an answer first."));
    way.rows.forEach((row, i) => {
      const isWrong = result.wrong.includes(i);
      row.querySelector(".mark").textContent = answers[i] === undefined ? "" : isWrong ? "✗" : "✓";
      row.querySelector(".mark").classList.toggle("wrong", isWrong);
    });
    if (!result.passed && !result.wrong?.length && result.lacks === undefined)
      return void verdict.replaceChildren(
        element("p", {}, `Right so far: ${result.answered} of ${table.cases.length} cases. Go on.`),
      );
    record(table.name, result.passed);
    verdict.className = `verdict ${result.passed ? "right" : "wrong"}`;
    verdict.replaceChildren(...(result.passed ? passed(table) : wrongParts(table, result, answers)));
  };
  const button = element("button", { class: "button primary" }, "Check");
  const form = element("form", { class: "answer" }, ...way.nodes.filter(Boolean), button, verdict);
  form.onsubmit = (event) => {
    event.preventDefault();
    check();
  };
  if (table.how === "matrices") showEffects();
  return form;
}

// What the matrices bring about in the last of their cases: the attention of each head.
function effectPictures(table, effect, i) {
  const { given, label } = table.cases[i];
  const size = (given.positions ?? given.words ?? effect[0]).length;
  const heads =
    table.family === "induction"
      ? [0, 1].map((h) => effect.at(-1).map((row) => row.slice(h * size, (h + 1) * size)))
      : effect;
  const name = (h) => (table.family === "induction" ? `layer ${h}` : heads.length > 1 ? `head ${h}` : "attention");
  return heads.map((weights, h) =>
    element(
      "figure",
      { class: "board" },
      element("figcaption", {}, h ? name(h) : `${name(h)}, ${label}`),
      picture(weights),
    ),
  );
}

function showSeals() {
  const { exercises } = kept();
  for (const seal of document.querySelectorAll("[data-seal]"))
    seal.className = `seal ${exercises[seal.dataset.seal] ?? ""}`;
}

for (const room of document.querySelectorAll("[data-judged]")) {
  const table = JSON.parse(room.nextElementSibling.textContent);
  room.append(table.how in WAYS ? allAtOnce(table) : oneByOne(table));
}
document.querySelectorAll("[data-points]").forEach(pointAt);
document.querySelectorAll("[data-which]").forEach(askWhich);
addEventListener("progress", showSeals);
showSeals();
