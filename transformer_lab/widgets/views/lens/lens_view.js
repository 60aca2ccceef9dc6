// Logit lens: the most probable next token at each place of a model and each position; one cell's five best tokens, and
// how the true next token rises from place to place.

import {
  bar,
  canvas,
  choice,
  eachFrame,
  element,
  resetButton,
  slider,
  tensor,
  watch,
  widthOf,
} from "../../shared/ui.js";
import { drawBars, drawLines } from "../../shared/chart.js";
import { FONT, tokenMap } from "../../shared/grid.js";
import { MEANINGS, amounts, inkOn } from "../../shared/palette.js";

const SHADES = ["of the most probable token", "of the true next token"];
const HEIGHT = 210; // of the charts

// A token as it can be seen.
export function visible(name) {
  return name === "" ? "pad" : name.replaceAll("\n", "⏎").replaceAll(" ", "␣");
}

// The position where the true next token gains the most between the first place and the last; truth[place][position].
export function mostGained(truth) {
  const gains = truth[0].map((first, t) => truth.at(-1)[t] - first);
  return gains.indexOf(Math.max(...gains));
}

// The rows of a tensor of two axes, or of its first entry in a third one.
export function rowsOf({ data, shape: [n, m, k = 1] }, entry = 0) {
  return Array.from({ length: n }, (_, i) => Array.from({ length: m }, (_, j) => data[(i * m + j) * k + entry]));
}

export default {
  render({ model, el }) {
    const [places, names] = [model.get("places"), model.get("names").map(visible)];
    const read = Array.from(tensor(model.get("read")).data, (token) => names[token]);
    const [best, chances] = [tensor(model.get("best")), tensor(model.get("probabilities"))];
    const [truth, rank] = [rowsOf(tensor(model.get("truth"))), rowsOf(tensor(model.get("rank")))];
    const [T, k] = [read.length, best.shape[2]];
    const tops = rowsOf(best).map((row) => row.map((token) => names[token]));
    const shades = [rowsOf(chances), truth.map((row) => [...row, NaN])];
    const start = { shade: 0, position: mostGained(truth), place: places.length - 1 };
    const now = { ...start };
    const next = (t) => read[t + 1] ?? null;
    const five = (i, t) =>
      Array.from({ length: k }, (_, j) => {
        const at = (i * T + t) * k + j;
        return { name: names[best.data[at]], p: chances.data[at] };
      });

    const draw = eachFrame(() => {
      const { shade, position: t, place: i } = now;
      const ink = getComputedStyle(el).color;
      const top = five(i, t);
      el.values = {
        shade: shades[shade],
        tokens: tops,
        position: t,
        place: i,
        best: top.map(({ name }) => name),
        probabilities: top.map(({ p }) => p),
        truth: next(t) === null ? [] : truth.map((row) => row[t]),
      };
      map.show(shades[shade], {
        name: "probability",
        range: [0, 1],
        print: false,
        beside: { width: 0, draw: (context) => letters(context, map.node.layout, { tops, shades, now, next, ink }) },
      });
      charts(sketch, { el, places, truth, top, now, next, read, ink });
    });
    const change = (what) => {
      Object.assign(now, what);
      position.set(now.position);
      draw();
    };
    const map = tokenMap({
      el,
      label: "The most probable next token at each place and position.",
      state: () => describe([now.place, now.position], { places, read, five, truth, rank, next }),
      rows: places,
      columns: read,
      axes: ["place", "token read"],
      redraw: () => draw(),
      describe: (_, cell) => describe(cell ?? [now.place, now.position], { places, read, five, truth, rank, next }),
      onmove: (cell) => {
        if (cell) change({ place: cell[0], position: cell[1] });
      },
    });
    const sketch = canvas("The chosen cell's most probable tokens, and the true next token from place to place.", {
      keys: false,
    });
    const position = slider(
      "position",
      { min: 0, max: T - 1, step: 1, value: start.position, show: (t) => `${t}: ${read[t]}` },
      (t) => map.move([now.place, t]),
    );
    const shade = choice("colour: the probability", SHADES, (i) => change({ shade: i }));
    const reset = resetButton([shade, position, map], () => change(start));
    el.append(
      bar(shade.node, position.node),
      map.node,
      map.note,
      element(
        "div",
        { class: "tl-note" },
        "A filled corner and bold letters: the most probable token is the true next one.",
      ),
      map.says,
      sketch.node,
      bar(...map.buttons, reset),
      map.table,
    );
    return watch(el, draw);
  },
};

