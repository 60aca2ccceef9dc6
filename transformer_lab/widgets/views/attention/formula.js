// A formula whose terms are buttons: each shows the step that it stands for, and the present step lights its term.

import { button, element } from "../../shared/ui.js";

// parts: texts, and terms as [text, step]; steps: their names in order; go(step) is called when a term is pressed.
export function formula(label, parts, steps, go) {
  const terms = new Map();
  const nodes = parts.map((part) => {
    if (typeof part === "string") return element("span", {}, part);
    const [text, step] = part;
    const term = button(text, () => go(step), { "aria-label": `${text}: ${step}` });
    terms.set(step, term);
    return term;
  });
  const node = element("div", { class: "tl-bar tl-formula", role: "group", "aria-label": label }, ...nodes);
  // Light the term of the step `at`; those before it are done, and `off` are those that do nothing.
  const show = (at, off = []) => {
    terms.forEach((term, step) => {
      const state = step === at ? "now" : steps.indexOf(step) < steps.indexOf(at) ? "done" : "later";
      term.setAttribute("aria-pressed", step === at);
      term.setAttribute("data-term", off.includes(step) ? "off" : state);
    });
  };
  return { node, show };
}

export const FORMULA_STYLE = `
.tl-view .tl-formula { font: italic 17px/1.5 var(--tl-serif); gap: 4px 5px; margin: 8px 0; }
.tl-view .tl-formula button { padding: 1px 7px; border-style: dashed; }
.tl-view .tl-formula [data-term=done] { border-color: transparent; background: var(--tl-slab); }
.tl-formula [data-term=off] { text-decoration: line-through; }
`;
