// What a view is set to, by the names of its controls, so that an address can say it; and back.
//   const start = settingsOf(view);  // a Map: "sharpness" → "1", "causal mask" → "1", "reset" has none
//   const now = changedFrom(start, view);
//   await set(view, now);
// What no control says, a view tells by itself: `view.kept = { painted: { get: () => "…", set: (text) => … } }`.

const CONTROLS = "input, select, textarea, button[aria-pressed]";
const ROUNDS = 12; // a control may bring others
const TWICE = 2; // what follows from others cannot be set by itself: “own sizes” is chosen by setting them

const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));

function nameOf(control) {
  const label = control.getAttribute("aria-label") ?? (control.labels?.[0] ?? control).textContent;
  return label.trim().replace(/\s+/g, " ");
}

function kindOf(control) {
  if (control.localName === "button") return "button";
  if (control.localName === "select") return "select";
  return control.type === "checkbox" || control.type === "range" ? control.type : "text";
}

const valueOf = (control) =>
  ({
    button: () => String(Number(control.getAttribute("aria-pressed") === "true")),
    checkbox: () => String(Number(control.checked)),
  })[kindOf(control)]?.() ?? control.value;

// Of two controls with one name the second is called “… 2”.
function controlsOf(view) {
  const named = new Map();
  for (const control of view.querySelectorAll(CONTROLS)) {
    const name = nameOf(control);
    let n = 1;
    while (named.has(n > 1 ? `${name} ${n}` : name)) n += 1;
    named.set(n > 1 ? `${name} ${n}` : name, control);
  }
  return named;
}

export function settingsOf(view) {
  const all = [...controlsOf(view)].map(([name, control]) => [name, valueOf(control)]);
  const kept = Object.entries(view.kept ?? {}).map(([name, { get }]) => [name, get()]);
  return new Map([...all, ...kept]);
}

export const changedFrom = (start, view) =>
  new Map([...settingsOf(view)].filter(([name, value]) => (start.get(name) ?? "") !== value));

const ACTS = {
  button: (control) => control.click(),
  select: (control, value) => put(control, value, "change"),
  checkbox: (control, value) => {
    control.checked = value === "1";
    control.dispatchEvent(new Event("change", { bubbles: true }));
  },
  text: (control, value) => put(control, value, "input"),
  range: (control, value) => put(control, value, "input"),
};

function put(control, value, event) {
  control.value = value;
  control.dispatchEvent(new Event(event, { bubbles: true }));
}

// One kind of control in each round, because what is pressed may change the others: first what is to be pressed, last
// what is to be let go, for the button of a group lets go of the others by itself.
export async function set(view, wanted) {
  const stages = [["button", "1"], ["select"], ["checkbox"], ["text"], ["range"], ["button", "0"]];
  const tried = new Map();
  for (let round = 0; round < ROUNDS; round += 1) {
    const off = [...controlsOf(view)]
      .map(([name, control]) => ({ name, control, value: wanted.get(name) }))
      .filter(({ control, value }) => value !== undefined && valueOf(control) !== value)
      .filter(({ name }) => (tried.get(name) ?? 0) < TWICE);
    const now = stages
      .map(([kind, only]) => off.filter((one) => kindOf(one.control) === kind && (!only || one.value === only)))
      .find((all) => all.length);
    if (!now) break;
    for (const { name, control, value } of now) {
      tried.set(name, (tried.get(name) ?? 0) + 1);
      ACTS[kindOf(control)](control, value);
    }
    await frames();
  }
  keep(view, wanted); // setting a control begins anew what lies on it, such as what was written after a text
}

function keep(view, wanted) {
  for (const [name, one] of Object.entries(view.kept ?? {})) if (wanted.has(name)) one.set(wanted.get(name));
}

// In words, for a picture of it: what is shown of each control that was changed and still is there.
export function inWords(view, changed) {
  return [...controlsOf(view)]
    .filter(([name, control]) => changed.has(name) && control.checkVisibility())
    .map(([name, control]) => {
      const [kind, on] = [kindOf(control), changed.get(name) === "1"];
      if (name === "show as table") return "";
      if (kind === "button") return on ? name : "";
      if (kind === "checkbox") return `${on ? "" : "not "}${name}`;
      if (kind === "select") return `${name} ${control.selectedOptions[0]?.textContent ?? ""}`;
      return `${name} ${control.getAttribute("aria-valuetext") ?? control.value}`;
    })
    .filter(Boolean);
}
