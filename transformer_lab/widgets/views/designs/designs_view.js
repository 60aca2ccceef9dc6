// The cache of five designs, filling token by token and drawn to scale, and what each still knows of the first tokens.

import { FONT } from "../../shared/grid.js";
import { player } from "../../shared/motion.js";
import { COLOURS, MEANINGS } from "../../shared/palette.js";
import {
  bar,
  button,
  canvas,
  clamp,
  eachFrame,
  element,
  lineCursor,
  readout,
  resetButton,
  slider,
  stripes,
  tableSwitch,
  watch,
  widthOf,
} from "../../shared/ui.js";
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

// How large everything is drawn: the axis ends at a power of 4, a token is `token` pixels wide, a number of it `number`
// pixels high, so that token · number is the area of a number in every design; no cache is higher than `high`.
export function scaleOf(designs, length, width, high) {
  const most = Math.max(16, 4 ** Math.ceil(Math.log(length) / Math.log(4) - 1e-9));
  const token = width / most;
  const thickest = Math.max(...designs.map(thicknessOf));
  const largest = Math.max(0, ...designs.flatMap(({ parts }) => parts.map(({ n_layers, state }) => n_layers * state)));
  const number = Math.min(high / thickest, largest ? high ** 2 / (largest * token) : Infinity);
  return { most, token, number };
}

const thicknessOf = ({ parts }) => parts.reduce((sum, { n_layers, numbers }) => sum + n_layers * numbers, 0);

// What a part fills, in pixels: { from, to, high } along the tokens, or the side of a square.
export function blockOf(part, length, { token, number }) {
  if (part.state) return { side: Math.sqrt(part.n_layers * part.state * token * number) };
  const kept = part.window ? Math.min(length, part.window) : length;
  return { from: (length - kept) * token, to: length * token, high: part.n_layers * part.numbers * number };
}

const CURSOR = 40; // places along the text

export default {
  render({ model, el }) {
    const [sets, lengths, decays] = [model.get("sets"), model.get("lengths"), model.get("decays")];
    const each = model.get("bytes");
    const start = () => ({
      set: model.get("set"),
      at: model.get("at"),
      decay: model.get("decay"),
      beta: model.get("beta"),
      token: null,
    });
    const now = start();
    const says = readout();
    const sketch = canvas("Five caches.", { how: "The arrow keys go along the text." });

    const draw = eachFrame(() => {
      const { designs } = sets[now.set];
      const length = lengths[now.at];
      const token = Math.round(((now.token ?? 0) / CURSOR) * (length - 1));
      const age = length - 1 - token;
      const shares = designs.map(({ parts }) => parts.map((part) => known(part, age, decays[now.decay], now.beta)));
      const bytes = designs.map(({ parts }) => each * parts.reduce((sum, part) => sum + numbersOf(part, length), 0));
      el.values = { set: sets[now.set].name, length, bytes, token, known: shares.flat() };
      choices.forEach((one, i) => one.setAttribute("aria-pressed", i === now.set));
      const seen = { designs, length, token, age, bytes, shares, decay: decays[now.decay], beta: now.beta, each };
      paint(sketch, el, seen, now.token !== null);
      const words = describe(seen);
      says.say(words);
      sketch.describe(words);
      table.fill(() => asTable(seen));
    });
    const go = (at) => {
      now.at = clamp(at, 0, lengths.length - 1);
      tokens.set(now.at);
      draw();
    };
    const play = player({ button, at: () => now.at, last: () => lengths.length - 1, go, milliseconds: 110 });
    const tokens = slider(
      "tokens",
      { min: 0, max: lengths.length - 1, step: 1, value: now.at, show: (i) => count(lengths[i]) },
      (at) => {
        play.stop();
        go(at);
      },
    );
    const change = (what) => (value) => {
      now[what] = value;
      draw();
    };
    const decay = slider(
      "decay a token",
      { min: 0, max: decays.length - 1, step: 1, value: now.decay, show: (i) => String(decays[i]) },
      change("decay"),
    );
    const beta = slider("written, β", { min: 0.1, max: 1, step: 0.1, value: now.beta }, change("beta"));
    const choices = sets.map(({ name }, i) => button(name, () => change("set")(i)));
    const table = tableSwitch(draw);
    const reset = resetButton([table, decay, beta], () => {
      play.stop();
      Object.assign(now, start());
      go(now.at);
    });
    lineCursor(sketch.node, {
      at: () => now.token,
      last: () => CURSOR,
      find: (event) => {
        const { left, wide } = sketch.node.layout; // wide: of the text so far
        return clamp(Math.round(((sketch.at(event)[0] - left) / wide) * CURSOR), 0, CURSOR);
      },
      move: change("token"),
    });
    el.append(
      element("style", {}, STYLE),
      bar(element("div", { class: "tl-choice" }, ...choices)),
      bar(play.node, tokens.node),
      sketch.node,
      says,
      element("div", { class: "tl-note" }, NOTE),
      element("div", { class: "tl-grid" }, decay.node, beta.node),
      bar(table.button, reset),
      table.room,
    );
    return watch(el, draw);
  },
};

