// Residual flow: stacks of any of the measured depths as towers, with a storey for each layer. Activations go up, and
// the gradient comes down the stairs.

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
import { write } from "../../shared/drawing.js";
import { NOW, SANS, css, mixed, rgbOf } from "../../shared/palette.js";

const BEYOND = 1.02; // the axis ends a little after the last layer

export default {
  render({ model, el }) {
    const [depths, kinds] = [model.get("depths"), model.get("kinds")];
    const numbersOf = (pair) => pair.map((part) => [...tensor(part).data]); // up, down
    const norms = model.get("norms").map((pairs) => pairs.map(numbersOf)); // [kind][depth][up, down]
    const start = { at: depths.length - 1, kinds: kinds.map(() => true), layer: null };
    const now = { ...start, kinds: [...start.kinds] };

    const sketch = canvas("Norms by layer.", {
      how: "Left and right arrow keys go from layer to layer, down and up the towers.",
    });
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
      const tower = panels.find(
        (one) => x >= one.x && x < one.x + one.width && y > one.y - 12 && y < one.y + one.height + 16,
      );
      return tower ? clamp(Math.round((tower.ground - y) / tower.storey), 0, depths[now.at]) : null;
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

const [HIGH, TOP, FOOT] = [360, 56, 34]; // of a tower, and of what stands above and below it

// A tower for each kind of stack, and below them how the gradient at the first layer depends on the depth. A kind keeps
// its look when another is hidden. Returns where the towers stand.
function paint(sketch, { el, shown, now, depths, styles, ranges }) {
  const width = widthOf(el);
  if (!shown.kinds.length) return sketch.resize(width, 40) && [];
  const across = Math.min(shown.kinds.length, Math.max(1, Math.floor(width / 250)));
  const [step, line] = [width / across, HIGH + TOP + FOOT + 16];
  const below = Math.ceil(shown.kinds.length / across) * line;
  const context = sketch.resize(width, below + 240);
  const panels = shown.kinds.map((name, k) => {
    const box = { x: (k % across) * step, y: Math.floor(k / across) * line + TOP, width: step, height: HIGH };
    return paintTower(context, box, {
      name,
      up: shown.activations[k],
      down: shown.gradients[k],
      most: depths.at(-1),
      colour: styles[k].colour,
      ranges,
      layer: now.layer,
    });
  });
  drawLines(
    context,
    { x: 0, y: below, width, height: 236 },
    {
      title: "Gradient at the first layer, by the height of the tower",
      x: { name: "number of layers", low: 0, high: depths.at(-1) * BEYOND },
      y: { log: 10, ...range(shown.reach.flat()) },
      series: shown.reach.map((ys, k) => ({ name: shown.kinds[k], xs: depths, ys, ...styles[k] })),
      at: now.at,
      ink: getComputedStyle(el).color,
    },
  );
  return panels;
}

// A tower has a storey for each layer. At its left the activations are bars, as long as their norm on a logarithmic
// scale; at its right the gradient comes down the stairs, as thick as what is left of it, and lights the windows.
function paintTower(context, { x, y, width, height }, { name, up, down, most, colour, ranges, layer }) {
  const n = up.length - 1;
  const storey = height / most;
  const body = Math.min(96, width * 0.32);
  const [left, ground] = [x + width / 2 - body / 2, y + height];
  const level = (l) => ground - l * storey;
  const share = (value, { low, high }) => clamp(Math.log(value / low) / Math.log(high / low), 0, 1);
  const room = (width - body) / 2 - 18;
  write(context, name, x + width / 2, y - 42, { bold: true, size: 15, align: "center" });
  const top = plain(up[n]);
  write(context, top, left - 8, y - 18, { bold: true, align: "right" });
  const far = context.measureText(top).width + 14;
  context.font = `12px ${SANS}`;
  const fits = (words) => context.measureText(words).width <= room - far + 10;
  const said = ["activations, at the top", "activations", "up"].find(fits) ?? "";
  write(context, said, left - 8 - far, y - 18, { size: 12, align: "right", colour: NOW.soft });
  write(context, room < 150 ? "gradient" : "gradient, on the stairs", left + body + 10, y - 18, {
    size: 12,
    colour: NOW.soft,
    room,
  });
  for (let l = 1; l <= n; l += 1) {
    const [roof, lit] = [level(l), share(down[l], ranges[1])];
    Object.assign(context, { fillStyle: NOW.slab, strokeStyle: NOW.edge, lineWidth: 1 });
    context.fillRect(left, roof, body, storey);
    context.strokeRect(left + 0.5, roof + 0.5, body - 1, storey);
    context.fillStyle = css(mixed(rgbOf(NOW.dark ? NOW.paper : NOW.ink), rgbOf(NOW.amber), lit));
    for (let w = 0; w < 4; w += 1)
      context.fillRect(left + body * (0.1 + 0.22 * w), roof + storey * 0.26, body * 0.14, storey * 0.5);
  }
  Object.assign(context, { fillStyle: colour }).fillRect(left - 4, level(n) - 5, body + 8, 5); // its roof
  Object.assign(context, { fillStyle: NOW.ink }).fillRect(left - 10, ground, body + 20, 2);
  context.fillStyle = NOW.thread;
  for (let l = 0; l <= n; l += 1) {
    const long = room * share(up[l], ranges[0]);
    context.fillRect(left - 8 - long, level(l) - storey * 0.2, long, Math.max(1.5, storey * 0.4));
  }
  stairs(context, { left: left + body + 10, level, storey, room: Math.min(room, 70) }, down, (v) =>
    share(v, ranges[1]),
  );
  if (layer !== null) reading(context, { left, body, level, storey, room }, { up, down, layer });
  write(context, "arrives", left + body - 2, ground + 16, { align: "right", size: 12, colour: NOW.soft });
  write(context, plain(down[0]), left + body + 6, ground + 16, { bold: true, room });
  return { x, y, width, height, storey, ground };
}

// Steps from the roof to the ground, and on each so much of the gradient as is left.
function stairs(context, { left, level, storey, room }, down, share) {
  const n = down.length - 1;
  for (let l = n; l >= 0; l -= 1) {
    const far = (room * (n - l)) / Math.max(n, 1);
    const thick = Math.max(0.75, storey * 0.9 * share(down[l]));
    Object.assign(context, { fillStyle: NOW.amber, strokeStyle: NOW["amber-edge"], lineWidth: 0.75 });
    const [x, wide] = [left + far, room / Math.max(n, 1) + 8];
    context.fillRect(x, level(l) - thick / 2, wide, thick);
    if (thick > 1) context.strokeRect(x, level(l) - thick / 2, wide, thick);
  }
}

function reading(context, { left, body, level, storey, room }, { up, down, layer }) {
  const y = level(layer);
  Object.assign(context, { strokeStyle: NOW.ink, lineWidth: 2 });
  context.strokeRect(left - 12 - room, y - storey / 2, 2 * room + body + 24, storey);
  for (const [text, x, align] of [
    [plain(up[layer]), left - 12 - room, "left"],
    [plain(down[layer]), left + body + 12 + room, "right"],
  ]) {
    Object.assign(context, { font: `13px ${SANS}`, fillStyle: NOW.paper });
    const wide = context.measureText(text).width + 10;
    context.fillRect(align === "left" ? x : x - wide, y - storey / 2 - 20, wide, 18);
    write(context, text, align === "left" ? x + 4 : x - 4, y - storey / 2 - 10, { align, bold: true });
  }
}
