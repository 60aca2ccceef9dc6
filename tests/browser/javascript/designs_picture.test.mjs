// What five designs keep and know, against Python's numbers, and whether they are drawn to scale.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load, notedCanvas } from "./support.mjs";

const view = await load("designs_picture");
const { designs, lengths, ages } = fixtures;

test("what is kept of a text", () => {
  for (const { parts, numbers, reaches } of designs) {
    parts.forEach((part, i) => {
      assertClose(
        lengths.map((length) => view.numbersOf(part, length)),
        numbers[i],
      );
      assert.equal(view.reachOf(part), reaches[i]);
    });
  }
});

test("what is known of a token", () => {
  for (const { parts, known } of designs) {
    parts.forEach((part, i) => {
      assertClose(
        ages.map((age) => view.known(part, age, 0.999, 0.3)),
        known[i],
      );
    });
  }
});

test("the filling of a cabinet is to one scale, and the fullest is full at a power of 4 tokens", () => {
  const five = designs.slice(0, 5);
  for (const length of lengths) {
    const { most, numbers } = view.capacityOf(five, length);
    assert.ok(most >= length && Number.isInteger(Math.log(most) / Math.log(4)));
    for (const design of five) {
      const filled = view.fillOf(design, length, numbers);
      filled.forEach(({ from, to }, i) => {
        const kept = view.numbersOf(design.parts[i], length);
        assert.ok(Math.abs((to - from) * numbers - kept) < 1e-6 * kept);
      });
      assert.ok(filled.at(-1).to <= 1);
    }
    const fullest = five.map((design) => view.fillOf(design, most, numbers).at(-1).to);
    assertClose([Math.max(...fullest)], [1]);
  }
});

test("the cabinets stand side by side or lie one below the other, and stay inside", () => {
  for (let width = 280; width <= 1100; width += 20) {
    const { upright, columns, high } = view.layoutOf(width);
    let free = 0;
    for (const { strip, cabinet } of columns) {
      assert.ok(strip.x + strip.width <= width && cabinet.y + cabinet.height <= high);
      assert.ok(strip.y + strip.height < cabinet.y);
      assert.ok((upright ? strip.x : strip.y) >= free);
      free = upright ? strip.x + strip.width : cabinet.y + cabinet.height;
    }
  }
});

test("what is painted of keys and values has the area of their bytes", () => {
  const five = designs.slice(0, 5);
  const { context, calls } = notedCanvas();
  const told = five.map(() => ["everything"]);
  const bytes = five.map(() => 1);
  const seen = { designs: five, length: 1000, token: 0, decay: 0.999, beta: 0.3, each: 2, width: 1000, bytes, told };
  const { columns } = view.paint({ node: {}, resize: () => context }, seen);
  const { numbers } = view.capacityOf(five, 1000);
  const { width, height } = columns[0].cabinet;
  const [keys, values] = ["#b84a00", "#007a58"].map(
    (colour) => calls.find(([name, , { fillStyle }]) => name === "fillRect" && fillStyle === colour)[1],
  );
  const area = (keys[2] * keys[3] + values[2] * values[3]) / (width * height);
  assert.ok(Math.abs(area * numbers - view.numbersOf(five[0].parts[0], 1000)) < 1);
});
