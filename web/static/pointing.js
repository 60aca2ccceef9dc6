// A broken function whose lines can be pressed: whoever finds the fault has half of the exercise; mending it is the rest,
// and happens in a notebook. Which lines differ in the repaired function was found when the site was built.

import { element, html } from "./elements.js";
import { record } from "./progress.js";
import { EACH, region } from "./region.js";
import { riddle } from "./riddle.js";
import { heading, sharing, toNotebook } from "./verdicts.js";

const paragraph = (text) => element("p", {}, text);

class Pointing {
  constructor(room) {
    Object.assign(this, JSON.parse(room.nextElementSibling.textContent), { room, misses: 0 });
    this.fields = [...room.querySelectorAll("input")];
    this.open = [...this.places];
    this.card = room.closest(".exercise");
    this.button = element("button", { type: "button", class: "button primary", onclick: () => this.check() }, "Check");
    this.verdict = element("div", { class: "verdict", role: "status" });
    this.card.querySelector(".exercise-ways .primary")?.classList.remove("primary");
    room.nextElementSibling.after(element("div", { class: "judged" }, this.button, this.verdict));
    room.onchange = () => this.verdict.replaceChildren();
    room.onkeydown = (event) => {
      if (event.key === "Enter" && event.target.matches("input")) this.check();
    };
  }

  line = (field) => field.closest("label");

  say(...parts) {
    this.verdict.replaceChildren(...parts);
  }

  check() {
    const chosen = this.fields.find((field) => field.checked);
    if (!chosen) return this.say(paragraph("Press a line first."));
    const place = this.places.find((one) => one.includes(Number(chosen.value)));
    record(this.name, false);
    this.verdict.className = `verdict ${place ? "right" : "wrong"}`;
    chosen.checked = false;
    if (place) this.hit(place);
    else this.miss(chosen);
  }

  miss(field) {
    this.line(field).classList.add("miss", "out");
    this.misses += 1;
    const isNarrower = this.misses % EACH === 0 && this.narrow();
    const where = isNarrower ? " Look among the lines that are not grey." : "";
    const count = this.open.length;
    const all = this.places.length;
    const left = all === 1 ? "The fault is elsewhere" : `${count} of ${all} are left to find`;
    const does = this.probes[field.value] ?? "This line does its work in the repaired function, too.";
    const why = html(`${does} ${left}.${where}`, "p");
    this.say(heading("Not this one"), why, html(this.symptom));
  }

  // The lines that no longer come into question turn grey; whether there are more of them than before.
  narrow() {
    const all = this.fields.map((one) => Number(one.value));
    const near = new Set(this.open.flatMap(([fault]) => region(all, fault, this.misses)));
    const isOut = (field) => !near.has(Number(field.value));
    const fresh = this.fields.filter((one) => isOut(one) && !this.line(one).classList.contains("out"));
    fresh.forEach((one) => this.line(one).classList.add("out"));
    return fresh.length > 0;
  }

  linesOf = (place) => this.fields.filter((one) => place.includes(Number(one.value))).map(this.line);

  // A line of a fault is enough: all of its lines are found with it, and pressing another of them costs nothing.
  hit(place) {
    const isNew = this.open.includes(place);
    this.open = this.open.filter((one) => one !== place);
    this.mark(place);
    const count = this.places.length;
    if (!this.open.length) return this.finish();
    const next = paragraph(`Found ${count - this.open.length} of ${count}. Where is the next one?`);
    this.say(heading(isNew ? "Found" : "Found already"), this.told(place), next);
  }

  // Lines that follow each other have one frame; those that stand apart have the number of their bug in common.
  mark(place) {
    const lines = this.linesOf(place);
    const number = this.places.length > 1 ? ` bug ${this.places.indexOf(place) + 1}` : "";
    for (const line of lines) {
      line.classList.remove("out");
      line.classList.add("found");
      line.classList.toggle("joined", lines.includes(line.previousElementSibling));
      line.lastElementChild.dataset.found = `found${number}`;
    }
  }

  finish() {
    for (const field of this.fields) {
      field.disabled = true;
      this.line(field).classList.remove("out");
    }
    this.button.remove();
    const next = toNotebook(this.card, "mend");
    const count = this.places.length;
    this.say(
      heading(count === 1 ? "Found" : `All ${count} found`),
      ...this.places.map((place, i) => this.told(place, ` ${this.elsewhere[i]}`)),
      this.boastful(this.boast()),
      paragraph("Now you know where. Mending it is the other half."),
      element("p", { class: "exercise-ways" }, next),
      Object.assign(html(this.symptom), { className: "before-and-after" }),
    );
    next.focus({ preventScroll: true });
  }

  // What was done, with the function as a riddle for somebody else.
  boastful(said) {
    const title = this.room.querySelector("legend").textContent.replace(" Find one after another.", "");
    const code = [...this.room.querySelectorAll("pre > *")].map((line) => line.textContent.trimEnd());
    const { small, button } = riddle(this.name, code, { title, said });
    const ways = element("p", { class: "exercise-ways" }, sharing(this.name, said, "Copy it for a friend"), button);
    return element("div", { class: "boast" }, paragraph(said), ways, small);
  }

  // What was done, in a sentence that makes somebody else want to try.
  boast() {
    const [count, { misses }] = [this.places.length, this];
    const found = count === 1 ? "a bug. I found it" : `${count} bugs. I found them`;
    const tries = misses ? `after ${misses} wrong ${misses === 1 ? "guess" : "guesses"}` : "without one wrong guess";
    return `${this.name} has ${this.fields.length} lines and ${found} ${tries}. Can you?`;
  }

  // The lines of a place, what they did, and where that shows.
  told(place, shows = "") {
    const code = this.linesOf(place).map((line) => line.textContent.trim());
    const cause = this.causes[this.places.indexOf(place)];
    const lines = element("pre", {}, code.join("\n"));
    return element("div", { class: "told" }, lines, html(cause + shows, "p"));
  }
}

export const pointAt = (room) => new Pointing(room);
