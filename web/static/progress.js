// What a reader has done: which sections were read and which exercises solved. It stays in this browser.

const KEY = "transformer-lab";
const NOTHING = { exercises: {}, read: {}, predicted: {}, quiz: {} };

export function kept() {
  try {
    return { ...NOTHING, ...JSON.parse(localStorage.getItem(KEY)) };
  } catch {
    return { ...NOTHING };
  }
}

export function keep(all) {
  localStorage.setItem(KEY, JSON.stringify(all));
  dispatchEvent(new Event("progress"));
}

// Once solved, an exercise stays solved.
export function record(name, solved) {
  const all = kept();
  if (all.exercises[name] === "solved" || all.exercises[name] === (solved ? "solved" : "tried")) return;
  all.exercises[name] = solved ? "solved" : "tried";
  keep(all);
}

// What was predicted first above a view counts.
export function recordPrediction(place, how) {
  const all = kept();
  if (all.predicted[lesson]?.[place]) return;
  all.predicted = { ...all.predicted, [lesson]: { ...all.predicted[lesson], [place]: how } };
  keep(all);
}

// A notebook's progress file, or what this page wrote; returns how many exercises it adds or changes.
export function bring(text) {
  const { exercises } = JSON.parse(text);
  const states = Object.entries(exercises ?? {});
  if (!states.length || !states.every(([, how]) => how === "solved" || how === "tried")) throw new Error("no progress");
  const all = kept();
  const fresh = states.filter(([name, how]) => all.exercises[name] !== "solved" && all.exercises[name] !== how);
  Object.assign(all.exercises, Object.fromEntries(fresh));
  keep(all);
  return fresh.length;
}

// ── a lesson: which of its sections were read ──

export const lesson = document.querySelector(".rail a[aria-current]")?.dataset.knot;
const sections = [...document.querySelectorAll("article > section:not(.extras) > section, .closing > section")]; // without Extras

// A section was read when nearly all of its blocks have stood in the window for as long as it takes to skim them. Whoever
// jumps over a section, or scrolls past it, has not read it.
function watchReading() {
  const [inSight, left] = [new Set(), new Map()]; // left: the milliseconds that a block still has to stay
  const blocks = new Map(sections.map(({ id, children }) => [id, [...children].flatMap(blocksOf)]));
  const beat = () => {
    if (document.hidden) return;
    for (const one of inSight) left.set(one, (left.get(one) ?? timeOf(one)) - BEAT);
    const isRead = (one) => left.get(one) <= 0;
    const now = kept();
    const before = now.read[lesson]?.sections ?? [];
    const fresh = [...blocks].filter(([id, all]) => !before.includes(id) && shareOf(all, isRead) >= NEARLY_ALL);
    if (!fresh.length) return;
    now.read[lesson] = { sections: [...before, ...fresh.map(([id]) => id)], of: sections.length };
    keep(now);
  };
  const watch = new IntersectionObserver((all) => {
    for (const { target, isIntersecting } of all) inSight[isIntersecting ? "add" : "delete"](target);
  });
  for (const all of blocks.values()) all.forEach((one) => watch.observe(one));
  setInterval(beat, BEAT);
}

const [NEARLY_ALL, BEAT] = [0.8, 500]; // of a section's blocks; milliseconds
const [A_WORD, LONGEST] = [75, 12_000]; // milliseconds, a third of what one reads it in; for a block that is mostly code
const timeOf = (block) => Math.min(LONGEST, Math.max(BEAT, A_WORD * block.innerText.split(/\s+/).length));
const blocksOf = (block) => (block.localName === "section" ? [...block.children] : [block]);

function shareOf(blocks, isRead) {
  const own = blocks.filter((one) => one.getClientRects().length);
  return own.filter(isRead).length / Math.max(1, own.length);
}

// ── what is shown of it ──

const shareRead = (name, { read }) => Math.min(1, (read[name]?.sections.length ?? 0) / (read[name]?.of ?? 1));

function stateOf(node, now) {
  const names = node.dataset.exercises.split(" ").filter(Boolean);
  const solved = names.filter((name) => now.exercises[name] === "solved").length;
  const share = shareRead(node.dataset.knot, now);
  const left = names.length - solved;
  return { names, solved, left, share, done: !left && (names.length > 0 || share > 0.9) };
}

