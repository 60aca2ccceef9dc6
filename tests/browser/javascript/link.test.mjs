// A view and the kernel's end of its link find each other, whichever comes first.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const link = await load("link");

// A model as anywidget hands it to a module.
function model(key, values = {}) {
  const listeners = {};
  const me = {
    sent: [],
    get: (name) => (name === "key" ? key : values[name]),
    send: (content) => me.sent.push(content),
    on: (event, act) => {
      (listeners[event] ??= []).push(act);
    },
  };
  me.fire = (event, ...details) => listeners[event]?.forEach((act) => act(...details));
  me.set = (name, value) => {
    values[name] = value;
    me.fire(`change:${name}`);
  };
  return me;
}

function view(key) {
  const seen = [];
  const shared = { now: (value) => seen.push(["now", value]) };
  const linked = link.linked(key, {
    joined: () => seen.push("joined"),
    left: () => seen.push("left"),
    heard: (content) => seen.push(["heard", content]),
    shared,
  });
  return { linked, seen };
}

test("a view that comes first joins when the model comes, and is told when it goes", () => {
  const { linked, seen } = view("a");
  assert.equal(linked.model, null);
  const [kernel, other] = [model("a", { now: 1 }), model("b", { now: 2 })];
  link.default.initialize({ model: other });
  assert.deepEqual(seen, []);
  const end = link.default.initialize({ model: kernel });
  assert.deepEqual(seen, [["now", 1], "joined"]);
  kernel.set("now", 3);
  kernel.fire("msg:custom", { text: "x" }, []);
  linked.send({ question: 1 });
  assert.deepEqual(seen.slice(2), [
    ["now", 3],
    ["heard", { text: "x" }],
  ]);
  assert.deepEqual(kernel.sent, [{ question: 1 }]);
  end();
  assert.equal(seen.at(-1), "left");
  assert.equal(linked.model, null);
});

test("a kernel that is started anew leaves its models in the page, dead: the view is told", () => {
  const { linked, seen } = view("restarted");
  assert.equal(linked.gone, false, "there was none yet");
  const kernel = model("restarted", {});
  link.default.initialize({ model: kernel });
  kernel.fire("comm_live_update");
  assert.equal(seen.at(-1), "left");
  assert.deepEqual([linked.model, linked.gone], [null, true]);
  const count = seen.length;
  kernel.fire("comm_live_update");
  assert.equal(seen.length, count, "it is told once");
  link.default.initialize({ model: model("restarted", {}) });
  assert.equal(seen.at(-1), "joined");
  assert.equal(linked.gone, false);
});

test("a message to a kernel that was shut down tells the view that it is gone", () => {
  const kernel = model("d");
  kernel.widget_manager = { kernel: {} };
  link.default.initialize({ model: kernel });
  const { linked, seen } = view("d");
  linked.send(1);
  kernel.widget_manager.kernel = null;
  linked.send(2);
  assert.deepEqual(kernel.sent, [1]);
  assert.deepEqual(seen, [["now", undefined], "joined", "left"]);
});

test("a view that comes later joins at once; one without a key never does", () => {
  link.default.initialize({ model: model("c", { now: 5 }) });
  assert.deepEqual(view("c").seen, [["now", 5], "joined"]);
  assert.deepEqual(view(undefined).seen, []);
});
