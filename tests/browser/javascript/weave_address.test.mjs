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
    view: "",
    tab: undefined,
    cell: null,
    swaps: [],
    other: "",
  };
  const address = addressOf(set);
  assert.match(address, /^s=thirty-four\+thousand%2C|^s=thirty-four\+thousand,/);
  assert.match(address, /&t=3&layer=0&off=positions,mask&at=a\.b\.head\.0$/);
  assert.deepEqual(askedOf(`#${address}`), set);
});

test("swaps, dragged ones too, the other sentence, and the number whose sum is seen come back as they were", () => {
  const swaps = [
    { key: "encoder.layers.0.residual_2.norm", position: 6, from: 2 },
    { key: "a.head.1", position: 0, from: undefined },
  ];
  const set = {
    ...{ text: "two", at: 0, layer: 1, off: [], swaps, other: "ten, & two", view: "swap" },
    ...{ open: "a.head.1", tab: 2, cell: [3, 6] },
  };
  const address = addressOf(set);
  assert.match(address, /swap=encoder\.layers\.0\.residual_2\.norm:6:2,a\.head\.1:0&with=ten/);
  assert.deepEqual(askedOf(`#${address}`), set);
  assert.deepEqual(askedOf("#s=two&swap=a,b:x,c:1:y&n=1").swaps, [{ key: "c", position: 1, from: undefined }]);
});

test("what an address does not say, or says in no number, is left open", () => {
  assert.deepEqual(askedOf("#s=two&t=x&layer=-1"), {
    text: "two",
    at: undefined,
    layer: undefined,
    off: [],
    open: "",
    other: "",
    view: "",
    tab: undefined,
    cell: null,
    swaps: [],
  });
  assert.equal(askedOf("#lessons"), null);
  assert.equal(askedOf(""), null);
});
