// One part of the machine seen near: its matrices, large and labelled, and the sum behind a number that is pressed.
//   const detail = detailOf({ onopen, onzoom, redraw });
//   detail.show({ el, part, path, tab, cell, run, machine, names });  // draws the map into `el`'s width

import { diverging, tokenMap } from "../../shared/grid.js";
import { wideMap } from "./machine_map.js";
import { marksBeside, sayWriter, writerOf } from "./machine_marks.js";
import { bare } from "../weave/weave_layout.js";
import { signed } from "../weave/weave_steps.js";
import { explained } from "../computing/machine_sums.js";
import { bar, button, amounts, element, tableOfTexts, widthOf } from "../../shared/ui.js";

const MANY = 24; // columns from which on a map has bands
const MOST = 6; // terms of a sum that are listed

// The rows of a tab's matrix, those of the past alone filled up: NaN is what is masked.
export function valuesOf({ name, columns, from = 0, to }, run) {
  const { rows } = run.at.get(name);
  const cut = to ? rows.map((row) => row.slice(from, to)) : rows;
  const wide = Math.max(...cut.map((row) => row.length));
  return cut.map((row) => [...row, ...Array(wide - row.length).fill(NaN)]);
}

// The names of a tab's rows and columns.
export function namesOf({ name, columns, rows, from = 0 }, values, names) {
  const source = name.startsWith("src") || name.startsWith("encoder") || rows === "source";
  const keys = name.startsWith("encoder") || name.includes("cross_attention") ? names.source : names.fed;
  const across = { keys, tokens: names.vocabulary, features: null }[columns];
  const features = values[0].map((_, j) => String(from + j));
  return { rows: source ? names.source : names.fed, columns: across ?? features };
}

export function detailOf({ onopen, oncell, redraw }) {
  const node = element("div", { class: "tl-detail" });
  const [tabs, place, sum] = [
    element("div", { class: "tl-bar tl-tabs" }),
    element("div"),
    element("div", { class: "tl-sum" }),
  ];
  const wrote = element("div", { class: "tl-note" });
  let [map, key, listed, pressed] = [null, "", "", false];
  node.append(tabs, wrote, place, sum);

  const listTabs = ({ part, tab }) => {
    if (listed !== part.key) {
      tabs.replaceChildren(...part.tabs.map(({ title }, i) => button(title, () => onopen(part.key, i, null))));
      listed = part.key;
    }
    [...tabs.children].forEach((one, i) => one.setAttribute("aria-pressed", i === tab));
  };

  const show = (look) => {
    const { part, tab, cell, run, machine, names } = look;
    const shown = part.tabs[tab];
    listTabs(look);
    const values = valuesOf(shown, run);
    const labels = namesOf(shown, values, names);
    const now = JSON.stringify([shown.name, shown.from, labels]);
    if (now !== key) {
      key = now;
      map = (labels.columns.length > MANY ? wideMap : tokenMap)({
        el: node,
        label: `${shown.title} of ${look.path}.`,
        ...{
          rows: labels.rows.map(bare),
          columns: shown.columns === "keys" ? labels.columns.map(bare) : labels.columns,
        },
        axes: shown.columns === "keys" ? ["query", "key"] : ["token", shown.columns === "tokens" ? "token" : "feature"],
        describe: (numbers, at) => describe(numbers, at, labels, shown),
        redraw,
        onpress: (at, first) => {
          if (!first) return;
          pressed = true;
          oncell(at);
        },
      });
      place.replaceChildren(map.node, map.note, map.says, bar(...map.buttons), map.table);
    }
    const weights = shown.columns === "keys" && shown.title === "weights";
    const sure = weights || shown.name === "probabilities";
    const most = Math.max(...values.map((row) => Math.max(...row.map((x) => Math.abs(x) || 0)))) || 1;
    const colours = sure ? { range: [0, 1], colours: amounts } : { range: [-most, most], colours: diverging };
    const writer = writerOf({ ...labels, fed: names.fed }, names.written, look.at);
    wrote.textContent = sayWriter(writer);
    const marks = { writer, cell, width: widthOf(node), layout: () => map.node.layout };
    map.show(values, { ...colours, marked: cell, writer, beside: marksBeside(marks) });
    showSum({ shown, cell, labels, look, ...{ run, machine } });
    if (pressed) sum.scrollIntoView({ block: "nearest" }); // it may stand below the window
    pressed = false;
    return { name: shown.name, values };
  };
  const showSum = ({ run, machine, shown, cell: [t, j], labels, look }) => {
    const found = explained(run, machine, shown.name, t, j + (shown.from ?? 0));
    const [row, column] = [labels.rows[t], labels.columns[j]].map((name) => `“${bare(name)}”`);
    const what = `${row}, ${shown.columns === "features" ? `feature ${labels.columns[j]}` : column}: `;
    const value = Number.isFinite(found.value) ? signed(found.value, 4) : "–";
    const head = element("div", {}, what, element("b", {}, value), `, which is ${found.text}.`);
    sum.replaceChildren(head, ...listOf(found, look));
  };
  return { node, show, reset: () => map?.reset() };
}

function describe(values, at, { rows, columns }, { columns: kind }) {
  if (!at) return "Press a number, or Enter on it, to see the sum that made it.";
  const [t, s] = at;
  const value = values[t][s];
  const said = Number.isNaN(value) ? "masked" : value.toFixed(4);
  const [one, other] = kind === "keys" ? ["query", "key"] : ["token", kind === "tokens" ? "token" : "feature"];
  return `${one} ${rows[t]} (${t}), ${other} ${columns[s]}${kind === "features" ? "" : ` (${s})`}: ${said}.`;
}

// The largest terms with their numbers, what the others make together, and the rest.
function listOf({ terms, rest, steps, value }, { goto, nameOf }) {
  const plain = terms.every(({ b }) => b === 1);
  // Shift + Enter, which runs a cell elsewhere, leads nowhere.
  const go = ({ name, from }) =>
    from ? button(plain ? nameOf(from) : name, ({ shiftKey }) => shiftKey || goto(from), { class: "tl-go" }) : name;
  if (steps?.length) return [bar("made of ", ...steps.map(go))];
  if (!terms.length) return [];
  const show = (x) => signed(x, 4);
  const largest = [...terms].sort((a, b) => Math.abs(b.product) - Math.abs(a.product)).slice(0, MOST);
  const others = terms.length - largest.length;
  const left =
    terms.reduce((sum, { product }) => sum + product, 0) - largest.reduce((sum, { product }) => sum + product, 0);
  const lines = largest.map((term) => [
    go(term),
    ...(plain ? ["", ""] : [show(term.a), show(term.b)]),
    show(term.product),
  ]);
  if (others) lines.push([`${others} more`, "", "", show(left)]);
  for (const { name, value: more } of rest) lines.push([name, "", "", show(more)]);
  lines.push(["together", "", "", show(value)]);
  return [tableOfTexts([plain ? ["", "", "", "value"] : ["", "row", "· column", "= product"], ...lines])];
}
