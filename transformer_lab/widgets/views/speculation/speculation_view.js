// Speculative decoding, round by round, from a recorded run: drafted tokens, which of them stand, and the text so far.

import {
  bar,
  button,
  canvas,
  clamp,
  eachFrame,
  element,
  onKeys,
  readout,
  resetButton,
  slider,
  tableSwitch,
  tensor,
  watch,
  widthOf,
} from "../../shared/ui.js";
import { drawBars } from "../../shared/chart.js";
import { player } from "../../shared/motion.js";
import { NOW, SANS } from "../../shared/palette.js";
import { visible } from "../lens/lens_view.js";

const HEIGHT = 220;
const ROUND = 1200; // milliseconds for which a round is seen when they play

// The run by rounds, from tables in which -1 stands where there is nothing.
export function unpackedRun({ names, prompt, drafted, accepted, written, p, q }) {
  const rounds = Array.from(accepted.data).filter((n) => n >= 0).length;
  const k = drafted.shape[1];
  const lengths = Array.from({ length: rounds }, (_, i) => {
    const row = Array.from(drafted.data.slice(i * k, (i + 1) * k));
    return row.filter((token) => token >= 0).length;
  });
  const rows = ({ data }) => lengths.map((n, i) => Array.from(data.slice(i * k, i * k + n)));
  return {
    prompt: Array.from(prompt.data, (token) => names[token]),
    drafted: rows(drafted).map((row) => row.map((token) => names[token])),
    accepted: Array.from(accepted.data.slice(0, rounds)),
    written: Array.from(written.data.slice(0, rounds), (token) => names[token]),
    p: rows(p),
    q: rows(q),
  };
}

// A drafted token stands with probability min(1, p / q).
export function chancesOf(p, q) {
  return p.map((one, i) => Math.min(1, one / q[i]));
}

// The tokens behind the prompt when a round is over: { name, kind }, "drafted" for those that stood, "written" for the
// model's own; those of this round are new, and what was rejected or thrown away follows with kind "rejected".
export function textAfter({ drafted, accepted, written }, round) {
  const text = [];
  for (let i = 0; i <= round; i += 1) {
    const fresh = i === round;
    drafted[i].slice(0, accepted[i]).forEach((name) => text.push({ name, kind: "drafted", fresh }));
    if (fresh) drafted[i].slice(accepted[i]).forEach((name) => text.push({ name, kind: "rejected", fresh }));
    text.push({ name: written[i], kind: "written", fresh });
  }
  return text;
}

export default {
  render({ model, el }) {
    const run = unpackedRun({
      names: model.get("names"),
      prompt: tensor(model.get("prompt")),
      drafted: tensor(model.get("drafted")),
      accepted: tensor(model.get("accepted")),
      written: tensor(model.get("written")),
      p: tensor(model.get("p")),
      q: tensor(model.get("q")),
    });
    const last = run.drafted.length - 1;
    const now = { round: 0 };
    const strip = element("div", { class: "tl-strip" });
    const says = readout();
    const sketch = canvas("What the draft and the model give to each drafted token.", { keys: false });
    const table = tableSwitch(() => draw());

    const draw = eachFrame(() => {
      const i = now.round;
      const text = textAfter(run, i);
      const kept = text.filter(({ kind }) => kind !== "rejected");
      const chances = chancesOf(run.p[i], run.q[i]);
      el.values = {
        round: i,
        text: kept.map(({ name }) => name).join(""),
        drafted: run.drafted[i],
        accepted: run.accepted[i],
        p: run.p[i],
        q: run.q[i],
        chances,
        aPass: kept.length / (i + 1),
      };
      show(strip, run.prompt, text);
      says.say(describe(run, i, chances, kept.length));
      sketch.describe(`What draft and model give to each drafted token. ${describe(run, i, chances, kept.length)}`);
      paint(sketch, el, run, i);
      table.fill(() => asTable(run, i, chances));
    });
    const go = (round) => {
      now.round = clamp(round, 0, last);
      at.set(now.round);
      draw();
    };
    const play = player({ button, at: () => now.round, last: () => last, go, milliseconds: ROUND });
    const to = (round) => {
      play.stop();
      go(round);
    };
    const at = slider("round", { min: 0, max: last, step: 1, value: 0, show: (n) => `${n + 1} of ${last + 1}` }, to);
    const back = button("◀ back", () => to(now.round - 1));
    const forward = button("forward ▶", () => to(now.round + 1));
    const reset = resetButton([at, table], () => to(0));
    el.append(
      element("style", {}, STYLE),
      bar(...(last ? [play.node] : []), back, forward, at.node),
      element(
        "div",
        { class: "tl-two" },
        element(
          "div",
          {},
          strip,
          element(
            "div",
            { class: "tl-note" },
            element("span", { class: "tl-drafted" }, "drafted in pencil, and inked"),
            " ",
            element("span", { class: "tl-own" }, "written by the model itself"),
            " ",
            element("s", {}, "pencil that was struck out"),
          ),
        ),
        element("div", {}, sketch.node, says, bar(table.button, reset)),
      ),
      table.room,
    );
    // The letters n and p step from anywhere in the view.
    el.addEventListener(
      "keydown",
      onKeys((key) => {
        const by = { n: 1, p: -1 }[key];
        if (!by) return false;
        to(now.round + by);
      }),
    );
    return watch(el, draw);
  },
};

