// Where ranks wait, which messages go when, and what is painted, against what Python computes.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load, notedCanvas } from "./support.mjs";

const picture = await load("ranks_picture");
const { computes, lengthOf, schedule, useOfTime } = await load("ranks_schedule");
const { step } = fixtures;

const sketchOf = (context) => ({ node: {}, resize: () => context });

test("the empty stretches of a lane are as long as its rank waits", () => {
  for (const [way, { waiting }] of Object.entries(fixtures.ways)) {
    const tasks = schedule(way, step);
    const empty = [0, 1, 2, 3].map((rank) =>
      picture.gapsOf(tasks, rank, lengthOf(tasks)).reduce((sum, [from, to]) => sum + to - from, 0),
    );
    assertClose(empty, waiting);
  }
});

test("there is a message from each rank in each round, and it ends when its task ends", () => {
  for (const [way, count] of Object.entries(fixtures.messages)) {
    const sending = schedule(way, step).filter((task) => !computes(task));
    const all = sending.map((task) => picture.messagesOf(task));
    assert.equal(all.flat().length, count, way);
    sending.forEach(({ start, end }, i) => {
      assertClose([all[i][0].from, all[i].at(-1).to], [start, end]);
    });
  }
});

test("the machines stand beside their lanes, or below them where it is narrow, and all have room", () => {
  for (let width = 280; width <= 1100; width += 20) {
    for (const n of [2, 3, 4]) {
      const { wide, top, lane, left, width: room, machine, high } = picture.layoutOf(width, 4, n);
      assert.ok(left + room <= width && room > 200);
      if (wide) assert.ok(machine.width <= left);
      else assert.ok(machine.top > top + n * lane);
      assert.ok(high >= machine.top + n * machine.pitch - 10);
    }
  }
});

test("a bar for each task that computes, a thread for each message, and what waits is said", () => {
  globalThis.Path2D = class {
    roundRect() {}
  };
  for (const way of ["sharded", "pipeline"]) {
    const { context, calls, texts } = notedCanvas();
    const tasks = schedule(way, step);
    const uses = useOfTime(tasks, 4);
    picture.paint(sketchOf(context), { width: 1100, way, step, tasks, uses, time: 0 });
    const bars = calls.filter(([name, [, , , high]]) => name === "roundRect" && high === 32);
    assert.equal(bars.length, tasks.filter(computes).length);
    assert.equal(calls.filter(([name]) => name === "bezierCurveTo").length, fixtures.messages[way] + 1); // its legend
    assert.equal(texts().includes("waits"), way === "pipeline");
    const share = Math.round((100 * picture.mean(uses.computing)) / lengthOf(tasks));
    assert.ok(texts().includes(`computes ${share} %`));
  }
});

test("the five ways have their times", () => {
  const { context, texts } = notedCanvas();
  const all = Object.keys(fixtures.ways).map((way) => schedule(way, step));
  picture.paintWays(sketchOf(context), { width: 800, now: 1, all, n: 4 });
  for (const { seconds } of Object.values(fixtures.ways)) assert.ok(texts().includes(picture.inTime(seconds)));
});

test("times have three digits and a unit", () => {
  assert.equal(picture.inTime(0), "0 ms");
  assert.equal(picture.inTime(0.28184), "282 ms");
  assert.equal(picture.inTime(1.264), "1.26 s");
});
