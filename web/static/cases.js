// One case at a time: a dot for each, which leads to it; what is given; the answer and the button that checks it side by
// side; the verdict below. A formula for all is the second way: it is tried on every case at once.

import { beside } from "./beside.js";
import { element, html } from "./elements.js";
import { judged, makersOf } from "./judging.js";
import { meaning } from "./meanings.js";
import { record } from "./progress.js";
import { heading, hintsOf, named, passed, perhaps } from "./verdicts.js";
import { QUESTIONS, formulaFor } from "./ways.js";

const OFFERED = 3; // right cases after which a formula is offered
const SAID = { right: "right", wrong: "not right yet" };
const ALONG = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
const paragraph = (text) => element("p", {}, text);

// What was answered in one way: the values, how exactly each must be right, what came of it, and what is said of it.
const sheet = (count) => ({ answers: Array(count), tolerances: Array(count), states: Array(count).fill(""), said: [] });

class Cases {
  constructor(table) {
    this.table = table;
    this.count = table.cases.length;
    [this.now, this.way, this.isDone] = [0, "each", false];
    this.sheets = { each: sheet(this.count), all: sheet(this.count) };
    this.questions = table.cases.map((_, i) => QUESTIONS[table.how](table, i, () => this.forget(i)));
    this.formula = table.how === "values" ? formulaFor(table, () => this.forgetAll()) : null;
    this.build();
    this.show(0);
  }

  build() {
    const id = `case-of-${this.table.name}`;
    this.panel = element("div", { class: "case", role: "tabpanel", id });
    this.verdict = element("div", { class: "verdict", role: "status", tabindex: "-1" });
    this.verdict.onkeydown = (event) => this.proceed(event);
    this.button = element("button", { class: "button primary" });
    this.toggle = element("button", { type: "button", class: "quiet", onclick: () => this.turn() });
    this.tabs = this.questions.map((_, i) =>
      element("button", { type: "button", role: "tab", "aria-controls": id, onclick: () => this.show(i) }),
    );
    const dots = element("div", { class: "case-dots", role: "tablist", "aria-label": "Cases" }, ...this.tabs);
    dots.onkeydown = (event) => this.walk(event);
    this.node = element("form", { class: "answer", novalidate: "" }, dots, this.panel, this.verdict, this.toggle);
    this.node.onsubmit = (event) => {
      event.preventDefault();
      this.submit();
    };
  }

  get sheet() {
    return this.sheets[this.way];
  }

  get input() {
    return this.way === "all" ? this.formula : this.questions[this.now];
  }

  // ── what is seen ──

  show(i) {
    this.now = i;
    this.formula?.tell(i);
    const number = element("b", {}, `Case ${i + 1} of ${this.count}`);
    this.row = element("div", { class: "answer-row" }, ...this.input.fields);
    this.panel.replaceChildren(
      element("p", { class: "case-of" }, number, ` ${this.table.cases[i].label}`),
      ...this.questions[i].given,
      this.row,
      ...(this.input.under ?? []),
    );
    this.showVerdict();
  }

  showVerdict() {
    const { states, said } = this.sheet;
    this.tabs.forEach((tab, i) => {
      tab.className = states[i];
      tab.tabIndex = i === this.now ? 0 : -1;
      tab.setAttribute("aria-selected", String(i === this.now));
      tab.setAttribute("aria-label", [`Case ${i + 1}`, SAID[states[i]]].filter(Boolean).join(", "));
    });
    this.button.textContent = this.canGoOn ? "Next case →" : "Check";
    if (this.isDone) this.button.remove();
    else this.row.append(this.button);
    this.verdict.className = `verdict ${states[this.now]}`;
    this.verdict.replaceChildren(...(this.isDone ? this.finish() : (said[this.now] ?? [])));
    this.showHintsOnce();
    this.toggle.hidden = !this.formula || this.isDone;
    this.toggle.textContent = this.way === "all" ? "or answer case by case" : "or answer all at once with a formula";
  }

  get card() {
    return this.node.closest(".exercise") ?? this.node; // before the page has it
  }

  // Where a verdict has the hints, they stand nowhere else.
  showHintsOnce() {
    const own = hintsOf(this.card);
    if (own) own.hidden = Boolean(this.verdict.querySelector("details"));
  }

  finish() {
    return [...meaning(this.table, this.now), ...passed(this.table)];
  }

  get canGoOn() {
    return this.way === "each" && this.sheet.states[this.now] === "right" && !this.isDone;
  }

  // ── what a learner does ──

  // An answer was changed: nothing is known of it any more.
  forget(i) {
    const { answers, states, said } = this.sheets.each;
    [answers[i], states[i], said[i], this.isDone] = [undefined, "", undefined, false];
    this.showVerdict();
  }

