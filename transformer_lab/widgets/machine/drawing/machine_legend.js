// What each mark in the map of all matrices means, folded away until it is asked for: it then lies over the map.
//   const legend = legendOf();
//   legend.show("ein")

import { element, onKeys } from "../../shared/ui.js";

const key = (kind, says) => element("span", {}, element("i", { class: `tl-k-${kind}` }), says);

export function legendOf() {
  const looks = element("span");
  const keys = element(
    ...["div", { class: "tl-keys" }, key("bars", "a word’s numbers, up or down from 0, to each matrix’s own scale")],
    ...[key("band", looks), key("look", "attention: where it looks"), key("mask", "masked: not yet written")],
    key("loop", "passed around and added: residual"),
  );
  const [what, mean] = ["what the ", " mean"].map((text) => element("span", { class: "tl-long" }, text));
  const summary = element("summary", { "data-lm-suppress-shortcuts": "true" }, what, "colours", mean);
  const node = element("details", { class: "tl-legends" }, summary, keys);
  const shut = () => {
    node.open = false;
  };
  Object.assign(node, { onfocusout: shut, onkeydown: onKeys((name) => name === "Escape" && node.open && shut()) });
  const show = (written) => {
    looks.textContent = `how much “${written}” looks at a word`;
  };
  return { node, show };
}