const STYLE = `
.tl-speculation .tl-two {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); gap: 8px 32px;
}
.tl-speculation .tl-two > div { min-width: 0; }
.tl-speculation .tl-strip {
  font: 32px/1.5 var(--tl-serif); overflow-wrap: anywhere; min-height: 4.5em;
  box-sizing: border-box; padding: 12px 20px;
  border-left: 3px double var(--tl-edge); background: var(--tl-slab);
}
.tl-speculation :is(.tl-strip, .tl-note) :is(span, s) { cursor: default; padding: 1px 0; margin: 0; }
.tl-speculation .tl-note :is(span, s) { font: 16px/1.8 var(--tl-serif); color: var(--tl-ink); margin-right: 10px; }
.tl-speculation .tl-drafted { border-bottom: 2px dotted var(--tl-thread); }
.tl-speculation .tl-own { border-bottom: 3px solid var(--tl-ink); }
.tl-speculation :is(.tl-strip, .tl-note) s {
  font-style: italic; color: var(--tl-soft); text-decoration: line-through 2px var(--tl-change);
}
.tl-speculation .tl-fresh { font-weight: 700; }
`;

// ── words ──

function show(strip, prompt, text) {
  const parts = text.map(({ name, kind, fresh }) =>
    kind === "rejected"
      ? element("s", {}, visible(name))
      : element(
          "span",
          { class: `${kind === "drafted" ? "tl-drafted" : "tl-own"}${fresh ? " tl-fresh" : ""}` },
          visible(name),
        ),
  );
  strip.replaceChildren(prompt.map(visible).join(""), ...parts);
}

function describe({ drafted, accepted, written }, i, chances, length) {
  const [n, kept] = [drafted[i].length, accepted[i]];
  const own = `“${visible(written[i])}”`;
  const passes = `${i + 1} ${i ? "passes" : "pass"} of the model, ${length} ${length > 1 ? "tokens" : "token"}.`;
  if (!n) return `Nothing was drafted: the model wrote ${own}. ${passes}`;
  if (kept === n) return `All ${n} drafted tokens stand, and the model wrote ${own} behind them. ${passes}`;
  const stood = kept ? `The first ${kept > 1 ? `${kept} stand` : "stands"}. ` : "";
  return (
    `${stood}“${visible(drafted[i][kept])}” would have stood with probability ${chances[kept].toFixed(2)}, and was ` +
    `rejected; the model wrote ${own} instead. ${passes}`
  );
}

const verdict = (kept, j) => (j < kept ? "stands" : j === kept ? "rejected" : "thrown away");

function asTable({ drafted, accepted, p, q }, i, chances) {
  const rows = drafted[i].map((name, j) => [
    visible(name),
    q[i][j].toFixed(3),
    p[i][j].toFixed(3),
    chances[j].toFixed(3),
    verdict(accepted[i], j),
  ]);
  return [["drafted", "q", "p", "min(1, p/q)", ""], ...rows];
}

// ── drawing ──

function paint(sketch, el, { drafted, accepted, p, q }, i) {
  const width = Math.min(widthOf(sketch.node.parentElement ?? el), 560);
  const context = sketch.resize(width, HEIGHT);
  const ink = getComputedStyle(el).color;
  if (!drafted[i].length) {
    Object.assign(context, { fillStyle: ink, font: `13px ${SANS}`, textBaseline: "top" });
    context.fillText("Nothing was drafted in this round.", 8, 8);
    return;
  }
  const mark = { stands: "✓", rejected: "✗", "thrown away": "" };
  drawBars(
    context,
    { x: 0, y: 0, width, height: HEIGHT },
    {
      title: "",
      names: drafted[i].map((name, j) => `${visible(name)} ${mark[verdict(accepted[i], j)]}`.trim()),
      x: { name: "drafted token" },
      y: { name: "probability", high: 1 },
      series: [
        { name: "draft: q", ys: q[i], colour: NOW.thread },
        { name: "model: p", ys: p[i], colour: NOW.amber },
      ],
      ink,
    },
  );
}
