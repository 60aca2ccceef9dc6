// The colours of views and of figures: `plots/picture.py` has the same table, and a test compares the two.

import { clamp } from "./numbers.js";

// Okabe and Ito's colours, safe for the colour-blind.
export const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
export const GREY = "#7f8c99";

// What a colour stands for, wherever it is seen. `with` is the method as it is used, `without` the one that lacks a
// part; `chosen` is what was chosen by the reader or by the method, `cursor` the cell that is read, and what changed.
export const MEANINGS = {
  query: COLOURS[0],
  key: COLOURS[1],
  value: COLOURS[2],
  with: COLOURS[0],
  without: COLOURS[1],
  chosen: COLOURS[0],
  cursor: COLOURS[1],
};

// A function from 0 … 1 to a colour, [red, green, blue], straight between the given ones.
export function ramp(...hexes) {
  const stops = hexes.map((hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)));
  return (x) => {
    const place = clamp(x, 0, 1) * (stops.length - 1);
    const low = Math.min(Math.floor(place), stops.length - 2);
    return stops[low].map((c, i) => Math.round(c + (stops[low + 1][i] - c) * (place - low)));
  };
}

// For amounts, which begin at 0: dark blue is none, yellow the most.
export const cividis = ramp(
  "#00224e",
  "#123570",
  "#3b496c",
  "#575d6d",
  "#707173",
  "#8a8678",
  "#a59c74",
  "#c3b369",
  "#e1cc55",
  "#fee838",
);

// For numbers with a sign, which part at 0: red below it, blue above.
export const diverging = ramp(
  "#67001f",
  "#b2182b",
  "#d6604d",
  "#f4a582",
  "#fddbc7",
  "#f7f7f7",
  "#d1e5f0",
  "#92c5de",
  "#4393c3",
  "#2166ac",
  "#053061",
);

export function css([r, g, b]) {
  return `rgb(${r} ${g} ${b})`;
}

// The colour a share of the way from one to the other.
export function mixed(one, other, share) {
  return one.map((c, i) => Math.round(c + (other[i] - c) * share));
}

// Black or white, whichever is easier to read on a colour (relative luminance of WCAG 2).
export function inkOn(rgb) {
  const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
}
