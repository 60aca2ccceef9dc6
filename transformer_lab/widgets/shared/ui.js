// What all views share. A view's module exports `default { render({ model, el }) }`, which
// - reads its state: `model.get("name")`, a tensor by `tensor(model.get("name"))`, and keeps its settings in variables,
// - appends controls (`button`, `slider`, `checkbox`, `choice`, `resetButton`, in a `bar`), a `canvas`, a `readout` and
//   a `tableSwitch` to `el`; maps: grid.js, curves: chart.js, colours: palette.js, what moves by itself: motion.js,
// - draws in `const draw = eachFrame(() => …)`, as wide as `widthOf(el)`, in the colour `getComputedStyle(el).color`,
//   sets `el.values` to what is shown, and says in the canvas' label what is seen (`describe`),
// - tells what it is set to beyond its controls, so that a link can say it (web/static/settings.js), by
//   `el.kept = { name: { get: () => text, set: (text) => … } }`,
// - ends with `return watch(el, draw)`: drawn at once, and again when the theme or the width changes, while it is in
//   the page.

import { clamp } from "./numbers.js";
import { SANS, SERIF, inPaper, isDark, useTheme } from "./palette.js";

export { clamp, entropy, softmax } from "./numbers.js";
export { amounts, css, inkOn, ramp } from "./palette.js";

// A tensor in the state is {"f32": base64, "shape": [...]}; it becomes {data: Float32Array, shape}.
export function tensor({ f32, data, shape }) {
  return { data: data ?? new Float32Array(bytesOf(f32).buffer), shape };
}

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

// A state whose large tensors are read: they come as the first bytes of all numbers, then the second, …, deflated.
export async function unpacked(state) {
  if (!state || typeof state !== "object") return state;
  if (state.f32 && state.deflated) {
    const stream = new Blob([bytesOf(state.f32)]).stream().pipeThrough(new DecompressionStream("deflate"));
    const planes = new Uint8Array(await new Response(stream).arrayBuffer());
    const [bytes, n] = [new Uint8Array(planes.length), planes.length / 4];
    planes.forEach((byte, i) => {
      bytes[4 * (i % n) + Math.floor(i / n)] = byte;
    });
    return { data: new Float32Array(bytes.buffer), shape: state.shape };
  }
  const parts = await Promise.all(Object.values(state).map(unpacked));
  return Array.isArray(state) ? parts : Object.fromEntries(Object.keys(state).map((name, i) => [name, parts[i]]));
}

// Numbers that came as bytes.
export function floats(view) {
  return new Float32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
}

// Call `draw` whenever JupyterLab, VS Code, Colab or the system changes its theme; returns a function that stops it.
function onTheme(draw) {
  const watch = new MutationObserver(draw);
  for (const node of [document.documentElement, document.body]) {
    watch.observe(node, {
      attributes: true,
      attributeFilter: ["class", "theme", "data-jp-theme-light", "data-jp-theme-name"],
    });
  }
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", draw);
  return () => {
    watch.disconnect();
    system.removeEventListener("change", draw);
  };
}

// The colours of the page's theme, which the ink that it writes in gives away.
function followTheme(el) {
  const dark = isDark(getComputedStyle(el).color);
  useTheme(dark ? "dark" : "light");
  for (const node of [el, el.previousElementSibling]) node?.classList.toggle("tl-night", dark);
}

const [NARROWEST, WIDEST] = [280, 1100];

// How wide a view is drawn. Out of sight JupyterLab gives it no width: then it stays as wide as it was.
export function widthOf(el) {
  if (el.clientWidth || !el.widthDrawn) el.widthDrawn = clamp(el.clientWidth, NARROWEST, WIDEST);
  return el.widthDrawn;
}

// Draw now, and whenever the theme or the element's width changes, while the element is in the page; returns what ends
// it.
export function watch(el, draw) {
  let end = null;
  const off = () => {
    end?.();
    end = null;
  };
  const inTheme = () => {
    followTheme(el);
    draw();
  };
  const on = () => {
    let width = el.clientWidth;
    const resized = () => {
      if (width !== (width = el.clientWidth)) draw();
    };
    const [stop, size] = [onTheme(inTheme), new ResizeObserver(resized)];
    size.observe(el);
    off();
    end = () => {
      stop();
      size.disconnect();
    };
    inTheme();
    if (document.fonts?.status === "loading") document.fonts.ready.then(draw);
  };
  el.addEventListener("tl-in", on);
  el.addEventListener("tl-out", off);
  on();
  return off;
}

