// What a machine is set to, in an address and back.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const { addressOf, askedOf } = await load("weave_address");

test("an address says what it was made of", () => {
  const set = {
    text: "thirty-four thousand, & “1”_+#",
    at: 3,
    layer: 0,
    off: ["positions", "mask"],
    open: "a.b.head.0",
    other: "",
  };
  const address = addressOf(set);
  assert.match(address, /^s=thirty-four\+thousand%2C|^s=thirty-four\+thousand,/);
  assert.match(address, /&t=3&layer=0&off=positions,mask&at=a\.b\.head\.0$/);
  assert.deepEqual(askedOf(`#${address}`), set);
});

test("what an address does not say, or says in no number, is left open", () => {
  assert.deepEqual(askedOf("#s=two&t=x&layer=-1"), {
    text: "two",
    at: undefined,
    layer: undefined,
    off: [],
    open: "",
    other: "",
  });
  assert.equal(askedOf("#lessons"), null);
  assert.equal(askedOf(""), null);
});
