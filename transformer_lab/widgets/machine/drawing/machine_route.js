// Where a reader begins in the map of all matrices: the way of the word that is being written, in three places, each
// of which a press opens. The map has their numbers, too.
//   const route = routeOf({ state, machine, open });  // open(key of a part)
//   route.show({ names, shares })

import { bare } from "../weave/weave_layout.js";
import { tell } from "../screen/weave_foot.js";
import { button, element } from "../../shared/ui.js";

export const stopsOf = (n_layers) => [
  ...["src_embedding.tokens", `decoder.layers.${n_layers - 1}.cross_attention.head.0`, "to_logits"],
];

export function routeOf({ state, machine, open }) {
  const stops = stopsOf(machine.n_layers).map((key, i) => {
    const [says, one] = [element("span"), button("", () => open(key))];
    one.append(element("i", {}, `${i + 1}`), says);
    return { key, one, says };
  });
  const title = element("p", { class: "tl-whole" });
  const all = { class: "tl-route", role: "group", "aria-label": "three places to begin" };
  const node = element("div", all, ...stops.map(({ one }) => one));
  const show = ({ names, shares }) => {
    const { at, open: seen, zoomed } = state.now;
    const share = Math.max(...shares);
    const [read, written] = [names.source[shares.indexOf(share)], names.written[at]].map((name) => `“${bare(name)}”`);
    const sure = state.run.steps[at][state.run.target[at]].toFixed(2);
    const looks = share ? `looks most at ${read}: ${share.toFixed(2)}` : "looks at no word";
    tell(title, `All numbers of the model on their way from the words at the left to ${written} at the right.`);
    const texts = [`${read} becomes ${machine.d_model} numbers`, `to write ${written} it ${looks}`];
    [...texts, `${written} is written, ${sure} sure`].forEach((text, i) => tell(stops[i].says, text));
    for (const { key, one } of stops) one.setAttribute("aria-pressed", zoomed && key === seen);
  };
  return { node, title, show };
}
