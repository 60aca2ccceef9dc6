// The slabs of a weave, as SVG: in each layer self-attention (thin crossings, as dark as it is strong), then
// feed-forward (a diamond). A token's thread goes straight through: what both write is added to it.

import { diamond } from "./weave_marks.js";
import { curveOf, r } from "./weave_ribbons.js";

const [LEAST, LOOKS, THINKS] = [0.06, 0.62, 0.82]; // a weight that is drawn; parts of a slab's width

// One side: its frames, crossings, threads and diamonds. `rows` are the middles of the tokens, `maps` the attention of
// each layer, `from` and `to` where the threads begin and end, `lit` the token that is followed, `cut` what is cut.
export function sideOf({ side, slabs, rows, maps, height, from, to, lit, cut, narrow, shown, leaks = [] }) {
  const seen = rows.slice(0, shown);
  const frames = slabs.map(({ x, wide }, i) => frame(side, i, x, wide, height, narrow, cut)).join("");
  const threads = seen.map((y, t) => thread(from, to, y, t === lit)).join("");
  if (narrow) return `${frames}${cut.skip ? severed(slabs, seen) : ""}${threads}${thumb(side, slabs, height)}`;
  const crossings = slabs
    .map((slab, i) => crossingsOf(slab, maps[i], seen, side, lit) + leaksOf(slab, leaks[i], seen))
    .join("");
  const size = Math.min(8, rows.length > 1 ? (rows[1] - rows[0]) * 0.18 : 8);
  const diamonds = slabs
    .flatMap(({ x, wide }) => seen.map((y) => diamond(x + THINKS * wide, y, size, cut.feed)))
    .join("");
  return `${frames}${crossings}${threads}${cut.skip ? severed(slabs, seen) : ""}${diamonds}`;
}

function frame(side, i, x, wide, height, narrow, cut) {
  const corners = narrow ? wide / 2 : 12;
  const gone = cut.norm ? " w-gone" : "";
  const box = `<rect class="w-slab${gone}" data-part="${side}.${i}.attention" x="${r(x)}" y="-4" width="${r(wide)}"`;
  const rest = `height="${r(height + 8)}" rx="${r(corners)}"/>`;
  if (narrow) return `${box} ${rest}`;
  const parts = r(x + (LOOKS + THINKS - 0.14) * 0.5 * wide);
  return `${box} ${rest}<line class="w-parts" x1="${parts}" x2="${parts}" y1="6" y2="${r(height - 6)}"/>`;
}

// Where a thumb finds the rails.
function thumb(side, slabs, height) {
  const middle = (slabs[0].x + slabs.at(-1).x + slabs.at(-1).wide) / 2 + (side === "encoder" ? -2 : 2);
  const place = `x="${r(middle - 23)}" y="-4" width="46" height="${r(height + 8)}"`;
  return `<rect class="w-hit" data-part="${side}.0.attention" ${place}/>`;
}

function crossingsOf({ x, wide }, map, rows, side, lit) {
  const [x0, x1] = [x + 0.05 * wide, x + (LOOKS - 0.02) * wide];
  const curves = rows.flatMap((y, t) =>
    rows.map((from, s) => {
      const weight = s === t ? 0 : (map[t]?.[s] ?? 0);
      if (weight < LEAST) return "";
      const kind = `w-cross${t === lit && side === "decoder" ? " w-lit" : ""}`;
      const style = `stroke-width="${r(0.6 + 4.4 * weight)}" opacity="${r(0.35 + 0.6 * weight)}"`;
      return `<path class="${kind}" d="${curveOf(x0, from, x1, y)}" ${style}/>`;
    }),
  );
  return curves.join("");
}

// What becomes visible without a mask: looks at tokens that come later.
function leaksOf({ x, wide }, map, rows) {
  const [x0, x1] = [x + 0.05 * wide, x + (LOOKS - 0.02) * wide];
  const curves = rows.flatMap((y, t) =>
    rows.map((from, s) => {
      const weight = s > t ? (map?.[t]?.[s] ?? 0) : 0;
      if (weight < LEAST) return "";
      return `<path class="w-leak" d="${curveOf(x0, from, x1, y)}" stroke-width="${r(1 + 4 * weight)}"/>`;
    }),
  );
  return curves.join("");
}

function thread(from, to, y, lit) {
  return `<line class="w-thread${lit ? " w-lit" : ""}" x1="${r(from)}" x2="${r(to)}" y1="${r(y)}" y2="${r(y)}"/>`;
}

// A cut residual connection: every thread is interrupted within each slab.
function severed(slabs, rows) {
  const gap = (x, y) => `<line class="w-severed" x1="${r(x)}" x2="${r(x)}" y1="${r(y - 5)}" y2="${r(y + 5)}"/>`;
  return slabs.flatMap(({ x, wide }) => rows.map((y) => gap(x + 0.5 * wide, y))).join("");
}
