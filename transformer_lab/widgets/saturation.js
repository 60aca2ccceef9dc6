// Softmax saturation: the weights of one query as its vectors get wider, and the norm of the Jacobian of many.

import { bar, button, canvas, checkbox, eachFrame, element, slider, softmax, tensor, watch } from "./kit.js";
import { COLOURS, drawBars, drawLines } from "./chart.js";

// Weights of one query at a width: the scores are sums of d_k products, divided by √d_k or not.
export function weightsAt(scores, width, scaled) {
  return softmax(Array.from(scores, (score) => (scaled ? score / Math.sqrt(width) : score)));
}

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
    el.append(bar(width.node, divide.node, reset), sketch.node, says);
    return watch(el, draw);
  },
};

const TICKS = [1, 4, 16, 64, 256, 1024].map((width) => [width, String(width)]);
const SERIES = [["without scale", COLOURS[1]], ["with scale", COLOURS[0]]];

function paint(sketch, { weights, norms, widths, now, el }) {
  const total = Math.min(Math.max(el.clientWidth, 320), 754);
  const narrow = total < 520;
  const height = 264;
  const context = sketch.resize(total, narrow ? 2 * height : height);
  const ink = getComputedStyle(el).color;
  const half = narrow ? total : total * 0.48;
  drawBars(context, { x: 0, y: 0, width: half, height }, {
    names: weights.map((_, i) => String(i + 1)), x: { name: "key" }, y: { name: "weight of each key", high: 1 },
    series: [{ ys: weights, colour: SERIES[+now.scaled][1] }], ink,
  });
  drawLines(context, { x: narrow ? 0 : half + 16, y: narrow ? height : 0, width: narrow ? total : total - half - 16, height }, {
    x: { name: "d_k", log: 2, ticks: TICKS }, y: { name: "median norm of the Jacobian", log: 10, low: 1e-5, high: 1 },
    series: norms.map((ys, i) => ({ name: SERIES[i][0], colour: SERIES[i][1], xs: widths, ys })), at: now.at, ink,
  });
}
