// What all views share: reading their state, colours that follow the page's theme, controls that keep their keys.

// A tensor in the state is {"f32": base64, "shape": [...]}; it becomes {data: Float32Array, shape}.
export function tensor({ f32, shape }) {
  const bytes = Uint8Array.from(atob(f32), (letter) => letter.charCodeAt(0));
  return { data: new Float32Array(bytes.buffer), shape };
}

// Softmax of the allowed numbers, in double precision; where nothing is allowed, zeros.
export function softmax(scores, allowed = () => true) {
  let largest = -Infinity;
  scores.forEach((score, i) => { if (allowed(i) && score > largest) largest = score; });
  const powers = Array.from(scores, (score, i) => (allowed(i) ? Math.exp(score - largest) : 0));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => (sum ? power / sum : 0));
}

// Entropy of a distribution in bits: 0 if one outcome is certain, log2(n) if n are equally likely.
export function entropy(weights) {
  return weights.reduce((bits, p) => (p > 0 ? bits - p * Math.log2(p) : bits), 0);
}

// ── colours ──

const CIVIDIS = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"];
const RGB = CIVIDIS.map((hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)));

// The colour of a number between 0 and 1, as [red, green, blue]; the same map as in the static figures.
export function cividis(x) {
  const place = Math.min(Math.max(x, 0), 1) * (RGB.length - 1);
  const low = Math.min(Math.floor(place), RGB.length - 2);
  return RGB[low].map((c, i) => Math.round(c + (RGB[low + 1][i] - c) * (place - low)));
}

export function css([r, g, b]) {
  return `rgb(${r} ${g} ${b})`;
}

// Black or white, whichever is easier to read on a colour (relative luminance of WCAG 2).
export function inkOn(rgb) {
  const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
}

// Call `draw` whenever JupyterLab, VS Code, Colab or the system changes its theme; returns a function that stops it.
export function onTheme(draw) {
  const watch = new MutationObserver(draw);
  for (const node of [document.documentElement, document.body]) {
    watch.observe(node, { attributes: true, attributeFilter: ["class", "theme", "data-jp-theme-light", "data-jp-theme-name"] });
  }
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", draw);
  return () => { watch.disconnect(); system.removeEventListener("change", draw); };
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

// A focusable element must keep its keys to itself: JupyterLab's `x` cuts the cell, `dd` deletes it.
const OWN_KEYS = { "data-lm-suppress-shortcuts": "true" };

export function button(text, onclick, more = {}) {
  return element("button", { type: "button", onclick, ...OWN_KEYS, ...more }, text);
}

export function slider(label, { min, max, step, value, show = (x) => x.toFixed(2) }, onmove) {
  const input = element("input", { type: "range", min, max, step, value, "aria-label": label, ...OWN_KEYS });
  const output = element("output", {}, show(+value));
  const set = (x) => { input.value = x; output.textContent = show(+input.value); input.setAttribute("aria-valuetext", output.textContent); };
  input.oninput = () => { set(input.value); onmove(+input.value); };
  set(value);
  return { node: element("label", {}, `${label} `, input, output), set };
}

export function checkbox(label, checked, onchange) {
  const input = element("input", { type: "checkbox", ...OWN_KEYS, onchange: () => onchange(input.checked) });
  input.checked = checked;
  return { node: element("label", {}, input, ` ${label}`), set: (on) => { input.checked = on; } };
}

export function choice(label, names, onchange) {
  const options = names.map((name, i) => element("option", { value: i }, name));
  const select = element("select", { "aria-label": label, ...OWN_KEYS, onchange: () => onchange(+select.value) }, ...options);
  return { node: element("label", {}, `${label} `, select), set: (i) => { select.value = i; } };
}

// A canvas as sharp as the screen; `draw(context, width)` draws in CSS pixels.
export function canvas(attributes) {
  const node = element("canvas", { tabindex: 0, ...OWN_KEYS, ...attributes });
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
  return { node, resize };
}

// Draw at most once a frame, however often it is asked for.
export function eachFrame(draw) {
  let waiting = 0;
  return () => { waiting ||= requestAnimationFrame(() => { waiting = 0; draw(); }); };
}

export const STYLE = `
.tl-view { display: block; max-width: 46em; font: 13px/1.5 system-ui, sans-serif; color: var(--jp-ui-font-color1, var(--vscode-foreground, inherit)); }
.tl-view .tl-bar { display: flex; flex-wrap: wrap; gap: 6px 16px; align-items: center; margin: 4px 0; }
.tl-view label { display: inline-flex; gap: 6px; align-items: center; }
.tl-view output { min-width: 3.2em; font-variant-numeric: tabular-nums; }
.tl-view button, .tl-view select { font: inherit; color: inherit; background: transparent; border: 1px solid rgba(127,127,127,.55); border-radius: 4px; padding: 1px 9px; }
.tl-view select option { color: #000; background: #fff; }
.tl-view button[aria-pressed=true] { background: #0072b2; border-color: #0072b2; color: #fff; }
.tl-view :focus-visible { outline: 2px solid #0072b2; outline-offset: 2px; }
.tl-view input { accent-color: #0072b2; }
.tl-view .tl-says { min-height: 3em; font-variant-numeric: tabular-nums; }
.tl-view table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.tl-view th, .tl-view td { padding: 1px 7px; text-align: right; }
.tl-view .tl-scroll { overflow: auto; max-height: 22em; }
`;

// Make a view live wherever its element stands in a page: it hides the picture and draws itself.
export function define(tag, view) {
  if (customElements.get(tag)) return;
  customElements.define(tag, class extends HTMLElement {
    connectedCallback() {
      if (this.live) return;
      const state = JSON.parse(this.querySelector("script").textContent);
      const el = element("div", { class: "tl-view" }, element("style", {}, STYLE));
      this.live = { state, stop: view.render({ model: { get: (name) => state[name] }, el }) };
      this.querySelector("img").hidden = true;
      this.append(el);
    }
  });
}
