// What becomes of one token in a part that is no attention, as bands of bars, one below the other: token + position =
// input; around + found = sum; read, multiplied, cut by ReLU, written; or logits, and the probabilities made of them.
//   const flow = flowOf({ state, oncell });  // oncell([row, column]): the number whose sum is seen
//   flow.show(at, { cell, names });          // `at` is the place of a part, as `state.partOf` gives it

import { namesOf, valuesOf } from "./machine_detail.js";
import { bare } from "../weave/weave_layout.js";
import { clock, label, word } from "../weave/weave_marks.js";
import { r } from "../weave/weave_ribbons.js";
import { button, element } from "../../shared/ui.js";

const [TALL, GAP, LABEL, NARROW, NAMED] = [58, 12, 226, 620, 0.3]; // NAMED: the share of the largest that has its name

const last = (tabs, n) => tabs.slice(-n).reverse();

// The bands of a box: { adds, rows: [{ sign, title, more, tab, gone }] }; `adds` where the first two make the third.
export function bandsOf({ kind, parts }, t, how) {
  const band = (tab, sign, title, more = "") => ({ tab, sign, title, more, gone: false });
  if (kind === "embedding") {
    const [tokens, positions, sum] = parts[0].tabs;
    const rows = [
      band(tokens, "", "what it is", tokens.title.replace("rows", "its row")),
      band(positions, "+", "where it stands", `the encoding of place ${t}`),
      band(sum, "=", "what goes in", "number by number"),
    ];
    return { adds: true, rows };
  }
  if (kind === "residual") {
    const [sum, around, found] = parts[0].tabs;
    const [normed] = parts[1].tabs;
    const rows = [
      { ...band(around, "", "what it was", "around the sub-layer"), gone: !how(sum.name).parts.includes(around.name) },
      band(found, "+", "what was found", "by the sub-layer"),
      band(sum, "=", "what it is now", "number by number"),
      band(normed, "→", "normed", how(normed.name).kind === "norm" ? "mean 0, deviation 1, scaled" : "cut: as it was"),
    ];
    return { adds: !rows[0].gone, rows };
  }
  if (kind === "feed") {
    const [reads, before, active] = last(parts[0].tabs, 3);
    const rows = [
      band(reads, "", "what it reads"),
      band(before, "→", "× W₁ + b₁", "twice as many numbers"),
      band(active, "→", "ReLU", "what is below 0 becomes 0"),
      band(parts[0].tabs[0], "→", "× W₂ + b₂", "what it writes"),
    ];
    return { adds: false, rows };
  }
  const [reads, logits, sure] = last(parts[0].tabs, 3);
  const rows = [
    band(reads, "", "what it reads"),
    band(logits, "→", "logits", "a number for each token"),
    band(sure, "→", "softmax", "how sure it is of each"),
  ];
  return { adds: false, rows };
}

// What the picture shows, in a sentence with its numbers.
export function sayFlow(kind, token, bands, names) {
  const own = bands.map(({ values }) => values);
  const name = `“${bare(token)}”`;
  if (kind === "embedding") {
    const placed = own[1].some((x) => x !== 0);
    return `${name} ${placed ? "and its place become" : "without its place becomes"} ${own[2].length} numbers`;
  }
  if (kind === "residual")
    return bands[0].gone ? `Of ${name} only what was found goes on` : `What was found is added to what ${name} was`;
  if (kind === "feed") {
    const left = own[2].filter((x) => x !== 0).length;
    return `${name} by itself: of ${own[2].length} numbers ReLU leaves ${left}`;
  }
  const best = own[2].indexOf(Math.max(...own[2]));
  return `After ${name} it is ${own[2][best].toFixed(2)} sure of “${bare(names[best])}”`;
}

// The bars of a band as two paths: those above the line and those below it.
export function barsOf(values, { x, wide, y, up, down, most }) {
  const each = wide / values.length;
  const [above, below] = [[], []];
  values.forEach((value, i) => {
    const size = (value / most) * (value < 0 ? -down : up);
    if (size < 0.05) return;
    const place = `M${r(x + i * each)} ${r(y)}h${r(Math.max(0.8, each * 0.78))}v${r(value < 0 ? size : -size)}`;
    (value < 0 ? below : above).push(`${place}h${r(-Math.max(0.8, each * 0.78))}Z`);
  });
  return `<path class="w-up" d="${above.join("")}"/><path class="w-down" d="${below.join("")}"/>`;
}

// The names of the largest of a band of tokens, where each has room.
function peaks(values, names, { x, wide, y, up, most }, sure) {
  const each = wide / values.length;
  const order = [...values.keys()].sort((a, b) => values[b] - values[a]).slice(0, 3);
  const places = [];
  for (const i of order) {
    const middle = x + (i + 0.5) * each;
    if (values[i] < NAMED * most || places.some((one) => Math.abs(one.middle - middle) < 76)) continue;
    places.push({ middle, i });
  }
  const edge = x + wide;
  return places.map(({ middle, i }) => {
    const [anchor, by] = middle > edge - 90 ? ["end", -7] : ["start", 7];
    const top = y - (values[i] / most) * up + 9;
    const share = sure ? ` ${values[i].toFixed(2)}` : "";
    return word(bare(names[i]) + share, middle + by, top, { size: 15, anchor, more: "w-loud w-halo" });
  });
}

