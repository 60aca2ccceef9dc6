// What all views share. A view's module exports `default { render({ model, el }) }`, which
// - reads its state: `model.get("name")`, a tensor by `tensor(model.get("name"))`, and keeps its settings in variables,
// - appends controls (`button`, `slider`, `checkbox`, `choice`, `resetButton`, in a `bar`), a `canvas`, a `readout` and
//   a `tableSwitch` to `el`; maps: grid.js, curves: chart.js,
// - draws in `const draw = eachFrame(() => …)`, as wide as `widthOf(el)`, in the colour `getComputedStyle(el).color`,
//   and sets `el.values` to what is shown,
// - ends with `return watch(el, draw)`: drawn at once, and again when the theme or the width changes, while it is in
//   the page.

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

// Softmax of the allowed numbers, in double precision; where nothing is allowed, zeros.
export function softmax(scores, allowed = () => true) {
  const kept = Array.from(scores, (score, i) => (allowed(i) ? score : -Infinity));
  const largest = kept.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = kept.map((score) => (score > -Infinity ? Math.exp(score - largest) : 0));
  const sum = powers.reduce((a, b) => a + b, 0) || 1;
  return powers.map((power) => power / sum);
}

// Entropy of a distribution in bits: 0 if one outcome is certain, log2(n) if n are equally likely.
export function entropy(weights) {
  return weights.reduce((bits, p) => (p > 0 ? bits - p * Math.log2(p) : bits), 0);
}

export function clamp(x, low, high) {
  return Math.min(Math.max(x, low), high);
}

// ── colours ──

// A function from 0 … 1 to a colour, [red, green, blue], straight between the given ones.
export function ramp(...hexes) {
  const stops = hexes.map((hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)));
  return (x) => {
    const place = clamp(x, 0, 1) * (stops.length - 1);
    const low = Math.min(Math.floor(place), stops.length - 2);
    return stops[low].map((c, i) => Math.round(c + (stops[low + 1][i] - c) * (place - low)));
  };
}

// The map of the static figures.
export const cividis = ramp(
  "#00224e",
  "#123570",
  "#3b496c",
  "#575d6d",
  "#707173",
  "#8a8678",
  "#a59c74",
  "#c3b369",
  "#e1cc55",
  "#fee838",
);

export function css([r, g, b]) {
  return `rgb(${r} ${g} ${b})`;
}

// Black or white, whichever is easier to read on a colour (relative luminance of WCAG 2).
export function inkOn(rgb) {
  const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
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

const [NARROWEST, WIDEST] = [320, 754];

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
  const on = () => {
    let width = el.clientWidth;
    const resized = () => {
      if (width !== (width = el.clientWidth)) draw();
    };
    const [stop, size] = [onTheme(draw), new ResizeObserver(resized)];
    size.observe(el);
    off();
    end = () => {
      stop();
      size.disconnect();
    };
    draw();
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
  return { node: element("label", {}, `${label} `, input, output), set, reset: () => set(value) };
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
// with keys of its own is an application: a screen reader hands it the arrow keys.
export function canvas(label, { keys = true } = {}) {
  const node = element("canvas", {
    tabindex: keys ? 0 : -1,
    role: keys ? "application" : "img",
    "aria-label": label,
    ...OWN_KEYS,
  });
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
  return { node, at, resize };
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
    onpointerleave: () => move(null),
    onfocus: () => {
      if (at() === null) move(0);
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

// Room for a table. Browsers give the focus to what scrolls, so it keeps its keys, too.
export function scroller() {
  return element("div", { class: "tl-scroll", ...OWN_KEYS });
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
  const me = { shown: false, room: scroller() };
  me.button = button("show as table", () => {
    me.shown = !me.shown;
    redraw();
  });
  me.fill = (rows, more) => {
    me.button.setAttribute("aria-pressed", me.shown);
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

const STYLE = `
.tl-view, .tl-ask {
  max-width: 58em; font: 13px/1.5 system-ui, sans-serif;
  color: var(--jp-ui-font-color1, var(--vscode-foreground, inherit));
}
.tl-bar { display: flex; flex-wrap: wrap; gap: 6px 16px; align-items: center; margin: 4px 0; }
.tl-view label { display: inline-flex; gap: 6px; align-items: center; }
.tl-view output { min-width: 3.2em; font-variant-numeric: tabular-nums; }
.tl-bar button, .tl-view select {
  font: inherit; color: inherit; background: transparent;
  border: 1px solid rgba(127,127,127,.55); border-radius: 4px; padding: 1px 9px;
}
.tl-view select option { color: #000; background: #fff; }
.tl-bar button[aria-pressed=true] { background: #0072b2; border-color: #0072b2; color: #fff; }
:is(.tl-view, .tl-ask) :focus-visible { outline: 2px solid #0072b2; outline-offset: 2px; }
.tl-view input { accent-color: #0072b2; }
.tl-view .tl-says { min-height: 3em; font-variant-numeric: tabular-nums; }
.tl-view .tl-note { opacity: .8; }
.tl-view .tl-strip { line-height: 1.8; }
.tl-strip span { padding: 1px 2px; margin: 0 1px; border-radius: 3px; cursor: pointer; }
.tl-strip .tl-here { outline: 2px solid #d55e00; }
.tl-view table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.tl-view th, .tl-view td { padding: 1px 7px; text-align: right; }
.tl-view .tl-scroll { overflow: auto; max-height: 22em; }
.tl-view[hidden], :is(.tl-view, .tl-ask) [hidden] { display: none; }
@media (prefers-reduced-motion: reduce) { .tl-view * { animation: none !important; transition: none !important; } }
`;

const OF_QUESTIONS = `
.tl-ask { border-left: 3px solid #0072b2; padding: 2px 10px; margin: 4px 0 10px; }
.tl-ask .tl-quiet { border-style: dashed; }
.tl-ask[data-chosen="right"] { border-color: #009e73; background: rgba(0, 158, 115, .1); }
.tl-ask[data-chosen="wrong"] { border-color: #d55e00; background: rgba(213, 94, 0, .1); }
.tl-ask[data-chosen="right"] [aria-live]::before { content: "✓ "; color: #009e73; font-weight: bold; }
.tl-ask[data-chosen="wrong"] [aria-live]::before { content: "✗ "; color: #d55e00; font-weight: bold; }
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
        this.live = element("div", { class: "tl-view" });
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
