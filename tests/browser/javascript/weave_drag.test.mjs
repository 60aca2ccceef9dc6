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
  Object.assign(node, {
    getBoundingClientRect: () => ({ left: 100, top: 50 }),
    setPointerCapture: (id) => (node.captured = id),
    append: (one) => append(Object.assign(one, { remove: () => (node.gone = true) })),
  });
  const dropped = [];
  const { dragged } = draggable(node, { plan: () => plan, above: () => 46, drop: (what) => dropped.push(what) });
  const word = { dataset: { s: "2" }, textContent: "four" };
  const does = (type, x, y, more = {}) =>
    node[`on${type}`]({
      ...{ type, pointerId: 7, pointerType: "mouse", button: 0, clientX: x + 100, clientY: y + 96 },
      ...{ target: { closest: () => word } },
      ...more,
    });
  return { node, dropped, dragged, does };
}

test("where it is let go on another word's thread, it is put in there", () => {
  const { node, dropped, dragged, does } = dragging();
  does("pointerdown", 60, left[2]);
  does("pointermove", 62, left[2]);
  assert.ok(!dragged(), "a hand that trembles drags nothing");
  does("pointermove", inside(encoder[0]), left[3]);
  assert.ok(dragged());
  assert.equal(node.captured, 7);
  assert.equal(node.children[0].textContent, "four →");
  does("pointerup", inside(encoder[0]), left[3]);
  assert.deepEqual(dropped, [{ from: 2, to: 3, part: "encoder.layers.0.residual_2.norm" }]);
  assert.ok(node.gone && dragged(), "the press that ends opens nothing");
});

test("on its own thread, beside all threads, or under a finger it is not", () => {
  for (const [x, y, more] of [
    [inside(encoder[0]), left[2], {}],
    [to + 9, left[3], {}],
    [inside(encoder[0]), left[3], { pointerType: "touch" }],
  ]) {
    const { dropped, does, node } = dragging();
    does("pointerdown", 60, left[2], more);
    does("pointermove", x, y, more);
    if (node.children.length) does("pointerup", x, y, more);
    assert.deepEqual(dropped, []);
  }
});