function showKnot(knot, now) {
  const { names, solved, left, share, done } = stateOf(knot, now);
  knot.style.setProperty("--read", share);
  knot.classList.toggle("begun", share > 0 || solved > 0);
  knot.classList.toggle("done", done);
  const dots = knot.querySelector(".dots");
  names.forEach((name, i) => (dots.children[i].className = `dot ${now.exercises[name] ?? ""}`));
  const plural = names.length === 1 ? "exercise" : "exercises";
  dots.setAttribute("aria-label", `${names.length} ${plural}, ${solved} solved`);
  return { knot, left, done, begun: share > 0 || solved > 0 };
}

function showCourse(now) {
  const knots = [...document.querySelectorAll(".knot")].map((knot) => showKnot(knot, now));
  const total = document.querySelectorAll(".knot .dot").length;
  const solved = document.querySelectorAll(".knot .dot.solved").length;
  document.querySelector("[data-sum]").textContent = `${solved} of ${total} exercises solved`;
  const next = knots.find(({ done }) => !done);
  const begun = knots.some((one) => one.begun);
  for (const { knot, left } of knots) {
    const button = knot.querySelector(".go-on");
    button.hidden = !begun || knot !== next?.knot;
    button.textContent = left ? `Go on: ${left} left →` : "Go on →";
  }
  const main = document.querySelector("[data-go-on]");
  if (!next || !begun) return;
  main.href = next.knot.querySelector("a").href;
  main.textContent = `Go on: ${next.knot.querySelector(".bead").textContent} →`;
}

function showRail(now) {
  for (const knot of document.querySelectorAll(".rail a")) knot.classList.toggle("done", stateOf(knot, now).done);
  const read = now.read[lesson]?.sections ?? [];
  for (const link of document.querySelectorAll(".places a, .knots a")) {
    const how = now.exercises[link.dataset.exercise];
    if (link.dataset.exercise) link.className = how ?? "";
    else link.classList.toggle("seen", read.includes(link.hash.slice(1)));
  }
}

// How many predictions above the views of a lesson were right, in words.
function predictionsOf(name, { predicted }) {
  const all = Object.values(predicted[name] ?? {});
  return all.length ? ` · ${all.filter((how) => how === "right").length} of ${all.length} predictions right` : "";
}

// The head of a lesson and its end: a dot for each exercise, and what of the lesson is done, in words.
function showDone(node, now) {
  const { names, solved, share } = stateOf(node, now);
  const plural = names.length === 1 ? "exercise" : "exercises";
  const dots = node.querySelector(".dots");
  dots?.setAttribute("aria-label", `${names.length} ${plural}, ${solved} solved`);
  if (dots) names.forEach((name, i) => (dots.children[i].className = `dot ${now.exercises[name] ?? ""}`));
  const read = share > 0 ? ` · ${Math.round(100 * share)} % read` : "";
  const done = solved > 0 ? `${solved} of ${names.length} solved` : `${names.length} ${plural}`;
  node.querySelector("[data-done]").textContent = done + read + (dots ? "" : predictionsOf(lesson, now));
}

function show() {
  const now = kept();
  for (const node of document.querySelectorAll(".poster[data-knot], .closing")) showDone(node, now);
  if (document.querySelector(".knot")) showCourse(now);
  else showRail(now);
}

function offerToBring() {
  const [said, field] = [document.querySelector("[data-said]"), document.querySelector("[data-bring]")];
  field.closest("[hidden]").hidden = false;
  field.onchange = async () => {
    try {
      said.textContent = `${bring(await field.files[0].text())} exercises brought in.`;
    } catch {
      said.textContent = "That is not a progress file: exercises.progress() in a notebook says where yours is.";
    }
    field.value = "";
  };
  document.querySelector("[data-forget]").onclick = () => {
    localStorage.removeItem(KEY);
    location.reload();
  };
}

if (document.querySelector("[data-bring]")) offerToBring();
if (lesson) watchReading();
addEventListener("progress", show);
addEventListener("storage", show);
show();
