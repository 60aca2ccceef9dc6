// The first screen: both sentences, the weave between them, breakers under the parts that they cut, and the foot.
//   const screen = screenOf({ state, machine, tokenizer, change, open, swap, tools });
//   screen.show({ family });  // draws what the state is

import { answerTo } from "./weave_answer.js";
import { breakersOf, layersOf, placesOf, playBar } from "./weave_controls.js";
import { cutsOf, dividedOff, isCut, manyOf, outcomeOf } from "../weave/weave_cuts.js";
import { learnedNumbers } from "../machine_hints.js";
import { NARROW } from "../weave/weave_layout.js";
import { numeral } from "../computing/machine_numerals.js";
import { became, candidates, riddle, tell, waysOf } from "./weave_foot.js";
import { menuOf } from "../weave_menu.js";
import { outcomesOf } from "./weave_outcomes.js";
import { playerOf } from "./weave_player.js";
import { sayDiffers, sayGuess, sayLabel } from "../weave/weave_say.js";
import { differenceOf } from "../weave/weave_seen.js";
import { stageOf } from "./weave_stage.js";
import { swappingOf } from "./weave_swapping.js";
import { STEPS, tourOf } from "./weave_tour.js";
import { judged, topOf } from "./weave_top.js";
import { element } from "../../shared/ui.js";

const ORDER = "Drawn in simplified order: in each decoder layer self-attention comes first, then cross-attention.";
const HELP = "↑ ↓ , . token · ← → part · Enter opens · X cuts · S swaps · Space plays · Esc back";

