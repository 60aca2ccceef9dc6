// The machine's stage as a picture to keep or to post: the sentence, its translation, the weave, what it says, and
// where it comes from. All that is drawn is read off an SVG in the page, so it has the page's letters and its theme.

import { weaveOf } from "../weave/weave_layout.js";
import { heightOf, pictureOf } from "../weave/weave_picture.js";
import { windowed } from "../weave/weave_window.js";
import { fitted, widthIn } from "./weave_top.js";
import { element } from "../../shared/ui.js";
import { NOW } from "../../shared/palette.js";

const [WIDTH, LEAST, EDGE, FOOT, SHARP, MOST] = [1200, 675, 48, 92, 2, 16]; // pixels, dots for each of them, and rows

// “34 021.png” would say nothing where it is found again.
export function nameOf(text) {
  return `${
    text
      .toLowerCase()
      .replace(/[^\p{L}\d]+/gu, "-")
      .replace(/^-|-$/g, "")
      .slice(0, 60) || "translation"
  }.png`;
}

// Everything in an SVG, as its computed style has it, onto a canvas.
export function paint(context, svg, styleOf = (one) => getComputedStyle(one)) {
  for (const one of svg.querySelectorAll("path, rect, circle, line, text")) {
    const style = styleOf(one);
    const { e, f } = one.getCTM();
    context.save();
    context.translate(e, f);
    const number = (name) => Number(one.getAttribute(name) ?? 0);
    if (one.localName === "text") write(context, one.textContent, number, style);
    else shape(context, outline(one, number), style);
    context.restore();
  }
}

function outline(one, number) {
  const path = new Path2D(one.getAttribute("d") ?? undefined);
  if (one.localName === "circle") path.arc(number("cx"), number("cy"), number("r"), 0, 2 * Math.PI);
  if (one.localName === "rect")
    path.roundRect(number("x"), number("y"), number("width"), number("height"), number("rx"));
  if (one.localName === "line") {
    path.moveTo(number("x1"), number("y1"));
    path.lineTo(number("x2"), number("y2"));
  }
  return path;
}

function shape(context, path, style) {
  const seen = (colour) => colour && colour !== "none" && !/^rgba\(.*, 0\)$/.test(colour);
  if (seen(style.fill)) {
    Object.assign(context, { globalAlpha: style.opacity * style.fillOpacity, fillStyle: style.fill });
    context.fill(path);
  }
  if (!seen(style.stroke)) return;
  const dashes = style.strokeDasharray === "none" ? [] : style.strokeDasharray.split(",").map(parseFloat);
  Object.assign(context, { globalAlpha: style.opacity * style.strokeOpacity, strokeStyle: style.stroke });
  Object.assign(context, { lineWidth: parseFloat(style.strokeWidth), lineCap: style.strokeLinecap });
  context.setLineDash(dashes);
  context.stroke(path);
}

const SIDES = { start: "left", middle: "center", end: "right" };

function write(context, text, number, style) {
  const { fontStyle, fontWeight, fontSize, fontFamily, fill, textAnchor, dominantBaseline } = style;
  Object.assign(context, { font: `${fontStyle} ${fontWeight} ${fontSize} ${fontFamily}`, fillStyle: fill });
  context.textAlign = SIDES[textAnchor];
  context.textBaseline = dominantBaseline === "central" ? "middle" : "alphabetic";
  context.fillText(text, number("x"), number("y"));
  if (!style.textDecorationLine?.includes("line-through")) return;
  const wide = context.measureText(text).width;
  context.fillStyle = style.textDecorationColor;
  context.fillRect(number("x") - (textAnchor === "end" ? wide : 0), number("y"), wide, 1.5);
}

// The largest font in which a caption has room, as the canvas itself measures it.
export function captioned(context, text, room, family) {
  let size = 18;
  do context.font = `${size}px ${family}`;
  while (context.measureText(text).width > room && (size -= 0.5) > 8);
  return context.font;
}