const STYLE = `
.tl-designs .tl-choice { display: flex; flex-wrap: wrap; }
.tl-designs .tl-choice button { border-radius: 4px 0 0 4px; }
.tl-designs .tl-choice button:last-child { border-radius: 0 4px 4px 0; margin-left: -1px; }
.tl-designs canvas { touch-action: pan-y; margin: 6px 0; }
`;

// ── words ──

const NOTE =
  "Area is bytes, in all rows alike. Tokens go from left to right; the scale changes at each power of 4. Orange: " +
  "keys; green: values. Dotted: what a window has dropped, grey as far as its layers can hand it on, L (w − 1). The " +
  "band of a state says how much of each token is left in it, if the later keys point anywhere: " +
  "((1 − β / d) · decay) to the power of the token's age.";

const count = (n) => n.toLocaleString("en");

const percent = (share) => (share >= 0.995 ? "100 %" : share < 0.0005 ? "0.0 %" : `${(100 * share).toFixed(1)} %`);

// What layers of one kind know of a token of that age.
export function inWords(part, age, share) {
  if (part.state) return percent(share);
  if (part.whole) return `everything, in 1/${Math.round(part.whole / part.numbers)} of the numbers`;
  if (share) return "everything";
  return age <= reachOf(part) ? "at second hand" : "nothing";
}

function knows({ parts }, age, shares) {
  const said = parts.map((part, i) => inWords(part, age, shares[i]));
  if (parts.length === 1 || said.every((one) => one === said[0])) return said[0];
  return parts.map(({ n_layers }, i) => `${n_layers} layers ${said[i]}`).join(", ");
}

function describe({ designs, length, token, age, bytes, shares }) {
  const kept = designs.map(({ name, parts }, i) => `${name} ${inUnits(bytes[i], "B")}`);
  const told = designs.map((design, i) => `${design.name}: ${knows(design, age, shares[i])}`);
  return `After ${count(length)} tokens: ${kept.join(", ")}. Known of token ${count(token + 1)}: ${told.join("; ")}.`;
}

function asTable({ designs, token, age, bytes, shares, each }) {
  const rows = designs.map((design, i) => [
    design.model ? `${design.name}, ${design.model}` : design.name,
    inUnits(bytes[i], "B"),
    inUnits(each * thicknessOf(design), "B"),
    knows(design, age, shares[i]),
  ]);
  return [["design", "cache", "a token adds at first", `knows of token ${count(token + 1)}`], ...rows];
}

// ── drawing ──

const [LEFT, BAND] = [4, 12];

function paint(sketch, el, seen, pointed) {
  const { designs, length } = seen;
  const total = widthOf(el);
  const narrow = total < 640;
  const [high, head] = [narrow ? 84 : 112, narrow ? 42 : 24];
  const width = total - LEFT - 16;
  const scale = scaleOf(designs, length, width, high);
  const thickest = Math.max(...designs.map(thicknessOf));
  const slots = designs.map(
    (design) =>
      head +
      (high * thicknessOf(design)) / thickest +
      (design.parts.some(({ state }) => state) ? high + BAND + 6 : 0) +
      14,
  );
  const bottom = 26 + slots.reduce((sum, one) => sum + one, 0);
  const context = sketch.resize(total, bottom + 26);
  const ink = getComputedStyle(el).color;
  sketch.node.layout = { left: LEFT, wide: length * scale.token };
  const tools = { context, ink, scale, seen, narrow, total };
  Object.assign(context, { font: FONT, textBaseline: "middle", fillStyle: ink });
  paintKey(tools);
  context.globalAlpha = 0.3;
  context.fillRect(LEFT + length * scale.token - 0.5, 30, 1, bottom - 30); // how far the text is read
  context.globalAlpha = 1;
  let top = 26;
  designs.forEach((design, i) => {
    paintDesign(tools, design, i, top + head);
    paintHead(tools, design, i, top);
    top += slots[i];
  });
  paintAxis(tools, bottom);
  paintToken(tools, bottom, pointed);
}

// A square of so many bytes that it can be seen.
function paintKey({ context, ink, scale, seen, total }) {
  const area = (scale.token * scale.number) / seen.each; // of a byte
  const power = Math.floor(Math.log10(500 / area));
  const side = Math.sqrt(10 ** power * area);
  const text = `= ${inUnits(10 ** power, "B")}`;
  Object.assign(context, { strokeStyle: ink, lineWidth: 1.5, textAlign: "right" });
  context.fillText(text, total - 4, 12);
  const x = total - 12 - context.measureText(text).width - side;
  context.strokeRect(x, 12 - side / 2, side, side);
}

