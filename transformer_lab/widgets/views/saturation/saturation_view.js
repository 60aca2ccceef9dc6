// Softmax saturation: the weights of one query as its vectors get wider, and the norm of the Jacobian of many.

import {
  bar,
  canvas,
  checkbox,
  eachFrame,
  lineCursor,
  readout,
  resetButton,
  slider,
  softmax,
  tableSwitch,
  tensor,
  watch,
  widthOf,
} from "../../shared/ui.js";
import { drawBars, drawLines } from "../../shared/chart.js";
import { MEANINGS } from "../../shared/palette.js";

// Weights of one query at a width: the scores are sums of d_k products, divided by √d_k or not.
export function weightsAt(scores, width, scaled) {
  return softmax(Array.from(scores, (score) => (scaled ? score / Math.sqrt(width) : score)));
}

export default {
  render({ model, el }) {
    const {
      data,
      shape: [steps, keys],
    } = tensor(model.get("scores"));
    const widths = model.get("widths");
    const start = { at: model.get("at"), scaled: false, key: null };
    const now = { ...start };
    const at = (i) => data.subarray(i * keys, (i + 1) * keys);
    const norms = model.get("norms").map((curve) => [...tensor(curve).data]); // medians: without and with the scale

    const sketch = canvas("Weights of one query.", { how: "Left and right arrow keys go from key to key." });
    const says = readout();
    const draw = eachFrame(() => {
      const shown = {
        weights: weightsAt(at(now.at), widths[now.at], now.scaled),
        norm: norms[+now.scaled][now.at],
        width: widths[now.at],
      };
      el.values = shown;
      const both = [false, true].map((scaled) => weightsAt(at(now.at), widths[now.at], scaled));
      sketch.node.layout = paint(sketch, { both, norms, widths, now, el });
      says.say(describe(shown, now));
      sketch.describe(describe(shown, { ...now, key: null }));
      table.fill(() => [["key", "weight"], ...shown.weights.map((weight, i) => [String(i + 1), weight.toFixed(3)])]);
    });
    const change = (what) => {
      Object.assign(now, what);
      draw();
    };
    const width = slider(
      "d_k",
      { min: 0, max: steps - 1, step: 1, value: start.at, show: (i) => String(widths[i]) },
      (i) => change({ at: i }),
    );
    const divide = checkbox("÷ √d_k", start.scaled, (on) => change({ scaled: on }));
    const table = tableSwitch(draw);
    const reset = resetButton([width, divide, table], () => change(start));
    const point = (event) => {
      const { x, y, width: wide, height } = sketch.node.layout;
      const [px, py] = sketch.at(event);
      const inside = px >= x && px < x + wide && py >= y && py < y + height;
      return inside ? Math.floor(((px - x) / wide) * keys) : null;
    };
    lineCursor(sketch.node, {
      at: () => now.key,
      last: () => keys - 1,
      find: point,
      move: (key) => change({ key }),
    });
    el.append(bar(width.node, divide.node), sketch.node, says, bar(table.button, reset), table.room);
    return watch(el, draw);
  },
};

function describe({ weights, norm, width }, { scaled, key }) {
  const said =
    `d_k = ${width}, ${scaled ? "scores divided by √d_k" : "scores as they are"}: ` +
    `largest weight ${Math.max(...weights).toFixed(3)}, ` +
    `median norm of the Jacobian ${norm < 1e-5 ? "below 0.00001" : norm.toPrecision(2)}.`;
  return key === null ? said : `${said} Key ${key + 1}: weight ${weights[key].toFixed(3)}.`;
}

const TICKS = [1, 4, 16, 64, 256, 1024].map((width) => [width, String(width)]);
const named = () => [
  ["without scale", MEANINGS.without],
  ["with scale", MEANINGS.with],
];

// Weights as bars and, beside or below them, the norms at every width; returns where the bars stand.
function paint(sketch, { both, norms, widths, now, el }) {
  const total = widthOf(el);
  const narrow = total < 520;
  const height = narrow ? 264 : 300;
  const chosen = +now.scaled;
  const context = sketch.resize(total, narrow ? 2 * height : height);
  const ink = getComputedStyle(el).color;
  const half = narrow ? total : total * 0.48;
  drawLines(
    context,
    { x: narrow ? 0 : half + 16, y: narrow ? height : 0, width: narrow ? total : total - half - 16, height },
    {
      x: { name: "d_k", log: 2, ticks: TICKS },
      y: { name: "median norm of the Jacobian", log: 10, low: 1e-5, high: 1 },
      series: norms.map((ys, i) => ({ name: named()[i][0], colour: named()[i][1], xs: widths, ys })),
      at: now.at,
      ink,
    },
  );
  return drawBars(
    context,
    { x: 0, y: 0, width: half, height },
    {
      names: both[0].map((_, i) => String(i + 1)),
      x: { name: "key" },
      y: { name: "weight of each key", high: 1 },
      // Both stand side by side; the one that is chosen is filled, the other one an outline.
      series: both.map((ys, i) => ({ name: named()[i][0], ys, colour: named()[i][1], outlined: i !== chosen })),
      at: now.key,
      ink,
    },
  );
}
