// The stage as a picture: its name, and that every mark of an SVG comes onto the canvas in its own style.

import assert from "node:assert/strict";
import test from "node:test";

import { load, notedCanvas } from "./support.mjs";

const { captioned, nameOf, paint } = await load("weave_save");

test("a file is called after its sentence", () => {
  assert.equal(nameOf("Thirty-four thousand, and 21"), "thirty-four-thousand-and-21.png");
  assert.equal(nameOf(" … "), "translation.png");
});

const PLAIN = { fill: "none", stroke: "none", opacity: "1", fillOpacity: "1", strokeOpacity: "1" };
const LINES = { strokeDasharray: "none", strokeLinecap: "butt", strokeWidth: "1px" };

// Elements with the style that the page has computed for them.
function painted(...elements) {
  const made = [];
  globalThis.Path2D = class {
    constructor(d) {
      this.calls = d ? [["d", d]] : [];
      made.push(this);
    }
  };
  for (const name of ["arc", "roundRect", "moveTo", "lineTo"])
    globalThis.Path2D.prototype[name] = function (...all) {
      this.calls.push([name, ...all]);
    };
  const { context, calls } = notedCanvas();
  const nodes = elements.map(([localName, attributes, style, textContent = ""]) => ({
    ...{ localName, textContent, style },
    getAttribute: (name) => attributes[name] ?? null,
    getCTM: () => ({ e: 3, f: 40 }),
  }));
  paint(context, { querySelectorAll: () => nodes }, ({ style }) => ({ ...PLAIN, ...LINES, ...style }));
  return { calls, made };
}

test("shapes have their places, colours, widths and dashes, and what is clear is left out", () => {
  const { calls, made } = painted(
    ["path", { d: "M0 0L9 9" }, { fill: "rgb(1, 2, 3)", opacity: "0.5", fillOpacity: "0.5" }],
    ["circle", { cx: "5", cy: "6", r: "7" }, { fill: "rgba(0, 0, 0, 0)" }],
    ["rect", { x: "1", y: "2", width: "3", height: "4", rx: "5" }, { stroke: "red", strokeWidth: "2px" }],
    ["line", { x1: "1", y1: "2", x2: "3", y2: "4" }, { stroke: "red", strokeDasharray: "4px, 3px" }],
  );
  assert.deepEqual(
    made.map((one) => one.calls),
    [
      [["d", "M0 0L9 9"]],
      [["arc", 5, 6, 7, 0, 2 * Math.PI]],
      [["roundRect", 1, 2, 3, 4, 5]],
      [
        ["moveTo", 1, 2],
        ["lineTo", 3, 4],
      ],
    ],
  );
  const fills = calls.filter(([name]) => name === "fill");
  assert.deepEqual([fills.length, fills[0][2].fillStyle, fills[0][2].globalAlpha], [1, "rgb(1, 2, 3)", 0.25]);
  const strokes = calls.filter(([name]) => name === "stroke");
  assert.deepEqual([strokes.length, strokes[0][2].lineWidth], [2, 2]);
  assert.deepEqual(calls.filter(([name]) => name === "setLineDash").at(-1)[1], [[4, 3]]);
  assert.ok(calls.filter(([name]) => name === "translate").every(([, at]) => String(at) === "3,40"));
});

test("words have their font, and what was struck stays struck", () => {
  const font = { fontStyle: "italic", fontWeight: "700", fontSize: "25px", fontFamily: "Serif", textAnchor: "end" };
  const struck = { textDecorationLine: "line-through", textDecorationColor: "pink", dominantBaseline: "central" };
  const { calls } = painted(["text", { x: "50", y: "9" }, { ...font, ...struck, fill: "black" }, "ein"]);
  const [, [text, x, y], style] = calls.find(([name]) => name === "fillText");
  assert.deepEqual([text, x, y, style.font], ["ein", 50, 9, "italic 700 25px Serif"]);
  assert.deepEqual([style.textAlign, style.textBaseline], ["right", "middle"]);
  const [, line, { fillStyle }] = calls.find(([name]) => name === "fillRect");
  assert.deepEqual([line, fillStyle], [[32, 9, 18, 1.5], "pink"]);
});

test("a caption is as large as it has room for, and never runs into what stands beside it", () => {
  const context = { font: "", measureText: (text) => ({ width: parseFloat(context.font) * text.length }) };
  assert.equal(captioned(context, "ein", 60, "Serif"), "18px Serif");
  for (const room of [120, 150, 179]) {
    const size = parseFloat(captioned(context, "zehn Buchs", room, "Serif"));
    assert.ok(size * 10 <= room && (size + 0.5) * 10 > room, `${size} in ${room}`);
  }
});