export function flowPicture({ kind, adds, bands, token, t, column, width, columns }) {
  const narrow = width < NARROW;
  const [x, head] = [narrow ? 0 : LABEL, narrow ? 22 : 0];
  const wide = width - x - 1;
  const step = TALL + head + GAP;
  const sizes = bands.map(({ values }) => Math.max(...values.map(Math.abs)) || 1);
  const shared = Math.max(...sizes.slice(0, 3));
  const at = x + ((column + 0.5) * wide) / bands[0].values.length;
  const sum = adds && Math.abs(bands[0].values[column] + bands[1].values[column] - bands[2].values[column]) < 1e-6;
  const drawn = bands.map(({ values, sign, title, more, gone, tab }, i) => {
    const top = i * step + head;
    const most = adds && i < 3 ? shared : sizes[i];
    const low = values.some((value) => value < 0) ? TALL / 2 : 1;
    const place = { x, wide, y: top + TALL - low, up: TALL - low, down: low, most };
    const says = narrow
      ? [label(`${sign} ${title}`.trim(), 0, top - 7, { more: "w-strong w-halo" })]
      : [
          label(sign, 10, top + 26, { size: 20, anchor: "middle" }),
          label(title, 28, top + 24, { size: 15, more: "w-strong" }),
          label(more, 28, top + 42),
        ];
    const mark =
      kind === "embedding" && i === 1 ? clock(narrow ? width - 12 : LABEL - 24, top + (narrow ? -12 : 14), t, 9) : "";
    const number = (i ? `${sign} ` : "") + values[column]?.toFixed(2).replace("-", "−");
    const side = at > x + wide - 70 ? ["end", -7] : ["start", 7];
    const value =
      sum && i < 3 ? label(number, at + side[1], top + 13, { anchor: side[0], more: "w-strong w-halo" }) : "";
    const line = `<line class="w-zero" x1="${x}" x2="${r(x + wide)}" y1="${r(place.y)}" y2="${r(place.y)}"/>`;
    const named = tab.columns === "tokens" ? peaks(values, columns, place, tab.name === "probabilities").join("") : "";
    const body = `${says.join("")}${mark}${line}${barsOf(values, place)}${named}${value}`;
    return `<g class="w-band${gone ? " w-out-of-use" : ""}">${body}</g>`;
  });
  const height = bands.length * step - GAP + 2;
  const through = sum
    ? `<line class="w-through" x1="${r(at)}" x2="${r(at)}" y1="${head}" y2="${3 * step - GAP}"/>`
    : "";
  const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
  return `<svg ${size} aria-hidden="true">${through}${drawn.join("")}</svg>`;
}

export function flowOf({ state, oncell }) {
  const title = element("b", { class: "tl-title" });
  const picture = element("div", { class: "tl-bands" });
  const rows = element("div", { class: "tl-rows", role: "group", "aria-label": "the token that is shown" });
  const node = element("div", { class: "tl-flow" }, title, rows, picture);
  const me = { node };
  let listed = "";
  me.show = ({ box, part }, { cell: [t, j], names }) => {
    node.hidden = box.kind === "attention";
    if (node.hidden) return;
    const { run } = state;
    const { adds, rows: plan } = bandsOf(box, t, (name) => run.at.get(name).how);
    const bands = plan.map((band) => ({ ...band, values: [...run.at.get(band.tab.name).rows[t]] }));
    const tokens = namesOf(plan[0].tab, valuesOf(plan[0].tab, run), names).rows;
    const token = tokens[t];
    const key = JSON.stringify([part.key, tokens]);
    if (key !== listed) rows.replaceChildren(...tokens.map((one) => button(bare(one))));
    listed = key;
    [...rows.children].forEach((one, i) => {
      one.setAttribute("aria-pressed", i === t);
      one.onclick = () => oncell([i, j]);
    });
    title.textContent = sayFlow(box.kind, token, bands, names.vocabulary);
    const width = Math.floor(node.clientWidth) || 900;
    const look = { kind: box.kind, adds, bands, token, t, column: j, width, columns: names.vocabulary };
    picture.innerHTML = flowPicture(look);
    // A press on the picture chooses the number of that column, where all bands have the same ones.
    picture.onclick = ({ offsetX }) => {
      const from = width < NARROW ? 0 : LABEL;
      const n = bands[0].values.length;
      const column = Math.floor(((offsetX - from) * n) / (width - from));
      if (adds && column >= 0 && column < n) oncell([t, column]);
    };
  };
  return me;
}
