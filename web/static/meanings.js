// What a right answer means, drawn: the cells that were counted, the paths, the steps, the weights before and after. Each
// drawing is made of what the case gives, so that whoever counts in it comes to the answer.

import { element } from "./elements.js";
import { areWeights, inDigits } from "./given.js";

const NS = "http://www.w3.org/2000/svg";
const [WIDE, HIGH] = [300, 96];
const LETTER = 3.3; // half of one, so that a word ends where the drawing does
const FINE = 6; // pixels of a cell below which a grid would be grey
const range = (n) => [...Array(n).keys()];
const sum = (all) => all.reduce((a, b) => a + b, 0);

function svg(width, height, said, ...parts) {
  const node = document.createElementNS(NS, "svg");
  const [w, h] = [Math.ceil(width) + 2, Math.ceil(height) + 2];
  const attributes = { viewBox: `-1 -1 ${w} ${h}`, width: w, height: h, role: "img", "aria-label": said };
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...parts);
  return node;
}

function path(d, kind) {
  const node = document.createElementNS(NS, "path");
  node.setAttribute("d", d);
  node.setAttribute("class", kind);
  return node;
}

function words(x, y, text) {
  const node = document.createElementNS(NS, "text");
  for (const [name, value] of Object.entries({ x, y })) node.setAttribute(name, value);
  node.textContent = text;
  return node;
}

