// What the machine in a page is set to, the runs that this asks for, and what is read off them. Nothing here draws.
//   const state = stateOf({ machine, tokenizer, text });
//   state.change({ off: new Set(["src_embedding.positions"]) });  // computes what has to be computed anew
//   state.replaced  // of each token that is written null, or the places of those of the intact run that it replaces
//   state.run, state.intact  // as `translated` returns them: with what is switched off and swapped, and without

import { valuesOf } from "./drawing/machine_detail.js";
import { OTHERS, hintsOn, learnedNumbers, refusalOf } from "./machine_hints.js";
import { NOTHING, translated, writtenAs } from "./computing/machine_model.js";
import { bare } from "./weave/weave_layout.js";
import { numeral, readGerman } from "./computing/machine_numerals.js";
import { changesOf, meanOf, restingAt } from "./weave/weave_seen.js";
import { learnedSpelling, spelledOut } from "./computing/machine_spelling.js";
import { boxesOf, pathOf } from "./computing/machine_parts.js";

export function stateOf({ machine, tokenizer, text }) {
  const boxes = { encoder: boxesOf("encoder", machine), decoder: boxesOf("decoder", machine) };
  const parts = Object.entries(boxes).flatMap(([side, all]) =>
    all.flatMap((box) => box.parts.map((part) => ({ side, box, part, path: pathOf(side, box, part) }))),
  );
  const last = `decoder.layers.${machine.n_layers - 1}.cross_attention`;
  const fresh = () => ({
    ...{ text, other: "", at: null, mode: 0, off: new Set(), swaps: [], spot: 0 },
    ...{
      layer: machine.n_layers - 1,
      open: `${last}.head.0`,
      tab: 0,
      cell: null,
      zoomed: false,
      trail: [],
      cursor: null,
    },
  });
  const me = { boxes, now: fresh(), run: null, intact: null, unknown: "", reads: "", kept: text, refused: null };
  const numbers = learnedNumbers(tokenizer);
  const inWords = (written) => (numbers ? spelledOut(written) : written);
  me.ids = parts.map(({ part }) => part.off).filter(Boolean);
  let [other, changes, mistake] = [null, new Map(), null];
  let wanted = null; // the position that was asked for last: a cut may end the output before it, until it is mended

  // ── computing ──

  const readable = (written) => {
    const { ids, unknown: strange } = tokenizer.encode(inWords(written));
    return { src: [...ids.slice(0, machine.longest - 1), machine.eos], strange, cut: ids.length >= machine.longest };
  };
  const heardIn = (written) => {
    const number = readGerman(tokenizer.decode(translated(machine, readable(written).src).target));
    return number === null ? null : numeral(number);
  };
  const compute = (anew) => {
    const { now } = me;
    if (anew) {
      me.refused = numbers ? refusalOf(now.text, () => heardIn(now.text)) : null;
      if (!me.refused) me.kept = now.text; // else the last text that could be translated stays
      const { src, strange, cut } = readable(me.kept);
      const letters = strange.length ? [`Left out: ${strange.map((one) => `“${one}”`).join(", ")}.`] : [];
      const long = cut ? [`The text is cut behind ${machine.longest - 1} tokens.`] : [];
      me.reads = inWords(me.kept);
      me.unknown = [...letters, ...hintsOn(me.reads, tokenizer), ...long].join(" ");
      if (!me.refused || String(src) !== String(me.intact?.src))
        me.intact = translated(machine, src, NOTHING, { draft: me.intact?.target });
    }
    const swaps = now.swaps.map((swap) => ({ ...swap, value: me.valueOf(swap) })).filter(({ value }) => value);
    const same = !(now.off.size + swaps.length);
    me.run = same
      ? me.intact
      : translated(machine, me.intact.src, { off: now.off, swaps }, { draft: me.intact.target });
    changes = new Map();
    me.replaced = changesOf(me.intact.target, me.run.target);
    if (anew) wanted ??= me.resting();
    now.at = Math.min(wanted, me.run.target.length - 1);
  };
  me.resting = () => restingAt(me.run, last, machine.n_heads);
  me.change = (what, anew = false) => {
    Object.assign(me.now, what);
    if ("at" in what) wanted = what.at;
    if ("other" in what) other = what.other.trim() ? translated(machine, readable(what.other).src) : null;
    if (anew || "off" in what || "swaps" in what || "other" in what) compute(anew);
  };
  me.reset = () => {
    me.now = fresh();
    [other, wanted] = [null, null];
    compute(true);
  };
  me.hasOther = () => other !== null;
  // The first position at which the other sentence has another token, and what stands there in both.
  me.firstOther = () =>
    Math.max(
      0,
      me.intact.src.findIndex((id, i) => id !== other?.src[i]),
    );
  me.swapName = ({ key, position, from: source }) => {
    if (source !== undefined) {
      const [word, old] = [source, position].map((i) => bare(tokenizer.name(me.intact.src[i])));
      return `${word} for ${old}`;
    }
    const side = me.partOf(key).side;
    const [there, here] = [other, me.intact].map((run) =>
      run ? (side === "encoder" ? run.src : [machine.bos, ...run.target])[position] : undefined,
    );
    if (there === undefined || here === undefined) return null;
    const [to, from] = [there, here].map((id) => bare(tokenizer.name(id)));
    return to === from ? `${to} of the other sentence` : `${to} for ${from}`;
  };
  // What a part writes at a position of the other sentence, or of this one where a word of it was dragged; nothing
  // where that is shorter.
  me.valueOf = ({ part, head, position, from }) => {
    const run = from === undefined ? other : me.intact;
    const row = run?.at.get(writtenAs({ part, head })).rows[from ?? position];
    const d = machine.d_model / machine.n_heads;
    return row && (head === null ? row : row.slice(head * d, (head + 1) * d));
  };

  // ── what a press asks for ──

  // Off, if one of them is on; or on again.
  me.flipped = (...ids) => {
    const off = new Set(me.now.off);
    const act = ids.every((id) => off.has(id)) ? (id) => off.delete(id) : (id) => off.add(id);
    ids.forEach(act);
    return { off };
  };
  me.pressed = ({ side, part }) => {
    const { now } = me;
    if (now.mode === 0) return { open: part.key, tab: 0, cell: null, zoomed: true, trail: [] };
    if (now.mode === 1) return part.off ? me.flipped(part.off) : null;
    if (!part.swap || !other) return null;
    const position = side === "encoder" ? now.spot : now.at;
    const same = (swap) => swap.key === part.key && swap.position === position;
    const swaps = now.swaps.filter((swap) => !same(swap));
    if (swaps.length === now.swaps.length) swaps.push({ key: part.key, ...part.swap, position });
    return { swaps };
  };
  // To the number that another number comes from.
  me.followed = (number) => {
    const { now } = me;
    const { tab, ...to } = placeOf(number);
    const [t, j] = number.cell;
    const trail = [...now.trail, { open: now.open, tab: now.tab, cell: now.cell }];
    return { open: to.part.key, tab, cell: [t, j - (to.part.tabs[tab].from ?? 0)], trail };
  };

  // ── what is read off a run ──

  // The translation of the same text with other parts switched off.
  me.without = (ids) =>
    translated(machine, me.intact.src, { off: new Set(ids), swaps: [] }, { draft: me.intact.target });

  // Where another text has other tokens; nowhere if it has more or fewer.
  me.apart = (text) => {
    const { src } = readable(text);
    const all = src.length === me.intact.src.length ? [...src.keys()] : [];
    return all.filter((i) => src[i] !== me.intact.src[i]);
  };
  me.written = () => tokenizer.decode(me.run.target);
  // Where the machine makes a mistake: the number that it was to write, and the spelling that it has learned, if with
  // that it writes the right one. Null where all is right, or the text is no number.
  me.mistake = () => {
    if (mistake?.src === me.intact.src) return mistake.found;
    const learned = numbers ? learnedSpelling(me.reads) : null;
    const right = (run) => readGerman(tokenizer.decode(run.target)) === learned.number;
    let found = null;
    if (learned && !right(me.intact)) {
      const other = learned.text === me.reads ? null : translated(machine, readable(learned.text).src);
      found = { number: learned.number, spelling: other && right(other) ? learned.text : null };
    }
    mistake = { src: me.intact.src, found };
    return found;
  };
  me.partOf = (id) => parts.find(({ part }) => part.key === id);
  me.names = () => ({
    source: me.run.src.map(tokenizer.name),
    fed: [machine.bos, ...me.run.target.slice(0, -1)].map(tokenizer.name),
    written: me.run.target.map(tokenizer.name),
    before: me.intact.target.map(tokenizer.name),
    vocabulary: machine.symbols,
  });
  // By how much a matrix differs from that of the run in which nothing is changed.
  me.changeOf = (name) => {
    if (me.run === me.intact) return 0;
    if (!changes.has(name)) changes.set(name, changed(...[me.run, me.intact].map(({ at }) => at.get(name).rows)));
    return changes.get(name);
  };
  // How much the last layer's cross-attention looks at each input token, on the mean of its heads that are on.
  me.shares = () => meanOf(me.run, last, machine.n_heads, me.now.off)[me.now.at];
  // A number in whose translation what is switched off changes a token; undefined where none of those tried is one.
  me.example = () =>
    OTHERS.find((text) => {
      const { src, strange } = readable(text);
      if (strange.length) return false;
      const whole = translated(machine, src);
      const { target } = translated(machine, src, { off: me.now.off, swaps: [] }, { draft: whole.target });
      return String(target) !== String(whole.target);
    });
  // A part that changes a token if it alone is switched off.
  me.telling = () => me.ids.find((id) => String(me.without([id]).target) !== String(me.intact.target));
  // The number whose sum is seen: the one that was pressed, if it is still there; or the largest in the row of the
  // output token, or, in the encoder, of the input token that is looked at most for it.
  me.cellOf = ({ side, part }) => {
    const { now, run } = me;
    const values = valuesOf(part.tabs[now.tab], run);
    if (now.cell && values[now.cell[0]]?.[now.cell[1]] !== undefined) return now.cell;
    const shares = me.shares();
    const most = shares.indexOf(Math.max(...shares));
    const t = side === "decoder" ? (values.length === run.target.length ? now.at : 0) : values[most] ? most : 0;
    const sizes = values[t].map((x) => Math.abs(x) || 0);
    return [t, sizes.indexOf(Math.max(...sizes))];
  };
  // Where a number of a matrix is seen: the part, and which of its tabs.
  const placeOf = ({ name, cell: [, j] }) => {
    const holds = (tab) => tab.name === name && j >= (tab.from ?? 0) && j < (tab.to ?? Infinity);
    const to = parts.find(({ part }) => part.tabs.some(holds));
    return { ...to, tab: to.part.tabs.findIndex(holds) };
  };
  me.nameOf = (from) => {
    const { part, path, tab } = placeOf(from);
    return `${path.join(", ")}: ${part.tabs[tab].title}`;
  };
  compute(true);
  return me;
}

// By how much rows differ from others, where both have numbers: the difference's size, in shares of the others'.
export function changed(rows, others) {
  let [apart, size] = [0, 1e-12];
  rows.forEach((row, t) =>
    row.forEach((x, j) => {
      const before = others[t]?.[j];
      if (before === undefined || Number.isNaN(x) || Number.isNaN(before)) return;
      apart += (x - before) ** 2;
      size += before ** 2;
    }),
  );
  return Math.sqrt(apart / size);
}
