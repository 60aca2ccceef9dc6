// What stands over the picture of a part: a sentence that says what is seen, what the part is for, and the tokens, of
// which one is followed.
//   const lead = leadOf({ pick });  // pick(t): the row that was pressed
//   lead.show({ says: [title, more, what to do], names: ["vier", …], t, of: "to write" })
//   lead.say(verdict)  // a node, which it puts under the title

import { bare } from "../weave/weave_layout.js";
import { button, element } from "../../shared/ui.js";

export function leadOf({ pick }) {
  const title = element("b", { class: "tl-title" });
  const more = element("span", { class: "tl-quiet" });
  const rows = element("div", { class: "tl-rows", role: "group", "aria-label": "the token that is shown" });
  const node = element("div", { class: "tl-lead" }, rows, title, more);
  let listed = "";
  const show = ({ says, names, t, of }) => {
    title.textContent = says[0];
    more.textContent = says.slice(1).join(" ");
    const key = JSON.stringify([of, names]);
    if (key !== listed) {
      const all = names.map((name, i) => button(bare(name), () => pick(i)));
      rows.replaceChildren(element("span", {}, of), ...all);
    }
    listed = key;
    rows.querySelectorAll("button").forEach((one, i) => one.setAttribute("aria-pressed", i === t));
  };
  const say = (verdict) => title.after(verdict); // what a change of this part does to what is said
  return { node, show, say };
}

// All numbers of a part, folded away until they are asked for.
export function foldOf(inner, redraw) {
  const summary = element("summary", { "data-lm-suppress-shortcuts": "true", onclick: redraw });
  const node = element("details", { class: "tl-fold" }, summary, inner);
  let part = "";
  const show = ({ open, tab, trail, titles, off }) => {
    summary.textContent = `All its numbers${off.has(open) ? ", although it is off" : ""}: ${titles.join(" · ")}`;
    const now = open.replace(/\d+$/, "");
    const asked = tab > 0 || trail.length > 0;
    if (now !== part || asked) node.open = asked; // what one has opened stays open, from head to head
    part = now;
    return node.open;
  };
  return { node, show };
}
