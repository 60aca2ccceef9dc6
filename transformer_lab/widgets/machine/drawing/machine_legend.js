// What the map of all matrices shows, in a sentence, and what each mark in it means.
//   const legend = legendOf();
//   legend.show({ written: "ein", changed: false })

import { element } from "../../shared/ui.js";

const key = (kind, says) => element("span", {}, element("i", { class: `tl-k-${kind}` }), says);

export function legendOf() {
  const [word, looks] = [element("b"), element("span")];
  const sentence = element(
    ...["p", {}, element("b", {}, "The same sentence through every matrix of the model. ")],
    ...["In the decoder, the lit thread is the word being written: ", word],
  );
  const change = key("change", "how much your change altered it");
  const keys = element(
    ...["div", { class: "tl-keys" }, key("bars", "a word's numbers, up or down from 0, to each matrix's own scale")],
    ...[key("band", looks), key("look", "attention: where it looks"), key("mask", "masked: not yet written")],
    ...[key("loop", "passed around and added: residual"), change],
  );
  const show = ({ written, changed }) => {
    word.textContent = written;
    looks.textContent = `how much “${written}” looks at a word`;
    change.hidden = !changed;
  };
  return { sentence, keys, show };
}
