// The quiz of a lesson: a question is answered in the head, the answer opens, and its reader says whether that was it.
// What was not known is asked again. What was known is kept in this browser.

import { element } from "./elements.js";
import { keep, kept, lesson } from "./progress.js";

const ASKS = "Answer each question in a sentence, then open it.";

class Quiz {
  constructor(room) {
    this.cards = [...room.querySelectorAll("details")];
    this.dots = this.cards.map(() => element("i", { class: "dot" }));
    this.said = element("span", { role: "status" }, ASKS);
    this.again = element("button", { type: "button", class: "button", hidden: "", onclick: () => this.askAgain() });
    const dots = element("span", { class: "dots", "aria-hidden": "true" }, ...this.dots);
    room.classList.add("quiz");
    room.querySelector("h2").after(element("p", { class: "quiz-known" }, dots, this.said, this.again));
    this.answers = this.cards.map((card, i) => layOut(card, (isKnown) => this.judge(i, isKnown)));
    this.show();
  }

  judge(i, isKnown) {
    const all = kept();
    keep({ ...all, quiz: { ...all.quiz, [lesson]: { ...all.quiz[lesson], [i]: isKnown } } });
    this.show();
    const next = this.cards.find((card, n) => n > i && !card.open && this.known[n] === undefined);
    next?.querySelector("summary").focus();
  }

  get known() {
    return kept().quiz[lesson] ?? {};
  }

  show() {
    const { known, cards } = this;
    cards.forEach((card, i) => {
      this.dots[i].className = `dot ${{ true: "solved", false: "tried" }[known[i]] ?? ""}`;
      card.classList.toggle("known", known[i] === true);
      this.answers[i](known[i]);
    });
    const [right, wrong] = [true, false].map((how) => cards.filter((_, i) => known[i] === how).length);
    const isDone = right + wrong === cards.length;
    this.said.textContent = right + wrong ? `You knew ${right} of ${isDone ? cards.length : right + wrong}.` : ASKS;
    this.again.hidden = !isDone || !wrong;
    this.again.textContent = wrong === 1 ? "Ask me the other one again" : `Ask me the other ${wrong} again`;
  }

  // What was not known is closed, and can be answered anew.
  askAgain() {
    const all = kept();
    const { known } = this;
    const left = this.cards.filter((_, i) => known[i] === false);
    keep({ ...all, quiz: { ...all.quiz, [lesson]: Object.fromEntries(Object.entries(known).filter(([, how]) => how)) } });
    left.forEach((card) => (card.open = false));
    this.show();
    left[0].querySelector("summary").focus();
  }
}

// The number, the question and its answer in their places, and two buttons below; returns what presses one of them.
function layOut(card, judge) {
  const summary = card.querySelector("summary");
  const [, number, question] = summary.innerHTML.match(/^\s*(\d+\.)\s*(.*)$/s);
  summary.innerHTML = `<b>${number}</b> <span>${question}</span>`;
  const answer = element("div", { class: "quiz-answer" });
  answer.append(...[...card.childNodes].filter((one) => one !== summary));
  const [yes, no] = ["Yes", "Not quite"].map((words, i) =>
    element("button", { type: "button", class: "button", onclick: () => judge(!i) }, words),
  );
  answer.append(element("p", { class: "quiz-own" }, element("span", {}, "Was that your answer?"), yes, no));
  card.append(answer);
  return (isKnown) => {
    yes.setAttribute("aria-pressed", String(isKnown === true));
    no.setAttribute("aria-pressed", String(isKnown === false));
  };
}

const room = document.getElementById("quiz");
if (room) new Quiz(room);
