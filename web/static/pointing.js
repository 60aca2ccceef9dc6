// A broken function whose lines can be pressed: whoever finds the fault has half of the exercise; mending it is the rest,
// and happens in a notebook. Which lines differ in the repaired function was found when the site was built.

import { element } from "./elements.js";
import { record } from "./progress.js";
import { EACH, region } from "./region.js";
import { heading } from "./verdicts.js";

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
    room.onkeydown = (event) => event.key === "Enter" && event.target.matches("input") && this.check();
  }

  line = (field) => field.closest("label");

  say(...parts) {
    this.verdict.replaceChildren(...parts);
  }

  check() {
    const chosen = this.fields.find((field) => field.checked);
    if (!chosen) return this.say(paragraph("Press a line first."));
    const number = Number(chosen.value);
    const place = this.open.find((one) => one.includes(number));
    record(this.name, false);
    this.verdict.className = `verdict ${place ? "right" : "wrong"}`;
    if (place) this.hit(chosen, place);
    else this.miss(chosen);
  }

  miss(field) {
    field.disabled = true;
    this.line(field).classList.add("miss");
    this.misses += 1;
    const left = this.fields.filter((one) => !one.disabled).map((one) => Number(one.value));
    const all = this.fields.map((one) => Number(one.value));
    const near = region(all, this.open[0][0], this.misses);
    const isNarrowed = this.misses % EACH === 0 && near.length < left.length;
    if (isNarrowed && this.open.length === 1)
      this.fields.forEach((one) => (one.disabled ||= !near.includes(Number(one.value))));
    const where = isNarrowed && this.open.length === 1 ? " Look among the lines that are left." : "";
    this.say(heading("Not this one"), paragraph(`The repaired function has this very line, too.${where}`));
  }

  hit(field, place) {
    this.open = this.open.filter((one) => one !== place);
    this.line(field).classList.add("found");
    field.checked = false;
    field.disabled = true;
    const count = this.places.length;
    if (!this.open.length) return this.finish();
    this.say(heading("Found"), paragraph(`${count - this.open.length} of ${count}. Where is the next one?`));
  }

  finish() {
    const faults = this.places.flat().map(String);
    for (const field of this.fields) {
      field.disabled = true;
      this.line(field).classList.toggle("found", faults.includes(field.value));
    }
    this.button.remove();
    const next = this.card.querySelector(".exercise-ways > a");
    next.classList.add("primary");
    const way = next.hasAttribute("download") ? "download the notebook" : "open it in Colab";
    next.textContent = `Now mend it: ${way} →`;
    const many = faults.length === 1 ? "This line is another one" : `These ${faults.length} lines are others`;
    this.say(heading("Found"), paragraph(`${many} in the repaired function. That is half of it.`), next);
  }
}

export const pointAt = (room) => new Pointing(room);
