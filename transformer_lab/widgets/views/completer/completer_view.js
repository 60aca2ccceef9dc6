// Code completer: a language model in the page goes on from what is typed; its probabilities for each token.

import {
  bar,
  button,
  canvas,
  choice,
  clamp,
  eachFrame,
  element,
  onKeys,
  onLeave,
  readout,
  resetButton,
  slider,
  tableSwitch,
  temperatureSlider,
  watch,
  widthOf,
} from "../../shared/ui.js";
import { numbersIn } from "../../shared/numbers.js";
import { uniform } from "../decoding/decoding_view.js";
import { NOW, SANS, SERIF } from "../../shared/palette.js";
import { drawer, languageModel, mostProbable, readerOf, written } from "../../shared/language_model.js";

const [BARS, GHOSTS, MOST] = [10, 4, 200]; // tokens with a bar, and behind the caret; tokens written at most
const FONT = `13px ${SANS}`;
const TOKENS = `18px ${SERIF}`;
const [ROW, TOP, LEFT, RIGHT] = [26, 30, 52, 110]; // of the picture, in pixels
const OTHER = 1; // the token of a character that has none
const START = { random: 0, temperature: 1, seed: 1, kept: [], n: 0, step: 0, cursor: null };

// A text as tokens: one for each character.
export function encoder(symbols) {
  const ids = new Map(symbols.map((symbol, i) => [symbol, i]));
  ids.delete(""); // padding
  return (text) => Array.from(text, (letter) => ids.get(letter) ?? OTHER);
}

// A token as it can be seen.
export function visible(symbol) {
  return { "": "pad", "\n": "⏎", " ": "␣" }[symbol] ?? symbol;
}

// The most probable tokens, the first one first, and among equals that of the smaller id.
export function largest(probabilities, n) {
  const order = probabilities.map((_, i) => i).sort((a, b) => probabilities[b] - probabilities[a]);
  return order.slice(0, n);
}

export default {
  render({ model: state, el }) {
    return view(state, el);
  },
};

