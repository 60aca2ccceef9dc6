// What a case gives, as a figure: numbers in large type, lists as boxes, weights as cells, each under its name.

import { element } from "./elements.js";
import { picture } from "./grids.js";

const THIN = "\u202f";

// A number as a reader takes it in: with thin spaces between thousands, and no more than six digits after the point.
export function inDigits(x) {
  if (typeof x !== "number") return String(x);
  const [whole, rest] = String(Number.isInteger(x) ? x : Number(x.toPrecision(7))).split(".");
  const grouped = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, THIN) : whole;
  return (rest ? `${grouped}.${rest}` : grouped).replace("-", "−");
}

// Whether rows of numbers are weights: each row sums to 1.
export function areWeights(value) {
  if (!Array.isArray(value) || !value.length) return false;
  if (Array.isArray(value[0])) return value.every(areWeights);
  return value.every((x) => x >= 0 && x <= 1) && Math.abs(value.reduce((a, b) => a + b, 0) - 1) < 1e-6;
}

const isFlat = (value) => !Array.isArray(value[0]);

function drawn(value) {
  if (!Array.isArray(value)) return element("b", {}, inDigits(value));
  if (!value.length) return element("b", {}, "none");
  if (areWeights(value) && !value.every(Number.isInteger)) return picture(isFlat(value) ? [value] : value);
  return element("span", { class: "boxes" }, ...value.map((one) => element("b", {}, inDigits(one))));
}

// A figure of values by their names.
export function figure(given) {
  const parts = Object.entries(given)
    .map(inWords)
    .map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, drawn(value))));
  return element("dl", { class: "given-figure" }, ...parts);
}

// Whether something is so, as a reader says it.
export const inWords = ([name, value]) =>
  typeof value === "boolean" ? [name.replaceAll("_", " "), value ? "yes" : "no"] : [name, value];

export const wordOf = (value) => (value === true ? "True" : value === false ? "False" : value);
