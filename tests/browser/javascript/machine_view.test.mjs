// The view is a module that a page can start.

import assert from "node:assert/strict";
import test from "node:test";

import { load } from "./support.mjs";

const { default: view } = await load("machine_view");

test("there is something to render", () => assert.equal(typeof view.render, "function"));
