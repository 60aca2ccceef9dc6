// Where a reader begins in the map of all matrices: the way of the word that is being written, in three places, each
// of which a press opens. The map has their numbers, too.
// On a phone they are one line, which is swiped.
//   const route = routeOf({ state, machine, open, outcome });  // open(key of a part); outcome(run), what it says
//   route.show({ names, shares, hint })

import { bare } from "../weave/weave_layout.js";
import { tell } from "../screen/weave_foot.js";
import { button, element } from "../../shared/ui.js";

export const ROWS = "A row is a word: bars are its numbers, amber squares are words it looks at.";
const PRESS = "Press a matrix or a word.";
const MARKS = "Purple marks: the taller, the more changed.";
const ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split(" ");

export const stopsOf = (n_layers) => [
  ...["src_embedding.tokens", `decoder.layers.${n_layers - 1}.cross_attention.head.0`, "to_logits"],
];

// Of the tokens that are written as before the one that has lost most: its share of 1 as it was, and as it is.
export function mostLost({ run, intact }) {
  const shares = run.target.map((id, t) => [intact, run].map(({ steps }) => steps[t]?.[id] ?? 0));
  const lost = shares.map(([was, is], t) => (run.target[t] === intact.target[t] ? was - is : 0));
  const t = lost.indexOf(Math.max(...lost));
  return { t, was: shares[t][0].toFixed(2), is: shares[t][1].toFixed(2) };
}

// What is shown or what to press, or, once something is changed, what that does to what is said.
const titleOf = (state, names, outcome, hint) => {
  const { run, intact, now } = state;
  if (run === intact) return hint || `Every number behind “${bare(names[now.at])}”, from left to right. ${PRESS}`;
  const [before, after] = [intact, run].map(outcome);
  const [id, more] = [...now.off];
  const part = id && `out this ${state.partOf(id).path.at(-1).replace(/ \d+$/, "")}`;
  const how =
    more || (part && now.swaps.length) || now.swaps.length > 1 ? " all these changes" : (part ?? " this swap");
  if (before !== after) return `${before} → ${after} with${how}.`;
  return `Still ${after} with${how}, ${sureOf(state, names)}.`;
};

// Which word of the answer it is now less sure of, and what became of the one that is followed.
const sureOf = ({ run, intact, now: { at } }, names) => {
  const { t, was, is } = mostLost({ run, intact });
  if (was <= is) return "and as sure as before";
  const rank = ORDINALS[t] ?? `${t + 1}th`;
  const most = `but less sure, most of all of its ${rank} word, “${bare(names[t])}”: ${is} of 1, before ${was}`;
  const id = run.target[at];
  if (t === at || id !== intact.target[at]) return most;
  const [now, before] = [run, intact].map(({ steps }) => steps[at][id].toFixed(2));
  return `${most}; “${bare(names[at])}” ${now}, before ${before}`;
};

export function routeOf({ state, machine, open, outcome }) {
  const stops = stopsOf(machine.n_layers).map((key, i) => {
    const [says, one] = [element("span"), button("", () => open(key))];
    one.append(element("i", {}, `${i + 1}`), says);
    return { key, one, says };
  });
  const title = element("p", { class: "tl-whole", "aria-live": "polite" });
  const all = { class: "tl-route", role: "group", "aria-label": "three places to begin" };
  const node = element("div", all, ...stops.map(({ one }) => one));
  const show = ({ names, shares, hint }) => {
    const { at, open: seen, zoomed } = state.now;
    const share = Math.max(...shares);
    const [read, written] = [names.source[shares.indexOf(share)], names.written[at]].map((name) => `“${bare(name)}”`);
    const sure = state.run.steps[at][state.run.target[at]].toFixed(2);
    const looks = share ? `looks most at ${read}: ${share.toFixed(2)}` : "looks at no word";
    tell(title, titleOf(state, names.written, outcome, hint));
    const texts = [`${read} becomes ${machine.d_model} numbers`, `to write ${written} it ${looks}`];
    [...texts, `${written} is written, ${sure} sure`].forEach((text, i) => tell(stops[i].says, text));
    for (const { key, one } of stops) one.setAttribute("aria-pressed", zoomed && key === seen);
  };
  // What a picture of the map says, over it and under it.
  const says = (written) => [
    titleOf(state, written, outcome, "").replace(` ${PRESS}`, ""),
    state.run === state.intact ? ROWS : `${ROWS} ${MARKS}`,
  ];
  return { node, title, show, says };
}