// ── elements ──

// element("button", { type: "button", onclick: f }, "text"): attributes by name, handlers by their on… property.
export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node[key] = value;
    else if (value !== false && value !== null) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

export function bar(...nodes) {
  return element("div", { class: "tl-bar" }, ...nodes);
}

// A picture and, where there is room, beside it what is said of it and what else can be done.
export function sideBySide(picture, ...rest) {
  return element("div", { class: "tl-side" }, picture, element("div", { class: "tl-panel" }, ...rest));
}

// A focusable element must keep its keys to itself: JupyterLab's `x` cuts the cell, `dd` deletes it.
const OWN_KEYS = { "data-lm-suppress-shortcuts": "true" };

export function button(text, onclick, more = {}) {
  return element("button", { type: "button", onclick, ...OWN_KEYS, ...more }, text);
}

export function slider(label, { min, max, step, value, show = (x) => x.toFixed(2) }, onmove) {
  const input = element("input", { type: "range", min, max, step, value, "aria-label": label, ...OWN_KEYS });
  const output = element("output", { "aria-live": "off" }, show(+value)); // the input says the same
  const set = (x) => {
    input.value = x;
    output.textContent = show(+input.value);
    input.setAttribute("aria-valuetext", output.textContent);
  };
  input.oninput = () => {
    set(input.value);
    onmove(+input.value);
  };
  set(value);
  const name = element("span", {}, `${label} `);
  return { node: element("label", { class: "tl-slider" }, name, input, output), set, reset: () => set(value) };
}

// From 0.1 to 10, as far from 1 to both sides.
export function temperatureSlider(onmove) {
  const scale = { min: -1, max: 1, step: 0.02, value: 0, show: (x) => (10 ** x).toFixed(2) };
  return slider("temperature", scale, (x) => onmove(10 ** x));
}

export function checkbox(label, checked, onchange) {
  const input = element("input", { type: "checkbox", ...OWN_KEYS, onchange: () => onchange(input.checked) });
  const set = (on) => {
    input.checked = on;
  };
  set(checked);
  return { node: element("label", {}, input, ` ${label}`), set, reset: () => set(checked) };
}

export function choice(label, names, onchange) {
  const options = names.map((name, i) => element("option", { value: i }, name));
  const select = element(
    "select",
    { "aria-label": label, ...OWN_KEYS, onchange: () => onchange(+select.value) },
    ...options,
  );
  const set = (i) => {
    select.value = i;
  };
  return { node: element("label", {}, `${label} `, select), set, reset: () => set(0) };
}

// A button that puts controls, tables and maps back to where they stood at first, and then acts.
export function resetButton(parts, act) {
  return button("reset", () => {
    parts.forEach((part) => part.reset());
    act();
  });
}

// A canvas as sharp as the screen: `resize` gives a context for CSS pixels, `at` says where in it a pointer is. One
// with keys of its own is an application: a screen reader hands it the arrow keys. Its label is what `describe` was
// last given, for what is seen changes, and after it how it is used.
export function canvas(label, { keys = true, how = "" } = {}) {
  const node = element("canvas", { tabindex: keys ? 0 : -1, role: keys ? "application" : "img", ...OWN_KEYS });
  const describe = (text) => {
    const said = how ? `${text} ${how}` : text;
    if (node.getAttribute("aria-label") !== said) node.setAttribute("aria-label", said);
  };
  describe(label);
  node.byPointer = false; // whether a mouse or a finger gives it the focus that it is about to get
  node.addEventListener("mousedown", () => {
    node.byPointer = true;
  });
  for (const name of ["mouseup", "focus", "keydown"])
    node.addEventListener(name, () => setTimeout(() => (node.byPointer = false)));
  const at = ({ clientX, clientY }) => {
    const { left, top } = node.getBoundingClientRect();
    return [clientX - left, clientY - top];
  };
  const resize = (width, height) => {
    const ratio = window.devicePixelRatio || 1;
    if (node.width !== Math.round(width * ratio) || node.height !== Math.round(height * ratio)) {
      Object.assign(node, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
      Object.assign(node.style, { width: `${width}px`, height: `${height}px` });
    }
    const context = node.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    return context;
  };
  return { node, at, resize, describe };
}

// A handler for a pointer that leaves. A finger leaves when it is lifted: what it has read stays.
export function onLeave(act) {
  return ({ pointerType }) => {
    if (pointerType !== "touch") act();
  };
}

// A handler of keys: `act(key)` returns false for a key that it leaves alone. Keys with Ctrl, Alt or Meta are the
// browser's.
export function onKeys(act) {
  return (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || act(event.key) === false) return;
    event.preventDefault();
    event.stopPropagation();
  };
}

