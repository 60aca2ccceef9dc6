// The weave as SVG: `pictureOf(plan, seen, look)` → the text of an <svg>'s content. `plan` is of weave_layout.js,
// `seen` of weave_seen.js; `look` = { at, shown, layer, cut, old }: the output token that is followed, how many are
// written by now, which kinds of part are cut, and the ribbons that the followed token had before the cut; `puts` are
// words in the place of others, { slab, row, text }.

import { apart, wordsOf } from "./weave_layout.js";
import { bracket, clock, pill, sureness, wideOf, word } from "./weave_marks.js";
import { FAINT, pathOf, r } from "./weave_ribbons.js";
import { headings } from "./weave_headings.js";
import { sideOf } from "./weave_slabs.js";

export const LOUD = 0.1; // a weight that is written
const [ABOVE, STRUCK] = [46, 0.68]; // room for headings; the size of what is struck, in sizes of what is written

export function pictureOf(plan, seen, look) {
  const { columns, left, right, height, narrow } = plan;
  const all = { ...look, shown: look.shown ?? seen.target.length };
  const start = narrow ? columns.name + 5 : columns.name + 12;
  const encoder = { side: "encoder", slabs: columns.encoder, rows: left, maps: seen.encoder, from: start };
  const decoder = {
    side: "decoder",
    slabs: columns.decoder,
    rows: right,
    maps: seen.decoder,
    from: columns.to,
    leaks: seen.leaks,
  };
  const common = { height, narrow };
  const ends = { to: columns.from, shown: Infinity, lit: -1, cut: cutOn("encoder", all.cut) };
  const outputs = { to: columns.writes - 8, shown: all.shown, lit: all.at, cut: cutOn("decoder", all.cut) };
  const body = [
    sideOf({ ...encoder, ...common, ...ends }),
    ribbonsIn(plan, all),
    sideOf({ ...decoder, ...common, ...outputs }),
    inputsIn(plan, seen, all),
    putsIn(plan, all),
    outputsIn(plan, seen, all),
    labelsIn(plan, all),
  ];
  return `<g transform="translate(0 ${aboveOf(plan)})">${headings(plan, seen, all)}${body.join("")}</g>`;
}

export function aboveOf({ narrow }) {
  return narrow ? 30 : ABOVE;
}

export function heightOf(plan) {
  return plan.height + aboveOf(plan) + 6;
}

// What is drawn otherwise at a side when these cuts are made.
function cutOn(side, cut) {
  const encoder = side === "encoder";
  return { skip: encoder && cut.has("residual"), norm: cut.has("norm"), feed: !encoder && cut.has("feed") };
}

// Faded ribbons first, those of the followed token over them, and dashed what these were before a cut.
function ribbonsIn({ ribbons, columns, height }, { at, shown, old, cut }) {
  const drawn = ribbons.filter(({ t, weight }) => t < shown && weight >= FAINT);
  const path = (ribbon, kind) => {
    const pair = `data-part="cross" data-t="${ribbon.t}" data-s="${ribbon.s}"`;
    const data = `${pair} data-weight="${ribbon.weight.toFixed(4)}" data-wide="${r(ribbon.wide)}"`;
    return `<path class="${kind}" d="${pathOf(ribbon, columns.from, columns.to)}" ${data}/>`;
  };
  const outline = (ribbon) => `<path class="w-old" d="${pathOf(ribbon, columns.from, columns.to)}"/>`;
  const faded = drawn.filter(({ t }) => t !== at).map((one) => path(one, "w-ribbon"));
  const strong = drawn.filter(({ t }) => t === at).map((one) => path(one, "w-ribbon w-lit"));
  const before = (old ?? []).filter(({ weight }) => weight >= 0.05).map(outline);
  const place = `x="${r(columns.from)}" y="0" width="${r(columns.to - columns.from)}" height="${r(height)}"`;
  const between = `<rect class="w-hit" data-part="cross" ${place}/>`; // a press beside a ribbon finds the nearest
  return between + (cut.has("cross") ? before.join("") : [...faded, ...strong, ...before].join(""));
}

function inputsIn({ columns, left, size, narrow, ribbons, pitch }, { source }, { at, cut }) {
  const weights = new Map(ribbons.filter(({ t }) => t === at).map(({ s, weight }) => [s, weight]));
  const one = (token, s) => {
    const weight = cut.has("cross") ? 0 : (weights.get(s) ?? 0);
    const loud = weight >= LOUD;
    const y = left[s];
    const more = loud ? "w-loud" : "";
    const said = word(token, columns.name, y, { size, anchor: "end", more, room: columns.name - 2 });
    const place = `x="0" y="${r(y - pitch / 2)}" width="${r(columns.name)}" height="${r(pitch)}"`;
    const row = (dot) => `<g data-part="reads" data-s="${s}"><rect class="w-hit" ${place}/>${said}${dot}</g>`;
    if (narrow) return row("");
    const dot = loud
      ? `<circle class="w-dot" cx="${r(columns.name + 12)}" cy="${r(y)}" r="${r(2 + 5 * weight)}"/>`
      : "";
    const hand = clock(columns.clock, y, s, Math.min(9, size * 0.4), cut.has("positions"));
    return `${row(dot)}<g data-part="positions">${hand}</g>`;
  };
  const joined = narrow ? [] : wordsOf(source);
  const brackets = joined.map(({ first, last, text }) => {
    const longest = Math.max(...source.slice(first, last + 1).map((token) => token.length));
    const x = columns.name - longest * size * 0.5 - 16;
    return x < 50 ? "" : bracket(text, x, left[first] - 8, left[last] + 8, Math.min(16, size * 0.7));
  });
  return `<g data-part="reads">${source.map(one).join("")}${brackets.join("")}</g>`;
}

