// Residual flow: norms of activations and gradients, layer by layer, in stacks of any of the measured depths.

import {
  bar,
  canvas,
  checkbox,
  clamp,
  eachFrame,
  lineCursor,
  readout,
  resetButton,
  slider,
  tableSwitch,
  tensor,
  watch,
  widthOf,
} from "../../shared/ui.js";
import { COLOURS, DASHES, drawLines } from "../../shared/chart.js";

const BEYOND = 1.02; // the axis ends a little after the last layer

export default {
  render({ model, el }) {
    const [depths, kinds] = [model.get("depths"), model.get("kinds")];
    const numbersOf = (pair) => pair.map((part) => [...tensor(part).data]); // up, down
    const norms = model.get("norms").map((pairs) => pairs.map(numbersOf)); // [kind][depth][up, down]
    const most = depths.at(-1);
    const start = { at: depths.length - 1, kinds: kinds.map(() => true), layer: null };
    const now = { ...start, kinds: [...start.kinds] };

    const sketch = canvas("Norms by layer.", { how: "Left and right arrow keys go from layer to layer." });
    const says = readout();
    let panels = [];
    const draw = eachFrame(() => {
      const chosen = kinds.map((name, i) => ({ name, i })).filter(({ i }) => now.kinds[i]);
      const part = (which) => chosen.map(({ i }) => norms[i][now.at][which]);
      const shown = {
        kinds: chosen.map(({ name }) => name),
        layers: depths[now.at],
        activations: part(0),
        gradients: part(1),
        reach: chosen.map(({ i }) => norms[i].map(([, down]) => down[0])),
      };
      el.values = shown;
      const ranges = [0, 1].map((which) => range(chosen.flatMap(({ i }) => norms[i].flatMap((pair) => pair[which]))));
      panels = paint(sketch, {
        el,
        shown,
        now,
        depths,
        ranges,
        styles: chosen.map(({ i }) => ({ colour: COLOURS[i], dash: DASHES[i], marker: i % 4 })),
      });
      sketch.node.layout = { panels };
      says.say(describe(shown, now.layer));
      sketch.describe(describe(shown, null));
      numbers.fill(() => tableOf(shown));
    });
    const change = (what) => {
      Object.assign(now, what);
      if (now.layer !== null) now.layer = Math.min(now.layer, depths[now.at]);
      draw();
    };
    const depth = slider(
      "layers",
      { min: 0, max: depths.length - 1, step: 1, value: start.at, show: (i) => String(depths[i]) },
      (at) => change({ at }),
    );
    const boxes = kinds.map((name, i) =>
      checkbox(name, true, (on) => change({ kinds: now.kinds.map((was, k) => (k === i ? on : was)) })),
    );
    const numbers = tableSwitch(draw);
    const reset = resetButton([numbers, depth, ...boxes], () => change({ ...start, kinds: [...start.kinds] }));
    const near = (event) => {
      const [x, y] = sketch.at(event);
      const panel = panels.find(
        (one) => x > one.x - 12 && x < one.x + one.width + 12 && y > one.y - 12 && y < one.y + one.height + 24,
      );
      const layer = panel && Math.round(((x - panel.x) / panel.width) * most * BEYOND);
      return panel ? clamp(layer, 0, depths[now.at]) : null;
    };
    lineCursor(sketch.node, {
      at: () => now.layer,
      last: () => depths[now.at],
      find: near,
      move: (layer) => change({ layer }),
    });
    el.append(
      bar(depth.node, ...boxes.map(({ node }) => node)),
      sketch.node,
      says,
      bar(numbers.button, reset),
      numbers.room,
    );
    return watch(el, draw);
  },
};

// The powers of ten around the norms of all depths, so that the axis stays while the depth changes, and its ticks meet
// 1.
export function range(values) {
  const [first, last] = [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values)))];
  const step = Math.ceil((last - first + 1) / 7);
  return { low: 10 ** (Math.floor(first / step) * step), high: 10 ** last };
}

function describe({ kinds, layers, activations, gradients }, layer) {
  if (!kinds.length) return "Choose at least one kind of stack.";
  const each = (values) => kinds.map((name, k) => `${name} ${plain(values[k])}`).join(", ");
  if (layer === null)
    return (
      `${layers} layers. Gradient at the first layer, relative to the last: ` +
      `${each(gradients.map((down) => down[0]))}. ` +
      `Activations at the end, relative to the start: ${each(activations.map((up) => up.at(-1)))}.`
    );
  return (
    `${layers} layers, ${layer === 0 ? "before the first" : `after layer ${layer}`}. ` +
    `Activations: ${each(activations.map((up) => up[layer]))}. Gradient: ${each(gradients.map((down) => down[layer]))}.`
  );
}

// 0.012 as it is, and 0.0000003 as 3e-7.
function plain(x) {
  return x >= 0.001 && x < 10000 ? String(Number(x.toPrecision(2))) : x.toExponential(0);
}

function tableOf({ kinds, activations, gradients }) {
  const top = [...kinds.map((name) => `activations, ${name}`), ...kinds.map((name) => `gradient, ${name}`)];
  const line = (_, l) => [String(l), ...[...activations, ...gradients].map((values) => plain(values[l]))];
  return [["layer", ...top], ...(activations[0] ?? []).map(line)];
}

// Activations and gradients side by side, below them how the gradient at the first layer depends on the depth. A kind
// keeps its look when another is hidden.
function paint(sketch, { el, shown, now, depths, styles, ranges }) {
  const width = widthOf(el);
  const ink = getComputedStyle(el).color;
  const wide = width >= 520;
  const [half, height] = [wide ? (width - 20) / 2 : width, 250];
  const context = sketch.resize(width, (wide ? 2 : 3) * height);
  const curves = (xs, all) => all.map((ys, k) => ({ name: shown.kinds[k], xs, ys, ...styles[k] }));
  const layers = Array.from({ length: shown.layers + 1 }, (_, l) => l);
  if (!shown.kinds.length) return [];
  const x = { low: 0, high: depths.at(-1) * BEYOND };
  const panel = (at, title, y, all) =>
    drawLines(
      context,
      { ...at, width: half, height: height - 10 },
      {
        title,
        x: { name: "layer", ...x },
        y: { log: 10, ...y },
        series: curves(layers, all),
        at: now.layer,
        ink,
      },
    );
  const up = panel({ x: 0, y: 0 }, "Activations, on the way up", ranges[0], shown.activations);
  const down = panel(
    wide ? { x: half + 20, y: 0 } : { x: 0, y: height },
    "Gradient, on the way down",
    ranges[1],
    shown.gradients,
  );
  drawLines(
    context,
    { x: 0, y: (wide ? 1 : 2) * height, width, height: height - 10 },
    {
      title: "Gradient at the first layer, by depth",
      x: { name: "number of layers", ...x },
      y: { log: 10, ...range(shown.reach.flat()) },
      series: curves(depths, shown.reach),
      at: now.at,
      ink,
    },
  );
  return [up, down];
}
