// Curves and bars on a canvas: axes with ticks and names, series that differ in colour, dash and marker, a cursor.

import { COLOURS, NOW, SANS } from "./palette.js";
import { clamp, stripes } from "./ui.js";

export { COLOURS } from "./palette.js";
export const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3], [5, 2], [1, 4]];
const FONT = `13px ${SANS}`;

// Curves within a box { x, y, width, height }, everything included. x and y: { name, low, high, log, ticks }, where log
// is the base of a logarithmic axis and ticks, [[value, text], …], are found if not given. A series: { name, xs, ys },
// and a colour, dash and marker (0 to 3) of its own if it wants. `levels`, { name, value, right }, are dashed lines
// across, named at the left, or at the right. `at` marks a point of each series that names none of its own. Returns
// across(x) and up(y), in pixels.
export function drawLines(context, box, { title, x = {}, y = {}, series, levels = [], at = null, ink }) {
  const styled = series.map((one, i) => ({ colour: COLOURS[i % 6], dash: DASHES[i % 6], marker: i % 4, ...one }));
  const [xAxis, yAxis] = [
    axis(
      x,
      series.flatMap(({ xs }) => [...xs]),
    ),
    axis(
      y,
      series.flatMap(({ ys }) => [...ys]),
    ),
  ];
  const plot = frame(context, box, { title, xAxis, yAxis, ink, legend: styled.length > 1 ? styled : [] });
  const across = (value) => plot.x + plot.width * xAxis.share(value);
  const up = (value) => plot.y + plot.height * (1 - yAxis.share(value));
  context.save();
  context.beginPath();
  context.rect(plot.x - 5, plot.y - 5, plot.width + 10, plot.height + 10);
  context.clip();
  for (const one of styled) {
    Object.assign(context, { strokeStyle: one.colour, fillStyle: one.colour, lineWidth: 2 });
    context.setLineDash(one.dash);
    context.beginPath();
    one.ys.forEach((value, i) => {
      if (Number.isFinite(value)) context.lineTo(across(one.xs[i]), up(value));
    });
    context.stroke();
    context.setLineDash([]);
    const every = Math.ceil(one.xs.length / 8);
    one.ys.forEach((value, i) => {
      if (styled.length > 1 && i % every === 0) mark(context, across(one.xs[i]), up(value), one.marker, 3.5);
    });
  }
  for (const { name, value, right } of levels) {
    Object.assign(context, { strokeStyle: ink, fillStyle: ink, lineWidth: 1.5, font: FONT });
    context.setLineDash([6, 4]);
    context.beginPath();
    context.moveTo(plot.x, up(value));
    context.lineTo(plot.x + plot.width, up(value));
    context.stroke();
    context.setLineDash([]);
    context.textAlign = right ? "right" : "left";
    context.fillText(name, right ? plot.x + plot.width - 2 : plot.x + 6, up(value) - 9);
  }
  if (at !== null) {
    Object.assign(context, { strokeStyle: ink, lineWidth: 1 });
    const place = across(series[0].xs[at]);
    context.strokeRect(place, plot.y, 0, plot.height);
    for (const { xs, ys, colour, marker, at: own = at } of styled) {
      if (!(own in ys)) continue;
      context.fillStyle = colour;
      mark(context, across(xs[own]), up(ys[own]), marker, 5.5, ink);
    }
  }
  context.restore();
  return { ...plot, across, up };
}

// Bars side by side: one for each name, or for each name one of each series: { name, ys }; with `outlined` they are not
// filled. `at` marks one name.
export function drawBars(context, box, { title, names, x = {}, y = {}, series, at = null, ink }) {
  const styled = series.map((one, i) => ({ colour: COLOURS[i % 6], ...one }));
  const yAxis = axis(
    { low: 0, ...y },
    series.flatMap(({ ys }) => [...ys]),
  );
  const step = (plot) => plot.width / names.length;
  const xAxis = { name: x.name, ticks: names.map((name, i) => [i, name]), share: (i) => (i + 0.5) / names.length };
  const plot = frame(context, box, {
    title,
    xAxis,
    yAxis,
    ink,
    legend: styled.length > 1 ? styled.map((one, k) => ({ ...one, bar: true, striped: k > 0 })) : [],
  });
  const up = (value) => plot.y + plot.height * (1 - yAxis.share(value));
  const wide = (step(plot) * 0.76) / styled.length;
  styled.forEach(({ ys, colour, outlined }, k) =>
    ys.forEach((value, i) => {
      const left = plot.x + (i + 0.12) * step(plot) + k * wide;
      const box = [left, Math.min(up(value), up(0)), wide - 1, Math.abs(up(0) - up(value))];
      Object.assign(context, { fillStyle: colour, strokeStyle: colour, lineWidth: 1.5 });
      if (outlined) context.strokeRect(box[0] + 1, box[1] + 1, box[2] - 2, Math.max(0, box[3] - 2));
      else context.fillRect(...box);
      if (k && !outlined) stripes(context, left, up(value), wide - 1, up(0) - up(value), NOW.paper, 1);
      if (i === at)
        Object.assign(context, { strokeStyle: ink, lineWidth: 2 }).strokeRect(
          left - 1,
          up(value) - 1,
          wide + 1,
          up(0) - up(value) + 1,
        );
    }),
  );
  return { ...plot, up };
}

// ── axes ──

