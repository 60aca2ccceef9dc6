// Swaps side by side: the block of 2017 and one with some of six later parts, what they cost, and what was measured.

import {
  bar,
  button,
  canvas,
  choice,
  eachFrame,
  element,
  readout,
  resetButton,
  slider,
  tableSwitch,
  watch,
  widthOf,
} from "../../shared/ui.js";
import { motion } from "../../shared/motion.js";
import { inUnits } from "../cache/cache_view.js";
import { HEAD, ORDER, ROW, columnsOf, mean, paintBlock, paintBytes, paintLosses } from "./swaps_picture.js";

const [PRE_NORM, RMS_NORM, SWIGLU, , GROUPED, NO_BIASES] = [0, 1, 2, 3, 4, 5];
const BYTES = 2; // of a number in the cache
const WEAVE = 400; // milliseconds until the thread of a part that was put in has come to it
const NUDGE = 6; // pixels that a finger may move, and still press

// What a language model with these swaps holds, and what its next token costs: `cost_of_a_token` of analysis. The
// matrices of a layer have 12 d² numbers, whatever the swaps are.
export function costOf(on, { d_model: d, n_layers, vocab_size }, length) {
  const keys = on[GROUPED] ? d / 2 : d; // width of all keys, and of all values
  const matrices = on[SWIGLU] ? 3 : 2;
  const d_ff = (12 * d * d - 2 * d * (d + keys)) / (matrices * d);
  const biases = on[NO_BIASES] ? 0 : 2 * d + 2 * keys + (matrices - 1) * d_ff + d;
  const norm = on[RMS_NORM] || on[NO_BIASES] ? d : 2 * d;
  const last = on[PRE_NORM] ? (on[RMS_NORM] ? d : 2 * d) : 0; // it stands outside of the layers
  return {
    d_ff,
    parameters: vocab_size * d + n_layers * (12 * d * d + biases + 2 * norm) + last,
    flops: 2 * n_layers * 12 * d * d + 4 * n_layers * d * length + 2 * d * vocab_size,
    cache: 2 * n_layers * keys * length,
  };
}

// The number of a combination: its bits say which swaps are made.
export function numberOf(on) {
  return on.reduce((sum, yes, i) => sum + (yes ? 2 ** i : 0), 0);
}

