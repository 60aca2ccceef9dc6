// The page for marking: marking.py puts this script into it, with the data. Nothing is sent anywhere.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const key = (student, question) => JSON.stringify([student, question]);
const draftKey = `transformer-lab ${data.assignment} ${data.draft}`;
const marks = new Map();
const refused = new Map(); // points that were typed, and that there are not
let current = data.questions[0];
let saved = true;

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

// ── marks ──

/** The later of two decisions counts. */
function takeOver(several) {
  for (const one of several) {
    const known = marks.get(key(one.student, one.question));
    if (known && known.at >= one.at) continue;
    marks.set(key(one.student, one.question), one);
    refused.delete(key(one.student, one.question));
  }
}

const markOf = (answer) => marks.get(key(answer.student, answer.question));
const isMarked = (answer) => (markOf(answer)?.points ?? null) !== null;
const answersTo = (question) => data.answers.filter((one) => one.question === question.name);

function decide(answer, points, comment) {
  const { student, question, print } = answer;
  marks.set(key(student, question), { student, question, points, comment, at: new Date().toISOString(), text: print });
  saved = false;
  try {
    localStorage.setItem(draftKey, JSON.stringify([...marks.values()]));
  } catch {
    // a browser that keeps nothing: the saved file does
  }
  count();
}

// ── what is shown ──

function count() {
  for (const question of data.questions) {
    const answers = answersTo(question);
    byId(`count ${question.name}`).textContent = `${answers.filter(isMarked).length} of ${answers.length}`;
  }
  const all = [`${data.answers.filter(isMarked).length} of ${data.answers.length} answers marked`];
  const [have, are] = refused.size === 1 ? ["answer has", "counts"] : ["answers have", "count"];
  if (refused.size) all.push(`${refused.size} ${have} points out of range, and ${are} as not marked`);
  if (!saved) all.push("not saved yet");
  byId("said").textContent = all.join("; ");
}

function card(answer, number) {
  const given = markOf(answer);
  const most = current.points;
  const title = byId("nameless").checked ? `answer ${number}` : answer.name;
  const badges = [];
  if (answer.alike) badges.push(`the same words as ${answer.alike} other${answer.alike > 1 ? "s" : ""}`);
  if (given && given.points !== null && given.text !== answer.print) badges.push("has changed since it was marked");
  const points = make("input", { type: "number", min: 0, max: most, step: "any", inputMode: "decimal" });
  const comment = make("textarea", { rows: 2, value: given?.comment ?? "" });
  const own = key(answer.student, answer.question);
  const fault = make("p", { className: "fault", id: `fault ${number}` });
  fault.setAttribute("role", "alert");
  points.setAttribute("aria-describedby", fault.id);
  points.value = refused.get(own) ?? given?.points ?? "";
  const article = make(
    "section",
    { className: "answer" },
    make(
      "h3",
      {},
      make("span", { textContent: title }),
      make("span", { className: "badge", textContent: badges.join("; ") }),
    ),
    make("pre", { textContent: answer.text, tabIndex: 0 }),
    make(
      "div",
      { className: "marks" },
      make("div", {}, make("label", {}, `points, of ${most} `, points), fault),
      make("label", {}, "comment, for the student ", comment),
    ),
  );
  const mark = () => {
    article.classList.toggle("done", isMarked(answer));
    fault.textContent = points.validity.valid ? "" : `Points must be from 0 to ${most}: these are not saved.`;
    if (points.validity.valid) refused.delete(own);
    else refused.set(own, points.value);
  };
  const change = () => {
    mark(); // what is refused is counted
    const counts = points.validity.valid && points.value !== "";
    decide(answer, counts ? Number(points.value) : null, comment.value);
    mark();
  };
  points.addEventListener("input", change);
  comment.addEventListener("input", change);
  points.addEventListener("keydown", (event) => {
    if (event.key === "Enter") move(event, article);
  });
  comment.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) move(event, article);
  });
  points.addEventListener("wheel", () => points.blur()); // scrolling must not change a number
  mark();
  return article;
}

/** To the points of the next answer, or with Shift of the one before. */
function move(event, article) {
  event.preventDefault();
  const other = event.shiftKey ? article.previousElementSibling : article.nextElementSibling;
  focusOn(other ?? article);
}

function focusOn(article, scroll = true) {
  const input = article?.querySelector("input");
  if (!input) return;
  if (scroll) article.scrollIntoView({ block: "start" });
  input.focus({ preventScroll: true });
  input.select();
}

function show() {
  byId("asked").textContent = current.text;
  byId("guide").textContent = current.guide;
  byId("guided").classList.toggle("hidden", !current.guide);
  const numbered = answersTo(current).map((answer, i) => [answer, i + 1]);
  const wanted = byId("open").checked ? numbered.filter(([answer]) => !isMarked(answer)) : numbered;
  const cards = wanted.map(([answer, number]) => card(answer, number));
  const none = numbered.length ? "All answers are marked." : "Nobody has answered this question.";
  const empty = current.empty ? `${current.empty} left it empty, and have 0 points.` : "";
  byId("answers").replaceChildren(...cards);
  if (!cards.length) byId("answers").append(make("p", { textContent: none }));
  if (empty) byId("answers").append(make("p", { textContent: empty }));
  count();
}

// ── files ──

function save() {
  const told = { format: 1, assignment: data.assignment, marks: [...marks.values()] };
  const blob = new Blob([JSON.stringify(told, null, 1)], { type: "application/json" });
  const link = make("a", { href: URL.createObjectURL(blob), download: "marked.json" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  saved = true;
  count();
}

async function load(file) {
  try {
    const told = JSON.parse(await file.text());
    if (told.assignment !== data.assignment) throw new Error(`it is of the assignment ${told.assignment}`);
    takeOver(told.marks);
    saved = false;
    show();
  } catch (error) {
    byId("said").textContent = `${file.name} was not saved by this page (${error.message})`;
  }
}

// ── start ──

takeOver(data.marks);
const before = JSON.stringify([...marks.values()]);
try {
  takeOver(JSON.parse(localStorage.getItem(draftKey) ?? "[]"));
  saved = JSON.stringify([...marks.values()]) === before;
} catch {
  // no draft
}
for (const question of data.questions) {
  const radio = make("input", { type: "radio", name: "question", checked: question === current });
  radio.addEventListener("change", () => {
    current = question;
    show();
  });
  const counted = make("span", { id: `count ${question.name}` });
  byId("questions").append(make("label", {}, radio, ` ${question.name} (`, counted, ")"));
}
byId("open").addEventListener("change", show);
byId("nameless").addEventListener("change", show);
byId("save").addEventListener("click", save);
byId("load").addEventListener("change", (event) => event.target.files[0] && load(event.target.files[0]));
document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() === "s" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    save();
  }
});
window.addEventListener("beforeunload", (event) => {
  if (!saved) event.preventDefault();
});
show();
focusOn(document.querySelector(".answer:not(.done)"), false); // the question stays in sight