function view(model, el) {
  const [symbols, lm] = [model.get("symbols"), languageModel(model.get("model"))];
  const [encoded, reader] = [encoder(symbols), readerOf(lm)];
  const now = { ...START, text: model.get("prefix") };
  let run = null; // steps { token, probabilities } of what is written, and what would come next

  // What has been picked by hand stands as it is; what the model has written is written anew.
  const work = () => {
    const typed = encoded(now.text);
    if (!typed.length) return null;
    const prompt = { prompt: typed, longest: lm.max_len, temperature: now.temperature };
    const random = drawer(uniform(now.seed));
    const choose = (probabilities, i) =>
      i < now.kept.length ? now.kept[i] : now.random ? random(probabilities) : mostProbable(probabilities);
    let i = 0;
    return written(reader, { ...prompt, n: now.kept.length + now.n, choose: (p) => choose(p, i++) });
  };
  const shown = () => run && (run.steps[now.step] ?? { token: null, probabilities: run.next });
  const draw = eachFrame(() => {
    run ??= work();
    const step = shown();
    const best = step ? largest(step.probabilities, BARS) : [];
    el.values = {
      text: now.text + (run?.steps ?? []).map(({ token }) => symbols[token]).join(""),
      step: now.step,
      tokens: best.map((token) => visible(symbols[token])),
      probabilities: best.map((token) => step.probabilities[token]),
    };
    now.cursor = best.length && now.cursor !== null ? clamp(now.cursor, 0, best.length - 1) : null;
    paint(sketch, { el, best, step, symbols, cursor: now.cursor, title: titleOf(now, run, symbols) });
    lay(page, { now, run, symbols });
    says.say(describe({ now, step, best, symbols, longest: lm.max_len }));
    sketch.describe(
      `${titleOf(now, run, symbols)}: ${el.values.tokens
        .slice(0, 3)
        .map((name, i) => `${name} ${el.values.probabilities[i].toFixed(3)}`)
        .join(", ")}.`,
    );
    strange.textContent = strangersIn(now.text, encoded);
    table.fill(() => asTable(step, best, symbols));
    refresh();
  });
  const change = (what) => {
    Object.assign(now, what);
    run = null;
    draw();
  };
  const look = (what) => {
    Object.assign(now, what);
    draw();
  };
  const total = () => now.kept.length + now.n;
  const write = (n) => {
    const more = Math.min(n, MOST - total());
    change({ n: now.n + more, step: total() + more, cursor: null });
  };
  // Put a token behind what stands in front of the bars, and drop what the model had written there.
  const pick = (i) => {
    if (!run || now.step >= MOST) return;
    const before = run.steps.slice(0, now.step).map(({ token }) => token);
    const token = largest(shown().probabilities, BARS)[i];
    change({ kept: [...before, token], n: 0, step: now.step + 1 });
  };

  // ── controls ──

  const input = element("textarea", {
    rows: 2,
    maxlength: lm.max_len,
    spellcheck: false,
    autocomplete: "off",
    autocapitalize: "off",
    "aria-label": "your text",
    "data-lm-suppress-shortcuts": "true",
  });
  input.oninput = () => change({ text: input.value, kept: [], step: 0, cursor: null });
  input.onkeydown = (event) => event.stopPropagation();
  const temperature = temperatureSlider((to) => change({ temperature: to }));
  const way = choice("takes", ["the most probable token", "a random one"], (i) => change({ random: i }));
  const seed = slider("draw", { min: 1, max: 20, step: 1, value: START.seed, show: String }, (to) =>
    change({ seed: to }),
  );
  const buttons = [1, 40].map((n) => button(`write ${n}`, () => write(n)));
  const erase = button("erase", () => change({ kept: [], n: 0, step: 0, cursor: null }));
  const place = slider(
    "bars for token",
    { min: 0, max: 0, step: 1, value: 0, show: (t) => `${t + 1} of ${total() + 1}` },
    (t) => look({ step: t, cursor: null }),
  );
  const sketch = canvas("The next token’s probabilities.", {
    how: "Arrow keys go over the bars, Enter writes a token.",
  });
  const says = readout();
  const strange = element("div", { class: "tl-note" });
  const page = element("pre", { class: "tl-written" });
  const shades = element("div", { class: "tl-note" }, "The stronger the ground, the less probable was the token.");
  const table = tableSwitch(draw);
  const reset = resetButton([temperature, way, seed, table], () => {
    input.value = model.get("prefix");
    change({ ...START, text: input.value });
  });
  const refresh = () => {
    const range = place.node.querySelector("input");
    range.max = total();
    place.set(now.step);
    place.node.hidden = shades.hidden = !total();
    seed.node.hidden = !now.random;
  };
  // The tokens that were picked, how many the model has written after them, and the one whose bars are seen.
  const writtenAs = (text) => {
    const [n, step, ...kept] = numbersIn(text);
    if (step === undefined || n + kept.length > MOST || kept.some((token) => token >= symbols.length)) return;
    change({ kept, n, step: Math.min(step, n + kept.length), cursor: null });
  };
  const said = () => (total() ? [now.n, now.step, ...now.kept].join(".") : "");
  el.kept = { written: { get: said, set: writtenAs } };
  pointers(sketch.node, { at: () => now.cursor, bars: () => sketch.node.bars, look, pick, point: sketch.at });
  page.onclick = ({ target }) => {
    if (target.dataset.ghost) pick(+target.dataset.ghost);
  };
  page.onpointermove = page.onpointerdown = ({ target }) => {
    if (target.dataset.step && +target.dataset.step !== now.step) look({ step: +target.dataset.step, cursor: null });
  };

  input.value = now.text;
  el.append(
    element("style", {}, STYLE),
    element(
      "div",
      { class: "tl-two" },
      element(
        "div",
        {},
        element("label", { class: "tl-typed" }, element("span", {}, "your text"), input),
        strange,
        page,
        shades,
        bar(...buttons, erase),
        bar(way.node, temperature.node, seed.node),
      ),
      element("div", {}, sketch.node, bar(place.node), says, bar(table.button, reset)),
    ),
    table.room,
  );
  return watch(el, draw);
}