// The weave of a sentence at a width, or the picture of a part that is seen near, and where it stands under the words.
function drawingOf({ seen, at, layer, cut, puts, layers, part }, room) {
  if (part) {
    const drawn = part.draw(room);
    const { tall } = drawn;
    return { ...drawn, top: Math.max(176, Math.min(LEAST + 100 - tall, 2 * (LEAST - FOOT - tall)) / 2) };
  }
  const rows = windowed(seen, { at, most: MOST });
  const plan = weaveOf({ width: room, cross: rows.cross, layers });
  const drawn = pictureOf(plan, rows, { at: at - rows.first, layer, cut, puts });
  return { svg: `<svg width="${room}" height="${heightOf(plan)}">${drawn}</svg>`, tall: heightOf(plan), top: 128 };
}

// `says` is the sentence under the weave, `verdict` { text, wrong } the number that was written, `from` the address;
// `part`, a part that is seen near, brings its own sentences: { says: [title, more], draw }.
export function pictureFor({ el, english, german, asked, verdict, says, from, ...what }) {
  const room = WIDTH - 2 * EDGE;
  const { svg = "", onto, tall, top } = drawingOf(what, room);
  const [title, more] = what.part?.says ?? ["", says];
  const height = Math.max(LEAST, top + tall + FOOT);
  const holder = element("div", { class: "tl-stage", style: "position:absolute;visibility:hidden" });
  holder.innerHTML = svg;
  el.append(holder);
  const canvas = element("canvas", { width: SHARP * WIDTH, height: SHARP * height });
  const context = canvas.getContext("2d");
  context.scale(SHARP, SHARP);
  context.fillStyle = NOW.paper;
  context.fillRect(0, 0, WIDTH, height);
  const style = getComputedStyle(el);
  const [serif, sans] = ["--tl-serif", "--tl-sans"].map((name) => style.getPropertyValue(name));
  const say = (text, x, y, font, fillStyle, textAlign = "left") => {
    Object.assign(context, { font, fillStyle, textAlign, textBaseline: "alphabetic" });
    context.fillText(text, x, y);
  };
  const half = room / 2 - 16;
  const sized = (text, wide = half, most = what.part ? 24 : 35) =>
    `${fitted(widthIn(text, serif), wide, most, 8)}px ${serif}`;
  say(english, EDGE, 74, sized(english), NOW.ink);
  say(german, WIDTH - EDGE, 74, sized(german), NOW.ink, "right");
  say(asked, EDGE, 102, `650 17px ${sans}`, NOW.ink);
  say(verdict.text, WIDTH - EDGE, 102, `650 17px ${sans}`, verdict.wrong ? NOW.change : NOW.ink, "right");
  say(title, EDGE, 152, `650 ${sized(title, 0.92 * room, 34)}`, NOW.ink);
  context.save();
  context.translate(EDGE, top);
  onto ? onto(context) : paint(context, holder.firstChild);
  context.restore();
  holder.remove();
  context.fillStyle = NOW.line;
  context.fillRect(EDGE, height - 68, room, 1);
  const foot = height - 34;
  const name = ["Transformer Lab", from].filter(Boolean).join(" · ");
  say(name, WIDTH - EDGE, foot, `650 15px ${sans}`, NOW.ink, "right");
  context.font = `650 15px ${sans}`;
  const left = room - context.measureText(name).width - 40;
  say(more, EDGE, foot, captioned(context, more, left, serif), NOW.soft);
  return canvas;
}

// Hands it over: to a phone's sheet for sharing, or as a file.
export async function saved(canvas, name) {
  const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
  const file = new File([blob], name, { type: "image/png" });
  if (matchMedia("(pointer: coarse)").matches && navigator.canShare?.({ files: [file] }))
    return navigator.share({ files: [file] }).catch(() => {}); // who closes the sheet has changed their mind
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
