// Exercises that are answered in the page: numbers, a choice, a painted mask, or matrices. Where the answer stands, a
// verdict as the notebook's card gives it: the named slip, yours beside what is expected, or the next step.

import { parsed } from "./expressions.js";
import { judged, ROUGH } from "./judging.js";
import { kept, record } from "./progress.js";
import { judgedMatrices } from "./weights.js";
import { grid, numbers, picture } from "./grids.js";

const element = (name, attributes = {}, ...children) => {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node[key] = value;
    else if (value !== false) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
};
const html = (text, name = "div") => Object.assign(document.createElement(name), { innerHTML: text });
const shown = (value) => (Array.isArray(value) ? `[${value.map(shown).join(", ")}]` : rounded(value));
const rounded = (x) => (typeof x === "number" ? String(Number.isInteger(x) ? x : Number(x.toPrecision(4))) : String(x));

// ── four ways to answer: each gives its nodes, and a function for the answers ──

// A value for each case, typed or from one formula for all.
function values(table, changed) {
  const names = Object.keys(table.cases[0].given);
  const formula = element("input", { type: "text", id: `formula-${table.name}`, spellcheck: "false", autocapitalize: "off" });
  const said = element("span", { class: "label", role: "status" });
  const fields = table.cases.map(({ label }) =>
    element("input", { type: "text", "aria-label": `${table.returns.join(", ")}, for: ${label}`, autocapitalize: "off" }),
  );
  const evaluated = (text, given) => parsed(text)(given);
  const fill = () => {
    said.textContent = "";
    fields.forEach((field, i) => {
      field.placeholder = "";
      if (!formula.value.trim()) return;
      try {
        field.placeholder = shown(evaluated(formula.value, table.cases[i].given));
      } catch (error) {
        said.textContent = `${error.message}.`;
      }
    });
    changed();
  };
  formula.oninput = fill;
  fields.forEach((field) => (field.oninput = changed));
  const rows = table.cases.map(({ said: given }, i) =>
    element(
      "tr",
      {},
      element("td", {}, ...names.map((name) => element("span", { class: "given" }, `${name} = ${given[name]}`))),
      element("td", {}, fields[i]),
      element("td", { class: "mark" }),
    ),
  );
  return {
    nodes: [
      element("label", { class: "label", for: formula.id }, `A formula in ${names.join(", ")} that fills all, or a number in each line (three digits are enough):`),
      formula,
      said,
      element("table", { class: "cases" }, element("tbody", {}, ...rows)),
    ],
    rows,
    read: () => {
      const answers = fields.map((field, i) => {
        const text = field.value.trim() || formula.value.trim();
        if (!text) return undefined;
        try {
          return evaluated(text, table.cases[i].given);
        } catch {
          return undefined;
        }
      });
      return [answers, fields.map((field) => (field.value.trim() ? ROUGH : undefined))];
    },
  };
}

// One of the things that a case lists.
function choice(table, changed) {
  const worded = (run, first) => {
    const own = Object.entries(run.settings).filter(([name, value]) => first.settings[name] !== value);
    return `${own.map(([name, value]) => `${name}: ${value}`).join(", ") || "nothing changed"}; measures the ${run.measures}`;
  };
  const fields = table.cases.map(({ label, given }) => {
    const all = given[table.among];
    const options = all.map((run, i) => element("option", { value: i }, `${i} · ${i ? worded(run, all[0]) : "the run that failed"}`));
    const select = element("select", { "aria-label": label }, element("option", { value: "" }, "choose a run"), ...options);
    select.append(element("option", { value: "none" }, "none of them"));
    select.onchange = changed;
    return select;
  });
  const rows = table.cases.map(({ given }, i) => {
    const failed = Object.entries(given[table.among][0].settings).map(([name, value]) => `${name}: ${value}`);
    return element(
      "tr",
      {},
      element("td", {}, element("span", { class: "given" }, `failed with ${failed.join(", ")}`), fields[i]),
      element("td", { class: "mark" }),
    );
  });
  return {
    nodes: [element("table", { class: "cases" }, element("tbody", {}, ...rows))],
    rows,
    read: () => [fields.map(({ value }) => (value === "" ? undefined : value === "none" ? null : Number(value))), []],
  };
}

// A mask for each case: one grid for each sentence, whose cells are painted.
function paint(table, changed) {
  const boards = table.cases.map((one) => {
    const { tokens, pad_id: pad } = one.given;
    const flat = (mask) => (Array.isArray(mask[0][0]) ? mask.flatMap(flat) : [mask]);
    const grids = flat(one.right).map((mask, b) => {
      const names = tokens ? tokens[b].map((token) => (token === pad ? "pad" : String(token))) : mask[0].map((_, s) => String(s));
      const rows = mask.length === names.length ? names : mask.map(() => "each");
      return grid({ rows, columns: names, label: `${one.label}: rows are queries, columns are keys`, changed });
    });
    return { grids, like: one.right };
  });
  const put = (like, next) => (Array.isArray(like[0][0]) ? like.map((part) => put(part, next)) : next());
  const rows = table.cases.map(({ label }, i) =>
    element(
      "figure",
      { class: "board" },
      element("figcaption", {}, `${label} `, element("span", { class: "mark" })),
      ...boards[i].grids.map(({ node }) => node),
    ),
  );
  return {
    nodes: [
      element("p", { class: "label" }, "Paint each query’s row: a filled key is one that it may attend to. Press, draw, or use the arrow keys and Space."),
      element("div", { class: "boards" }, ...rows),
    ],
    rows,
    read: () => [
      boards.map(({ grids, like }) => {
        const left = [...grids];
        return grids.some((one) => one.isTouched()) ? put(like, () => left.shift().read()) : undefined;
      }),
      [],
    ],
  };
}

