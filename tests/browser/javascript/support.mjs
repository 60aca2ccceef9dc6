// What the tests of the views' JavaScript share: test_javascript.py sets both variables, and starts them.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";

// The numbers that torch wrote for this module.
export const fixtures = JSON.parse(readFileSync(process.env.FIXTURES, "utf8"));

const modules = readdirSync(process.env.MODULES, { recursive: true }).filter((path) => !path.startsWith("static"));
const pathOf = (name) => modules.find((path) => basename(path) === `${name}.js`);

export const load = (name) => import(pathToFileURL(join(process.env.MODULES, pathOf(name))));

// Equal to 1e-6; null stands for NaN.
export function assertClose(actual, expected, tolerance = 1e-6) {
  assert.equal(actual.length, expected.length);
  expected.forEach((number, i) => {
    if (number === null) assert.ok(Number.isNaN(actual[i]), `${i}: ${actual[i]} where the mask forbids`);
    else assert.ok(Math.abs(actual[i] - number) <= tolerance, `${i}: ${actual[i]}, torch: ${number}`);
  });
}

// A canvas that notes what is done on it: { context, calls }, each call as [name, arguments, colours and fonts].
export function notedCanvas() {
  const [calls, state] = [[], {}];
  const does =
    (name) =>
    (...all) => {
      calls.push([name, all, { ...state }]);
      return name === "measureText" ? { width: 6 * all[0].length } : undefined;
    };
  const context = new Proxy(state, {
    get: (_, name) => (name in state ? state[name] : does(name)),
    set: (_, name, value) => ((state[name] = value), true),
  });
  return { context, calls, texts: () => calls.filter(([name]) => name === "fillText").map(([, [text]]) => text) };
}

// What the pictures of matrices are made with, which Node has not.
export function fakePictures() {
  globalThis.ImageData = class {
    constructor(width, height) {
      Object.assign(this, { width, height, data: new Uint8ClampedArray(4 * width * height) });
    }
  };
  globalThis.OffscreenCanvas = class {
    constructor(width, height) {
      Object.assign(this, { width, height });
    }
    getContext() {
      return { putImageData: (image) => Object.assign(this, { image }) };
    }
  };
}

// As much of a page as controls need to be made, pressed and read.
export function fakePage() {
  class FakeNode {
    constructor(name) {
      Object.assign(this, { name, attributes: {}, children: [], style: {}, hidden: false });
      this.classes = new Set();
      this.classList = {
        add: (one) => this.classes.add(one),
        toggle: (one, on) => (on ? this.classes.add(one) : this.classes.delete(one)),
      };
    }
    setAttribute(name, value) {
      this.attributes[name] = String(value);
      if (name === "hidden") this.hidden = true;
    }
    removeAttribute(name) {
      delete this.attributes[name];
    }
    getAttribute(name) {
      return this.attributes[name] ?? null;
    }
    addEventListener() {} // nothing happens here by itself
    append(...more) {
      this.children.push(...more);
    }
    replaceChildren(...all) {
      this.children = all;
    }
    focus() {
      globalThis.document.activeElement = this;
    }
    set textContent(text) {
      this.children = [text];
    }
    get textContent() {
      return this.children.map((child) => child.textContent ?? String(child)).join("");
    }
    querySelectorAll(name) {
      const nodes = this.children.filter((child) => child instanceof FakeNode);
      return nodes.flatMap((child) => [...(child.name === name ? [child] : []), ...child.querySelectorAll(name)]);
    }
  }
  globalThis.document = { createElement: (name) => new FakeNode(name) };
  globalThis.matchMedia ??= () => ({ matches: true }); // no motion
  globalThis.cancelAnimationFrame ??= () => {};
}

// The selectors of all rules in a style.
export function selectorsOf(css) {
  const plain = css.replace(/\/\*.*?\*\//gs, "");
  const heads = plain
    .split("{")
    .slice(0, -1)
    .map((part) => part.split(/[};]/).at(-1).trim());
  return heads.filter((head) => !head.startsWith("@"));
}
