// The parts of the block, where they stand, and where the threads of the swaps end.

import assert from "node:assert/strict";
import test from "node:test";

import { fixtures, load } from "./support.mjs";

const { NARROW, ORDER, HEIGHT, ROOMY, cardAt, columnsOf, endsOf, halves, mean, partsOf, placesOf } =
  await load("swaps_picture");
const none = fixtures.names.map(() => false);
const of = (name) => fixtures.names.indexOf(name);

test("pre-norm moves the norms in front, and has a last one", () => {
  const kinds = (on) => {
    const { start, layer, end } = partsOf(on, 192);
    return [start, layer, end].map((parts) => parts.map(([kind]) => kind).join(" "));
  };
  assert.deepEqual(kinds(none), ["sine", "attention sum norm network sum norm", ""]);
  assert.deepEqual(kinds(none.with(of("pre-norm"), true)), ["sine", "norm attention sum norm network sum", "norm"]);
  assert.deepEqual(kinds(none.with(of("RoPE"), true)), ["", "attention sum norm network sum norm", ""]);
});

test("each swap has a card and a thread, which ends at a part that shows it", () => {
  for (let n = 0; n < 64; n += 1) {
    const on = none.map((_, i) => Boolean((n >> i) & 1));
    for (const looks of [ROOMY, NARROW]) {
      const places = placesOf(partsOf(on, 192), looks);
      const ends = endsOf(places);
      for (const swap of ORDER) {
        if (swap === of("no biases")) assert.ok(ends[swap] > places[0].y + places[0].high, "below the block");
        else {
          const shown = places.filter(({ y, high }) => y - 2 <= ends[swap] && ends[swap] <= y + high + 2);
          assert.ok(shown.length === 1 && shown[0].part[3].includes(swap), `${n}: ${fixtures.names[swap]}`);
        }
      }
      assert.ok(places.at(-1).y > 44, "below the heading");
    }
  }
  assert.deepEqual([...ORDER].sort(), [0, 1, 2, 3, 4, 5]);
  assert.ok(ORDER.every((swap) => cardAt(swap) < HEIGHT));
});

test("cards leave room for the block on any page", () => {
  for (const total of [294, 366, 700, 1100]) assert.ok(columnsOf(total).width >= 80, String(total));
  assert.equal(mean([1, 2, 6]), 3);
});

test("a narrow block breaks a line at the space nearest to its middle", () => {
  assert.deepEqual(halves("keys for two heads each"), ["keys for two", "heads each"]);
  assert.deepEqual(halves("3 matrices, 12,288 wide"), ["3 matrices,", "12,288 wide"]);
  assert.deepEqual(halves("attention"), ["attention"]);
});
