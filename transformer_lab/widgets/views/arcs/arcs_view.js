// Arcs: the words of sentences are buttons, and from the one that is pointed at arcs lead to the words it looks at.

import {
  bar,
  button,
  canvas,
  clamp,
  eachFrame,
  element,
  onKeys,
  onLeave,
  readout,
  resetButton,
  slider,
  tableSwitch,
  tensor,
  watch,
  widthOf,
} from "../../shared/ui.js";
import { SERIF } from "../../shared/palette.js";
import { layout, numberOf, paint } from "./arcs_picture.js";
import { motion, staggered } from "../../shared/motion.js";
import { blended } from "../../shared/numbers.js";

const GLIDE = 450; // milliseconds from the arcs of one word to those of the next
const SHARPNESS = { min: 0, max: 4, step: 0.05, value: 1 };
const NAMED = 3; // words that the readout names
const NOTE =
  "Arcs are as thick as the weight that the framed word gives to a word; the weights of a sentence sum to 1. " +
  "Point at a word, press it, or go along with the arrow keys.";

// ── what a word sees ──

// The weights that the same scores would give, multiplied by a sharpness: at 0 all alike, at 1 as they are.
export function sharpened(weights, sharpness) {
  const powers = weights.map((weight) => (weight > 0 ? weight ** sharpness : 0));
  const total = powers.reduce((a, b) => a + b, 0) || 1;
  return powers.map((power) => power / total);
}

// Where a word of a sentence looks, what it was alone, and what it becomes: the values, weighted.
export function lookFrom({ weights, values }, word, sharpness) {
  const row = sharpened(weights[word], sharpness);
  return { word, weights: row, before: values[word], after: blended([row], values)[0] };
}

// One look on its way to another.
export function between(one, other, share) {
  const mix = (a, b) => a + (b - a) * share;
  const all = (name) => other[name].map((x, i) => mix(one[name][i], x));
  return { word: mix(one.word, other.word), weights: all("weights"), before: all("before"), after: all("after") };
}

// The words that are shown once one is chosen in the i-th sentence: others that have the same word show theirs.
export function followed(sentences, chosen, [i, word]) {
  const name = sentences[i][word];
  return sentences.map((tokens, k) => {
    if (k === i) return word;
    return tokens[chosen[k]] === name || !tokens.includes(name) ? chosen[k] : tokens.indexOf(name);
  });
}

function rowsOf({ data, shape: [rows, columns] }) {
  return Array.from({ length: rows }, (_, t) => [...data.subarray(t * columns, (t + 1) * columns)]);
}

// ── the view ──

export default {
  render({ model, el }) {
    const [sentences, names, features] = [model.get("sentences"), model.get("names"), model.get("features")];
    const parts = sentences.map((tokens, i) => ({
      weights: rowsOf(tensor(model.get("weights")[i])),
      values: features.length ? rowsOf(tensor(model.get("values")[i])) : tokens.map(() => []),
    }));
    const most = Math.max(...parts.flatMap(({ values }) => values.flat().map(Math.abs)), 0) || 1;
    const start = { chosen: model.get("chosen"), pointed: null, sharpness: 1, last: 0 };
    const now = { ...start };
    let [before, drawn] = [null, null];

    const shown = () => (now.pointed ? followed(sentences, now.chosen, now.pointed) : now.chosen);
    const draw = eachFrame(() => {
      const [chosen, ink] = [shown(), getComputedStyle(el).color];
      const looks = parts.map((part, i) => lookFrom(part, chosen[i], now.sharpness));
      const share = staggered(glide.share, 0, 1, 1);
      drawn = glide.running && before ? looks.map((look, i) => between(before[i], look, share)) : looks;
      el.values = looks.map(({ word, weights, after }) => ({ word, weights, after }));
      const plan = layout(sentences, {
        width: widthOf(el),
        measure,
        least: matchMedia("(pointer: coarse)").matches ? 44 : 30,
        features: features.length,
        named: Boolean(names),
      });
      paint(sketch.resize(plan.width, plan.height), plan, drawn, { names, features, most, ink });
      words.show(plan, drawn, chosen, now.chosen);
      const said = describe(sentences, looks, { names, features, at: now.pointed?.[0] ?? now.last });
      sketch.describe(`Arcs from the framed words, sharpness ${now.sharpness.toFixed(2)}. ${said.all}`);
      says.say(said.chosen);
      table.fill(() => asTable(sentences, looks, names));
    });
    const glide = motion(draw, GLIDE);
    const become = (what) => {
      const old = String(shown());
      Object.assign(now, what);
      if (String(shown()) === old) return draw();
      before = drawn;
      glide.start();
    };
    const words = wordsOf(sentences, names, {
      point: (pointed) => become({ pointed }),
      keep: (i, word) => become({ chosen: followed(sentences, now.chosen, [i, word]), pointed: null, last: i }),
    });

    const sketch = canvas("Arcs between words.", { keys: false });
    const [says, table] = [readout(), tableSwitch(draw)];
    const sharp = slider("sharpness", SHARPNESS, (sharpness) => {
      now.sharpness = sharpness;
      draw();
    });
    const reset = resetButton([sharp, table], () => {
      glide.stop();
      Object.assign(now, start);
      draw();
    });
    const stage = element("div", { class: "tl-stage" }, sketch.node, ...words.nodes);
    stage.onpointerleave = onLeave(() => become({ pointed: null }));
    el.append(
      element("style", {}, STYLE),
      stage,
      bar(sharp.node, table.button, reset),
      says,
      element("div", { class: "tl-note" }, NOTE),
      table.room,
    );
    return watch(el, draw);
  },
};