const STYLE = `
.tl-completer .tl-two {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); gap: 8px 32px;
}
.tl-completer .tl-two > div { min-width: 0; }
.tl-completer .tl-typed { display: block; width: 100%; color: var(--tl-soft); }
.tl-completer :is(textarea, .tl-written) {
  font: 22px/1.4 var(--tl-serif); color: var(--tl-ink); background: transparent;
  border: 1px solid var(--tl-edge); border-radius: 6px; padding: 8px 12px; box-sizing: border-box;
}
.tl-completer textarea { display: block; width: 100%; margin-top: 4px; resize: vertical; }
.tl-completer .tl-written {
  border: 0; border-left: 3px solid var(--tl-amber); border-radius: 0; background: var(--tl-slab);
  white-space: pre-wrap; overflow-wrap: anywhere; min-height: 5.5em; margin: 12px 0;
}
.tl-completer .tl-written > b { color: var(--tl-soft); font-weight: 400; }
.tl-completer .tl-written :is(span, .tl-ghosts i) { cursor: pointer; }
.tl-completer .tl-ghosts {
  display: inline-flex; gap: 10px; align-items: baseline; margin-left: 2px; padding-left: 6px;
  border-left: 2px solid var(--tl-ink); color: var(--tl-soft);
}
.tl-completer .tl-written .tl-picked { text-decoration: underline; }
.tl-completer .tl-written .tl-here { outline: 2px solid var(--tl-ink); }
`;

// What mouse and keys do to the bars: pointing and arrows move the cursor, a click, Enter and Space write a token.
function pointers(node, { at, bars, look, pick, point }) {
  const under = (event) => {
    const i = Math.floor((point(event)[1] - TOP) / ROW);
    return i >= 0 && i < bars() ? i : null;
  };
  Object.assign(node, {
    onpointermove: (event) => look({ cursor: under(event) }),
    onpointerleave: onLeave(() => look({ cursor: null })),
    onclick: (event) => {
      if (under(event) !== null) pick(under(event));
    },
    onfocus: () => {
      if (at() === null && node.matches(":focus-visible")) look({ cursor: 0 });
    },
    onblur: () => look({ cursor: null }),
    onkeydown: onKeys((key) => {
      const [here, end] = [at() ?? 0, bars() - 1];
      if (key === "Enter" || key === " ") return void pick(here);
      const to = { ArrowUp: here - 1, ArrowDown: here + 1, Home: 0, End: end }[key];
      if (to === undefined) return false;
      look({ cursor: clamp(to, 0, end) });
    }),
  });
}

// ── drawing ──

function paint(sketch, { el, best, step, symbols, cursor, title }) {
  const width = Math.min(widthOf(sketch.node.parentElement ?? el), 560);
  const context = sketch.resize(width, TOP + ROW * BARS + 4);
  const ink = getComputedStyle(el).color;
  sketch.node.bars = best.length;
  Object.assign(context, { fillStyle: ink, font: `bold ${FONT}`, textBaseline: "middle", textAlign: "left" });
  context.fillText(title, 0, 12);
  const wide = width - LEFT - RIGHT;
  best.forEach((token, i) => {
    const [y, p, taken] = [TOP + i * ROW, step.probabilities[token], token === step.token];
    Object.assign(context, { fillStyle: ink, font: taken ? `bold ${TOKENS}` : TOKENS, textAlign: "right" });
    context.fillText(visible(symbols[token]), LEFT - 10, y + ROW / 2);
    context.fillStyle = NOW.amber;
    context.fillRect(LEFT, y + 4, Math.max(1, wide * p), ROW - 8);
    Object.assign(context, { strokeStyle: taken ? ink : NOW["amber-edge"], lineWidth: taken ? 2 : 1 });
    context.strokeRect(LEFT, y + 4, Math.max(1, wide * p), ROW - 8);
    Object.assign(context, { fillStyle: ink, font: FONT, textAlign: "left" });
    context.fillText(p.toFixed(3) + (taken ? " ◂ taken" : ""), LEFT + wide * p + 8, y + ROW / 2);
    if (i === cursor)
      Object.assign(context, { strokeStyle: NOW.ink, lineWidth: 2 }).strokeRect(LEFT - 2, y + 1, wide + 4, ROW - 2);
  });
  context.fillStyle = ink;
  context.fillRect(LEFT - 1, TOP, 1, ROW * BARS);
}

