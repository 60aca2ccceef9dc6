// Words for what five designs know, and the view's choice among them.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const view = await load("designs_view");
const { known } = await load("designs_picture");

test("words for what is known", () => {
  const window = { n_layers: 2, numbers: 4, window: 8, state: 0 };
  assert.deepEqual(
    [7, 8, 14, 15].map((age) => view.inWords(window, age, known(window, age))),
    ["everything", "at second hand", "at second hand", "nothing"],
  );
  assert.equal(view.inWords({ state: 9, d_key: 3 }, 1, 0.25), "25.0 %");
  assert.equal(view.inWords({ numbers: 576, whole: 40960, window: 0 }, 9, 1), "everything, in 1/71 of the numbers");
});

test("the same in few words: of one kind of layers alone, or of so many", () => {
  const [window, whole] = [
    { n_layers: 2, numbers: 4, window: 8, state: 0 },
    { n_layers: 1, numbers: 4, window: 0, state: 0 },
  ];
  assert.equal(view.lineOf({ parts: [whole] }, whole, 99, 1), "everything");
  assert.equal(view.lineOf({ parts: [whole, window] }, window, 99, 0), "2 layers: nothing");
});
