// A view as a picture to keep or to post. It is copied without its controls, with its styles and the page's letters, and
// drawn by the browser itself.

import { framed, SHARP } from "./frame.js";

const LONGEST = 230; // letters of what is said above a view
const XHTML = "http://www.w3.org/1999/xhtml";
const LEFT_OUT = ".tl-bar, .tl-slider, .tl-grid, .tl-scroll, .tl-ask, style, script, label:has(input, select, textarea)";
// What tells a reader what to do, which a picture cannot.
const BIDS = /^(Point|Press|Drag|Paint|Step|Type|To type|Tap|Move|Choose|Go) /;
const FONTS = {
  "Source Serif 4 Variable": "source-serif-4-opsz-normal",
  "Inter Variable": "inter-wght-normal",
  "JetBrains Mono Variable": "jetbrains-mono-wght-normal",
};
const STYLED = [
  ...["display", "position", "left", "top", "right", "bottom", "box-sizing", "width", "min-width", "overflow"],
  ...["margin", "padding", "border", "border-radius", "background-color", "background-image", "opacity", "color"],
  ...["font-family", "font-size", "font-weight", "font-style", "font-variant-numeric", "line-height", "text-align"],
  ...["text-decoration", "text-indent", "white-space", "letter-spacing", "vertical-align", "outline", "transform"],
  ...["flex", "flex-wrap", "flex-direction", "gap", "align-items", "justify-content", "grid-template-columns"],
  ...["grid-row", "grid-column", "border-collapse", "visibility"],
];
const DRAWN = [
  ...["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap"],
  ...["stroke-linejoin", "opacity", "font-family", "font-size", "font-weight", "font-style", "text-anchor"],
  ...["display", "visibility", "dominant-baseline", "text-decoration"],
];

const styleOf = (node, names) => {
  const style = getComputedStyle(node);
  return names.map((name) => `${name}:${style.getPropertyValue(name)}`).join(";");
};

const sentences = (text) => text.trim().split(/(?<=[.!?])\s+(?=[^a-z])/);
const told = (text) => sentences(text).filter((one) => one && !BIDS.test(one));

// Of what a view says the first sentence with a number in it, else what its drawing is called.
export function saidBy(view) {
  const nodes = [...view.querySelectorAll(".tl-says, [aria-live]:not(output)")].filter((one) => one.checkVisibility());
  const drawn = view.querySelector("canvas:not([aria-hidden])")?.getAttribute("aria-label") ?? "";
  const all = [...nodes.flatMap((one) => told(one.textContent)), ...told(drawn)];
  const first = all.find((one) => /\d/.test(one) && one.length <= LONGEST) ?? "";
  return /^[a-z]{2}/.test(first) ? first[0].toUpperCase() + first.slice(1) : first;
}

// A text node of the view; what the picture says above the view is not said again.
function textOf(node, above) {
  const isSaid = node.parentElement.closest(".tl-says, .tl-note, p");
  if (!isSaid) return document.createTextNode(node.data);
  const kept = told(node.data).filter((one) => one.toLowerCase() !== above.toLowerCase());
  return kept.length ? document.createTextNode(kept.join(" ")) : null;
}

// A copy that needs no style sheet: canvases are pictures in it, and buttons plain words in their middle.
function copied(node, above) {
  if (node.nodeType === Node.TEXT_NODE) return textOf(node, above);
  if (node.nodeType !== Node.ELEMENT_NODE || node.matches(LEFT_OUT)) return null;
  if (getComputedStyle(node).display === "none") return null;
  if (node.localName === "svg") return drawing(node);
  const isCanvas = node.localName === "canvas";
  if (isCanvas && !(node.width && node.height)) return null;
  const copy = document.createElementNS(XHTML, isCanvas ? "img" : node.localName === "button" ? "div" : node.localName);
  const holds = [...node.children].some((child) => getComputedStyle(child).position === "absolute");
  const tall = isCanvas || holds || node.localName === "button";
  copy.setAttribute("style", styleOf(node, tall ? [...STYLED, "height"] : STYLED));
  if (isCanvas) copy.setAttribute("src", node.toDataURL());
  const inside = [...node.childNodes].map((child) => copied(child, above)).filter(Boolean);
  if (node.matches(".tl-says, .tl-note") && !inside.length) return null;
  if (node.localName === "button" && /block/.test(getComputedStyle(node).display)) return centred(copy, inside);
  copy.append(...inside);
  return copy;
}

function centred(copy, inside) {
  const words = document.createElementNS(XHTML, "div");
  words.append(...inside);
  copy.append(words);
  Object.assign(copy.style, { display: "inline-flex", alignItems: "center", justifyContent: "center" });
  return copy;
}

function drawing(svg) {
  const copy = svg.cloneNode(true);
  const [from, to] = [svg, copy].map((one) => [one, ...one.querySelectorAll("*")]);
  from.forEach((one, i) => to[i].setAttribute("style", styleOf(one, DRAWN)));
  return copy;
}

// A view draws its canvases as sharp as the screen: here that is the picture's. What is drawn is drawn with the next
// frame.
async function sharply(view, act) {
  const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const redrawn = () => (view.dispatchEvent(new Event("tl-in")), frames());
  const screen = Object.getOwnPropertyDescriptor(window, "devicePixelRatio");
  Object.defineProperty(window, "devicePixelRatio", { value: Math.max(SHARP, devicePixelRatio), configurable: true });
  try {
    await redrawn();
    return act();
  } finally {
    Object.defineProperty(window, "devicePixelRatio", screen);
    await redrawn();
  }
}

async function inLetters(root) {
  const rules = Object.entries(FONTS).map(async ([family, name]) => {
    const bytes = new Uint8Array(await (await fetch(`${root}_static/fonts/${name}.woff2`)).arrayBuffer());
    const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
    const from = `url(data:font/woff2;base64,${text}) format("woff2")`;
    return `@font-face{font-family:"${family}";font-weight:100 900;src:${from}}`;
  });
  return (await Promise.all(rules)).join("");
}

// An image of a view, and its size in the page.
async function imageOf(view, root, above) {
  const [copy, width] = [await sharply(view, () => copied(view, above)), view.clientWidth];
  const host = document.createElement("div");
  Object.assign(host.style, { position: "absolute", left: "-99999px", top: "0", width: `${width}px` });
  host.append(copy);
  document.body.append(host);
  const height = Math.ceil(host.getBoundingClientRect().height);
  const letters = document.createElementNS(XHTML, "style");
  letters.textContent = await inLetters(root);
  host.remove();
  copy.prepend(letters);
  const inside = new XMLSerializer().serializeToString(copy);
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width * SHARP}" height="${height * SHARP}" ` +
    `viewBox="0 0 ${width} ${height}"><foreignObject width="100%" height="100%">${inside}</foreignObject></svg>`;
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  return { image, width, height };
}

// `about` is its question, what was set, and where it is from; `root` leads to the page's letters.
export async function pictureOf(view, { root, ...about }) {
  const said = saidBy(view);
  const { image, width, height } = await imageOf(view, root, said);
  const draw = (context, left, top) => context.drawImage(image, left, top, width, height);
  return framed({ draw, width, height }, { ...about, said });
}
