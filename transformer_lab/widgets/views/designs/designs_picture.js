// The picture of five designs: for each a strip of the text, full where its tokens are still known, and a cabinet that
// is filled, to one scale, with what is kept for it.

import { write } from "../../shared/drawing.js";
import { MEANINGS, NOW, amounts, css, inkOn, rgbOf } from "../../shared/palette.js";
import { clamp, stripes } from "../../shared/ui.js";
import { inUnits } from "../cache/cache_view.js";

// A part of a design is { n_layers, numbers, window, state, d_key, whole }, as in designs.py of analysis.
export const reachOf = ({ n_layers, window }) => (window ? n_layers * (window - 1) : 0);

export function numbersOf({ n_layers, numbers, window, state }, length) {
  return n_layers * (numbers * (window ? Math.min(length, window) : length) + state);
}

export function known({ window, state, d_key }, age, decay, beta) {
  if (state) return ((1 - beta / d_key) * decay) ** age;
  return !window || age < window ? 1 : 0;
}

const allOf = ({ parts }, length) => parts.reduce((sum, part) => sum + numbersOf(part, length), 0);

// What a full cabinet holds: the largest of the designs at the next power of 4 tokens.
export function capacityOf(designs, length) {
  const most = Math.max(16, 4 ** Math.ceil(Math.log(length) / Math.log(4) - 1e-9));
  return { most, numbers: Math.max(...designs.map((design) => allOf(design, most))) };
}

// What fills a cabinet, from its bottom: { kind, from, to } as shares of a full one. Keys and values stand side by
// side.
export function fillOf({ parts }, length, capacity) {
  let from = 0;
  return parts.map((part) => {
    const to = from + numbersOf(part, length) / capacity;
    const one = { kind: part.state ? "state" : part.whole ? "latent" : "pairs", from, to };
    from = to;
    return one;
  });
}

const TITLES = 50; // how high they are where it is narrow

// For each design its box, the strip of its text, and its cabinet: upright side by side or, where it is narrow, lying
// one below the other.
export function layoutOf(width, n = 5) {
  const upright = width >= 640;
  const columns = Array.from({ length: n }, (_, i) => {
    if (upright) {
      const [wide, x] = [width / n, (i * width) / n];
      const inner = { x: x + 2, width: wide - 24 };
      return {
        box: { x, y: 0 },
        strip: { ...inner, y: 76, height: 30 },
        cabinet: { ...inner, y: 190, height: 230 },
        words: { x: inner.x, y: 124, line: 17, room: inner.width + 14 },
      };
    }
    const y = TITLES + i * 124;
    return {
      box: { x: 0, y },
      strip: { x: 0, width, y: y + 22, height: 20 },
      cabinet: { x: 0, width, y: y + 66, height: 30 },
      words: { x: 0, y: y + 54, line: 0, room: width },
    };
  });
  return { upright, columns, high: upright ? 456 : TITLES + n * 124 };
}

// Paints it all; returns where it stands.
export function paint(sketch, seen) {
  const layout = layoutOf(seen.width, seen.designs.length);
  const context = sketch.resize(seen.width, layout.high);
  const { most, numbers } = capacityOf(seen.designs, seen.length);
  paintTitles(context, layout, seen, inUnits(seen.each * numbers, "B"), most);
  seen.designs.forEach((design, i) => {
    const column = layout.columns[i];
    paintNames(context, layout, column, design, seen, i);
    paintStrip(context, column.strip, design, seen);
    paintCabinet(context, column.cabinet, fillOf(design, seen.length, numbers), layout.upright);
  });
  return layout;
}

function paintTitles(context, { upright, columns }, { width, token }, full, most) {
  const quiet = { colour: NOW.soft, size: 13, room: width };
  const count = (n) => n.toLocaleString("en");
  const line = `the line is token ${count(token + 1)}`;
  const memory = upright ? `What each still knows of the text; ${line}` : `Known of the text; ${line}`;
  write(context, memory, 0, 10, { size: 14, bold: true, room: width });
  const [y, right] = upright ? [columns[0].cabinet.y - 22, width - 24] : [30, width];
  const tokens = `the most that any takes for ${count(most)} tokens`;
  const text = upright ? `What that takes: a full cabinet is ${full}, ${tokens}` : `full: ${full}`;
  write(context, text, 0, y, upright ? { size: 14, bold: true, room: right - 120 } : quiet);
  write(context, "■ keys", right - 108, y, { ...quiet, colour: MEANINGS.key });
  write(context, "▲ values", right, y, { ...quiet, colour: MEANINGS.value, align: "right" });
}

