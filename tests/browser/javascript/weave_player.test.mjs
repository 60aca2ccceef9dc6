// What plays: once, token by token, and never by itself after a touch.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const { PACE, playerOf } = await load("weave_player");

function played() {
  const went = [];
  let waiting = null;
  const later = (act, ms) => ((waiting = act), went.push(ms), 1);
  const player = playerOf({ last: () => 2, go: (at) => went.push(`at ${at}`), later, never: () => (waiting = null) });
  return { player, went, tick: () => waiting?.(), isWaiting: () => waiting !== null };
}

test("it goes from the first token to the last and rests there, with all that is written seen", () => {
  const { player, went, tick } = played();
  player.begin();
  assert.deepEqual([player.playing(), player.shown()], [true, 1]);
  tick();
  assert.equal(player.shown(), 2);
  tick();
  tick();
  assert.deepEqual(went, ["at 0", PACE, "at 1", PACE, "at 2", PACE, "at 2"]);
  assert.deepEqual([player.playing(), player.shown()], [false, Infinity]);
});

test("a touch ends it, and it does not begin by itself again; when it is asked to it plays", () => {
  const { player, isWaiting } = played();
  player.begin();
  player.touch();
  assert.deepEqual([player.playing(), isWaiting()], [false, false]);
  player.begin();
  assert.ok(!player.playing());
  player.play();
  assert.ok(player.playing());
});