// A cursor that goes along a canvas from 0 to `last()`: `at()` is its place, or null, `find(event)` that of a pointer;
// `move(place)` puts it there.
export function lineCursor(node, { at, last, find, move }) {
  const point = (event) => move(find(event));
  Object.assign(node, {
    onpointerdown: point,
    onpointermove: point,
    onpointerleave: onLeave(() => move(null)),
    onfocus: () => {
      if (at() === null && !node.byPointer) move(0);
    },
    onblur: () => move(null),
    onkeydown: onKeys((key) => {
      const [here, end] = [at() ?? 0, last()];
      const pages = end > 10 ? { PageUp: here - 10, PageDown: here + 10 } : {};
      const to = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: end, ...pages }[key];
      if (to === undefined) return false;
      move(clamp(to, 0, end));
    }),
  });
}

// What a screen reader says when it has changed; the same text again is no change.
export function readout() {
  const node = element("div", { class: "tl-says", "aria-live": "polite" });
  return Object.assign(node, {
    say: (text) => {
      if (node.textContent !== text) node.textContent = text;
    },
  });
}

// Room for a table. It scrolls, so it takes the focus, has a name, and keeps its keys.
export function scroller(label) {
  return element("div", { class: "tl-scroll", tabindex: 0, role: "group", "aria-label": label, ...OWN_KEYS });
}

// A table of texts: a row of headings, and rows that begin with their name; `more` are its attributes.
export function tableOfTexts([head, ...rows], more = {}) {
  const top = element("tr", {}, ...head.map((text) => element("th", { scope: "col" }, text)));
  const line = ([name, ...cells]) =>
    element("tr", {}, element("th", { scope: "row" }, name), ...cells.map((text) => element("td", {}, text)));
  return element("table", more, top, ...rows.map(line));
}

// A button that shows a table or hides it, and the room where it stands; `fill(() => rows)` belongs into the drawing.
export function tableSwitch(redraw) {
  const me = { shown: false, room: scroller("the numbers as a table") };
  me.button = button("show as table", () => {
    me.shown = !me.shown;
    redraw();
  });
  me.fill = (rows, more) => {
    me.button.setAttribute("aria-pressed", me.shown);
    me.room.hidden = !me.shown;
    me.room.replaceChildren(...(me.shown ? [tableOfTexts(rows(), more)] : []));
  };
  me.reset = () => {
    me.shown = false;
  };
  return me;
}

// Slanting lines over a rectangle.
export function stripes(context, x, y, width, height, colour, lineWidth = 0.5) {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.beginPath();
  for (let d = 0; d < width + height; d += 6) {
    context.moveTo(x + d, y);
    context.lineTo(x + d - height, y + height);
  }
  Object.assign(context, { strokeStyle: colour, lineWidth }).stroke();
  context.restore();
}

// Draw as soon as the event that asks for it is dealt with; what else is asked for before the next frame waits for
// that.
export function eachFrame(draw) {
  let [waiting, more] = [false, false];
  const ask = () => {
    more = waiting;
    if (waiting) return;
    waiting = true;
    queueMicrotask(draw);
    requestAnimationFrame(() => {
      waiting = false;
      if (more) ask();
    });
  };
  return ask;
}

// A switch is a breaker on the line that it cuts: its arm is down where the line is whole.
const breaker = (arm, far) =>
  `url("data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='40' height='18'>` +
  `<circle cx='8' cy='12' r='4'/><path d='${arm}' stroke='black' stroke-width='2.5' stroke-linecap='round'/>` +
  `<circle cx='32' cy='12' ${far}/></svg>")`;
const CLOSED = breaker("M8 12H32", "r='4'");
const OPEN = breaker("M8 12L27 2", "r='3' fill='none' stroke='black' stroke-width='2'");