// Matrices, once for each width of the cases.
function matrices(table, changed) {
  const sets = table.matrices.map(({ shapes, cases }) => {
    const own = shapes.map((shape, m) => numbers({ table, shape, index: m, changed }));
    const first = table.cases[cases[0]];
    const which = cases.length > 1 ? `for all ${cases.length} cases` : first.label;
    const vectors = cases.length > 1 || !first.given.positions ? "" : `positions = ${first.said.positions}`;
    const seen = element("div", { class: "seen" });
    const node = element(
      "fieldset",
      { class: "set" },
      element("legend", {}, which),
      vectors && element("pre", {}, vectors),
      element("div", { class: "boards" }, ...own.map(({ node }) => node)),
      seen,
    );
    return { node, own, cases, seen };
  });
  return {
    nodes: sets.map(({ node }) => node),
    rows: [],
    sets,
    read: () => {
      const answers = [];
      for (const { own, cases } of sets) for (const i of cases) answers[i] = own.map((one) => one.read());
      return [answers, []];
    },
  };
}

const WAYS = { values, choice, paint, matrices };

// ── the verdict ──

function yoursBesideExpected(table, { failed }, answers) {
  const { label, said, right } = table.cases[failed];
  const given = Object.entries(said).map(([name, value]) => `${name} = ${value}`);
  const parts = [["yours", answers[failed], "yours"], ["expected", right, ""]];
  const shows = parts.map(([word, value, style]) =>
    element("div", { class: style }, element("span", { class: "label" }, word), table.how === "paint" ? picture(value, right) : element("samp", {}, shown(value))),
  );
  const line = table.how === "choice" ? label : `${label}: ${given.join(", ")}`;
  return [element("p", { class: "label" }, table.how === "paint" ? label : line), element("div", { class: "beside" }, ...shows)];
}

function wrongParts(table, result, answers) {
  const heading = result.mistake ? capital(result.mistake.words) : "Not yet";
  const why = result.mistake ? html(result.mistake.said, "p") : "";
  const shows = table.how === "matrices" ? [element("p", {}, `Smallest case that fails: ${table.cases[result.failed].label}.`), lines(result.lacks)] : yoursBesideExpected(table, result, answers);
  return [heading, [why, ...shows].filter(Boolean)];
}

function lines(text) {
  const [first, ...rest] = text.split("\n");
  return element("div", {}, element("p", {}, first), ...(rest.length ? [element("pre", {}, rest.join("\n"))] : []));
}

function rightParts(table) {
  const all = table.cases.length;
  const next = table.then;
  const link = next && [...document.querySelectorAll("[data-judged], .exercise")].find((node) => node.id === `exercise-${next.name}`);
  const href = link ? `#${link.id}` : document.querySelector(".next-page")?.href;
  const step = next && href && element("a", { class: "button primary", href }, link ? `Next: ${next.name} →` : "Next lesson →");
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
  const row = element("p", { class: "dots" }, ...names.map((name) => element("i", { class: `dot ${exercises[name] ?? ""}` })));
  row.append(element("span", { class: "label" }, `${solved} of ${names.length} in this lesson`));
  return row;
}

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
    if (result.answered === 0) return void verdict.replaceChildren(element("p", {}, "Fill in an answer first."));
    way.rows.forEach((row, i) => (row.querySelector(".mark").textContent = answers[i] === undefined ? "" : result.wrong.includes(i) ? "✗" : "✓"));
    if (!result.passed && !result.wrong?.length && result.lacks === undefined)
      return void verdict.replaceChildren(element("p", {}, `Right so far: ${result.answered} of ${table.cases.length} cases. Go on.`));
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
  const heads = table.family === "induction" ? [0, 1].map((h) => effect.at(-1).map((row) => row.slice(h * size, (h + 1) * size))) : effect;
  const name = (h) => (table.family === "induction" ? `layer ${h}` : heads.length > 1 ? `head ${h}` : "attention");
  return heads.map((weights, h) =>
    element("figure", { class: "board" }, element("figcaption", {}, h ? name(h) : `${name(h)}, ${label}`), picture(weights)),
  );
}

function showSeals() {
  const { exercises } = kept();
  for (const seal of document.querySelectorAll("[data-seal]")) seal.className = `seal ${exercises[seal.dataset.seal] ?? ""}`;
}

document.querySelectorAll("[data-judged]").forEach(begin);
addEventListener("progress", showSeals);
showSeals();
