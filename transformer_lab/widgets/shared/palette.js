// The colours of views and of figures: `plots/picture.py` has the same table, and a test compares the two.
//
// Paper, ink and thread: pages are paper and ink, and colour stands where there is a number and says which kind. A text
// stands out from the paper by 4.5 to 1, a mark or an edge by 3; what a colour says, a form says, too.

import { clamp } from "./numbers.js";

export const PAPER = {
  light: {
    ...{ paper: "#fbfaf6", slab: "#f0ede3", ink: "#16202b", soft: "#55606c", line: "#e3dfd5", edge: "#808992" },
    ...{ amber: "#e0a02e", "amber-edge": "#bf7c00", "amber-ink": "#8a5a00", thread: "#6b7885", change: "#a8337e" },
    ...{ query: "#0067a5", key: "#b84a00", value: "#007a58" },
  },
  dark: {
    ...{ paper: "#0e1217", slab: "#171c23", ink: "#ece9e2", soft: "#a7b0ba", line: "#262d36", edge: "#66717d" },
    ...{ amber: "#f6bc43", "amber-edge": "#f6bc43", "amber-ink": "#f6bc43", thread: "#8e9aa7", change: "#f28fcb" },
    ...{ query: "#62b5f0", key: "#ff915a", value: "#35c79c" },
  },
};

// Their names as properties of a style: "--tl-paper: #fbfaf6; …".
export function inPaper(theme) {
  return Object.entries(PAPER[theme])
    .map(([name, colour]) => `--tl-${name}: ${colour};`)
    .join(" ");
}

// Words that a model reads or writes are set in the serif; labels, numbers and controls in the other.
export const SERIF =
  '"Source Serif 4 Variable", "Source Serif 4", Charter, "Bitstream Charter", Georgia, "Liberation Serif", serif';
export const SANS = '"Inter Variable", Inter, system-ui, sans-serif';
export const MONO = '"JetBrains Mono Variable", "JetBrains Mono", ui-monospace, monospace';

// What follows is that of the theme that `useTheme` was last told, so read it when you draw.
export const NOW = {}; // the colours of PAPER
export const COLOURS = []; // of series, in their order
// What a colour stands for, wherever it is seen. `with` is the method as it is used, `without` the one that lacks a
// part; `chosen` is what was chosen by the reader or by the method, `cursor` the cell that is read.
export const MEANINGS = {};
let shades = null;

export function useTheme(theme) {
  Object.assign(NOW, PAPER[theme], { dark: theme === "dark" });
  const { query, key, value, change, thread, ink } = NOW;
  COLOURS.splice(0, Infinity, query, key, value, change, NOW["amber-edge"], thread);
  Object.assign(MEANINGS, { query, key, value, with: query, without: key, chosen: ink, cursor: ink, change });
  shades = ramp(NOW.slab, NOW.amber);
}

export function rgbOf(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

// A function from 0 … 1 to a colour, [red, green, blue], straight between the given ones.
export function ramp(...hexes) {
  const stops = hexes.map(rgbOf);
  return (x) => {
    const place = clamp(x, 0, 1) * (stops.length - 1);
    const low = Math.min(Math.floor(place), stops.length - 2);
    return stops[low].map((c, i) => Math.round(c + (stops[low + 1][i] - c) * (place - low)));
  };
}

// For amounts, which begin at 0: from paper, which is none, to amber, the most.
export function amounts(x) {
  return shades(x);
}

// For numbers with a sign, which part at 0: red below it, blue above. By day they part at white, by night at the dark
// ground: what is far from 0 stands out from the page in both.
const SIGNED = {
  light: ramp(
    ...["#67001f", "#b2182b", "#d6604d", "#f4a582", "#fddbc7", "#f7f7f7"],
    ...["#d1e5f0", "#92c5de", "#4393c3", "#2166ac", "#053061"],
  ),
  dark: ramp(
    ...["#ffc9b8", "#f7785c", "#b8402f", "#64281f", "#171c23"],
    ...["#1c3f60", "#2b77b5", "#6ab8f0", "#cbe7ff"],
  ),
};
export function diverging(x) {
  return SIGNED[NOW.dark ? "dark" : "light"](x);
}

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

// Whether a page whose text has this colour, "rgb(…)", is dark.
export function isDark(ink) {
  const [r, g, b] = (ink?.match?.(/[\d.]+/g) ?? [0, 0, 0]).map(Number);
  return 0.299 * r + 0.587 * g + 0.114 * b > 127;
}

useTheme("light");