let ruler = null;
// How wide a text is for each pixel of its letters' height, in bold, as the chosen word is.
function measure(text) {
  ruler ??= new OffscreenCanvas(1, 1).getContext("2d");
  ruler.font = `bold 100px ${SERIF}`;
  return ruler.measureText(text).width / 100;
}

// The words as buttons: one of each sentence takes the focus, and the arrow keys go on from there.
function wordsOf(sentences, names, { point, keep }) {
  const buttons = sentences.map((tokens, i) =>
    tokens.map((token, word) =>
      button(token, () => keep(i, word), {
        class: "tl-word",
        onfocus: () => keep(i, word),
        onpointerenter: ({ pointerType }) => pointerType !== "touch" && point([i, word]),
      }),
    ),
  );
  const nodes = buttons.map((all, i) => {
    const said = names ? names[i] : sentences.length > 1 ? `sentence ${i + 1}` : "the sentence";
    const node = element("div", { role: "toolbar", "aria-label": `words of ${said}` }, ...all);
    node.onkeydown = onKeys((key) => {
      const [at, last] = [all.indexOf(document.activeElement), all.length - 1];
      const by = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, Home: -last, End: last }[key];
      if (at < 0 || by === undefined) return false;
      all[clamp(at + by, 0, last)].focus();
    });
    return node;
  });
  const show = (plan, looks, chosen, kept) => {
    buttons.forEach((all, i) =>
      all.forEach((node, word) => {
        const { left, top, width, height } = plan.places[i].boxes[word];
        const amber = (45 * looks[i].weights[word]).toFixed(1);
        const share = `background: color-mix(in srgb, var(--tl-amber) ${amber}%, transparent);`;
        const box = `left: ${left}px; top: ${top}px; width: ${width}px; height: ${height}px;`;
        const style = `${box} font-size: ${plan.size}px; ${share}`;
        if (node.drawn !== style) node.style.cssText = node.drawn = style;
        node.setAttribute("aria-pressed", word === chosen[i]);
        node.tabIndex = word === kept[i] ? 0 : -1;
      }),
    );
  };
  return { nodes, show };
}

// ── words ──

// Where each sentence's word looks: in all sentences, and in those that show the word that was chosen last.
export function describe(sentences, looks, { names, features, at }) {
  const one = ({ word, weights, before, after }, i) => {
    const tokens = sentences[i];
    const order = weights.map((_, s) => s).sort((a, b) => weights[b] - weights[a] || a - b);
    const least = weights[order.at(-1)] + 0.005; // words that share the least weight are not named
    const some = order.slice(0, NAMED).filter((s) => weights[s] > least);
    const named = some.map((s) => `${tokens[s]} (${weights[s].toFixed(2)})`).join(", ");
    const becomes = features.length ? `; its vector ${vector(before)} becomes ${vector(after)}` : "";
    const place = names ? `${names[i]}: ` : sentences.length > 1 ? `Sentence ${i + 1}: ` : "";
    return `${place}${tokens[word]} looks at ${named || `each word alike (${weights[0].toFixed(2)})`}${becomes}.`;
  };
  const name = sentences[at][looks[at].word];
  const all = looks.map(one);
  return { all: all.join(" "), chosen: all.filter((_, i) => sentences[i][looks[i].word] === name).join("\n") };
}

function vector(values) {
  return `(${values.map(numberOf).join(", ")})`;
}

function asTable(sentences, looks, names) {
  const rows = looks.flatMap(({ word, weights }, i) => {
    const where = names ? ` (${names[i]})` : sentences.length > 1 ? ` (${i + 1})` : "";
    return weights.map((weight, s) => [`${sentences[i][word]}${where}`, sentences[i][s], weight.toFixed(3)]);
  });
  return [["word", "looks at", "weight"], ...rows];
}

const STYLE = `
.tl-arcs .tl-stage { position: relative; margin: 4px 0 8px; }
.tl-view.tl-arcs .tl-says { max-width: none; white-space: pre-line; }
.tl-arcs .tl-word {
  position: absolute; padding: 0; min-width: 0; min-height: 0; line-height: 1.2; border-radius: 7px;
  font-family: var(--tl-serif);
  overflow: hidden; text-overflow: ellipsis; white-space: nowrap; cursor: pointer;
}
.tl-arcs .tl-word[aria-pressed=true] {
  font-weight: bold; border-color: var(--tl-query); box-shadow: inset 0 0 0 1px var(--tl-query);
}
`;
