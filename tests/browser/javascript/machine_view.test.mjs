// How large a change is, in shares of what was there.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const { changed, default: view } = await load("machine_view");

test("the size of a difference, over what both have", () => {
  const { one, other, all, first } = fixtures;
  assertClose(
    [changed(one, other), changed(one.slice(0, 2), other), changed(one, other.slice(0, 2))],
    [all, first, first],
  );
  assert.equal(changed(other, other), 0);
});

test("what one of them masks does not count", () => {
  assertClose([changed([[1, NaN, 3]], [[2, 1, 4]])], [Math.sqrt(2 / 20)]);
  assert.equal(typeof view.render, "function");
});
