// The cache of five designs, filling token by token and drawn to scale, and what each still knows of the first tokens.

import { player } from "../../shared/motion.js";
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
  tableSwitch,
  watch,
  widthOf,
} from "../../shared/ui.js";
import { inUnits } from "../cache/cache_view.js";
import { known, numbersOf, paint, reachOf } from "./designs_picture.js";

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
      const told = designs.map((design, i) => design.parts.map((part, k) => lineOf(design, part, age, shares[i][k])));
      sketch.node.layout = paint(sketch, { ...seen, width: widthOf(el), pointed: now.token !== null, told });
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
        const [x, y] = sketch.at(event);
        const { strip } =
          sketch.node.layout.columns.findLast(({ box }) => x >= box.x && y >= box.y) ?? sketch.node.layout.columns[0];
        return clamp(Math.round(((x - strip.x) / strip.width) * CURSOR), 0, CURSOR);
      },
      move: change("token"),
    });
    el.append(
      element("style", {}, STYLE),
      bar(element("div", { class: "tl-segments" }, ...choices)),
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
.tl-designs canvas { touch-action: pan-y; margin: 6px 0; }
`;

// ── words ──

const NOTE =
  "A strip is the text, from its first token on the left to the last: full where a token is known (striped if " +
  "as a latent), hatched in grey where a window has dropped it but its layers can hand it on, up to L (w − 1) " +
  "tokens far, and empty where nothing is left. A row is higher the more layers it stands for. For a state, a strip " +
  "shows what is left if later keys point anywhere: ((1 − β / d) · decay) to the power of the token’s age. " +
  "Cabinets are filled to one scale, which changes at each power of 4 tokens.";

const count = (n) => n.toLocaleString("en");

const percent = (share) => (share >= 0.995 ? "100 %" : share < 0.0005 ? "0.0 %" : `${(100 * share).toFixed(1)} %`);

// What layers of one kind know of a token of that age.
export function inWords(part, age, share) {
  if (part.state) return percent(share);
  if (part.whole) return `everything, in 1/${Math.round(part.whole / part.numbers)} of the numbers`;
  if (share) return "everything";
  return age <= reachOf(part) ? "at second hand" : "nothing";
}

// The same in few words, for the picture.
export function lineOf({ parts }, part, age, share) {
  const words = inWords(part, age, share).replace(" of the numbers", "");
  return parts.length === 1 ? words : `${part.n_layers} layers: ${words}`;
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

// The numbers that a token adds while no window is full.
const addedBy = ({ parts }) => parts.reduce((sum, { n_layers, numbers }) => sum + n_layers * numbers, 0);

function asTable({ designs, token, age, bytes, shares, each }) {
  const rows = designs.map((design, i) => [
    design.model ? `${design.name}, ${design.model}` : design.name,
    inUnits(bytes[i], "B"),
    inUnits(each * addedBy(design), "B"),
    knows(design, age, shares[i]),
  ]);
  return [["design", "cache", "a token adds at first", `knows of token ${count(token + 1)}`], ...rows];
}