export default {
  render({ model, el }) {
    const [swaps, losses, lengths] = [model.get("swaps"), model.get("losses"), model.get("lengths")];
    const sizes = model.get("sizes").map((size) => ({ ...size, vocab_size: model.get("vocab_size") }));
    const start = () => ({ on: [...model.get("chosen")], at: model.get("at"), size: 0 });
    const now = start();
    const paper = swaps.map(() => false);

    const draw = eachFrame(() => {
      const [size, length] = [sizes[now.size], lengths[now.at]];
      const [old, mine] = [costOf(paper, size, length), costOf(now.on, size, length)];
      const measured = losses[numberOf(now.on)];
      const { d_ff, ...counted } = mine;
      el.values = { chosen: now.on.map(Number), length, ...counted, losses: measured };
      for (const card of cards) card.show(now.on[card.swap]);
      const [total, ink] = [widthOf(el), getComputedStyle(el).color];
      paintBlock(blocks, { total, ink, on: now.on, d_ff, grown: (swap) => (fresh.has(swap) ? weave.share : 1) });
      paintLosses(strip, { total, ink, losses, measured });
      const bytes = (on) => lengths.map((n) => BYTES * costOf(on, size, n).cache);
      const curves = { old: bytes(paper), mine: bytes(now.on) };
      paintBytes(sketch, { total, ink, lengths, at: now.at, ...curves, inUnits });
      board.style.setProperty("--card", `${columnsOf(total).card}px`);
      const words = describe({ swaps, now, old, mine, length, measured, first: losses[0] });
      says.say(words);
      const chosen = swaps.filter((_, k) => now.on[k]).map(({ name }) => name);
      blocks.describe(
        `The block with ${chosen.join(", ") || "no swap, as it was in 2017"}; a thread to each of its parts.`,
      );
      strip.describe(
        `Measured losses of all models. 2017: ${mean(losses[0]).toFixed(3)}; yours: ${mean(measured).toFixed(3)}.`,
      );
      sketch.describe(`Bytes of the cache by the number of tokens. ${words}`);
      table.fill(() => asTable({ swaps, sizes, now, lengths, losses, paper }));
    });

    // A thread that is new grows from its card to the block.
    const fresh = new Set();
    const weave = motion(draw, WEAVE);
    const put = (on) => {
      fresh.clear();
      on.forEach((yes, swap) => {
        if (yes !== now.on[swap]) fresh.add(swap);
      });
      now.on = on;
      if (fresh.size) weave.start();
      draw();
    };
    const flip = (swap) => put(now.on.map((yes, i) => (i === swap ? !yes : yes)));
    const between = (event) => {
      const { left, width } = board.getBoundingClientRect();
      const { card } = columnsOf(widthOf(el));
      return event.clientX > left + card && event.clientX < left + width - card;
    };
    const cards = ORDER.flatMap((swap) => [
      cardOf({ swap, text: swaps[swap].parts[0], title: "as in 2017", old: true, flip, between }),
      cardOf({ swap, text: swaps[swap].name, title: swaps[swap].parts[1], old: false, flip, between }),
    ]);
    const set = (on) => () => put(swaps.map(() => on));
    const blocks = canvas("Your block, and where its parts come from.", { keys: false });
    const board = element(
      "div",
      { class: "tl-board" },
      blocks.node,
      button("2017", set(false)),
      button("all six", set(true)),
      ...cards.map(({ node }) => node),
    );
    const strip = canvas("The measured losses: all 64 models, that of 2017, and the chosen one with its seeds.", {
      keys: false,
    });
    const sketch = canvas("Bytes of the cache by the number of tokens, for 2017 and for the chosen block.", {
      keys: false,
    });
    const says = readout();
    const table = tableSwitch(draw);
    const length = slider(
      "tokens",
      { min: 0, max: lengths.length - 1, step: 1, value: now.at, show: (i) => lengths[i].toLocaleString("en") },
      (at) => {
        now.at = at;
        draw();
      },
    );
    const size = choice(
      "counted for",
      sizes.map(({ name }) => name),
      (i) => {
        now.size = i;
        draw();
      },
    );
    const reset = resetButton([table, length, size], () => {
      Object.assign(now, start());
      weave.stop();
      draw();
    });
    el.append(
      element("style", {}, STYLE),
      board,
      element(
        "div",
        { class: "tl-note" },
        "Drag a part into the block, or press it: on the left as it was in 2017, on the right as it is today. " +
          "What differs from 2017 is dashed.",
      ),
      strip.node,
      element(
        "div",
        { class: "tl-note" },
        "Measured: 2 layers, width 48, 200 steps, embeddings of one size; small dots: the other models, mean of " +
          "their seeds; large dots: one for each seed.",
      ),
      bar(length.node, size.node),
      sketch.node,
      says,
      bar(table.button, reset),
      table.room,
    );
    return watch(el, draw);
  },
};

