// Own sentence: the kernel translates what is typed; ribbons show where the decoder looked for each token.

import {
  bar,
  button,
  canvas,
  clamp,
  eachFrame,
  element,
  floats,
  onKeys,
  readout,
  resetButton,
  sideBySide,
  slider,
  tableSwitch,
  tensor,
  watch,
  widthOf,
} from "../../shared/ui.js";
import { linked } from "../../shared/link.js";
import { mapOf, stackChoice } from "../../shared/stack.js";
import { argmax, paint, placeAt } from "./own_sentence_weave.js";

export default {
  render({ model, el }) {
    const examples = model.get("examples").map((example) => ({ ...example, weights: tensor(example.weights) }));
    let [shown, values, at, from] = [null, null, 0, null]; // the output token, and a token of the source if one is read

    const input = element("input", {
      type: "text",
      size: 40,
      maxlength: 400,
      spellcheck: false,
      autocomplete: "off",
      "aria-label": "sentence to translate",
      "data-lm-suppress-shortcuts": "true",
    });
    const own = element("label", { hidden: true }, "translate ", input);
    const note = element("div", { class: "tl-note", role: "status" }, WITHOUT);
    const said = element("div", { class: "tl-said", "aria-live": "polite" });
    const waiting = element("div", { class: "tl-note", "aria-live": "polite" });
    const says = readout();
    const sketch = canvas("Cross-attention.", {
      how: "Up and down go from output token to output token, left and right over what it looks at.",
    });
    const chips = examples.map((example) => [example, button(example.text, () => lay(example))]);

    const lay = (example) => {
      [shown, at, from, values] = [example, 0, null, null];
      step.node.querySelector("input").max = example.target.length - 1;
      step.set(0);
      chips.forEach(([one, chip]) => chip.setAttribute("aria-pressed", one === example));
      said.replaceChildren("→ ", element("b", {}, example.translation || "(nothing)"));
      draw();
    };
    const look = (t, s = null) => {
      [at, from] = [clamp(t, 0, shown.target.length - 1), s];
      step.set(at);
      draw();
    };
    const step = slider(
      "output token",
      { min: 0, max: 0, step: 1, value: 0, show: (t) => shown?.target[t] ?? "" },
      look,
    );
    const weights = () => (values ??= mapOf(shown.weights, heads.now)); // null: another layer or head was chosen
    const draw = eachFrame(() => {
      el.values = weights();
      const width = widthOf(el);
      const room = width >= 760 ? Math.min(720, width - 320) : width; // what is said stands beside it
      sketch.node.layout = paint(sketch, { ...shown, width: room, rows: values, at, from });
      const words = describe(values, [at, from ?? argmax(values[at])], shown);
      says.say(words);
      sketch.describe(`Cross-attention for “${shown.text}”. ${words}`);
      table.fill(() => [
        ["output", ...shown.source],
        ...values.map((row, t) => [shown.target[t], ...row.map((weight) => weight.toFixed(3))]),
      ]);
    });
    const point = (event) => {
      const { side, place } = placeAt(sketch.node.layout, sketch.at(event));
      if (side === "target") look(place);
      else if (side === "source") look(at, place);
    };
    Object.assign(sketch.node, {
      onpointermove: point,
      onpointerdown: point,
      onkeydown: onKeys((key) => {
        const over = from ?? argmax(values[at]);
        const last = shown.source.length - 1;
        if (key === "ArrowLeft" || key === "ArrowRight")
          return look(at, clamp(over + (key === "ArrowLeft" ? -1 : 1), 0, last));
        const to = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: shown.target.length - 1 }[key];
        return to === undefined ? false : look(to);
      }),
    });
    const table = tableSwitch(draw);
    const heads = stackChoice(...examples[0].weights.shape.slice(0, 2), () => {
      values = null;
      draw();
    });
    const reset = resetButton([heads, table], () => {
      input.value = "";
      asked = wanted = null;
      waiting.textContent = "";
      lay(examples[0]);
    });

    // One question at a time; what is typed meanwhile is the next one.
    const me = Math.random().toString(36).slice(2);
    let [asked, wanted, count, slow] = [null, null, 0, null];
    const ask = () => {
      if (asked || !wanted) return;
      asked = `${me} ${(count += 1)}`;
      clearTimeout(slow);
      slow = setTimeout(() => {
        if (asked) waiting.textContent = "The kernel is busy; your sentence waits for it.";
      }, 700);
      const question = { request: asked, text: wanted };
      wanted = null;
      kernel.send(question);
    };
    const answered = (content, [bytes]) => {
      if (content.request !== asked) return;
      asked = null;
      waiting.textContent = content.error ?? "";
      if (!content.error) lay({ ...content, weights: { data: floats(bytes), shape: content.shape } });
      ask();
    };
    const kernel = linked(model.get("kernel"), {
      joined: () => {
        own.hidden = false;
        note.hidden = true;
      },
      left: () => {
        own.hidden = true;
        note.hidden = false;
        note.textContent = GONE;
        asked = wanted = null;
        waiting.textContent = "";
      },
      heard: answered,
    });
    input.oninput = () => {
      wanted = input.value.trim() || null;
      if (wanted) return ask();
      asked = null; // an answer that is still on its way is to a text that is not there any more
      waiting.textContent = "";
      lay(examples[0]);
    };
    input.onkeydown = (event) => event.stopPropagation();

    el.append(
      element("style", {}, STYLE),
      bar(own),
      note,
      bar(element("span", {}, "examples "), ...chips.map(([, chip]) => chip)),
      waiting,
      said,
      bar(...heads.nodes, step.node),
      sideBySide(sketch.node, says, element("div", { class: "tl-note" }, NOTE), bar(table.button, reset)),
      table.room,
    );
    lay(examples[0]);
    return watch(el, draw);
  },
};

const NOTE =
  "A ribbon is as thick as the weight; those into a word are together as high as its row. Point at a word on " +
  "the right to see what it looked at, and then at one on the left to read its weight.";
const WITHOUT = "To type a sentence of your own, run this cell in a notebook: its kernel does the translation.";
const GONE =
  "The kernel that translated is gone: it was shut down or started anew. To type a sentence of your own, run the " +
  "notebook’s cells from the first to this one.";

const STYLE = `
@media (max-width: 600px) { .tl-view.tl-own_sentence .tl-said { font-size: 19px; } }
.tl-own_sentence .tl-bar label { max-width: 100%; min-width: 0; }
.tl-own_sentence input[type=text] {
  font: 18px var(--tl-serif); color: inherit; background: transparent;
  border: 1px solid var(--tl-edge); border-radius: 6px;
  padding: 3px 8px; width: 36em; min-width: 0; box-sizing: border-box;
}
.tl-own_sentence canvas { touch-action: pan-y; margin: 4px 0; }
.tl-own_sentence .tl-said { font: 25px/1.4 var(--tl-serif); margin: 4px 0; min-height: 1.5em; overflow-wrap: anywhere; }
`;

export function describe(rows, [t, s], { source, target }) {
  const best = argmax(rows[t]);
  const said = `To write “${target[t]}”, the decoder gives “${source[s]}” a weight of ${rows[t][s].toFixed(3)}`;
  if (s === best) return `${said}, the largest of all.`;
  return `${said}; the largest is that of “${source[best]}”, ${rows[t][best].toFixed(3)}.`;
}