function paintNames(context, { upright }, { box, strip, cabinet, words }, { name, model }, { bytes, told }, i) {
  const size = inUnits(bytes[i], "B");
  if (upright) {
    write(context, name, strip.x, 40, { bold: true, size: 16, room: strip.width });
    write(context, model ?? "", strip.x, 60, { size: 12, colour: NOW.soft, room: strip.width });
    told[i].forEach((line, k) => {
      write(context, line, words.x, words.y - 2 + k * words.line, { size: 13, room: words.room });
    });
    write(context, size, strip.x, cabinet.y + cabinet.height + 20, { bold: true, size: 16 });
    return;
  }
  write(context, name, 0, box.y + 9, { bold: true, size: 15 });
  const end = context.measureText(name).width + 8;
  write(context, model ?? "", end, box.y + 9, { size: 12, colour: NOW.soft, room: cabinet.width - end - 76 });
  write(context, size, cabinet.width, box.y + 9, { bold: true, size: 15, align: "right" });
  write(context, told[i].join(", "), words.x, words.y, { size: 12, room: words.room });
}

// The text from its first token to the last; each part of the design has a row as high as it has layers.
function paintStrip(context, { x, y, width, height }, { parts }, seen) {
  const { length, token, decay, beta, pointed } = seen;
  const layers = parts.reduce((sum, { n_layers }) => sum + n_layers, 0);
  Object.assign(context, { fillStyle: NOW.slab, strokeStyle: NOW.edge, lineWidth: 1 });
  context.fillRect(x, y, width, height);
  let top = y;
  for (const part of parts) {
    const high = (height * part.n_layers) / layers;
    for (let px = 0; px < width; px += 1) {
      const age = length - 1 - Math.min(length - 1, Math.floor(((px + 0.5) / width) * length));
      context.fillStyle = css(amounts(known(part, age, decay, beta)));
      context.fillRect(x + px, top, Math.min(2, width - px), high); // overlaps the next, so that no seam is seen
    }
    if (part.whole) stripes(context, x, top, width, high, inkOn(rgbOf(NOW.amber)), 0.75);
    if (part.window && length > part.window) {
      const handed = clamp((length - 1 - reachOf(part)) / length, 0, 1) * width;
      const dropped = width * (1 - part.window / length);
      stripes(context, x + handed, top, dropped - handed, high, NOW.edge, 1);
    }
    top += high;
  }
  context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
  const at = x + ((token + 0.5) / length) * width;
  context.fillStyle = NOW.ink;
  context.fillRect(at - (pointed ? 1.5 : 1), y - 5, pointed ? 3 : 2, height + 10);
}

function paintCabinet(context, { x, y, width, height }, parts, upright) {
  context.fillStyle = NOW.slab;
  context.fillRect(x, y, width, height);
  const place = (from, to, left, right) =>
    upright
      ? [x + left * width, y + height * (1 - to), (right - left) * width, Math.max(height * (to - from), 1)]
      : [x + width * from, y + left * height, Math.max(width * (to - from), 1), (right - left) * height];
  for (const { kind, from, to } of parts) {
    if (kind === "pairs") {
      [MEANINGS.key, MEANINGS.value].forEach((colour, k) => {
        context.fillStyle = colour;
        context.fillRect(...place(from, to, k / 2, (k + 1) / 2));
      });
      continue;
    }
    const whole = place(from, to, 0, 1);
    context.fillStyle = kind === "state" ? NOW["amber-edge"] : NOW.thread;
    context.fillRect(...whole);
    if (kind === "latent") stripes(context, ...whole, NOW.paper, 1);
  }
  context.fillStyle = NOW.line;
  for (const share of [0.25, 0.5, 0.75]) {
    if (upright) context.fillRect(x, y + share * height, width, 1);
    else context.fillRect(x + share * width, y, 1, height);
  }
  Object.assign(context, { strokeStyle: NOW.ink, lineWidth: 2 });
  context.beginPath();
  context.roundRect(x, y, width, height, 4);
  context.stroke();
  if (!upright) return;
  context.fillStyle = NOW.ink;
  for (const foot of [x + 10, x + width - 18]) context.fillRect(foot, y + height, 8, 5);
}