function paintHead({ context, ink, seen, narrow, total }, design, i, top) {
  Object.assign(context, { fillStyle: ink, font: `bold ${FONT}`, textAlign: "left" });
  const name = design.model ? `${design.name}, ${design.model}` : design.name;
  context.fillText(name, LEFT + 8, top + 10);
  const end = LEFT + 8 + context.measureText(name).width;
  context.font = FONT;
  context.fillText(inUnits(seen.bytes[i], "B"), end + 12, top + 10);
  const told = `token ${count(seen.token + 1)}: ${knows(design, seen.age, seen.shares[i])}`;
  if (narrow) return context.fillText(told, LEFT + 8, top + 29, total - 28);
  context.fillText(told, LEFT + 320, top + 10);
}

function paintDesign(tools, design, i, top) {
  const { scale, seen } = tools;
  let y = top;
  for (const part of design.parts) {
    const block = blockOf(part, seen.length, scale);
    if (part.state) {
      paintFading(tools, part, y);
      paintState(tools, block, y + BAND + 5);
      y += BAND + 5 + block.side;
    } else {
      paintKept(tools, part, block, y);
      y += block.high + (design.parts.length > 1 ? 2 : 0);
    }
  }
}

function paintKept({ context, ink, scale, seen }, part, { from, to, high }, y) {
  if (from > 0) paintDropped({ context, ink, scale, seen }, part, from, high, y);
  const halves = part.whole ? [COLOURS[3]] : [MEANINGS.key, MEANINGS.value];
  halves.forEach((colour, i) => {
    context.fillStyle = colour;
    context.globalAlpha = 0.85;
    context.fillRect(LEFT + from, y + (i * high) / halves.length, Math.max(to - from, 1), high / halves.length);
    context.globalAlpha = 1;
  });
  if (part.whole) stripes(context, LEFT, y, to, high, ink, 0.8);
}

// What has left a window: an outline, and grey as far back as the layers can hand on what they have read.
function paintDropped({ context, ink, scale, seen }, part, from, high, y) {
  const handed = clamp((seen.length - 1 - reachOf(part)) * scale.token, 0, from);
  context.fillStyle = ink;
  context.globalAlpha = 0.13;
  context.fillRect(LEFT + handed, y, from - handed, high);
  context.globalAlpha = 0.8;
  Object.assign(context, { strokeStyle: ink, lineWidth: 1 });
  context.setLineDash([2, 3]);
  context.strokeRect(LEFT + 0.5, y + 0.5, from - 1, Math.max(high - 1, 1));
  context.setLineDash([]);
  context.globalAlpha = 1;
}

// How much of each token is left in a state, as a band along the text.
function paintFading({ context, ink, scale, seen }, part, y) {
  const wide = seen.length * scale.token;
  context.fillStyle = COLOURS[4];
  for (let x = 0; x < wide; x += 1) {
    const age = seen.length - 1 - Math.min(Math.floor(x / scale.token), seen.length - 1);
    context.globalAlpha = known(part, age, seen.decay, seen.beta);
    context.fillRect(LEFT + x, y, Math.min(1, wide - x), BAND);
  }
  Object.assign(context, { strokeStyle: ink, lineWidth: 1, globalAlpha: 0.6 });
  context.strokeRect(LEFT + 0.5, y + 0.5, Math.max(wide - 1, 1), BAND - 1);
  context.globalAlpha = 1;
}

function paintState({ context, ink, scale, seen }, { side }, y) {
  const x = LEFT + Math.max(0, seen.length * scale.token - side);
  context.fillStyle = COLOURS[4];
  context.fillRect(x, y, side, side);
  Object.assign(context, { strokeStyle: ink, lineWidth: 1 });
  if (side > 4) context.strokeRect(x + 0.5, y + 0.5, side - 1, side - 1);
}

function paintAxis({ context, ink, scale, seen }, y) {
  const width = scale.most * scale.token;
  Object.assign(context, { fillStyle: ink, strokeStyle: ink, font: FONT, lineWidth: 1 });
  context.fillRect(LEFT, y, width, 1);
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    const x = LEFT + share * width;
    context.fillRect(x - (share === 1 ? 1 : 0), y, 1, 5);
    context.textAlign = share === 0 ? "left" : share === 1 ? "right" : "center";
    context.fillText(share ? count(Math.round(share * scale.most)) : "0 tokens", x, y + 16);
  }
  const read = LEFT + seen.length * scale.token;
  context.fillRect(read - 1.5, y - 14, 3, 14);
}

function paintToken({ context, scale, seen }, y, pointed) {
  const x = LEFT + (seen.token + 0.5) * scale.token;
  Object.assign(context, { strokeStyle: MEANINGS.chosen, fillStyle: MEANINGS.chosen, lineWidth: pointed ? 2.5 : 1.5 });
  context.setLineDash(pointed ? [] : [5, 4]);
  context.beginPath();
  context.moveTo(x, 24);
  context.lineTo(x, y);
  context.stroke();
  context.setLineDash([]);
  context.beginPath();
  context.arc(Math.max(x, 5), 20, 4.5, 0, 2 * Math.PI);
  context.fill();
}
