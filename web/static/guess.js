// The guess at the head of a lesson: it is kept in this browser, and the lesson's end judges it.

import { keep, kept } from "./progress.js";

const asked = document.querySelector(".guess");
const lesson = document.querySelector(".poster")?.dataset.knot;
const buttons = [...(asked?.querySelectorAll(".guess-answers button") ?? [])];

function show() {
  const chosen = kept().guesses?.[lesson];
  buttons.forEach((one, i) => one.setAttribute("aria-pressed", String(i === chosen)));
  const end = document.querySelector(".closing-question");
  end?.parentElement.querySelector(".closing-guess")?.remove();
  if (!buttons[chosen]) return;
  asked.querySelector("[role=status]").textContent = "Kept. The end of the lesson will tell.";
  const { right, found } = asked.dataset;
  const [question, answer] = [asked.firstElementChild.textContent, buttons[chosen].textContent];
  const so = chosen === Number(right) ? "and you were right:" : "but";
  const textContent = `${question} You guessed “${answer}”, ${so} ${found}`;
  end?.after(Object.assign(document.createElement("p"), { className: "closing-guess", textContent }));
}

buttons.forEach((one, i) => {
  one.onclick = () => keep({ ...kept(), guesses: { ...kept().guesses, [lesson]: i } });
});
if (asked) {
  addEventListener("progress", show);
  show();
}
