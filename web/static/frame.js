// A picture to keep or to post: a heading, what is said, what is shown, and where it is from.

import { element, sayDone } from "./elements.js";

export const SHARP = 2; // pixels of the picture for each of the page
const [EDGE, LEAST] = [48, 640];

// The course, the page, and where the course stands, if that is a place on the web.
export function whereFrom() {
  const heading = document.querySelector("h1").firstChild.textContent.trim();
  const { host, hostname, pathname } = new URL(document.documentElement.dataset.root, location.href);
  const address = hostname.includes(".") && !/^[\d.]+$/.test(hostname) ? host + pathname.replace(/\/$/, "") : "";
  return ["Transformer Lab", heading, address].filter(Boolean);
}

function lined(context, text, room) {
  const lines = [""];
  for (const word of text.split(/\s+/)) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (context.measureText(longer).width > room && lines.at(-1)) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

// The course's sign: threads, and a ribbon across.
function sign(context, x, y, colour) {
  const stroke = (path, style, lineWidth) => {
    Object.assign(context, { strokeStyle: colour(style), lineWidth });
    context.stroke(new Path2D(path));
  };
  context.save();
  context.translate(x, y);
  stroke("M3 5h26M3 12h26M3 19h26", "--stream", 2);
  stroke("M3 19C14 19 18 5 29 5", "--weight", 4.5);
  context.restore();
}

// Frames what `draw` draws at a place; `set` is what was set, `from` the course, the page and where they stand.
export function framed({ draw, width, height }, { title, said = "", set = "", from }) {
  const page = getComputedStyle(document.documentElement);
  const colour = (name) => page.getPropertyValue(name).trim();
  const whole = Math.max(LEAST, width + 2 * EDGE);
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d");
  const isWide = whole >= 800;
  const fonts = {
    title: `500 ${isWide ? 40 : 30}px ${colour("--words")}`,
    said: `400 ${isWide ? 21 : 18}px ${colour("--words")}`,
    brand: `600 20px ${colour("--words")}`,
    small: `500 15px ${colour("--labels")}`,
  };
  const broken = (text, font) => {
    context.font = fonts[font];
    return text ? lined(context, text, whole - 2 * EDGE) : [];
  };
  const rows = [
    ...broken(title, "title").map((text) => ({ text, font: "title", ink: "--ink", high: isWide ? 48 : 37 })),
    ...broken(said, "said").map((text, i) => ({ text, font: "said", ink: "--ink", high: (isWide ? 30 : 26) + 8 * !i })),
    ...broken(set, "small").map((text, i) => ({ text, font: "small", ink: "--soft", high: 23 + 6 * !i })),
  ];
  const top = EDGE - 8 + rows.reduce((sum, { high }) => sum + high, 0) + 24;
  const foot = top + height + 28;
  Object.assign(canvas, { width: whole * SHARP, height: (foot + 68) * SHARP });
  context.scale(SHARP, SHARP);
  Object.assign(context, { fillStyle: colour("--paper") }).fillRect(0, 0, whole, foot + 68);
  let y = EDGE - 8;
  for (const { text, font, ink, high } of rows) {
    y += high;
    Object.assign(context, { font: fonts[font], fillStyle: colour(ink) }).fillText(text, EDGE, y - 8);
  }
  draw(context, (whole - width) / 2, top);
  Object.assign(context, { fillStyle: colour("--hair") }).fillRect(EDGE, foot, whole - 2 * EDGE, 1);
  sign(context, EDGE - 3, foot + 22, colour);
  const [course, ...more] = from;
  Object.assign(context, { font: fonts.brand, fillStyle: colour("--ink") }).fillText(course, EDGE + 38, foot + 41);
  Object.assign(context, { font: fonts.small, fillStyle: colour("--soft"), textAlign: "right" });
  context.fillText(more.join(" · "), whole - EDGE, foot + 40);
  return canvas;
}

// Handed to a phone's sheet for sharing, or kept as a file.
export async function saved(canvas, name) {
  const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
  const file = new File([blob], name, { type: "image/png" });
  if (matchMedia("(pointer: coarse)").matches && navigator.canShare?.({ files: [file] }))
    return navigator.share({ files: [file] }).catch(() => {}); // who closes the sheet has changed their mind
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// A picture, small, and a button that saves it.
export function keepsake(made, name, label) {
  const words = "Save as picture";
  const button = element("button", { type: "button", class: "quiet" }, words);
  button.onclick = async () => {
    await saved(made(), name);
    sayDone(button, "Saved", words);
  };
  const small = Object.assign(made(), { className: "keepsake" });
  small.setAttribute("role", "img");
  small.setAttribute("aria-label", label);
  return { small, button };
}