export function screenOf({
  state,
  machine,
  tokenizer,
  change,
  input,
  open,
  swap,
  swaps,
  tools,
  keep,
  share = [],
  redraw,
}) {
  const cuts = cutsOf(state.ids).filter(({ ids }) => ids.length);
  const me = { cuts, guess: { wanted: null, said: "" } };
  const last = () => state.run.target.length - 1;
  const go = (at) => change({ at: Math.max(0, Math.min(at, last())) });
  const home = () => {
    breakers.breathe();
    return state.resting();
  };
  const player = playerOf({ last, go, home });
  const act = (what, anew) => {
    player.touch();
    change(what, anew);
  };
  const step = (by) => act({ at: Math.max(0, Math.min(state.now.at + by, last())) });
  const play = () => {
    const playing = player.playing();
    player.touch();
    playing ? redraw() : player.play();
  };
  // What is changed leads to the first token that it changes.
  const toChange = () => {
    const { start } = differenceOf(state.intact.target, state.run.target);
    if (String(state.run.target) !== String(state.intact.target)) change({ at: Math.min(start, last()) });
  };
  const press = (cut) => {
    const open = !isCut(cut, state.now.off);
    act(state.flipped(...cut.ids.filter((id) => !open || !state.now.off.has(id))));
    if (open) toChange();
  };
  const drop = ({ part: key, to: position, from }) => {
    const others = state.now.swaps.filter((one) => one.key !== key || one.position !== position);
    act({ swaps: [...others, { key, ...state.partOf(key).part.swap, position, from }] });
    toChange();
  };
  const byKey = (key) => key && press(cuts.find((cut) => cut.key === key));
  const moved = (part) => {
    note.textContent = part ? `${part.title}. Enter opens it${part.cut ? `, X cuts ${nameOf(part.cut)}` : ""}.` : ORDER;
    redraw();
  };
  const nameOf = (key) => cuts.find((cut) => cut.key === key)?.name ?? key;

  const note = element("span", { class: "tl-part", "aria-live": "polite" }, ORDER);
  const stage = stageOf({
    ...{ state, machine },
    act: {
      ...{
        step,
        play,
        moved,
        drop,
        cut: byKey,
        lift: player.touch,
        swap: () => me.swap(stage.node),
        choose: (at) => act({ at: Math.min(at, last()) }),
      },
      ...{
        open: (part, row) => open(part.open, row),
        ask: (side) => (player.touch(), menu.show(side, stage.plan)),
        help: () => (note.textContent = note.textContent === HELP ? ORDER : HELP),
      },
    },
  });
  const menu = menuOf({ open, back: () => stage.node.focus(), layers: machine.n_layers });
  const breakers = breakersOf({ cuts, press });
  const layers = layersOf({ n: machine.n_layers, pick: (layer) => act({ layer }) });
  const bar = playBar({ step, toggle: play, go: (at) => act({ at }) });
  const answer = element("div", { class: "tl-answer", "aria-live": "polite" });
  const could = candidates({ nameOf: tokenizer.name });
  const pick = (label) => {
    me.guess = { wanted: me.guess.wanted === label ? null : label, said: "" };
    player.touch();
    redraw();
  };
  const mend = ({ ids, swaps }) => {
    const off = new Set([...state.now.off].filter((id) => !ids.includes(id)));
    act({ off, ...(swaps ? { swaps: state.now.swaps.filter((one) => !swaps.includes(one)) } : {}) });
    stage.node.focus(); // what was pressed is gone
  };
  const mendAll = () => mend({ ids: [...state.now.off], swaps: state.now.swaps });
  const puzzle = riddle({ pick, keep, mendAll });
  const cutOff = became({ decode: tokenizer.decode, mend, mendAll });
  // What the encoder's last layer makes of another word takes the place of what it makes of this one.
  const put = ({ text, positions }) => {
    const key = `encoder.layers.${machine.n_layers - 1}.residual_2.norm`;
    act({ other: text });
    act({ swaps: positions.map((position) => ({ key, ...state.partOf(key).part.swap, position })) });
    toChange();
    stage.node.focus(); // what was pressed is gone
  };
  const swapping = swappingOf({ state, put, parts: swap, changed: redraw });
  me.swap = (from) => {
    player.touch();
    if (tour.at !== null) tour.leave();
    if (!me.picks || !learnedNumbers(tokenizer) || !swapping.open(from)) swap();
  };
  const tour = tourOf({
    // On the whole machine, at a token that shows something.
    begin: () => {
      if (swapping.at !== null) swapping.close(false);
      act({ off: new Set(), swaps: [] });
      act({ at: state.resting() });
    },
    cut: () => {
      if (!isCut(cuts[0], state.now.off)) press(cuts[0]);
      const { label } = outcomeOf(state.run, { decode: tokenizer.decode, eos: machine.eos });
      return sayGuess({ wanted: null, cut: cuts[0], label });
    },
    frame: (id) => {
      const found = stage.parts.findIndex((part) => part.id === id);
      Object.assign(stage, { cursor: found < 0 ? null : found, veiled: tour.at !== null });
      player.touch();
      tour.node.hidden = tour.at === null; // the focus goes there
      if (tour.at !== null) (id ? stage : breakers).node.scrollIntoView?.({ block: "nearest" });
      redraw();
    },
    done: () => breakers.node.querySelector("button").focus(),
    narrow: () => stage.plan?.narrow,
  });
  const top = topOf({
    state,
    change: act,
    tokenizer,
    input,
    eos: machine.eos,
    tools: [...(swaps ? [swaps] : []), tour.button],
  });
  const outcomes = outcomesOf({ ...{ cuts, state, machine, decode: tokenizer.decode }, done: redraw });
  bar.node.append(layers.node);
  const first = element("div", { class: "tl-pinned" }, bar.node, answer);
  const foot = element(
    "div",
    { class: "tl-foot" },
    first,
    element("div", {}, could.node, cutOff.node),
    element("div", {}, tour.node, swapping.node, puzzle.node),
  );
  const hold = element("div", {}, element("span", {}, "Press to look inside, hold to drag."));
  const invites = element("div", { class: "tl-invites" }, hold, "Cut a part. What does it say then?");
  const [every] = tools;
  const footer = element("div", { class: "tl-tools" }, ...tools, note);
  Object.assign(me, { player, stage, outcomes, top: top.node, act });
  me.node = element("div", { class: "tl-stage" }, stage.node, menu.node, invites, breakers.node, foot, footer);

  // What a picture of the stage shows of it.
  me.pictured = () => {
    const { now, run } = state;
    const { whole, single } = dividedOff(cuts, now.off);
    const { label } = outcomeOf(run, { decode: tokenizer.decode, eos: machine.eos });
    const { asked, right } = judged(state.reads, state.written());
    return {
      ...{ seen: stage.seen(), at: now.at, layer: now.layer, cut: new Set(whole.map(({ key }) => key)) },
      ...{ puts: stage.puts(), layers: machine.n_layers, english: state.reads, german: state.written() },
      asked: asked === null ? "" : numeral(asked),
      verdict: right === null ? { text: "" } : { text: `${label} ${right ? "✓" : "✗"}`, wrong: !right },
      says: boast() || answerTo({ state, machine, nameOf: tokenizer.name, whole, single }),
    };
  };
  const boast = () => {
    const all = [...outcomes.of.values()].filter(({ changed }) => changed).map(({ label }) => label);
    return puzzle.won && !puzzle.node.hidden ? `${waysOf(all.length)}: ${all.join(", ")}.` : "";
  };

  const drawn = {}; // the run and the layer that are seen, and the run that was judged as an answer
  me.show = ({ family, width, away }) => {
    const { now, run, intact } = state;
    const { whole, single } = dividedOff(cuts, now.off);
    if (outcomes.follow()) me.guess = { wanted: null, said: "" };
    guessed(whole, single);
    const room = width < NARROW ? width : (width - 24) / 2;
    top.show({ room, shown: player.shown(), family });
    tour.button.hidden = me.node.hidden;
    if (swaps) swaps.hidden = me.node.hidden;
    const home = width >= NARROW ? top.share : me.node.hidden ? away : footer; // a part hides the foot
    if (drawn.home !== home) home.append(...share);
    const near = width < NARROW ? hold : footer; // where a phone's first screen has it, too
    if (every && every.parentNode !== near) near === hold ? hold.append(every) : footer.prepend(every);
    drawn.home = home;
    const kinds = new Set(whole.map(({ key }) => key));
    if (me.node.hidden) return;
    const again = (drawn.run !== run || drawn.layer !== now.layer) && !player.playing();
    stage.show({ shown: player.shown(), cut: kinds, again });
    Object.assign(drawn, { run, layer: now.layer });
    breakers.show({
      isOpen: (cut) => isCut(cut, now.off),
      says: (cut) => knownOf(cut, whole.length + single.length > 1),
      places: width < 940 ? null : placesOf(stage.plan.columns),
    });
    layers.show(now.layer);
    bar.show({ at: now.at, names: state.names().written, playing: player.playing() });
    could.show({ run, intact, at: now.at });
    sayIt(whole, single);
    const changed = run !== intact;
    const touring = tour.at !== null;
    breakers.node.classList.toggle("tl-calls", tour.at === STEPS.length - 1);
    // What is typed cannot be translated: the last sentence stays, and waits.
    [stage.node, invites, breakers.node, foot].forEach((one) => (one.inert = Boolean(state.refused)));
    puzzle.show({ outcomes: outcomes.of, known: outcomes.known, ...me.guess, cuts, changed });
    // The cut that is found last shows at once that all are found, before it is mended.
    if (puzzle.won && !drawn.won) drawn.found = run;
    drawn.won = puzzle.won;
    const prized = puzzle.won && (!changed || run === drawn.found);
    swapping.follow();
    const busy = touring || swapping.at !== null;
    swapping.node.hidden = swapping.at === null;
    puzzle.node.hidden = (puzzle.won && changed && !prized) || busy || Boolean(state.refused);
    cutOff.node.hidden = !changed || prized;
    could.node.hidden = !cutOff.node.hidden;
    foot.classList.toggle("tl-won", puzzle.won && !puzzle.node.hidden);
    const said = sayDiffers(intact.target, run.target);
    if (changed) cutOff.show({ run, intact, changes: changesOf(whole, single), said, at: state.now.at });
  };
  // What is known of a cut; where it is one of several, what it alone would say is not what is said.
  const knownOf = (cut, isOneOfMany) => {
    if (isOneOfMany && isCut(cut, state.now.off)) return "is cut";
    if (outcomes.known.has(cut.key)) return sayLabel(outcomes.of.get(cut.key).label).slice(3);
    // It hangs under one part, and cuts all of its kind.
    const many = manyOf(cut);
    if (isCut(cut, state.now.off)) return "is cut";
    return `${many > 2 ? `all ${many}` : many > 1 ? "both" : "cut"} → ?`;
  };
  // A single whole cut shows what it makes the machine say: that pair stays found.
  const guessed = (whole, single) => {
    if (whole.length !== 1 || single.length || state.now.swaps.length || drawn.judged === state.run) return;
    drawn.judged = state.run;
    const { label } = outcomes.see(whole[0]);
    me.guess = { wanted: null, said: sayGuess({ wanted: me.guess.wanted, cut: whole[0], label }) };
  };
  const changesOf = (whole, single) => [
    ...whole.map(({ name, ids }) => ({ name, ids, whole: true })),
    ...single.map((id) => ({ name: [...state.partOf(id).path].reverse().join(", "), ids: [id] })),
    ...state.now.swaps.map((one) => ({
      name: state.swapName(one) ?? `${state.partOf(one.key).path.join(", ")}, ${one.position}: swapped`,
      ids: [],
      swaps: [one],
    })),
  ];
  const sayIt = (whole, single) => {
    answer.setAttribute("aria-live", player.playing() ? "off" : "polite");
    tell(answer, answerTo({ state, machine, nameOf: tokenizer.name, whole, single }));
  };
  return me;
}
