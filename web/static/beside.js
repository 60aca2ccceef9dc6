// An answer and the right one, side by side and box by box: what differs has a frame.

import { element } from "./elements.js";
import { inDigits, wordOf } from "./given.js";
import { same } from "./judging.js";
import { tiles } from "./masks.js";
import { runInWords } from "./ways.js";

const leaves = (value) => [value].flat(Infinity);
const isList = Array.isArray;
const rowsOf = (value) => (!isList(value) ? [[value]] : isList(value[0]) ? value.flatMap(rowsOf) : [value]);

// Which numbers of an answer are not the right ones, from the first to the last.
export function differing(table, i, answer, tolerance) {
  const ours = leaves(answer);
  return leaves(table.cases[i].right).map((one, k) => !same(ours[k], one, tolerance, table.whole));
}

const written = (table, i, one) => (table.how === "choice" ? runInWords(table, i, one) : inDigits(wordOf(one)));

// A box for each number of a value, under its name if it has one; of those that are `covered`, the place alone.
function boxes(table, i, value, off, covered = []) {
  const names = leaves(value).length === table.returns.length ? table.returns : [];
  let k = -1;
  const box = (one) => {
    k += 1;
    const number = element("b", { class: off[k] ? "off" : false }, covered[k] ? "?" : written(table, i, one));
    return names.length > 1 ? element("span", {}, element("i", {}, names[k]), number) : number;
  };
  return element("samp", {}, ...rowsOf(value).map((row) => element("span", { class: "boxes" }, ...row.map(box))));
}

// Where it `isCovered`, as much of the right answer is seen as the other has right.
export function beside(table, i, answer, { tolerance, isCovered = false } = {}) {
  const { right } = table.cases[i];
  const off = differing(table, i, answer, tolerance);
  const isDrawn = table.how === "paint" && isList(answer);
  const parts = isDrawn
    ? [answer, right].map((value) => tiles(table.cases[i], value))
    : [boxes(table, i, answer, off), boxes(table, i, right, off, isCovered ? off : [])];
  const shows = ["yours", "right"].map((word, k) =>
    element("div", { class: word }, element("span", { class: "label" }, word), parts[k]),
  );
  return element("div", { class: "beside" }, ...shows);
}