const box = (x, y, width, height) => `M${x} ${y}h${width}v${height}h${-width}z`;
const spot = (x, y, r) => `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
const cellsOf = (cells, size, left = 0) => cells.map(([t, s]) => box(left + s * size, t * size, size, size)).join("");

// Bars side by side on one line, of 0 to `most`.
function bars(heights, most, said, isFull = () => true) {
  const width = Math.min(34, WIDE / heights.length - 6);
  const of = (keep) =>
    heights
      .map((height, i) => [i * (width + 6), (height / most) * HIGH, keep(height, i)])
      .filter(([, , kept]) => kept)
      .map(([x, height]) => box(x, HIGH - height, width, height))
      .join("");
  const outline = path(
    of((_, i) => !isFull(i)),
    "edge",
  );
  return svg(
    heights.length * (width + 6),
    HIGH,
    said,
    outline,
    path(
      of((_, i) => isFull(i)),
      "full",
    ),
  );
}

// ── what is counted in a drawing ──

// The (query, key) that may see each other in a sentence of `words` words, padded to `length`.
export const seen = (words, length) => range(length).flatMap((t) => range(Math.min(t + 1, words)).map((s) => [t, s]));

// The (step, position) that are computed.
export const computed = ({ prompt, new: count, cached }) =>
  range(count).flatMap((step) => {
    const length = prompt + step;
    return (cached && step ? [length - 1] : range(length)).map((position) => [step, position]);
  });

// The positions up to the last at which a hand of a period stands as at 0, and the first after 0 where all hands do.
const repeats = (period, withCosine, last) =>
  range(last + 1).filter((t) => (withCosine ? t % period : (2 * t) % period) === 0);
export function meet({ periods, with_cosine: withCosine }, last) {
  const all = periods.map((period) => repeats(period, withCosine, last));
  return all[0].find((t) => t && all.every((one) => one.includes(t)));
}

// In how many ways one goes on: from the embedding, through each layer's heads or past them, to the logits.
export const branches = ({ heads }) => [1, ...heads.map((n) => n + 1), 1];

// How often one round writes at least its first, its second … token.
export const written = ({ acceptance, n_draft: count }) => range(count + 1).map((i) => acceptance ** i);

// ── drawings ──

function masks({ lengths }) {
  const longest = Math.max(...lengths);
  const size = Math.min(24, (WIDE - 8 * lengths.length) / (longest * lengths.length));
  const left = (b) => b * (longest * size + 8);
  const all = lengths.map((words, b) => cellsOf(seen(words, longest), size, left(b))).join("");
  const frames = lengths.map((_, b) => box(left(b), 0, longest * size, longest * size)).join("");
  const count = sum(lengths.map((words) => seen(words, longest).length));
  const said = `The masks of all sentences, with ${count} cells filled`;
  return svg(left(lengths.length) - 8, longest * size, said, path(all, "weight"), path(frames, "edge"));
}

function steps(given) {
  const length = given.prompt + given.new - 1;
  const size = Math.min(14, WIDE / length, HIGH / given.new);
  const cells = computed(given);
  const frame = path(box(0, 0, length * size, given.new * size), "edge");
  return svg(
    length * size,
    given.new * size,
    `A row for each step: ${cells.length} positions`,
    path(cellsOf(cells, size), "full"),
    frame,
  );
}

function hands({ periods, with_cosine: withCosine }, last) {
  if (last > 60) return null;
  const [step, gap] = [WIDE / last, Math.min(24, HIGH / periods.length)];
  const y = (i) => (i + 0.5) * gap;
  const lines = periods.map((_, i) => `M0 ${y(i)}H${WIDE}`).join("");
  const marks = periods.map((period, i) =>
    repeats(period, withCosine, last)
      .map((t) => spot(t * step, y(i), 4))
      .join(""),
  );
  const meet = path(`M${WIDE} 0V${periods.length * gap}`, "edge");
  const said = `A line for each hand, with a mark wherever it stands as at the start; all meet at ${last}`;
  const node = svg(WIDE + 10, periods.length * gap, said, path(lines, "hair"), meet, path(marks.join(""), "full"));
  node.setAttribute("viewBox", `-5 -1 ${WIDE + 12} ${periods.length * gap + 2}`);
  return node;
}

function paths(given) {
  const layers = branches(given);
  const at = (i, k) => [6 + (i * (WIDE - 12)) / (layers.length - 1), ((k + 0.5) * HIGH) / layers[i]];
  const edges = range(layers.length - 1).flatMap((i) =>
    range(layers[i]).flatMap((a) => range(layers[i + 1]).map((b) => `M${at(i, a)}L${at(i + 1, b)}`)),
  );
  const dots = layers.flatMap((n, i) => range(n).map((k) => spot(...at(i, k), 3)));
  const said = `Each layer is passed through one of its heads or beside them: ${layers.join(" × ")} ways`;
  return svg(WIDE, HIGH, said, path(edges.join(""), "hair"), path(dots.join(""), "full"));
}

// Both steps on the curve of the learning rate; both axes are logarithmic, so that it has the form of a roof.
function schedule({ step, warmup_steps: peak }, later) {
  const rate = (s) => Math.log(Math.min(s / peak, Math.sqrt(peak / s)));
  const [first, last, low] = [step / 1.6, later * 1.6, rate(step / 1.6)];
  const x = (s) => (Math.log(s / first) / Math.log(last / first)) * WIDE;
  const y = (s) => 6 + (rate(s) / low) * (HIGH - 12);
  const roof = `M0 ${y(first)}L${x(peak)} ${y(peak)}L${WIDE} ${y(last)}`;
  const level = `M${x(step)} ${y(step)}H${x(later)}`;
  const said = "The learning rate over the steps, with the two steps at one height";
  return svg(
    WIDE,
    HIGH,
    said,
    path(level, "hair"),
    path(roof, "line"),
    path(spot(x(step), y(step), 5) + spot(x(later), y(later), 5), "full"),
  );
}

function place({ length, d_model: features, n_heads: count }, [head, row, column]) {
  const [margin, label, columns] = [50, 20, features / count];
  const w = Math.min((WIDE - margin) / count - 8, 90);
  const left = (i) => margin + i * (w + 8);
  const [dx, dy] = [w / columns, HIGH / length];
  const [x, y] = [left(head) + (column + 0.5) * dx, label + (row + 0.5) * dy];
  const all = range(count);
  const frames = all.map((i) => box(left(i), label, w, HIGH)).join("");
  const inner = (n, step) => (step < FINE ? [] : range(n - 1).map((k) => (k + 1) * step));
  const across = (i) => inner(length, dy).map((at) => `M${left(i)} ${label + at}h${w}`);
  const down = (i) => inner(columns, dx).map((at) => `M${left(i) + at} ${label}v${HIGH}`);
  const lines = all.flatMap((i) => [...across(i), ...down(i)]).join("");
  const isWide = w >= 48;
  const names = all.map((i) => words(left(i) + w / 2, 12, isWide || i === head ? `head ${i}` : ""));
  const [end, below] = [left(count) - 8, `column ${column}`];
  const places = [
    words(margin / 2 - 4, y + 4, `row ${row}`),
    words(Math.min(x, end - LETTER * below.length), label + HIGH + 14, below),
  ];
  const said = `${count} heads side by side; the number lies in head ${head}, row ${row}, column ${column}`;
  const drawn = [path(lines, "hair"), path(frames, "edge"), path(spot(x, y, Math.min(5, dx / 3, dy / 3) + 2), "full")];
  return svg(end, HIGH + 2 * label, said, ...drawn, ...names, ...places);
}

// Each weight before, as an outline, and after.
function weights({ weights: before }, after) {
  const row = (value) => (Array.isArray(value[0]) ? row(value[0]) : value);
  const pairs = row(before).flatMap((x, i) => [x, row(after)[i]]);
  return areWeights(row(after)) && bars(pairs, 1, "Each weight before, as an outline, and after, filled", (i) => i % 2);
}

const share = (_, chance) => {
  const frame = path(box(0, 0, WIDE, 22), "edge");
  return svg(WIDE, 22, `${inDigits(chance)} of a bar`, path(box(0, 0, chance * WIDE, 22), "full"), frame);
};

const UNITS = ["bytes", "kB", "MB", "GB", "TB"];

function inBytes(_, count) {
  if (count < 1000) return null;
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log10(count) / 3));
  return element("p", {}, `That is ${(count / 1000 ** power).toPrecision(3)} ${UNITS[power]}.`);
}

const DRAWINGS = {
  new_weights: [weights, "before, in outline, and after"],
  place_in_heads: [place, "the heads side by side, and the number in one of them"],
  first_repeat: [hands, "a line for each hand, a dot wherever it stands as at the start"],
  visible_pairs: [masks, "what may be seen: count the cells"],
  same_rate_again: [schedule, "two steps at one height; both axes are logarithmic"],
  positions_computed: [steps, "a row for each step: what it computes"],
  predict_loss: [
    ({ losses }, next) => bars([...losses, next], losses[0], "The losses", (i) => i === 3),
    "each time after twice as many steps",
  ],
  count_paths: [paths, "in each layer through one head, or past them all"],
  tokens_per_pass: [
    (given) => bars(written(given), 1, "How often each token is written"),
    "how often a round gets to its 1st, 2nd … token: the sum is the answer",
  ],
  pass_at_k: [share, "out of 1"],
  kv_cache_bytes: [inBytes, ""],
  bytes_per_token: [inBytes, ""],
  bytes_sent: [inBytes, ""],
};

export function meaning(table, i) {
  const { given, right } = table.cases[i];
  const [draw, words] = DRAWINGS[table.name] ?? [() => null, ""];
  const drawing = draw(given, right);
  if (!drawing) return [];
  return [words ? element("figure", { class: "meaning" }, drawing, element("figcaption", {}, words)) : drawing];
}