const STYLE = `
.tl-view, .tl-ask {
  ${inPaper("light")} --tl-serif: ${SERIF}; --tl-sans: ${SANS};
  max-width: ${WIDEST}px; font: 14px/1.5 var(--tl-sans);
  color: var(--jp-ui-font-color1, var(--vscode-foreground, inherit));
}
:is(.tl-view, .tl-ask).tl-night { ${inPaper("dark")} }
.tl-view, .tl-ask { --tl-target: 40px; --tl-word: 32px; }
@media (pointer: coarse) { .tl-view, .tl-ask { --tl-target: 44px; --tl-word: 44px; } }
.tl-bar { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: center; margin: 8px 0; }
.tl-view label {
  display: inline-flex; gap: 8px; align-items: center; min-height: var(--tl-target); max-width: 100%;
}
.tl-view label.tl-slider {
  display: inline-grid; max-width: 100%;
  grid-template-columns: minmax(var(--tl-name), max-content) minmax(4em, 10em) max-content;
}
.tl-view { --tl-name: 0; }
.tl-view .tl-slider:first-child, .tl-view .tl-grid { --tl-name: 6em; }
.tl-view .tl-grid {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(min(22em, 100%), 1fr)); gap: 4px 16px;
}
@media (max-width: 600px) { .tl-view { --tl-name: 6em; } }
.tl-view output { min-width: 4em; font-variant-numeric: tabular-nums; white-space: nowrap; }
.tl-view input[type=range] { width: 100%; min-width: 0; height: var(--tl-target); margin: 0; }
.tl-view input[type=checkbox] {
  appearance: none; position: relative; color: inherit; width: 40px; height: var(--tl-target); margin: 0; flex: none;
  cursor: pointer;
}
.tl-view input[type=checkbox]::before {
  content: ""; position: absolute; inset: 0; background: currentColor; mask: ${OPEN} center / 40px 18px no-repeat;
}
.tl-view input[type=checkbox]:checked::before { mask-image: ${CLOSED}; }
@media (forced-colors: active) { .tl-view input[type=checkbox] { appearance: auto; } }
:is(.tl-view, .tl-ask) :is(button, select) {
  font: inherit; color: inherit; background: transparent; box-sizing: border-box;
  min-height: var(--tl-target, 24px); min-width: var(--tl-target, 24px);
  border: 1px solid var(--tl-edge); border-radius: 6px; padding: 1px 12px;
}
:is(.tl-view, .tl-ask) button:not(:disabled) { cursor: pointer; }
.tl-bar button:active { translate: 0 1px; }
.tl-view select { max-width: 100%; }
.tl-view select option { color: #000; background: #fff; }
.tl-bar button:is([aria-pressed=true], .tl-primary) {
  background: var(--tl-ink); border-color: var(--tl-ink); color: var(--tl-paper);
}
.tl-view .tl-segments { display: inline-flex; flex-wrap: wrap; gap: 0; margin: 0; }
.tl-view .tl-segments button { border-radius: 0; margin-left: -1px; }
.tl-view .tl-segments button:first-child { border-radius: 6px 0 0 6px; margin-left: 0; }
.tl-view .tl-segments button:last-child { border-radius: 0 6px 6px 0; }
:is(.tl-view, .tl-ask) :focus-visible { outline: 3px solid var(--tl-ink); outline-offset: 2px; border-radius: 6px; }
.tl-view input { accent-color: var(--tl-ink); }
.tl-view canvas { display: block; max-width: none; }
.tl-view .tl-side { display: flex; flex-wrap: wrap; gap: 8px 24px; align-items: flex-start; }
.tl-view .tl-side > .tl-panel { flex: 1 1 18em; min-width: 0; }
.tl-view .tl-says { min-height: 3em; font-variant-numeric: tabular-nums; }
.tl-view :is(.tl-says, .tl-note) { max-width: 75ch; }
.tl-view:not(.tl-machine) :is(.tl-says, .tl-note) { margin-block: 8px; }
.tl-view:not(.tl-machine) :is(.tl-says, .tl-note, canvas) + canvas { margin-top: 16px; }
.tl-view .tl-note { color: var(--tl-soft); }
.tl-view .tl-strip { line-height: 1.8; }
.tl-strip span { padding: 1px 2px; border-radius: 3px; }
.tl-strip .tl-words span {
  display: inline-block; min-width: var(--tl-word); line-height: var(--tl-word); text-align: center;
  box-sizing: border-box; padding: 0 3px; border-radius: 6px; cursor: pointer;
  font: 17px/var(--tl-word) var(--tl-serif);
}
.tl-strip .tl-here { outline: 2px solid var(--tl-ink); }
.tl-view table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.tl-view th, .tl-view td { padding: 1px 7px; text-align: right; border-bottom: 1px solid var(--tl-line); }
.tl-view .tl-scroll { overflow: auto; max-height: 22em; }
.tl-view[hidden], :is(.tl-view, .tl-ask) [hidden] { display: none !important; }
@media (prefers-reduced-motion: reduce) { .tl-view * { animation: none !important; transition: none !important; } }
`;

