// On a phone a stack's slabs are rails, too thin for a finger: a press on them lists the parts that stand behind.
//   const menu = menuOf({ open: (key) => …, back: () => …, layers });
//   menu.show("encoder", plan)

import { behind } from "./weave/weave_parts.js";
import { button, element } from "../shared/ui.js";

const ROOM = 290; // pixels of two columns of names

export function menuOf({ open, back, layers }) {
  const node = element("div", { class: "tl-menu", role: "group", hidden: true });
  const me = { node };
  const shut = () => (node.hidden = true);
  const line = ([says, key]) => button(says, () => (shut(), open(key)));
  me.show = (side, { columns, width }) => {
    const all = behind(side, layers);
    const stacks = all.layers.map((parts, i) =>
      element("div", {}, element("span", { class: "tl-quiet" }, `layer ${i}`), ...parts.map(line)),
    );
    const title = element("b", {}, `Look into the ${side}`);
    node.replaceChildren(title, ...all.before.map(line), element("div", { class: "tl-stacks" }, ...stacks));
    node.setAttribute("aria-label", `parts of the ${side}`);
    const [left, right] =
      side === "encoder"
        ? [columns.from + 6, null]
        : [null, Math.max(0, Math.min(width - columns.to + 6, width - ROOM))];
    Object.assign(node.style, { left: left === null ? "" : `${left}px`, right: right === null ? "" : `${right}px` });
    node.hidden = false;
    node.querySelectorAll("button")[0].focus();
  };
  node.onkeydown = (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    shut();
    back();
  };
  node.onfocusout = ({ relatedTarget }) => node.contains(relatedTarget) || shut();
  return me;
}
