// A word that is dragged onto another's thread.

import assert from "node:assert/strict";
import test from "node:test";

import { fakePage, load } from "./support.mjs";

fakePage();
const [{ draggable, targetAt }, { weaveOf }] = await Promise.all(["weave_drag", "weave_layout"].map(load));
const plan = weaveOf({ width: 1300, cross: [[0.5, 0.5, 0, 0]], layers: 2 });
const {
  left,
  columns: { clock, encoder, from, to },
} = plan;
const inside = ({ x, wide }) => x + wide / 2;

test("a point is a row of the slab at or behind which it lies, or of the positions before the first", () => {
  const at = (x, y) => {
    const found = targetAt(plan, x, y);
    return found && [found.part, found.row];
  };
  assert.deepEqual(at(clock, left[1]), ["src_embedding.positions", 1]);
  encoder.forEach((slab, i) =>
    assert.deepEqual(at(inside(slab), left[3] + 4), [`encoder.layers.${i}.residual_2.norm`, 3]),
  );
  assert.deepEqual(at(from + 20, left[0]), ["encoder.layers.1.residual_2.norm", 0]);
  assert.deepEqual(at(2, left[0]), ["src_embedding.positions", 0], "on the word itself");
  assert.deepEqual([at(to, left[0]), at(clock, left[3] + 4 * plan.pitch), at(-2, left[0])], [null, null, null]);
});

function dragging() {
  const node = document.createElement("div");
  const append = node.append.bind(node);
  const rows = ["th", "irty-", "four", "one"].map((textContent) => {
    const classes = new Set();
    return { textContent, classes, classList: { toggle: (name, on) => classes[on ? "add" : "delete"](name) } };
  });
  Object.assign(node, {
    querySelectorAll: () => rows,
    addEventListener: (name, act) => (node[`on${name}`] = act),
    getBoundingClientRect: () => ({ left: 100, top: 50 }),
    setPointerCapture: (id) => (node.captured = id),
    append: (one) => append(Object.assign(one, { remove: () => (node.gone = true) })),
  });
  const dropped = [];
  let lifted = 0;
  const [drop, lift] = [(what) => dropped.push(what), () => (lifted += 1)];
  const drag = draggable(node, { plan: () => plan, above: () => 46, drop, lift, hold: 5 });
  const word = { dataset: { s: "2" }, textContent: "four" };
  const does = (type, x, y, more = {}) =>
    node[`on${type}`]({
      ...{ type, pointerId: 7, pointerType: "mouse", button: 0, clientX: x + 100, clientY: y + 96 },
      ...{ target: { closest: () => word } },
      ...more,
    });
  return { node, rows, dropped, dragged: drag.dragged, put: drag.dropped, lifted: () => lifted, does };
}

test("where it is let go on another word's thread, it is put in there", () => {
  const { node, rows, dropped, dragged, put, lifted, does } = dragging();
  does("pointerdown", 60, left[2]);
  does("pointermove", 62, left[2]);
  assert.ok(!dragged(), "a hand that trembles drags nothing");
  does("pointermove", inside(encoder[0]), left[3]);
  assert.ok(dragged());
  assert.equal(node.captured, 7);
  assert.equal(node.children[0].textContent, "four →");
  assert.deepEqual([...rows[3].classes], ["w-target"]);
  does("pointerup", inside(encoder[0]), left[3]);
  assert.deepEqual(dropped, [{ from: 2, to: 3, part: "encoder.layers.0.residual_2.norm" }]);
  assert.ok(node.gone && dragged() && put(), "the press that ends opens nothing");
  assert.deepEqual([lifted(), rows[3].classes.size], [1, 0]);
});

test("on its own thread, or beside all threads, it is not", () => {
  for (const [x, y] of [
    [inside(encoder[0]), left[2]],
    [to + 9, left[3]],
  ]) {
    const { dropped, dragged, put, does } = dragging();
    does("pointerdown", 60, left[2]);
    does("pointermove", x, y);
    does("pointerup", x, y);
    assert.deepEqual([dropped, dragged(), put()], [[], true, false]);
  }
});

const finger = { pointerType: "touch" };

test("a finger drags what it has held, or pulls sideways, while the page stands still", async () => {
  const held = dragging();
  held.does("pointerdown", 60, left[2], finger);
  while (!held.lifted()) await new Promise((done) => setTimeout(done, 1));
  const pulled = dragging();
  pulled.does("pointerdown", 60, left[2], finger);
  pulled.does("pointermove", 90, left[2] + 5, finger);
  for (const { node, dragged, dropped, does } of [held, pulled]) {
    assert.ok(dragged());
    does("pointermove", 60, left[3], finger);
    assert.equal(node.children[0].textContent, "four → one", "the finger hides the other word");
    let stopped = 0;
    node.ontouchmove({ preventDefault: () => (stopped += 1) });
    assert.equal(stopped, 1);
    does("pointerup", 60, left[3], finger);
    assert.deepEqual(dropped, [{ from: 2, to: 3, part: "src_embedding.positions" }]);
  }
});

test("a finger that goes up or down at once scrolls the page", async () => {
  const { node, dragged, dropped, lifted, does } = dragging();
  does("pointerdown", 60, left[2], finger);
  does("pointermove", 62, left[3], finger);
  await new Promise((done) => setTimeout(done, 20)); // longer than it takes to hold
  does("pointercancel", 62, left[3], finger); // by the browser, which scrolls
  node.ontouchmove({ preventDefault: () => assert.fail("the page could not scroll") });
  assert.deepEqual([dragged(), dropped, lifted()], [false, [], 0]);
});