const OF_QUESTIONS = `
.tl-ask { border: 1px solid var(--tl-line); border-radius: 12px; padding: 8px 16px; margin: 8px 0 16px; }
.tl-ask b { font-weight: 650; }
.tl-ask .tl-quiet { border-style: dashed; }
.tl-ask[data-chosen="wrong"] { border: 1px dashed var(--tl-change); }
.tl-ask[data-chosen="right"] { border-color: var(--tl-ink); }
.tl-ask[data-chosen="right"] [aria-live]::before { content: "✓ "; font-weight: 650; }
.tl-ask[data-chosen="wrong"] [aria-live]::before { content: "✗ "; color: var(--tl-change); font-weight: 650; }
`;

// Cover `el` by a question until the reader has chosen an answer, or asks to see: {question, choices, answer, because}.
// Where `el` gives nothing away at first it is shown at once, and the answer alone is covered.
export function predictFirst(el, { question, choices, answer, because, shown = false }) {
  const says = element("div", { "aria-live": "polite" });
  const covered = (on) => {
    el.hidden = on && !shown;
    again.hidden = on;
    see.hidden = !on;
    options.forEach((option) => {
      option.disabled = !on;
    });
  };
  const tell = (chosen) => {
    says.textContent =
      chosen === null
        ? `It is ${choices[answer]}: ${because}`
        : chosen === answer
          ? `Right: ${because}`
          : `Not ${choices[chosen]} but ${choices[answer]}: ${because}`;
    asked.dataset.chosen = chosen === null ? "none" : chosen === answer ? "right" : "wrong";
    options.forEach((option, i) => option.setAttribute("aria-pressed", i === chosen));
    covered(false);
    again.focus(); // what was pressed is not there any more
  };
  const options = choices.map((name, i) => button(name, () => tell(i)));
  const see = button("show me", () => tell(null), { class: "tl-quiet" });
  const again = button(
    "ask again",
    () => {
      says.textContent = "";
      asked.dataset.chosen = "none";
      options.forEach((option) => option.setAttribute("aria-pressed", false));
      covered(true);
      options[0].focus();
    },
    { class: "tl-quiet" },
  );
  const asked = element(
    "div",
    { class: "tl-ask" },
    element("style", {}, OF_QUESTIONS),
    element("div", {}, element("b", {}, "Predict first. "), question),
    bar(...options, see, again),
    says,
  );
  covered(true);
  return asked;
}

// Make a view live wherever its element stands in a page: it hides the picture and draws itself, under its question if
// it has one. Taken out of the page it watches nothing any more; put back, it goes on with its settings.
export function define(tag, view) {
  if (customElements.get(tag)) return;
  customElements.define(
    tag,
    class extends HTMLElement {
      connectedCallback() {
        if (this.live) return void this.live.dispatchEvent?.(new Event("tl-in"));
        this.live = true;
        const text = this.querySelector("script").textContent;
        if (text.includes('"deflated":')) unpacked(JSON.parse(text)).then((state) => this.begin(state));
        else this.begin(JSON.parse(text));
      }
      begin(state) {
        this.querySelector("img").hidden = true;
        const kind = tag.replace(/-[^-]*$/, ""); // what a view's own style begins with
        this.live = element("div", { class: `tl-view ${kind}` });
        this.append(
          element("style", {}, STYLE),
          ...(state.predict ? [predictFirst(this.live, state.predict)] : []),
          this.live,
        );
        view.render({ model: { get: (name) => state[name] }, el: this.live });
        if (!this.isConnected) this.disconnectedCallback();
      }
      disconnectedCallback() {
        this.live.dispatchEvent?.(new Event("tl-out"));
      }
    },
  );
}