// A card with a part: pressed, or dragged into the block, it is swapped with the one across.
function cardOf({ swap, text, title, old, flip, between }) {
  let [from, moved] = [null, false];
  const node = button(
    text,
    () => {
      if (!moved) flip(swap);
      moved = false; // the click that ends a drag is none
    },
    { title, class: old ? "tl-old" : "tl-new", style: `grid-row: ${ORDER.indexOf(swap) + 2}` },
  );
  const used = () => node.getAttribute("aria-pressed") === "true";
  const drop = () => {
    from = null;
    node.style.translate = "";
  };
  Object.assign(node, {
    onkeydown: () => {
      moved = false;
    },
    onpointerdown: (event) => {
      moved = false;
      from = [event.clientX, event.clientY];
    },
    onpointermove: (event) => {
      if (!from) return;
      const [dx, dy] = [event.clientX - from[0], event.clientY - from[1]];
      if (!moved && Math.hypot(dx, dy) < NUDGE) return;
      if (!moved) node.setPointerCapture?.(event.pointerId);
      moved = true;
      node.style.translate = `${dx}px ${dy}px`;
    },
    onpointerup: (event) => {
      const into = from && moved && between(event);
      drop();
      if (into && !used()) flip(swap);
    },
    onpointercancel: drop,
  });
  return { swap, node, show: (on) => node.setAttribute("aria-pressed", on !== old) };
}

const STYLE = `
.tl-swaps .tl-board {
  position: relative; display: grid; grid-template-columns: var(--card) 1fr var(--card);
  grid-template-rows: ${HEAD - 8}px repeat(${ORDER.length}, ${ROW}px); padding-bottom: 8px; align-items: center;
}
.tl-swaps .tl-board canvas { position: absolute; inset: 0; }
.tl-swaps .tl-board button {
  position: relative; grid-column: 1; background: var(--tl-paper); color: var(--tl-ink); padding: 2px 6px;
  line-height: 1.25; overflow-wrap: anywhere; touch-action: pan-y; user-select: none; min-height: 44px;
}
.tl-swaps .tl-board button:not([aria-pressed]) { grid-row: 1; font-weight: 650; border-color: var(--tl-ink); }
.tl-swaps .tl-board button:is(.tl-new, canvas + button + button) { grid-column: 3; }
.tl-swaps .tl-board button[aria-pressed] { cursor: grab; height: 54px; }
.tl-swaps .tl-board button[aria-pressed=true] {
  background: var(--tl-ink); border-color: var(--tl-ink); color: var(--tl-paper);
}
.tl-swaps .tl-board button[aria-pressed=false] { color: var(--tl-soft); }
@media (max-width: 600px) { .tl-swaps .tl-board button { font-size: 12px; } }
`;

// ── words ──

const count = (value) => value.toLocaleString("en");

function describe({ swaps, now, old, mine, length, measured, first }) {
  const chosen = swaps.filter((_, i) => now.on[i]).map(({ name }) => name);
  const spread =
    measured.length > 1 ? ` (${measured.length} seeds: ${measured.map((x) => x.toFixed(3)).join(", ")})` : "";
  return (
    `${chosen.join(", ") || "No swap"}: ${count(mine.parameters)} parameters (2017: ${count(old.parameters)}). ` +
    `Token ${count(length)} costs ${inUnits(mine.flops, "FLOP")} (2017: ${inUnits(old.flops, "FLOP")}), and ` +
    `the cache holds ${inUnits(BYTES * mine.cache, "B")} in float16 (2017: ${inUnits(BYTES * old.cache, "B")}). ` +
    `Measured loss ${mean(measured).toFixed(3)} nats a character${spread}; 2017: ${mean(first).toFixed(3)}.`
  );
}

function asTable({ swaps, sizes, now, lengths, losses, paper }) {
  const row = (name, on) => {
    const { parameters, flops, cache } = costOf(on, sizes[now.size], lengths[now.at]);
    const loss = mean(losses[numberOf(on)]).toFixed(3);
    return [name, count(parameters), inUnits(flops, "FLOP"), inUnits(BYTES * cache, "B"), loss];
  };
  const changed = swaps.map(({ name }, i) => {
    const other = now.on.map((yes, j) => (i === j ? !yes : yes));
    return row(now.on[i] ? `${name}, undone` : `with ${name}`, other);
  });
  const head = ["block", "parameters", "next token", "cache", "measured loss"];
  return [head, row("2017", paper), row("yours", now.on), ...changed];
}
