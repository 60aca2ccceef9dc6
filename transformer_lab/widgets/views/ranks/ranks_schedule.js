// When each rank of a training step computes, sends and waits: rank_tasks.py and ranks.py of analysis, in the page.
//
// A step is { d_model, n_layers, n_tokens, length, n_bytes, n, speed, link, overlap, slow, n_micro }, where `speed` are
// the FLOPs a second that are reached. A task is { name, kind, ranks, seconds, after, bytes, calls, rounds, start,
// end }.

export const WAYS = ["data", "sharded", "tensor", "context", "pipeline"];

const up = (n) => Array.from({ length: n }, (_, i) => i);
const down = (n) => up(n).reverse();

export function flopsOf({ d_model, n_tokens, length }) {
  const square = 2 * n_tokens * d_model ** 2;
  return { qkv: 3 * square, scores: 2 * n_tokens * length * d_model, out: square, network: 8 * square };
}

// Which layers each of n ranks of a pipeline has.
export function layersOf(n_layers, n) {
  const least = Math.floor(n_layers / n);
  const sizes = up(n).map((r) => least + (r < n_layers % n ? 1 : 0));
  return sizes.map((size, r) => up(size).map((i) => i + sizes.slice(0, r).reduce((sum, one) => sum + one, 0)));
}

// What makes the tasks of a step: `compute` on all ranks, `on` one of them, a `ring` of messages; names `of` all ranks.
function maker(step) {
  const { n, speed, slow, link, n_bytes } = step;
  const parts = flopsOf(step);
  const on = (rank, name, kind, flops, after = []) => {
    const seconds = (flops / speed) * (kind === "backward" ? 2 : 1) * (rank === n - 1 ? slow : 1);
    return { name, kind, ranks: [rank], seconds, after, bytes: 0, calls: 0, rounds: 1 };
  };
  const compute = (name, kind, share, flops, after = []) =>
    up(n).map((r) => on(r, `${name}@${r}`, kind, share * flops, after));
  const ring = (name, kind, numbers, after = []) => {
    if (n === 1) return [];
    const rounds = { sum: 2 * (n - 1), hop: 1 }[kind] ?? n - 1;
    const message = (numbers / n) * n_bytes;
    const seconds = (rounds * message) / link;
    return [{ name, kind, ranks: up(n), seconds, after, bytes: rounds * message * n, calls: n, rounds }];
  };
  const of = (name) => up(n).map((r) => `${name}@${r}`);
  const weights = 12 * step.d_model ** 2; // of a layer
  return { on, compute, ring, of, parts, weights, layer: parts.qkv + parts.scores + parts.out + parts.network };
}

function data(step) {
  const { compute, ring, of, layer, weights } = maker(step);
  const [L, share] = [step.n_layers, 1 / step.n];
  return [
    ...up(L).flatMap((i) => compute(`F${i}`, "forward", share, layer)),
    ...down(L).flatMap((i) => [
      ...compute(`B${i}`, "backward", share, layer),
      ...(step.overlap ? ring(`sum ${i}`, "sum", weights, of(`B${i}`)) : []),
    ]),
    ...(step.overlap ? [] : ring("sum", "sum", L * weights, of("B0"))),
  ];
}

function sharded(step) {
  const { compute, ring, of, layer, weights } = maker(step);
  const L = step.n_layers;
  const order = [...up(L).map((i) => ["forward", `F${i}`]), ...down(L).map((i) => ["backward", `B${i}`])];
  const tasks = order.flatMap(([kind, name], k) => {
    const before = k ? order[k - 1] : [];
    return [
      ...ring(`gather ${name}`, "gather", weights, k > 1 ? of(order[k - 2][1]) : []),
      ...(before[0] === "backward" ? ring(`scatter ${before[1]}`, "scatter", weights, of(before[1])) : []),
      ...compute(name, kind, 1 / step.n, layer, [`gather ${name}`]),
    ];
  });
  return [...tasks, ...ring("scatter B0", "scatter", weights, of("B0"))];
}

function tensor(step) {
  const { compute, ring, of, parts } = maker(step);
  const { qkv, scores, out, network } = parts;
  const order = up(step.n_layers).flatMap((i) => [
    [`${i} attention`, qkv + scores + out],
    [`${i} network`, network],
  ]);
  const all = [
    ...order.map((one) => ["F", "forward", ...one]),
    ...[...order].reverse().map((one) => ["B", "backward", ...one]),
  ];
  return all.flatMap(([letter, kind, name, flops], k) => [
    ...compute(letter + name, kind, 1 / step.n, flops, k ? [`${all[k - 1][0]} sum ${all[k - 1][2]}`] : []),
    ...ring(`${letter} sum ${name}`, "sum", step.n_tokens * step.d_model, of(letter + name)),
  ]);
}

