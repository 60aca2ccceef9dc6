// The heads of an attention side by side, each as a small weave of its own, and their mean: what the first screen shows
// of all of them is the mean, and one head may look elsewhere.

import { bare, rowsOf as places } from "./weave_layout.js";
import { word } from "./weave_marks.js";
import { FAINT, pathOf, r, ribbonsOf } from "./weave_ribbons.js";
import { meanOf, rowsOf } from "./weave_seen.js";
import { button, element } from "../../shared/ui.js";

const [WIDTH, LEFT, FROM, TO, RIGHT, PITCH] = [210, 72, 78, 130, 136, 19]; // pixels of a small weave
const MOST = 0.62; // of a row, that a weight of 1 takes where there is room

// What is seen of an attention: { keys, queries, at, heads: [rows, …], mean, most }, `most` being the key that the
// followed query looks at most on the mean of the heads.
export function headsSeen({ run, names, at, name, n_heads }) {
  const encoder = name.startsWith("encoder");
  const keys = encoder || name.includes("cross_attention") ? names.source : names.fed;
  const heads = [...Array(n_heads).keys()].map((head) => rowsOf(run, `${name}.weights.${head}`));
  const mean = meanOf(run, name, n_heads);
  const most = mean[at].indexOf(Math.max(...mean[at]));
  return { keys, queries: encoder ? names.source : names.written, at, heads, mean: mean[at][most], most };
}

// The mean as a sum that one can check: "mean of 4 heads: 1.00, 0.00, 0.31, 1.00 = 0.58".
export function sayMean({ heads, at, most, mean }) {
  const each = heads.map((rows) => rows[at][most].toFixed(2)).join(", ");
  return `mean of ${heads.length} heads: ${each} = ${mean.toFixed(2)}`;
}

export function smallWeave(rows, { keys, queries, at }) {
  const height = PITCH * Math.max(keys.length, queries.length);
  const [left, right] = [keys, queries].map(({ length }) => places(length, PITCH, height));
  const cross = rows.map((row) => keys.map((_, s) => row[s] ?? 0)); // what a mask hides has no weight
  const busiest = Math.max(...keys.map((_, s) => cross.reduce((sum, row) => sum + row[s], 0)));
  const unit = PITCH * Math.min(MOST, 1 / busiest); // so that each ribbon leaves from the row of its key
  const ribbons = ribbonsOf({ cross, left, right, unit, height });
  const drawn = ribbons.filter(({ weight }) => weight >= FAINT).sort((a, b) => (a.t === at) - (b.t === at));
  const paths = drawn.map(
    (one) => `<path class="w-ribbon${one.t === at ? " w-lit" : ""}" d="${pathOf(one, FROM, TO)}"/>`,
  );
  const text = (token, x, y, anchor, loud) =>
    word(token, x, y, { size: 13, anchor, more: loud ? "w-loud" : "", room: LEFT });
  const reads = keys.map((token, s) => text(token, LEFT, left[s], "end", (rows[at][s] ?? 0) >= 0.1));
  const writes = queries.map((token, t) => text(token, RIGHT, right[t], "start", t === at));
  const size = `width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}"`;
  return `<svg ${size} aria-hidden="true">${paths.join("")}${reads.join("")}${writes.join("")}</svg>`;
}

export function headsOf({ state, machine, open }) {
  const [title, sum] = [element("b", { class: "tl-title" }), element("span", { class: "tl-quiet" })];
  const row = element("div", { class: "tl-wall" });
  const node = element("div", { class: "tl-heads" }, element("div", { class: "tl-head" }, title, sum), row);
  const show = ({ side, box, part }) => {
    node.hidden = box.kind !== "attention";
    if (node.hidden) return null;
    const { run, now } = state;
    const shares = state.shares();
    const at = side === "encoder" ? shares.indexOf(Math.max(...shares)) : now.at;
    const seen = headsSeen({ run, names: state.names(), at, name: box.name, n_heads: machine.n_heads });
    title.textContent = `${machine.n_heads} heads look for “${bare(seen.queries[at])}”`;
    sum.textContent = sayMean(seen);
    row.replaceChildren(
      ...seen.heads.map((rows, head) => wallOf(rows, seen, `${box.name}.head.${head}`, part.key, open)),
    );
    return seen;
  };
  return { node, show };
}

function wallOf(rows, seen, key, opened, open) {
  const { keys, queries, at, most } = seen;
  const weight = (rows[at][most] ?? 0).toFixed(2);
  const own = rows[at].indexOf(Math.max(...rows[at]));
  const other = own === most ? "" : `; most at ${bare(keys[own])}, ${rows[at][own].toFixed(2)}`;
  const said = `head ${key.split(".").at(-1)}: ${bare(keys[most])} → ${bare(queries[at])} ${weight}${other}`;
  const [picture, name] = [element("span"), element("span", {}, said)];
  picture.innerHTML = smallWeave(rows, seen);
  const one = button("", () => open(key), { "aria-pressed": String(key === opened), "aria-label": said });
  one.append(picture, name);
  return one;
}
