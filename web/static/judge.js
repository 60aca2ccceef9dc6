// Exercises that are answered in the page: numbers, a choice, a painted mask, or matrices. Where the answer stands, a
// verdict as the notebook's card gives it: the named slip, yours beside what is expected, or the next step.

import { element, html, shown } from "./elements.js";
import { picture } from "./grids.js";
import { judged } from "./judging.js";
import { kept, record } from "./progress.js";
import { WAYS } from "./ways.js";
import { judgedMatrices } from "./weights.js";

// ── the verdict ──

function yoursBesideExpected(table, { failed }, answers) {
  const { label, said, right } = table.cases[failed];
  const given = Object.entries(said).map(([name, value]) => `${name} = ${value}`);
  const parts = [
    ["yours", answers[failed], "yours"],
    ["expected", right, ""],
  ];
  const shows = parts.map(([word, value, style]) =>
    element(
      "div",
      { class: style },
      element("span", { class: "label" }, word),
      table.how === "paint" ? picture(value, right) : element("samp", {}, shown(value)),
    ),
  );
  const line = table.how === "choice" ? label : `${label}: ${given.join(", ")}`;
  return [
    element("p", { class: "label" }, table.how === "paint" ? label : line),
    element("div", { class: "beside" }, ...shows),
  ];
}

function wrongParts(table, result, answers) {
  const heading = result.mistake ? capital(result.mistake.words) : "Not yet";
  const why = result.mistake ? html(result.mistake.said, "p") : "";
  const shows =
    table.how === "matrices"
      ? [element("p", {}, `Smallest case that fails: ${table.cases[result.failed].label}.`), lines(result.lacks)]
      : yoursBesideExpected(table, result, answers);
  return [heading, [why, ...shows].filter(Boolean)];
}

function lines(text) {
  const [first, ...rest] = text.split("\n");
  return element("div", {}, element("p", {}, first), ...(rest.length ? [element("pre", {}, rest.join("\n"))] : []));
}

function rightParts(table) {
  const all = table.cases.length;
  const next = table.then;
  const link =
    next &&
    [...document.querySelectorAll("[data-judged], .exercise")].find((node) => node.id === `exercise-${next.name}`);
  const href = link ? `#${link.id}` : document.querySelector(".next-page")?.href;
  const step =
    next && href && element("a", { class: "button primary", href }, link ? `Next: ${next.name} →` : "Next lesson →");
  return [
    `Right in all ${all} cases`,
    [html(`You can say now: ${table.able.replace(/^<p[^>]*>|<\/p>$/g, "")}`, "p"), dots(), step].filter(Boolean),
  ];
}

// The dots of this lesson's exercises.
function dots() {
  const { exercises } = kept();
  const names = [...document.querySelectorAll("[data-seal]")].map((seal) => seal.dataset.seal);
  const solved = names.filter((name) => exercises[name] === "solved").length;
  const row = element(
    "p",
    { class: "dots" },
    ...names.map((name) => element("i", { class: `dot ${exercises[name] ?? ""}` })),
  );
  row.append(element("span", { class: "label" }, `${solved} of ${names.length} in this lesson`));
  return row;
}

const nothingYet = (trouble) => (trouble ? `The formula can’t be read: ${trouble}` : "Fill in an answer first.");
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function begin(room) {
  const table = JSON.parse(room.nextElementSibling.textContent);
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
    const [answers, tolerances] = way.read();
    const result = table.how === "matrices" ? judgedMatrices(table, answers) : judged(table, answers, tolerances);
    if (result.answered === 0) return void verdict.replaceChildren(element("p", {}, nothingYet(way.trouble?.())));
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
    const [heading, parts] = result.passed ? rightParts(table) : wrongParts(table, result, answers);
    verdict.className = `verdict ${result.passed ? "right" : "wrong"}`;
    verdict.replaceChildren(element("h3", {}, heading), ...parts);
  };
  const button = element("button", { type: "button", class: "button primary", onclick: check }, "Check");
  const form = element("form", { class: "answer" }, ...way.nodes.filter(Boolean), button, verdict);
  form.onsubmit = (event) => {
    event.preventDefault();
    check();
  };
  room.append(form);
  if (table.how === "matrices") showEffects();
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

document.querySelectorAll("[data-judged]").forEach(begin);
addEventListener("progress", showSeals);
showSeals();