// The text: what was typed, and what was written, whose ground is the stronger, the less probable it was. Behind the
// caret stand the ghosts of what may come next, as large as they are probable; one that is pressed is written.
function lay(page, { now, run, symbols }) {
  const spans = (run?.steps ?? []).map(({ token, probabilities }, i) => {
    const symbol = symbols[token];
    const span = element("span", { "data-step": i }, symbol === "\n" ? "⏎\n" : symbol || "▯");
    span.style.background = `rgb(224 160 46 / ${(0.06 + 0.6 * (1 - probabilities[token])).toFixed(2)})`;
    span.classList.toggle("tl-picked", i < now.kept.length);
    span.classList.toggle("tl-here", i === now.step);
    return span;
  });
  const ghosts = now.step === spans.length && run?.next ? largest(run.next, GHOSTS) : [];
  const faint = ghosts.map((token, i) => {
    const ghost = element("i", {
      "data-ghost": i,
      style: `font-size: ${Math.round(13 + 16 * Math.sqrt(run.next[token]))}px`,
    });
    ghost.textContent = visible(symbols[token]);
    return ghost;
  });
  const behind = element("i", { class: "tl-ghosts", "aria-hidden": "true" }, ...faint);
  page.replaceChildren(element("b", {}, now.text), ...spans, ...(faint.length ? [behind] : []));
}

// ── words ──

const quoted = (symbol) => `“${visible(symbol)}”`;

function titleOf(now, run, symbols) {
  const before = (run?.steps ?? []).slice(0, now.step).map(({ token }) => symbols[token]);
  const text = [...now.text, ...before].map(visible);
  return text.length ? `next token after “${text.length > 24 ? "…" : ""}${text.slice(-24).join("")}”` : "next token";
}

function describe({ now, step, best, symbols, longest }) {
  if (!step) return "A language model goes on from what it has read: type at least one character.";
  const of = (token) => step.probabilities[token].toFixed(3);
  if (now.cursor !== null) {
    const token = best[now.cursor];
    const rank = `number ${now.cursor + 1} of ${symbols.length} tokens`;
    return `${quoted(symbols[token])}: probability ${of(token)}, ${rank}. Press it to write it.`;
  }
  const sum = best.reduce((all, token) => all + step.probabilities[token], 0);
  const others = `the other ${symbols.length - best.length} tokens share the rest`;
  const together = `The ${best.length} bars add up to ${sum.toFixed(3)}; ${others}.`;
  const window =
    now.kept.length + now.n + now.text.length > longest ? ` The model reads at most ${longest} tokens.` : "";
  return (
    (step.token === null
      ? together
      : `${quoted(symbols[step.token])} was written, with probability ${of(step.token)}. ${together}`) + window
  );
}

// Which characters of a text the model does not know.
function strangersIn(text, encoded) {
  const unknown = [...new Set(text)].filter((letter) => encoded(letter)[0] === OTHER);
  if (!unknown.length) return "";
  return `Not among the model’s characters, so that it reads the same token for each: ${unknown.join(" ")}`;
}

function asTable(step, best, symbols) {
  if (!step) return [["token", "probability"]];
  const line = (token) => [
    visible(symbols[token]),
    step.probabilities[token].toFixed(4),
    token === step.token ? "yes" : "",
  ];
  return [["token", "probability", "taken"], ...best.map(line)];
}
