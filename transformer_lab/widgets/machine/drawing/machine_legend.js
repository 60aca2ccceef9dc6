// What each mark in the map of all matrices means.
//   const legend = legendOf();
//   legend.show({ written: "ein", changed: false })

import { element } from "../../shared/ui.js";

const key = (kind, says) => element("span", {}, element("i", { class: `tl-k-${kind}` }), says);

export function legendOf() {
  const looks = element("span");
  const change = key("change", "how much your change altered it");
  const node = element(
    ...["div", { class: "tl-keys" }, key("bars", "a word's numbers, up or down from 0, to each matrix's own scale")],
    ...[key("band", looks), key("look", "attention: where it looks"), key("mask", "masked: not yet written")],
    ...[key("loop", "passed around and added: residual"), change],
  );
  const show = ({ written, changed }) => {
    looks.textContent = `how much “${written}” looks at a word`;
    change.hidden = !changed;
  };
  return { node, show };
}
