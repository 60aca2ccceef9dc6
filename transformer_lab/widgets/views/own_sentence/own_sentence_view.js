// Own sentence: the kernel translates what is typed; the map shows where the decoder looked for each token.

import { bar, button, eachFrame, element, floats, resetButton, slider, tensor, watch } from "../../shared/ui.js";
import { largestIn, tokenMap } from "../../shared/grid.js";
import { amounts, css, inkOn } from "../../shared/palette.js";
import { linked } from "../../shared/link.js";
import { mapOf, stackChoice } from "../../shared/stack.js";

export default {
  render({ model, el }) {
    const examples = model.get("examples").map((example) => ({ ...example, weights: tensor(example.weights) }));
    let [shown, map, step, values, at] = [null, null, null, null, 0]; // at: the output token that is looked at

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
    const place = element("div");
    const chips = examples.map((example) => [example, button(example.text, () => lay(example))]);

    // Show a translation: its own map, slider and strip, for it has other tokens than the one before.
    const lay = (example) => {
      shown = example;
      at = 0;
      const { source, target } = example;
      map = tokenMap({
        el,
        label: `Cross-attention for “${example.text}”.`,
        state: (rows, names) => `${describe(rows, [at, argmax(rows[at])], example)} ${largestIn(rows, names)}`,
        rows: target,
        columns: source,
        axes: ["output", "input"],
        redraw: draw,
        describe: (rows, cell) => describe(rows, cell ?? [at, argmax(rows[at])], example),
        onmove: (cell) => {
          if (cell) {
            at = cell[0];
            step.set(at);
          }
        },
      });
      step = slider(
        "output token",
        { min: 0, max: target.length - 1, step: 1, value: 0, show: (t) => target[t] },
        (t) => map.move([t, argmax(weights()[t])]),
      );
      const tokens = source.map((token) => element("span", {}, token));
      place.replaceChildren(
        bar(step.node),
        element("div", { class: "tl-strip" }, "looks at: ", ...tokens.flatMap((token) => [token, " "])),
        map.beside(bar(...map.buttons, reset)),
        map.table,
      );
      place.tokens = tokens;
      chips.forEach(([one, chip]) => chip.setAttribute("aria-pressed", one === example));
      said.replaceChildren("→ ", element("b", {}, example.translation || "(nothing)"));
      values = null;
      paint();
    };
    const weights = () => (values ??= mapOf(shown.weights, heads.now)); // null: another layer or head was chosen
    const paint = () => {
      el.values = weights();
      map.show(values, { name: "weight", range: [0, 1] });
      shade(place.tokens, values[at]);
    };
    const draw = eachFrame(paint);
    const heads = stackChoice(...examples[0].weights.shape.slice(0, 2), () => {
      values = null;
      draw();
    });
    const reset = resetButton([heads], () => {
      input.value = "";
      asked = wanted = null;
      waiting.textContent = "";
      lay(examples[0]);
      reset.focus(); // it was put into the page anew
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
      bar(...heads.nodes),
      place,
    );
    lay(examples[0]);
    return watch(el, draw);
  },
};

const WITHOUT = "To type a sentence of your own, run the cell: its kernel does the translation.";
const GONE =
  "The kernel that translated is gone: it was shut down or started anew. To type a sentence of your own, run the " +
  "notebook's cells from the first to this one.";

const STYLE = `
.tl-own_sentence .tl-bar label { max-width: 100%; min-width: 0; }
.tl-own_sentence input[type=text] {
  font: inherit; color: inherit; background: transparent; border: 1px solid var(--tl-edge); border-radius: 6px;
  padding: 3px 8px; width: 36em; min-width: 0; box-sizing: border-box;
}
.tl-own_sentence .tl-said { font-size: 17px; margin: 4px 0; min-height: 1.5em; overflow-wrap: anywhere; }
`;

export function argmax(row) {
  return row.indexOf(Math.max(...row));
}

export function describe(rows, [t, s], { source, target }) {
  const best = argmax(rows[t]);
  const said = `To write “${target[t]}”, the decoder gives “${source[s]}” a weight of ${rows[t][s].toFixed(3)}`;
  if (s === best) return `${said}, the largest of all.`;
  return `${said}; the largest is that of “${source[best]}”, ${rows[t][best].toFixed(3)}.`;
}

// Colour each input token by its weight.
function shade(tokens, row) {
  tokens.forEach((token, s) => {
    const rgb = amounts(row[s]);
    token.style.cssText = row[s] >= 0.05 ? `background: ${css(rgb)}; color: ${inkOn(rgb)};` : "";
  });
}
