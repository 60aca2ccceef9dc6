// Grids that are painted, filled with numbers, or only looked at.

const make = (name, attributes = {}, ...children) => {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
};

const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

// A table of cells whose rows are queries, and whose columns are keys, unless it is small.
export function labelled({ rows, columns, cells, small = false }) {
  const axes = small ? [] : [make("span", { class: "key" }, "key →"), make("span", { class: "query" }, "query ↓")];
  const corner = make("td", { class: "axes" }, ...axes);
  const head = make("tr", {}, corner, ...columns.map((name) => make("th", { scope: "col" }, name)));
  const body = rows.map((name, t) =>
    make("tr", {}, make("th", { scope: "row" }, name), ...cells[t].map((cell) => make("td", {}, cell))),
  );
  return make("table", { class: `paint${small ? " small" : ""}` }, make("tbody", {}, head, ...body));
}

// A table of cells that are on or off: painted with the pointer, or by arrows and Space. One Tab stop.
export function grid({ rows, columns, label, changed, small = false }) {
  const cells = rows.map((row, t) =>
    columns.map((column, s) =>
      make("button", {
        type: "button",
        "aria-pressed": "false",
        "aria-label": `row ${row}, column ${column}`,
        tabindex: t || s ? -1 : 0,
      }),
    ),
  );
  let isTouched = false;
  const isOn = (cell) => cell.getAttribute("aria-pressed") === "true";
  const set = (cell, on) => {
    if (isOn(cell) === on) return;
    cell.setAttribute("aria-pressed", String(on));
    isTouched = true;
    changed();
  };
  const node = labelled({ rows, columns, cells, small });
  node.setAttribute("aria-label", label);
  let brush = null;
  node.addEventListener("pointerdown", (event) => {
    const cell = event.target.closest("button");
    if (!cell) return;
    brush = !isOn(cell);
    set(cell, brush);
    cell.focus();
    cell.releasePointerCapture?.(event.pointerId);
    event.preventDefault();
  });
  node.addEventListener("pointermove", (event) => {
    if (brush === null || !event.buttons) return void (brush = null);
    const cell = document.elementFromPoint(event.clientX, event.clientY)?.closest("button");
    if (cell && node.contains(cell)) set(cell, brush);
  });
  node.addEventListener("click", (event) => {
    if (event.detail === 0 && event.target.matches("button")) set(event.target, !isOn(event.target)); // by a key
  });
  node.addEventListener("keydown", (event) => {
    const step = STEPS[event.key];
    const t = cells.findIndex((row) => row.includes(event.target));
    if (!step || t < 0) return;
    event.preventDefault();
    const next = cells[t + step[0]]?.[cells[t].indexOf(event.target) + step[1]];
    if (!next) return;
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
  return { node, read: () => cells.map((row) => row.map(isOn)), isTouched: () => isTouched };
}

// A matrix to fill in, times a number: a field for each entry, or a cell that is 0 or 1 where there are many.
export function numbers({ table, shape: [n, m], index, changed }) {
  const names = table.returns.length > 1 ? table.returns : ["head 0: w_q", "head 0: w_k", "head 1: w_q", "head 1: w_k"];
  const name = names[index];
  const factor = make("input", { type: "text", inputmode: "decimal", value: "1", "aria-label": `${name} times` });
  factor.oninput = changed;
  const value = (field) => Number(field.value.replace("−", "-").replace(",", ".")) || 0;
  const isLarge = n * m > 40;
  const labels = isLarge ? blocks(table.cases[0].given) : null;
  const isKey = /w_k/.test(name) && n === m;
  const board = isLarge
    ? grid({ rows: labels, columns: labels, label: name, changed, small: true })
    : fields(n, m, name, isKey, changed, value);
  const times = make("label", { class: "label" }, "× ", factor);
  return {
    node: make("figure", { class: "board" }, make("figcaption", {}, make("code", {}, name), " ", times), board.node),
    read: () => board.read().map((row) => row.map((x) => Number(x) * value(factor))),
  };
}

function fields(n, m, name, isIdentity, changed, value) {
  const all = Array.from({ length: n }, (_, i) =>
    Array.from({ length: m }, (_, j) => {
      const start = isIdentity && i === j ? "1" : "0";
      const field = make("input", {
        type: "text",
        inputmode: "decimal",
        value: start,
        "aria-label": `${name}, row ${i}, column ${j}`,
      });
      field.oninput = changed;
      return field;
    }),
  );
  const node = make(
    "table",
    { class: "fields" },
    make("tbody", {}, ...all.map((row) => make("tr", {}, ...row.map((one) => make("td", {}, one))))),
  );
  return { node, read: () => all.map((row) => row.map(value)) };
}

// The rows of the residual stream of `induction_by_hand`.
function blocks({ n_tokens: n, n_positions: places }) {
  const tokens = [..."abcdefgh"].slice(0, n);
  return [...tokens, ...Array(places).keys(), ...tokens.map((one) => `←${one}`), ...tokens.map((one) => `→${one}`)].map(
    String,
  );
}

// Weights as a picture.
export function picture(value) {
  if (Array.isArray(value[0][0])) return make("div", { class: "boards" }, ...value.map(picture));
  const rows = value.map((row) =>
    make("tr", {}, ...row.map((x) => make("td", { style: `--share:${x}` }, x.toFixed(2)))),
  );
  return make("table", { class: "weights" }, make("tbody", {}, ...rows));
}
