// Four ways to answer an exercise in a page. Each gives its nodes, the rows that are marked, and a function that reads the
// answers: a value for each case, or undefined where there is none yet, and how exactly each must be right.

import { element, shown } from "./elements.js";
import { parsed } from "./expressions.js";
import { grid, numbers } from "./grids.js";
import { ROUGH } from "./judging.js";

// A value for each case, typed or from one formula for all.
function values(table, changed) {
  const names = Object.keys(table.cases[0].given);
  const formula = element("input", {
    type: "text",
    id: `formula-${table.name}`,
    spellcheck: "false",
    autocapitalize: "off",
  });
  const said = element("span", { class: "label", role: "status" });
  const fields = table.cases.map(({ label }) =>
    element("input", {
      type: "text",
      "aria-label": `${table.returns.join(", ")}, for: ${label}`,
      autocapitalize: "off",
    }),
  );
  const computed = fields.map(() => element("samp", { class: "computed" }));
  const evaluated = (text, given) => parsed(text)(given);
  const fill = () => {
    said.textContent = "";
    computed.forEach((room, i) => {
      room.textContent = "";
      if (!formula.value.trim()) return;
      try {
        room.textContent = shown(evaluated(formula.value, table.cases[i].given));
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
      element("td", {}, fields[i], computed[i]),
      element("td", { class: "mark" }),
    ),
  );
  return {
    nodes: [
      element(
        "label",
        { class: "label", for: formula.id },
        `A formula in ${names.join(", ")} that fills all, or a number in each line (three digits are enough):`,
      ),
      formula,
      element(
        "p",
        { class: "label" },
        "Write it as in Python: + - * / **, sum, max, exp, log, sqrt, softmax(x), x.sum(-1), [f(x) for x in xs].",
      ),
      said,
      element("table", { class: "cases" }, element("tbody", {}, ...rows)),
    ],
    rows,
    trouble: () => said.textContent,
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
    const options = all.map((run, i) =>
      element("option", { value: i }, `${i} · ${i ? worded(run, all[0]) : "the run that failed"}`),
    );
    const select = element(
      "select",
      { "aria-label": label },
      element("option", { value: "" }, "choose a run"),
      ...options,
    );
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
      const names = tokens
        ? tokens[b].map((token) => (token === pad ? "pad" : String(token)))
        : mask[0].map((_, s) => String(s));
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

export const WAYS = { values, choice, paint, matrices };
