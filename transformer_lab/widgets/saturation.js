// Softmax saturation: the weights of one query as its vectors get wider, and the norm of the Jacobian of many.

import { button, canvas, checkbox, eachFrame, element, onTheme, slider, softmax, tensor } from "./kit.js";

// Weights of one query at a width: the scores are sums of d_k products, divided by √d_k or not.
export function weightsAt(scores, width, scaled) {
  return softmax(Array.from(scores, (score) => (scaled ? score / Math.sqrt(width) : score)));
}

const FONT = "13px system-ui, sans-serif";
const [WITHOUT, WITH] = ["#d55e00", "#0072b2"];

export default {
  render({ model, el }) {
    const { data, shape: [steps, keys] } = tensor(model.get("scores"));
    const widths = model.get("widths");
    const start = { at: model.get("at"), scaled: false };
    const now = { ...start };
    const at = (i) => data.subarray(i * keys, (i + 1) * keys);
    const norms = model.get("norms").map((curve) => [...tensor(curve).data]);  // medians: without and with the scale

    const sketch = canvas({ role: "img", tabindex: -1, "aria-label": model.get("summary") });
    const says = element("div", { class: "tl-says", "aria-live": "polite" });
    const draw = eachFrame(() => {
      const weights = weightsAt(at(now.at), widths[now.at], now.scaled);
      const norm = norms[+now.scaled][now.at];
      el.values = { weights, norm, width: widths[now.at] };
      paint(sketch, { weights, norms, widths, now, el });
      says.textContent = `d_k = ${widths[now.at]}, ${now.scaled ? "scores divided by √d_k" : "scores as they are"}: largest weight ${Math.max(...weights).toFixed(3)}, median norm of the Jacobian ${norm < 1e-5 ? "below 0.00001" : norm.toPrecision(2)}.`;
    });
    const width = slider("d_k", { min: 0, max: steps - 1, step: 1, value: start.at, show: (i) => String(widths[i]) }, (i) => { now.at = i; draw(); });
    const divide = checkbox("÷ √d_k", start.scaled, (on) => { now.scaled = on; draw(); });
    const reset = button("reset", () => { Object.assign(now, start); width.set(start.at); divide.set(start.scaled); draw(); });
    el.append(element("div", { class: "tl-bar" }, width.node, divide.node, reset), sketch.node, says);
    const stop = onTheme(draw);
    const watch = new ResizeObserver(draw);
    watch.observe(el);
    draw();
    return () => { stop(); watch.disconnect(); };
  },
};

function paint(sketch, { weights, norms, widths, now, el }) {
  const total = Math.min(Math.max(el.clientWidth, 320), 720);
  const context = sketch.resize(total, 240);
  const ink = getComputedStyle(el).color;
  const half = total * 0.48;
  bars(context, weights, { x: 40, y: 26, width: half - 48, height: 172, ink, colour: now.scaled ? WITH : WITHOUT });
  curves(context, norms, widths, now, { x: half + 62, y: 26, width: total - half - 86, height: 172, ink });
}

function bars(context, weights, { x, y, width, height, ink, colour }) {
  axes(context, { x, y, width, height, ink }, "weight of each key", [[0, "0"], [0.5, "0.5"], [1, "1"]]);
  const step = width / weights.length;
  weights.forEach((weight, i) => {
    context.fillStyle = colour;
    context.fillRect(x + i * step + step * 0.15, y + height * (1 - weight), step * 0.7, height * weight);
    Object.assign(context, { fillStyle: ink, textAlign: "center" });
    context.fillText(i + 1, x + (i + 0.5) * step, y + height + 14);
  });
}

function curves(context, norms, widths, now, box) {
  const { x, y, width, height, ink } = box;
  const LOW = -5;
  const place = (w, norm) => [x + (width * Math.log2(w)) / Math.log2(widths.at(-1)), y + height * (Math.max(Math.log10(norm), LOW) / LOW)];
  axes(context, box, "median norm of the Jacobian", [[1, "1"], [0.6, "0.01"], [0.2, "0.0001"]]);
  [1, 4, 16, 64, 256, 1024].forEach((w) => {
    Object.assign(context, { fillStyle: ink, textAlign: "center" });
    context.fillText(w, place(w, 1)[0], y + height + 14);
  });
  context.fillText("d_k", x + width / 2, y + height + 32);
  norms.forEach((curve, scaled) => {
    Object.assign(context, { strokeStyle: scaled ? WITH : WITHOUT, lineWidth: 2 });
    context.setLineDash(scaled ? [6, 4] : []);
    context.beginPath();
    curve.forEach((norm, i) => context.lineTo(...place(widths[i], norm)));
    context.stroke();
    context.setLineDash([]);
    Object.assign(context, { fillStyle: ink, textAlign: "left" });
  });
  [["without scale", WITHOUT, []], ["with scale", WITH, [6, 4]]].forEach(([name, colour, dash], i) => {
    const line = y + height - 34 + 18 * i;
    context.setLineDash(dash);
    context.strokeStyle = colour;
    context.beginPath();
    context.moveTo(x + 8, line);
    context.lineTo(x + 34, line);
    context.stroke();
    context.setLineDash([]);
    context.fillText(name, x + 40, line);
  });
  const [cx, cy] = place(widths[now.at], norms[+now.scaled][now.at]);
  context.beginPath();
  context.arc(cx, cy, 5, 0, 2 * Math.PI);
  context.fillStyle = now.scaled ? WITH : WITHOUT;
  context.fill();
  Object.assign(context, { strokeStyle: ink, lineWidth: 1.5 });
  context.stroke();
}

function axes(context, { x, y, width, height, ink }, title, ticks) {
  Object.assign(context, { font: FONT, fillStyle: ink, strokeStyle: ink, lineWidth: 1, textBaseline: "middle", textAlign: "left" });
  context.fillText(title, x, y - 16);
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x, y + height);
  context.lineTo(x + width, y + height);
  context.stroke();
  context.textAlign = "right";
  ticks.forEach(([share, name]) => context.fillText(name, x - 5, y + height * (1 - share)));
}