// An axis of given values: its range, its ticks, and where a value stands on it, from 0 to 1.
export function axis({ name = "", low, high, log, ticks }, values) {
  const finite = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
  const [from, to] = [low ?? Math.min(...finite), high ?? Math.max(...finite)];
  const at = log ? (value) => Math.log(Math.max(value, from)) : (value) => value;
  const wide = at(to) - at(from) || 1;
  return {
    name,
    ticks: ticks ?? (log ? powers(from, to, log) : evenTicks(from, to)),
    share: (value) => clamp((at(value) - at(from)) / wide, -0.05, 1.05),
  };
}

// About five round numbers from low to high, as [value, text].
export function evenTicks(low, high) {
  const rough = (high - low) / 5 || 1;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * unit >= rough * 0.999) * unit;
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1)
    ticks.push([i * step, (i * step).toFixed(digits).replace("-", "−")]);
  return ticks;
}

// Powers of the base from low to high, at most seven of them.
export function powers(low, high, base) {
  const exponent = (value) => Math.log(value) / Math.log(base);
  const [first, last] = [Math.ceil(exponent(low) - 1e-9), Math.floor(exponent(high) + 1e-9)];
  const every = Math.ceil((last - first + 1) / 7);
  const plain = low > 0.00099 && high < 10000;
  const raised = (k) => `${base}${String(k).replace(/./g, (sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)])}`;
  const ticks = [];
  for (let k = first; k <= last; k += every) {
    const value = base ** k;
    ticks.push([value, plain || k === 0 || k === 1 ? String(Number(value.toPrecision(3))) : raised(k)]);
  }
  return ticks;
}

// Title, legend, axes, ticks and names around a plot; returns the plot's own box.
function frame(context, box, { title, xAxis, yAxis, ink, legend }) {
  Object.assign(context, {
    font: FONT,
    fillStyle: ink,
    strokeStyle: ink,
    lineWidth: 1,
    textBaseline: "middle",
    textAlign: "left",
  });
  const wide = (text) => context.measureText(text).width;
  const left = Math.max(0, ...yAxis.ticks.map(([, text]) => wide(text))) + 10;
  let top = box.y + 4;
  for (const text of [title, yAxis.name && `↑ ${yAxis.name}`]) {
    if (!text) continue;
    context.font = text === title ? `bold ${FONT}` : `italic ${FONT}`;
    context.fillText(text, box.x, top + 8, box.width);
    top += 20;
  }
  context.font = FONT;
  let x = box.x + left;
  legend.forEach((one, i) => {
    if (i && x + 44 + wide(one.name) > box.x + box.width) {
      x = box.x + left;
      top += 18;
    }
    swatch(context, x, top + 8, one, ink);
    x += 50 + wide(one.name);
  });
  if (legend.length) top += 22;
  const plot = { x: box.x + left, y: top + 6, width: box.width - left - 18 };
  plot.height = box.y + box.height - plot.y - (xAxis.name ? 42 : 24);
  Object.assign(context, { fillStyle: ink, strokeStyle: ink, lineWidth: 1 });
  context.beginPath();
  context.moveTo(plot.x, plot.y);
  context.lineTo(plot.x, plot.y + plot.height);
  context.lineTo(plot.x + plot.width, plot.y + plot.height);
  context.stroke();
  context.textAlign = "right";
  for (const [value, text] of yAxis.ticks) {
    const y = plot.y + plot.height * (1 - yAxis.share(value));
    context.fillText(text, plot.x - 7, y);
    context.globalAlpha = 0.15;
    context.fillRect(plot.x, y, plot.width, 1);
    context.globalAlpha = 1;
  }
  context.textAlign = "center";
  let free = -Infinity;
  for (const [value, text] of xAxis.ticks) {
    const half = wide(text) / 2;
    const place = plot.x + plot.width * xAxis.share(value);
    const middle = clamp(place, box.x + half, box.x + box.width - half);
    if (middle - half < free) continue;
    free = middle + half + 6;
    context.fillText(text, middle, plot.y + plot.height + 13);
    context.fillRect(place, plot.y + plot.height, 1, 4);
  }
  Object.assign(context, { font: `italic ${FONT}` });
  if (xAxis.name) context.fillText(`${xAxis.name} →`, plot.x + plot.width / 2, plot.y + plot.height + 32);
  context.font = FONT;
  return plot;
}

function swatch(context, x, y, { name, colour, dash, marker, bar, outlined, striped }, ink) {
  Object.assign(context, { strokeStyle: colour, fillStyle: colour, lineWidth: 2 });
  if (bar && outlined) context.strokeRect(x + 11, y - 5, 12, 10);
  else if (bar) {
    context.fillRect(x + 10, y - 6, 14, 12);
    if (striped) stripes(context, x + 10, y - 6, 14, 12, NOW.paper, 1);
  } else {
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + 28, y);
    context.stroke();
    context.setLineDash([]);
    mark(context, x + 14, y, marker, 3.5);
  }
  context.fillStyle = ink;
  context.fillText(name, x + 34, y);
}

// A circle, square, triangle or diamond, in the colour that fills.
function mark(context, x, y, kind, r, ink) {
  const corners = [
    null,
    [
      [-1, -1],
      [1, -1],
      [1, 1],
      [-1, 1],
    ],
    [
      [0, -1.3],
      [1.2, 0.9],
      [-1.2, 0.9],
    ],
    [
      [0, -1.4],
      [1.4, 0],
      [0, 1.4],
      [-1.4, 0],
    ],
  ][kind];
  context.beginPath();
  if (corners) corners.forEach(([dx, dy]) => context.lineTo(x + r * dx, y + r * dy));
  else context.arc(x, y, r, 0, 2 * Math.PI);
  context.closePath();
  context.fill();
  if (ink) Object.assign(context, { strokeStyle: ink, lineWidth: 1.5 }).stroke();
}