function outputsIn(plan, { target }, { at, shown }) {
  const { columns, right, size, narrow, barred, width, pitch } = plan;
  const room = width - columns.writes - (narrow ? 6 : barred ? 116 : 50);
  const x = columns.writes + (narrow ? 2 : 4);
  const one = ({ text, p, before }, t) => {
    const y = right[t];
    const place = `x="${r(x - 8)}" y="${r(y - pitch / 2)}" width="${r(width - x + 8)}" height="${r(pitch)}"`;
    const hit = `<rect class="w-hit" ${place}/>`;
    if (t >= shown) return `<circle class="w-wait" cx="${r(x + 4)}" cy="${r(y)}" r="3"/>`;
    const frame = t === at ? frameOf(x - 10, y, width - x + 9, Math.min(44, pitch - 3)) : "";
    const sure = narrow ? "" : sureness(p, barred ? width - 72 : width - 3, y, barred ? 60 : 0);
    const said = written(text, before, t === at, x, y, size, room);
    return `<g class="w-out" data-part="writes" data-t="${t}">${hit}${frame}${said}${sure}</g>`;
  };
  return target.map(one).join("");
}

function frameOf(x, y, wide, tall) {
  return `<rect class="w-frame" x="${r(x)}" y="${r(y - tall / 2)}" width="${r(wide)}" height="${r(tall)}" rx="8"/>`;
}

// A word that is written; where a cut has changed it what stood there is struck: both are smaller where there is less
// room, and of what is struck, where there is little, only the beginning is left.
function written(text, before, chosen, x, y, size, room) {
  const more = `${before === null ? "" : "w-new"} ${chosen ? "w-loud" : ""}`;
  if (!before) return word(text, x, y, { size, more, room });
  const fit = Math.min(1, (room - 8) / ((STRUCK * wideOf(before) + wideOf(text)) * size));
  const small = Math.max(12, STRUCK * size * fit);
  let said = before;
  while (said.length > 2 && wideOf(said) * small > room - 7.9 - wideOf(text) * size * fit)
    said = `${said.slice(0, -2)}…`;
  const shift = wideOf(said) * small + 8;
  return (
    word(said, x, y, { size: small, more: "w-struck" }) +
    word(text, x + shift, y, { size: size * fit, more, room: room - shift })
  );
}

// What was dragged there or swapped, at the slab whose numbers it has; before the first at the clock.
function putsIn(plan, { puts = [] }) {
  const { columns, left, narrow } = plan;
  const one = ({ slab, row, text }) => {
    const { x, wide } = columns.encoder[slab] ?? { x: columns.clock ?? columns.name, wide: 0 };
    const [y, letters] = [left[row], narrow ? 13 : 0.7 * plan.size];
    const room = 0.55 * letters * text.length + 14;
    const middle = Math.max(x + wide / 2, narrow ? columns.name + 5 + room / 2 : 0); // beside the word
    const corner = `x="${r(middle - room / 2)}" y="${r(y - 0.75 * letters)}"`;
    const size = `width="${r(room)}" height="${r(1.5 * letters)}"`;
    const said = word(text, middle, y, { size: letters, anchor: "middle", more: "w-new" });
    return `<rect class="w-put" ${corner} ${size} rx="8"/>${said}`;
  };
  return puts.map(one).join("");
}

// The weights of the followed token on their ribbons, none over another; on a phone on their threads, beside the words.
function labelsIn({ ribbons, columns, narrow, left }, { at, cut, shown, puts = [] }) {
  if (cut.has("cross") || at >= shown) return "";
  const loud = ribbons.filter(({ t, weight }) => t === at && weight >= LOUD).sort((a, b) => a.from - b.from);
  if (narrow) {
    const [rails, behind] = [(columns.encoder[0].x + columns.from) / 2, columns.from + 22];
    const over = (s) => puts.some(({ row }) => row === s); // a word that was put in stands there
    return loud.map(({ s, weight }) => pill(weight, over(s) ? behind : rails, left[s])).join("");
  }
  const x = columns.from + Math.min(70, 0.17 * (columns.to - columns.from) + 8);
  const share = (x - columns.from) / (columns.to - columns.from);
  const bend = share * share * (3 - 2 * share);
  const places = apart(
    loud.map(({ from, to, wide }) => from + wide / 2 + bend * (to - from)),
    23,
  );
  return loud.map(({ weight }, i) => pill(weight, x, places[i])).join("");
}
