// What plays a weave: token after token is written, 1.2 seconds each, once; then it rests. It begins by itself only
// where it is asked to, and never again after the first touch. At the end it goes `home`.
//   const player = playerOf({ last, go, draw }); player.shown() is how many tokens are written by now

export const PACE = 1200; // milliseconds a token

export function playerOf({ last, go, home = last, pace = PACE, later = setTimeout, never = clearTimeout }) {
  let [timer, at, touched] = [null, null, false];
  const me = { playing: () => at !== null, shown: () => (at === null ? Infinity : at + 1) };
  const rest = () => {
    never(timer);
    [timer, at] = [null, null];
  };
  const next = () => {
    if (at >= last()) {
      rest();
      return go(home());
    }
    at += 1;
    go(at);
    timer = later(next, pace);
  };
  me.play = () => {
    rest();
    at = 0;
    go(0);
    timer = later(next, pace);
  };
  me.stop = rest;
  me.touch = () => {
    touched = true;
    rest();
  };
  // By itself: unless the reader has touched something.
  me.begin = () => {
    if (!touched && at === null) me.play();
    touched = true;
  };
  return me;
}
