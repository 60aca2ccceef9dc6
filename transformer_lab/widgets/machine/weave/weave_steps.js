// How one head looks, for the followed row: its scores, the weights that softmax makes of them, what it then writes;
// and beside these the sum behind the chosen score, as a waterfall. Each number of the sum opens its own sum.

import { explained } from "../computing/machine_sums.js";
import { bare } from "./weave_layout.js";
import { button, element } from "../../shared/ui.js";

const MOST = 4; // products that are listed

export const signed = (x, digits, plus = false) => (x < 0 ? "−" : plus ? "+" : "") + Math.abs(x).toFixed(digits);

// The largest products of a score with where each begins and ends in the sum, and all others as one.
export function waterfallOf(terms, most = MOST) {
  const order = [...terms].sort((a, b) => Math.abs(b.product) - Math.abs(a.product));
  const rest = order.slice(most);
  let end = 0;
  const step = (product, more) => ({ ...more, product, from: end, to: (end += product) });
  const lines = order.slice(0, most).map((term) => step(term.product, { term }));
  if (rest.length)
    lines.push(
      step(
        rest.map(({ product }) => product).reduce((a, b) => a + b, 0),
        { n: rest.length },
      ),
    );
  return { lines, total: end };
}

export function stepsOf({ state, machine, goto }) {
  const node = element("div", { class: "tl-steps" });
  let [key, chosen] = ["", null];
  const show = (at, seen) => {
    node.hidden = at.box.kind !== "attention" || !/\.head\.\d+$/.test(at.part.key);
    if (node.hidden) return;
    const head = Number(at.part.key.split(".").at(-1));
    node.classList.toggle("tl-idle", !seen.on.includes(head));
    if (!seen.on.includes(head)) return idle(head, bare(seen.queries[seen.at]));
    const [weights, scores] = ["weights", "scores"].map((kind) => state.run.at.get(`${at.box.name}.${kind}.${head}`));
    const row = { weights: [...weights.rows[seen.at]], scores: [...scores.rows[seen.at]], head, ...seen };
    const now = JSON.stringify([at.part.key, seen.at, seen.keys, row.weights]);
    if (now !== key) chosen = row.weights.indexOf(Math.max(...row.weights));
    const had = [...node.querySelectorAll("button")].indexOf(document.activeElement);
    if (now !== key || had >= 0 || node.chosen !== chosen) draw(at.box.name, row);
    [key, node.chosen] = [now, chosen];
    if (had >= 0) node.querySelectorAll("button")[had]?.focus(); // they are made anew
  };
  // A head that is off has no part in anything, so none of its numbers is shown as if it had.
  const idle = (head, query) => {
    key = "";
    const title = element("b", { class: "tl-title" }, `Head ${head} is off.`);
    node.replaceChildren(
      element("p", {}, title, ` It writes zeros for “${query}”. Switch it on again to see its scores.`),
    );
  };
  const draw = (name, row) => {
    const pick = (s) => {
      chosen = s;
      draw(name, row);
      node.querySelectorAll(".tl-score")[s].focus();
    };
    const found = explained(state.run, machine, `${name}.scores.${row.head}`, row.at, chosen);
    node.replaceChildren(scoresOf(row, chosen, pick), sumOf(found, row, chosen, goto));
  };
  return { node, show };
}

// One column for each word that can be looked at.
function scoresOf({ keys, queries, at, head, scores, weights }, chosen, pick) {
  const finite = scores.filter(Number.isFinite).map(Math.abs);
  const most = Math.max(...finite, 1e-9);
  const columns = scores.map((score, s) => {
    const masked = !Number.isFinite(score);
    const bar = element("i", { style: `--tl-v:${masked ? 0 : (Math.abs(score) / most).toFixed(3)}` });
    const up = element("span", { class: `tl-updown ${score < 0 ? "tl-below" : ""}` }, bar);
    const share = (weights[s] || 0).toFixed(2);
    const weight = element("span", { class: "tl-weight" }, share);
    const said = `${bare(keys[s])}: score ${masked ? "masked" : signed(score, 1)}, weight ${share}`;
    const one = button("", () => pick(s), {
      ...{ class: "tl-score", "aria-pressed": String(s === chosen), "aria-label": said, disabled: masked },
    });
    const number = element("span", {}, masked ? "masked" : signed(score, 1));
    one.append(element("span", { class: "tl-key" }, bare(keys[s])), number, up, weight);
    return one;
  });
  const share = keys.map((_, s) => element("i", { style: `flex:${weights[s] || 0}` }));
  const names = ["score", "query · key ÷ √d", "weight", "softmax of the scores"];
  const legend = element(
    "div",
    { class: "tl-legend" },
    ...names.map((text, i) => element(i % 2 ? "span" : "b", {}, text)),
  );
  const most2 = weights.indexOf(Math.max(...weights.map((x) => x || 0)));
  const writes = element(
    ...["div", { class: "tl-mixed" }, element("b", {}, "writes "), `${(weights[most2] || 0).toFixed(2)} × `],
    element("span", { class: "tl-value" }, "▲"),
    ` the value of “${bare(keys[most2])}”, plus those of the others by their weights`,
  );
  const title = element("b", { class: "tl-title" }, `Head ${head}, for “${bare(queries[at])}”`);
  const row = element("div", { class: "tl-scores", style: `--tl-n: ${keys.length}` }, legend, ...columns);
  return element("div", {}, title, row, element("div", { class: "tl-pour", "aria-hidden": "true" }, ...share), writes);
}

function sumOf({ terms, value, text }, { keys, queries, at }, chosen, goto) {
  const title = element(
    "b",
    { class: "tl-title" },
    `The sum behind ${Number.isFinite(value) ? signed(value, 2) : "–"}`,
  );
  if (!terms.length) return element("div", { class: "tl-fall" }, title, element("div", { class: "tl-quiet" }, text));
  const { lines, total } = waterfallOf(terms);
  const [low, high] = [Math.min(0, ...lines.map(({ to }) => to)), Math.max(0, ...lines.map(({ to }) => to))];
  const place = (x) => (100 * (x - low)) / (high - low || 1);
  const asks = element("span", { class: "tl-query" }, `● what “${bare(queries[at])}” asks`);
  const offers = element("span", { class: "tl-offer" }, `■ what “${bare(keys[chosen])}” offers, over √d`);
  const rows = lines.map(({ term, n, product, from, to }) => {
    const left = Math.min(place(from), place(to));
    const bar = element("i", {
      class: product < 0 ? "tl-below" : "",
      style: `left:${left}%;width:${Math.max(0.6, Math.abs(place(to) - place(from)))}%`,
    });
    const where = element("span", { class: "tl-track" }, bar);
    const factors = term
      ? [
          button(signed(term.a, 2), () => goto(term.from), {
            class: "tl-go tl-query",
            "aria-label": `${term.name} of the query: ${signed(term.a, 2)}`,
          }),
          element("span", { class: "tl-offer" }, `· ${signed(term.b, 2)}`),
        ]
      : [element("span", { class: "tl-others" }, `and ${n} others`)];
    return element("div", { class: "tl-term" }, ...factors, element("b", {}, signed(product, 2)), where);
  });
  const sum = element("div", { class: "tl-term tl-total" }, element("span", { class: "tl-others" }, "together"));
  sum.append(element("b", {}, signed(total, 2)));
  const under = element("div", { class: "tl-quiet" }, `${terms.length} products: `, asks, " · ", offers);
  return element("div", { class: "tl-fall" }, title, under, ...rows, sum);
}