  forgetAll() {
    this.sheets.all = sheet(this.count);
    this.isDone = false;
    this.showVerdict();
  }

  turn() {
    this.way = this.way === "each" ? "all" : "each";
    this.show(this.now);
    this.input.focus();
  }

  walk(event) {
    const ends = { Home: 0, End: this.count - 1 };
    const to = ends[event.key] ?? (this.now + ALONG[event.key] + this.count) % this.count;
    if (Number.isNaN(to)) return;
    event.preventDefault();
    this.show(to);
    this.tabs[to].focus();
  }

  submit() {
    if (this.isDone) return;
    if (this.canGoOn) return this.goOn();
    const { trouble, ...answer } = this.input.read();
    if (trouble) this.sheet.said[this.now] = [paragraph(trouble)];
    else if (this.way === "all") this.checkAll(answer);
    else this.checkOne(answer);
    this.show(this.now);
    this.verdict.focus(); // in a field, a phone's keyboard would cover what is said
  }

  // Enter leads from what is said to the next case, or back to the answer.
  proceed(event) {
    if (event.key !== "Enter" || event.target !== this.verdict || this.isDone) return;
    event.preventDefault();
    if (this.canGoOn) this.goOn();
    else this.input.focus();
  }

  // To the next case that is not right yet, after this one or from the start.
  goOn() {
    const after = this.questions.map((_, k) => (this.now + 1 + k) % this.count);
    this.show(after.find((i) => this.sheet.states[i] !== "right") ?? this.now);
    this.input.focus();
  }

  checkOne({ value, tolerance }) {
    const { answers, tolerances, states, said } = this.sheet;
    [answers[this.now], tolerances[this.now]] = [value, tolerance];
    const result = judged(this.table, answers, tolerances);
    const isWrong = result.wrong.includes(this.now);
    states[this.now] = isWrong ? "wrong" : "right";
    said[this.now] = isWrong ? this.slip(result, value, tolerance) : this.praise();
    this.isDone = result.passed;
    if (result.passed || isWrong) record(this.table.name, result.passed);
  }

  slip({ mistake }, value, tolerance) {
    const hints = hintsOf(this.card)?.cloneNode(true) ?? element("details");
    const show = element("button", { type: "button", class: "quiet" }, "Show the right answer");
    const pair = beside(this.table, this.now, value, { tolerance, isCovered: true });
    show.onclick = () => {
      const next = element("button", { type: "button", class: "quiet" }, "Next case →");
      next.onclick = () => this.goOn();
      pair.replaceChildren(...beside(this.table, this.now, value, { tolerance }).children);
      show.replaceWith(...this.reason(hints), ...(this.count > 1 ? [next] : []));
      hints.remove();
      this.showHintsOnce();
    };
    if (mistake) return [...named(mistake), pair, show];
    const makers = makersOf(this.table, this.now, value, tolerance);
    hints.open = true;
    return [heading("Not yet"), perhaps(makers, value), pair, ...(makers.length === 1 ? [] : [hints]), show];
  }

  // Why an answer is right: its drawing, what is asked for in one line, and the last hint, unless that asks back.
  reason(hints) {
    const asked = html(this.table.able.replace(/^<p[^>]*>/, "<p><b>What is asked for:</b> "), "div");
    const last = [...hints.querySelectorAll("p")].at(-1);
    return [...meaning(this.table, this.now), asked, ...(last && !last.textContent.trim().endsWith("?") ? [last] : [])];
  }

  praise() {
    const right = this.sheet.states.filter((one) => one === "right").length;
    const isOffered = this.formula && right >= OFFERED && right < this.count;
    const offer = `${right} are right. Do you see the rule? If so, one formula answers all ${this.count}.`;
    return [heading("Right"), ...meaning(this.table, this.now), ...(isOffered ? [paragraph(offer)] : [])];
  }

  checkAll({ values }) {
    const { answers, states, said } = this.sheet;
    answers.splice(0, this.count, ...values);
    const result = judged(this.table, answers);
    const first = result.mistake ? () => named(result.mistake) : () => [heading("Not yet")];
    values.forEach((value, i) => {
      states[i] = result.wrong.includes(i) ? "wrong" : "right";
      said[i] = states[i] === "right" ? [heading("Right in this case")] : [...first(), beside(this.table, i, value)];
    });
    this.isDone = result.passed;
    record(this.table.name, result.passed);
    if (!result.passed && states[this.now] === "right") this.now = result.failed;
  }
}

export const oneByOne = (table) => new Cases(table).node;
