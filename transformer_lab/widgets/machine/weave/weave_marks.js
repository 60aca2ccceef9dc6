// The small marks of a weave, as SVG: words, clocks, probabilities, labels of weights.

import { bare } from "./weave_layout.js";
import { r } from "./weave_ribbons.js";

export function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

export const isSpecial = (token) => token === "end" || token === "begin";

// How wide a word is at most, in sizes of its font: the serif's bold letters, of which few are narrow or broad.
export function wideOf(word) {
  return [...word].reduce(
    (sum, letter) => sum + (/[filjt-]/.test(letter) ? 0.37 : /[mw]/.test(letter) ? 0.92 : 0.6),
    0,
  );
}

// How wide a label is at most, in pixels: the letters of the controls where no font of ours is there.
export function saidWide(text, strong = false, size = 13) {
  return text.length * size * (strong ? 0.66 : 0.6);
}

// The size at which a word fits into so much room.
export function fittedSize(word, size, room) {
  return Math.min(size, room / Math.max(1, wideOf(word)));
}

export function word(token, x, y, { size, anchor = "start", more = "", room = Infinity }) {
  const text = bare(token);
  const fitted = r(fittedSize(text, size, room));
  const kind = `w-word ${isSpecial(token) ? "w-special" : ""} ${more}`.trim();
  const place = `x="${r(x)}" y="${r(y)}" font-size="${fitted}" text-anchor="${anchor}"`;
  return `<text class="${kind}" ${place} dominant-baseline="central">${escaped(text)}</text>`;
}

// A label: small text, in letters of the controls.
export function label(text, x, y, { anchor = "start", more = "", size = 13 } = {}) {
  const place = `x="${r(x)}" y="${r(y)}" font-size="${size}" text-anchor="${anchor}"`;
  const said = /[a-z]-/.test(text) ? "w-said" : ""; // a hyphen among equally wide numbers is as wide as they are
  return `<text class="w-label ${said} ${more}" ${place}>${escaped(text)}</text>`;
}

// The first two numbers of a position's encoding, sin t and cos t, as a hand: it has turned by t radians.
export function clock(x, y, t, radius, gone) {
  const face = `<circle class="w-clock${gone ? " w-gone" : ""}" cx="${r(x)}" cy="${r(y)}" r="${r(radius)}"/>`;
  if (gone) return face;
  const [dx, dy] = [Math.sin(t), -Math.cos(t)].map((part) => 0.78 * radius * part);
  return `${face}<line class="w-hand" x1="${r(x)}" y1="${r(y)}" x2="${r(x + dx)}" y2="${r(y + dy)}"/>`;
}

export function diamond(x, y, size, gone) {
  const path = `M${r(x - size)} ${r(y)}L${r(x)} ${r(y - size)}L${r(x + size)} ${r(y)}L${r(x)} ${r(y + size)}Z`;
  return `<path class="w-diamond${gone ? " w-gone" : ""}" d="${path}"/>`;
}

// A weight in a small frame on its ribbon.
export function pill(weight, x, y) {
  const box = `x="${r(x - 20)}" y="${r(y - 10.5)}" width="40" height="21" rx="10.5"`;
  const text = `<text class="w-weight" x="${r(x)}" y="${r(y)}" text-anchor="middle" dominant-baseline="central">`;
  return `<rect class="w-pill" ${box}/>${text}${weight.toFixed(2)}</text>`;
}

// A bracket that joins the tokens of a word, and the word.
export function bracket(text, x, top, bottom, size) {
  const path = `M${r(x + 5)} ${r(top)}H${r(x)}V${r(bottom)}H${r(x + 5)}`;
  const place = `x="${r(x - 7)}" y="${r((top + bottom) / 2)}" font-size="${r(size)}" text-anchor="end"`;
  const said = `<text class="w-word w-joined" ${place} dominant-baseline="central">${escaped(text)}</text>`;
  return `<path class="w-bracket" d="${path}"/>${said}`;
}

// A probability, as a number and as a bar that it fills.
export function sureness(p, x, y, wide) {
  const bar = (length, kind) =>
    `<rect class="${kind}" x="${r(x)}" y="${r(y - 2.5)}" width="${r(length)}" height="5" rx="2.5"/>`;
  const text = `<text class="w-label w-p" x="${r(x - 9)}" y="${r(y)}" text-anchor="end" dominant-baseline="central">`;
  const bars = wide ? bar(wide, "w-track") + bar(Math.max(2, wide * p), "w-bar") : "";
  return `${text}${p.toFixed(2)}</text>${bars}`;
}
