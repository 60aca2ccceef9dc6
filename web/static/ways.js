// Ways to answer an exercise in a page: a question for each case, a formula for all cases, boards that are painted, or
// matrices. A question has what is given, its fields, and a function that reads the answer and how exactly it must be right.

import { element } from "./elements.js";
import { parsed } from "./expressions.js";
import { figure, inDigits, inWords } from "./given.js";
import { grid, numbers } from "./grids.js";
import { ROUGH } from "./judging.js";
import { boardsOf } from "./masks.js";

const text = (attributes) =>
  element("input", { type: "text", autocapitalize: "off", spellcheck: "false", ...attributes });
const plain = (typed) => typed.replaceAll(/(\d)[\s\u202f](?=\d{3}\b)/g, "$1").trim();
const isNumber = (typed) => /^[-−]?[\d.]+$/.test(plain(typed));
// The keyboard of a phone that an answer needs. That for numbers has no minus on some.
const keysFor = ({ whole, cases }) => {
  if (cases.some(({ right }) => leaves(right).some((x) => typeof x !== "number" || x < 0))) return "text";
  return whole ? "numeric" : "decimal";
};
const leaves = (value) => (Array.isArray(value) ? value.flatMap(leaves) : [value]);
const put = (like, next) => (Array.isArray(like) ? like.map((one) => put(one, next)) : next());

// Numbers for one case, typed: one, one under each of its names, or as many as there are weights.
function values(table, i, changed) {
  const { right, given } = table.cases[i];
  const names = table.returns;
  const count = leaves(right).length;
  const hasNames = names.length === count;
  const sum = element("samp", { class: "computed" });
  const all = leaves(right).map((_, k) =>
    text({
      inputmode: keysFor(table),
      "aria-label": hasNames ? `${names[k]}, case ${i + 1}` : `${names[0]} ${k + 1} of ${count}, case ${i + 1}`,
      oninput: () => (tell(), changed()),
    }),
  );
  const evaluated = (field) => parsed(plain(field.value))(given);
  const tell = () => {
    const [field] = all;
    sum.textContent = count === 1 && !isNumber(field.value) ? computed(() => evaluated(field)) : "";
  };
  const read = () => {
    if (all.some((field) => !field.value.trim()))
      return { trouble: `Type ${count > 1 ? "all numbers" : "a number"} first.` };
    try {
      const found = all.map(evaluated);
      if (found.some(Array.isArray)) return { trouble: "That reads as a list: decimals take a point, not a comma." };
      const left = [...found];
      return { value: put(right, () => left.shift()), tolerance: ROUGH };
    } catch (error) {
      return { trouble: `It can’t be read: ${error.message}.` };
    }
  };
  const labelled = (field, k) => element("label", { class: "field" }, element("span", {}, names[k]), field);
  const fields = hasNames ? all.map(labelled) : [cells(names[0], right, all)];
  return { given: [figure(given)], fields, under: [sum], read, focus: () => all[0].focus() };
}

function computed(work) {
  try {
    return `= ${[work()].flat(Infinity).map(inDigits).join(", ")}`;
  } catch {
    return "";
  }
}

// Fields in rows, as the numbers stand in the answer.
function cells(name, right, fields) {
  const left = [...fields];
  const rowsOf = (value) => (Array.isArray(value[0]) ? value.flatMap(rowsOf) : [value]);
  const rows = rowsOf(right).map((row) => element("span", {}, ...row.map(() => left.shift())));
  return element("div", { class: "field cells" }, element("span", {}, name), ...rows);
}

// One formula for all cases. Whoever walks through the cases sees what it makes of each.
export function formulaFor(table, changed) {
  const names = Object.keys(table.cases[0].given);
  const field = text({ id: `formula-${table.name}`, oninput: () => (tell(), changed()) });
  const sum = element("samp", { class: "computed" });
  let at = 0;
  const of = (i) => parsed(field.value.trim())(table.cases[i].given);
  const tell = (i = at) => {
    at = i;
    sum.textContent = field.value.trim() ? computed(() => of(at)) : "";
  };
  const read = () => {
    if (!field.value.trim()) return { trouble: "Write a formula first." };
    try {
      return { values: table.cases.map((_, i) => of(i)) };
    } catch (error) {
      return { trouble: `The formula can’t be read: ${error.message}.` };
    }
  };
  const said = `Python in ${names.join(", ")}: + - * / **, sum, max, exp, log, sqrt, softmax(x), x.sum(-1), [f(x) for x in xs].`;
  const label = element("span", {}, `${table.returns.join(", ")}, in every case`);
  const under = [sum, element("p", { class: "label" }, said)];
  return {
    fields: [element("label", { class: "field long" }, label, field)],
    under,
    tell,
    read,
    focus: () => field.focus(),
  };
}

// What a run of a case has otherwise than the first.
export function runInWords(table, i, k) {
  if (k === null) return "none of them";
  const [first, ...others] = table.cases[i].given[table.among];
  if (k === 0) return "the failed run itself";
  const own = Object.entries(others[k - 1].settings).filter(([setting, value]) => first.settings[setting] !== value);
  return own.map((one) => inWords(one).join(": ")).join(", ") || "nothing changed";
}

// One of the things that a case lists: the settings of the first, and of each other what it has otherwise.
function choice(table, i, changed) {
  const [first, ...others] = table.cases[i].given[table.among];
  const name = `${table.name}-${i}`;
  const option = (value, ...words) =>
    element(
      "label",
      { class: "option" },
      element("input", { type: "radio", name, value, onchange: changed }),
      element("span", {}, ...words),
    );
  const what = (k) => element("b", {}, runInWords(table, i, k));
  const options = [
    ...others.map(({ measures }, k) => option(k + 1, what(k + 1), `, measures the ${measures}`)),
    option(0, what(0), `, measured the ${first.measures}`),
    option("none", what(null)),
  ];
  const set = element(
    "fieldset",
    { class: "options" },
    element("legend", {}, "Which run do you compare it with?"),
    ...options,
  );
  const read = () => {
    const chosen = set.querySelector(":checked");
    if (!chosen) return { trouble: "Choose a run first." };
    return { value: chosen.value === "none" ? null : Number(chosen.value) };
  };
  const title = element("p", { class: "label" }, "The run that failed:");
  return {
    given: [title, figure(first.settings)],
    fields: [set],
    read,
    focus: () => set.querySelector("input").focus(),
  };
}

export const QUESTIONS = { values, choice };

// A mask for each case: one grid for each sentence, whose cells are painted.
function paint(table, changed) {
  const boards = table.cases.map((one) => {
    const label = `${one.label}: rows are queries, columns are keys`;
    const grids = boardsOf(one, one.right).map(({ rows, columns }) => grid({ rows, columns, label, changed }));
    return { grids, like: one.right };
  });
  const whole = (like, next) => (Array.isArray(like[0][0]) ? like.map((part) => whole(part, next)) : next());
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
      element(
        "p",
        { class: "label" },
        "Paint each query’s row: a filled key is one that it may attend to. Press, draw, or use the arrow keys and Space.",
      ),
      element("div", { class: "boards" }, ...rows),
    ],
    rows,
    read: () => [
      boards.map(({ grids, like }) => {
        const left = [...grids];
        return grids.some((one) => one.isTouched()) ? whole(like, () => left.shift().read()) : undefined;
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

export const WAYS = { paint, matrices };
