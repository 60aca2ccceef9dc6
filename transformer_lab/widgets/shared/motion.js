// Motion that explains: what was seen becomes what is seen, within a second, where the reader allows motion.

import { clamp } from "./numbers.js";

export function still() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

// Goes from 0 to 1 in so many milliseconds, and draws meanwhile. `share` is where it is; `start` begins anew and `stop`
// ends it, at 1. Where the reader wants no motion, or the view is not in the page, it is at 1 at once.
export function motion(draw, milliseconds) {
  const me = { share: 1, running: false };
  let began = 0;
  let frame = 0;
  const step = (now) => {
    began ||= now;
    me.share = clamp((now - began) / milliseconds, 0, 1);
    me.running = me.share < 1;
    draw();
    if (me.running) frame = requestAnimationFrame(step);
  };
  me.stop = () => {
    cancelAnimationFrame(frame);
    Object.assign(me, { share: 1, running: false });
  };
  me.start = () => {
    me.stop();
    if (still()) return void draw();
    Object.assign(me, { share: 0, running: true });
    began = 0;
    draw();
    frame = requestAnimationFrame(step);
  };
  return me;
}

// Of a whole motion at `share`, how far the i-th of n parts has come: each takes a part of the time, one begins after
// the other.
export function staggered(share, i, n, each = 0.5) {
  const begins = n > 1 ? (i / (n - 1)) * (1 - each) : 0;
  const x = clamp((share - begins) / each, 0, 1);
  return x * x * (3 - 2 * x);
}

// Goes from step to step by itself until the last; a filled button that plays and pauses. `go(step)` shows a step.
// Pressed at the last step, or from `late` on, it begins anew.
export function player({ button, at, last, late = last, go, milliseconds }) {
  let timer = null;
  const me = { node: null, playing: false };
  const set = (playing) => {
    me.playing = playing;
    me.node.textContent = playing ? "❚❚ pause" : "▶ play";
    if (!playing) clearTimeout(timer);
  };
  const next = () => {
    if (!me.playing || !me.node.isConnected || at() >= last()) return set(false);
    go(at() + 1);
    timer = setTimeout(next, milliseconds);
  };
  const press = () => {
    if (me.playing) return set(false);
    set(true);
    if (at() >= late()) go(0);
    timer = setTimeout(next, milliseconds);
  };
  me.node = button("▶ play", press, { class: "tl-primary" });
  me.stop = () => set(false);
  return me;
}