// The most probable tokens, written into the cells that are seen near; a corner marks the true next token, a frame the
// chosen cell.
function letters(context, { left, top, size, first, shown }, { tops, shades, now, next, ink }) {
  Object.assign(context, { textAlign: "center", textBaseline: "middle" });
  for (let i = 0; i < shown[0]; i += 1) {
    for (let j = 0; j < shown[1]; j += 1) {
      const [place, t] = [first[0] + i, first[1] + j];
      const [x, y, value] = [left + j * size, top + i * size, shades[now.shade][place][t]];
      const [text, right] = [tops[place][t], tops[place][t] === next(t)];
      context.fillStyle = Number.isNaN(value) ? ink : inkOn(amounts(value));
      context.font = `${right ? "bold " : ""}${size < 18 ? 10 : 12}px ui-monospace, Menlo, Consolas, monospace`;
      context.fillText(cut(context, text, size - 4), x + (size - 1) / 2, y + (size - 1) / 2);
      if (!right) continue;
      context.beginPath();
      context.moveTo(x, y + size - 1);
      context.lineTo(x, y + size - 1 - size / 3);
      context.lineTo(x + size / 3, y + size - 1);
      context.fill();
    }
  }
  const [i, j] = [now.place - first[0], now.position - first[1]];
  if (i < 0 || i >= shown[0] || j < 0 || j >= shown[1]) return;
  Object.assign(context, { strokeStyle: MEANINGS.cursor, lineWidth: 2 });
  context.strokeRect(left + j * size, top + i * size, size - 1, size - 1);
}

function cut(context, text, room) {
  let short = text.slice(0, 12);
  while (short.length > 1 && context.measureText(short).width > room) short = short.slice(0, -1);
  return short;
}

function charts(sketch, { el, places, truth, top, now, next, read, ink }) {
  const total = widthOf(el);
  const aside = total >= 560;
  const wide = aside ? total / 2 - 10 : total;
  const context = sketch.resize(total, aside ? HEIGHT : 2 * HEIGHT);
  drawBars(
    context,
    { x: 0, y: 0, width: wide, height: HEIGHT },
    {
      title: `${places[now.place]}, after “${read[now.position]}”`,
      names: top.map(({ name }) => name.slice(0, 8)),
      y: { name: "probability", low: 0, high: 1 },
      series: [{ name: "probability", ys: top.map(({ p }) => p) }],
      at: top.findIndex(({ name }) => name === next(now.position)),
      ink,
    },
  );
  const second = { x: aside ? total / 2 + 10 : 0, y: aside ? 0 : HEIGHT, width: wide, height: HEIGHT };
  if (next(now.position) === null) {
    Object.assign(context, { font: FONT, fillStyle: ink, textAlign: "left" });
    context.fillText("Nothing follows the last token.", second.x, second.y + 12);
    return;
  }
  const short = (name) => name.replace("layer ", "");
  drawLines(context, second, {
    title: `the true next token, “${next(now.position)}”`,
    x: { name: "place", ticks: places.map((name, i) => [i, short(name)]) },
    y: { name: "probability", low: 0, high: 1 },
    series: [{ name: "true", xs: places.map((_, i) => i), ys: truth.map((row) => row[now.position]) }],
    at: now.place,
    ink,
  });
}

function describe([i, t], { places, read, five, truth, rank, next }) {
  const said = five(i, t)
    .map(({ name, p }) => `“${name}” ${p.toFixed(3)}`)
    .join(", ");
  const start = `${places[i]}, after “${read[t]}” (position ${t}): ${said}.`;
  if (next(t) === null) return `${start} Nothing follows it.`;
  return `${start} The true next token is “${next(t)}”: probability ${truth[i][t].toFixed(3)}, rank ${rank[i][t]}.`;
}
