// What drawings on a canvas have in common: words, ribbons, and the fonts of both.

import { NOW, SANS, SERIF } from "./palette.js";

// Write a text: `serif` for a word that a model reads or writes.
export function write(context, text, x, y, more = {}) {
  const { size = 13, serif = false, bold = false, italic = false, align = "left", colour = NOW.ink, room } = more;
  Object.assign(context, {
    font: `${italic ? "italic " : ""}${bold ? "650 " : ""}${size}px ${serif ? SERIF : SANS}`,
    fillStyle: colour,
    textAlign: align,
    textBaseline: "middle",
  });
  context.fillText(text, x, y, room);
}

// A ribbon from the left (x0, y0) to the right (x1, y1), as thick as it says.
export function ribbon(context, [x0, y0], [x1, y1], thick) {
  const middle = (x0 + x1) / 2;
  context.beginPath();
  context.moveTo(x0, y0 - thick / 2);
  context.bezierCurveTo(middle, y0 - thick / 2, middle, y1 - thick / 2, x1, y1 - thick / 2);
  context.lineTo(x1, y1 + thick / 2);
  context.bezierCurveTo(middle, y1 + thick / 2, middle, y0 + thick / 2, x0, y0 + thick / 2);
  context.closePath();
  context.fill();
}

// What is poured from a spout at the top, [x, y, width], into a place at the bottom.
export function pour(context, [x0, y0, wide0], [x1, y1, wide1]) {
  const middle = (y0 + y1) / 2;
  context.beginPath();
  context.moveTo(x0 - wide0 / 2, y0);
  context.bezierCurveTo(x0 - wide0 / 2, middle, x1 - wide1 / 2, middle, x1 - wide1 / 2, y1);
  context.lineTo(x1 + wide1 / 2, y1);
  context.bezierCurveTo(x1 + wide1 / 2, middle, x0 + wide0 / 2, middle, x0 + wide0 / 2, y0);
  context.closePath();
  context.fill();
}