function context(step) {
  const { compute, ring, of, parts, weights } = maker(step);
  const { n, n_layers: L } = step;
  const [rest, pair] = [parts.out + parts.network, 2 * step.n_tokens * step.d_model];
  const hop = (letter, i, s, after) => (s < n - 1 ? ring(`${letter} hop ${i} ${s}`, "hop", pair, of(after)) : []);
  const scores = (letter, kind, i, s) =>
    compute(`${letter}${i} scores ${s}`, kind, 1 / n ** 2, parts.scores, s ? [`${letter} hop ${i} ${s - 1}`] : []);
  return [
    ...up(L).flatMap((i) => [
      ...compute(`F${i} qkv`, "forward", 1 / n, parts.qkv),
      ...up(n).flatMap((s) => [...hop("F", i, s, `F${i} qkv`), ...scores("F", "forward", i, s)]),
      ...compute(`F${i} rest`, "forward", 1 / n, rest),
    ]),
    ...down(L).flatMap((i) => [
      ...compute(`B${i} rest`, "backward", 1 / n, rest),
      ...up(n).flatMap((s) => [
        ...hop("B", i, s, `B${i} rest`),
        ...scores("B", "backward", i, s),
        ...ring(`home ${i} ${s}`, "hop", pair, of(`B${i} scores ${s}`)),
      ]),
      ...compute(`B${i} qkv`, "backward", 1 / n, parts.qkv, [`home ${i} ${n - 1}`]),
    ]),
    ...ring("sum", "sum", L * weights, of("B0 qkv")),
  ];
}

function pipeline(step) {
  const { n, n_micro: m } = step;
  const { on, layer } = maker(step);
  const depth = layersOf(step.n_layers, n).map((own) => own.length);
  const bytes = ((step.n_tokens * step.d_model) / m) * step.n_bytes;
  const way = (letter, kind, to, ranks, order) =>
    order.flatMap((i) =>
      ranks.flatMap((r) => {
        const inside = (rank) => rank >= 0 && rank < n;
        const came = inside(r - to) ? [`${letter} send ${i} ${r - to}`] : [];
        const name = `${letter}${i}@${r}`;
        const sent = {
          name: `${letter} send ${i} ${r}`,
          kind: "send",
          ranks: [r, r + to],
          seconds: bytes / step.link,
          after: [name],
          bytes,
          calls: 1,
          rounds: 1,
        };
        return [on(r, name, kind, (depth[r] / m) * layer, came), ...(inside(r + to) ? [sent] : [])];
      }),
    );
  return [...way("F", "forward", 1, up(n), up(m)), ...way("B", "backward", -1, down(n), down(m))];
}

const TASKS = { data, sharded, tensor, context, pipeline };

export const computes = ({ kind }) => kind === "forward" || kind === "backward";

// All tasks of a step, with the seconds at which they start and end.
export function schedule(way, step) {
  const [ends, free] = [new Map(), new Map()];
  return TASKS[way](step).map((task) => {
    const ranks = task.kind === "send" && step.overlap ? task.ranks.slice(0, 1) : task.ranks;
    const lanes = ranks.map((rank) => `${rank} ${step.overlap && !computes(task)}`);
    const needs = [...task.after.map((name) => ends.get(name) ?? 0), ...lanes.map((lane) => free.get(lane) ?? 0)];
    const start = Math.max(...needs);
    const end = start + task.seconds;
    ends.set(task.name, end);
    lanes.forEach((lane) => free.set(lane, end));
    return { ...task, start, end };
  });
}

export const lengthOf = (tasks) => Math.max(...tasks.map(({ end }) => end));

// How long each rank computes, sends without computing, and waits: three lists.
export function useOfTime(tasks, n) {
  const whole = lengthOf(tasks);
  const uses = { computing: [], sending: [], waiting: [] };
  for (let rank = 0; rank < n; rank += 1) {
    const mine = tasks.filter(({ ranks }) => ranks.includes(rank)).sort((a, b) => a.start - b.start);
    const computing = mine.filter(computes).reduce((sum, { seconds }) => sum + seconds, 0);
    let [busy, until] = [0, 0];
    for (const { start, end } of mine) {
      busy += Math.max(0, end - Math.max(start, until));
      until = Math.max(until, end);
    }
    uses.computing.push(computing);
    uses.sending.push(busy - computing);
    uses.waiting.push(whole - busy);
  }
  return uses;
}

// The piece that a rank holds of the first and the last matrix of each layer, (in, out) each: boxes [left, top, right,
// bottom] as shares, or null.
export function held(way, rank, n, n_layers) {
  const whole = [0, 0, 1, 1];
  const columns = [rank / n, 0, (rank + 1) / n, 1];
  const rows = [0, rank / n, 1, (rank + 1) / n];
  if (way === "pipeline") {
    const mine = layersOf(n_layers, n)[rank];
    return up(n_layers).map((i) => (mine.includes(i) ? [whole, whole] : null));
  }
  const both = { sharded: [columns, columns], tensor: [columns, rows] }[way] ?? [whole, whole];
  return up(n_layers).map(() => both);
}

// The part of a batch that a rank computes with: texts are rows, positions columns.
export function reads(way, rank, n) {
  if (way === "data" || way === "sharded") return [[0, rank / n, 1, (rank + 1) / n]];
  if (way === "context") return [rank, 2 * n - 1 - rank].map((i) => [i / (2 * n), 0, (i + 1) / (2 * n), 1]);
  return [[0, 0, 1, 1]];
}

// What a rank does at a moment: the names of what it computes, sends and has gathered.
export function doing(tasks, rank, moment) {
  const now = tasks.filter(({ ranks, start, end }) => ranks.includes(rank) && start <= moment && moment < end);
  const name = (task) => task?.name.replace(/@\d+$/, "") ?? null;
  return { computes: name(now.find(computes)), sends: name(now.find((task) => !computes(task))) };
}

// The layers whose weights all ranks have at a moment, though each keeps but a part: from the end of their gathering
// to the end of the computing behind it.
export function gathered(tasks, moment) {
  return tasks
    .filter(({ kind, end }) => kind === "gather" && end <= moment)
    .filter(({ name }) => tasks.some((task) => task.name === `${name.slice(7)}@0` && moment < task.end))
    .map(({ name }) => +name.slice(8));
}
