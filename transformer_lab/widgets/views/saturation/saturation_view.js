// Softmax saturation: the weights of one query as its vectors get wider, as water in tubes whose glow dies, and the
// norm of the Jacobian of many.

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
import { drawLines } from "../../shared/chart.js";
import { write } from "../../shared/drawing.js";
import { MEANINGS, NOW } from "../../shared/palette.js";

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

// How much a weight still answers to its own score: p (1 − p), which is ¼ at most.
export function glowOf(weight) {
  return 4 * weight * (1 - weight);
}

// The weights as water in tubes and, beside or below them, the norms at every width; returns where the tubes stand.
function paint(sketch, { both, norms, widths, now, el }) {
  const total = widthOf(el);
  const narrow = total < 620;
  const height = 320;
  const context = sketch.resize(total, narrow ? 2 * height : height);
  const half = narrow ? total : Math.round(total * 0.56);
  drawLines(
    context,
    { x: narrow ? 0 : half + 24, y: narrow ? height + 8 : 0, width: narrow ? total : total - half - 24, height: 310 },
    {
      x: { name: "d_k", log: 2, ticks: TICKS },
      y: { name: "glow of all: median norm of the Jacobian", log: 10, low: 1e-5, high: 1 },
      series: norms.map((ys, i) => ({ name: named()[i][0], colour: named()[i][1], xs: widths, ys })),
      at: now.at,
      ink: getComputedStyle(el).color,
    },
  );
  return paintTubes(context, { x: 0, y: 40, width: half, height: 208 }, both, now);
}

// A tube for each key: its water is the weight, its glow how much that still answers, and a dashed line the level that
// it has with the scale instead, or without.
function paintTubes(context, box, both, now) {
  const [here, there] = now.scaled ? [both[1], both[0]] : [both[0], both[1]];
  const step = box.width / here.length;
  const wide = Math.min(40, step * 0.56);
  write(context, now.scaled ? "softmax(q·k / √d_k)" : "softmax(q·k)", 0, 12, { bold: true, size: 14 });
  here.forEach((weight, i) => {
    const [left, bottom] = [box.x + (i + 0.5) * step - wide / 2, box.y + box.height];
    const tube = [left, box.y, wide, box.height, [4, 4, wide / 2, wide / 2]];
    paintGlow(context, tube, glowOf(weight));
    context.save();
    context.beginPath();
    context.roundRect(...tube);
    context.fillStyle = NOW.slab;
    context.fill();
    context.clip();
    const level = bottom - box.height * weight;
    context.fillStyle = NOW.amber;
    context.fillRect(left, level, wide, bottom - level);
    context.fillStyle = NOW["amber-edge"];
    context.fillRect(left, level, wide, 2);
    context.restore();
    paintGlass(context, tube, i === now.key);
    const other = bottom - box.height * there[i];
    Object.assign(context, { strokeStyle: NOW.ink, lineWidth: 1.5 }).setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(left - 5, other);
    context.lineTo(left + wide + 5, other);
    context.stroke();
    context.setLineDash([]);
    const middle = left + wide / 2;
    write(context, weight.toFixed(2), middle, bottom + 16, { align: "center", bold: weight > 0.5 });
    write(context, `key ${i + 1}`, middle, bottom + 34, { align: "center", size: 12, colour: NOW.soft, room: step });
  });
  const line = box.y + box.height + 58;
  write(context, "glow: p (1 − p), how much a weight still follows its score", 0, line, {
    colour: NOW.soft,
    room: box.width,
  });
  return box;
}

function paintGlow(context, [left, top, wide, high, corners], glow) {
  context.save();
  Object.assign(context, { shadowColor: NOW.amber, shadowBlur: 26 * glow, fillStyle: NOW.amber, globalAlpha: glow });
  for (let layer = 0; layer < 2 && glow > 0.02; layer += 1) {
    context.beginPath();
    context.roundRect(left, top, wide, high, corners);
    context.fill();
  }
  context.restore();
}

function paintGlass(context, [left, top, wide, high, corners], chosen) {
  Object.assign(context, { strokeStyle: chosen ? NOW.ink : NOW.edge, lineWidth: chosen ? 3 : 1.5 });
  context.beginPath();
  context.roundRect(left, top, wide, high, corners);
  context.stroke();
}
