// Which result is right, or what gets past a test? A press is an answer; by keys, arrows choose and Enter answers.
// Nothing is solved by it: the code is written in a notebook.

import { element } from "./elements.js";
import { record } from "./progress.js";
import { capital, heading, toNotebook } from "./verdicts.js";

const IS_QUESTION = "[data-which]";

class Which {
  constructor(room) {
    Object.assign(this, { room, misses: 0, isFound: false, card: room.closest(".exercise") });
    this.fields = [...room.querySelectorAll("input")];
    this.verdict = element("div", { class: "verdict", role: "status" });
    this.button = element("button", { type: "button", class: "button", onclick: () => this.answer() }, "Check");
    const folded = room.querySelector("details");
    this.said = new Map([...folded.querySelectorAll("[data-result]")].map((one) => [one.dataset.result, one]));
    folded.replaceWith(this.button, this.verdict);
    room.hidden = Boolean(room.previousElementSibling?.matches(IS_QUESTION)); // one question after another
    room.onclick = (event) => {
      if (event.detail > 0 && event.target.matches("input")) this.answer();
    };
    room.onkeydown = (event) => {
      if (event.key !== "Enter" || !event.target.matches("input")) return;
      event.preventDefault();
      this.answer();
    };
  }

  answer() {
    const chosen = this.fields.find((field) => field.checked);
    if (!chosen) return this.verdict.replaceChildren(element("p", {}, "Choose one first."));
    const said = this.said.get(chosen.value);
    const isRight = "right" in said.dataset;
    chosen.closest("label").classList.add(isRight ? "right" : "miss");
    record(this.room.dataset.which, false);
    this.verdict.className = `verdict ${isRight ? "right" : "wrong"}`;
    const [name, ...rest] = [...said.cloneNode(true).children];
    this.verdict.replaceChildren(heading(isRight ? this.praise() : capital(name.textContent)), ...rest);
    if (isRight) this.finish();
    else if (!this.isFound) this.misses += 1;
  }

  praise() {
    return this.misses || this.isFound ? "Right" : "Right, at the first try";
  }

  // What is off in the others is marked, and a press still tells what each comes from.
  finish() {
    this.isFound = true;
    this.room.querySelector(".which-note span").textContent = "Press another one to read what is said of it.";
    this.room.classList.add("found");
    this.next ??= this.another() ?? toNotebook(this.card, "write");
    this.verdict.append(element("p", { class: "exercise-ways" }, this.next));
  }

  // The way to the question that follows this one, if one does.
  another() {
    const room = this.room.nextElementSibling;
    if (!room.matches(IS_QUESTION)) return null;
    const go = () => {
      room.hidden = false;
      room.scrollIntoView({ block: "nearest" });
      room.querySelector("input").focus({ preventScroll: true });
    };
    return element("button", { type: "button", class: "button primary", onclick: go }, "Another test");
  }
}

export const askWhich = (room) => new Which(room);
