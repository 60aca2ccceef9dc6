// What each cut makes a sentence become, worked out one after the other while nothing else is to do, and known to the
// reader only when it was seen.
//   const outcomes = outcomesOf({ cuts, state, machine, decode, done: draw });
//   outcomes.follow();  // after each change of the text, of which it is true: begins anew
//   outcomes.of  // key of a cut → { label, changed }

import { outcomeOf } from "../weave/weave_cuts.js";

const QUIET = 900; // milliseconds without a change before anything is worked out

const idly = (act) => (globalThis.requestIdleCallback ?? ((f) => setTimeout(f, 50)))(act);

export function outcomesOf({ cuts, state, machine, decode, done, later = setTimeout, idle = idly }) {
  const me = { of: new Map(), known: new Set() };
  let [source, timer] = [null, null];
  const judge = (run) => {
    const { intact } = state;
    return { ...outcomeOf(run, { decode, eos: machine.eos }), changed: String(run.target) !== String(intact.target) };
  };
  const next = () => {
    const cut = cuts.find(({ key }) => !me.of.has(key));
    const mine = source;
    if (!cut) return done();
    idle(() => {
      if (mine !== source) return;
      me.of.set(cut.key, judge(state.without(cut.ids)));
      next();
    });
  };
  me.follow = () => {
    const now = String(state.intact.src); // a way back computes the same text anew: what was found stays
    if (source === now) return false;
    source = now;
    [me.of, me.known] = [new Map(), new Set()];
    clearTimeout(timer);
    timer = later(next, QUIET);
    return true;
  };
  // A cut that was made shows its answer at once.
  me.see = (cut) => {
    me.of.set(cut.key, judge(state.run));
    me.known.add(cut.key);
    return me.of.get(cut.key);
  };
  return me;
}
