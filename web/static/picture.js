// A view as a picture to keep or to post: its question, what it shows and says, what was set, and where it is from.
// The view is copied without its controls, with its styles and the page's letters, and drawn by the browser itself.

const [EDGE, SHARP, LEAST] = [40, 2, 640];
const XHTML = "http://www.w3.org/1999/xhtml";
const LEFT_OUT = ".tl-bar, .tl-slider, .tl-grid, .tl-scroll, .tl-ask, style, script, label:has(input, select)";
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

// A copy that needs no style sheet: canvases are pictures in it, and buttons plain words.
function copied(node) {
  if (node.nodeType === Node.TEXT_NODE) return document.createTextNode(node.data);
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
  copy.append(...[...node.childNodes].map(copied).filter(Boolean));
  return copy;
}

function drawing(svg) {
  const copy = svg.cloneNode(true);
  const [from, to] = [svg, copy].map((one) => [one, ...one.querySelectorAll("*")]);
  from.forEach((one, i) => to[i].setAttribute("style", styleOf(one, DRAWN)));
  return copy;
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
async function imageOf(view, root) {
  const [copy, width] = [copied(view), view.clientWidth];
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

function lined(context, text, room) {
  const lines = [""];
  for (const word of text.split(/\s+/)) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (context.measureText(longer).width > room && lines.at(-1)) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

// `says` is what was set, `from` where it is from.
export async function pictureOf(view, { title, says, from, root }) {
  const page = getComputedStyle(document.documentElement);
  const colour = (name) => page.getPropertyValue(name).trim();
  const { image, width, height } = await imageOf(view, root);
  const whole = Math.max(LEAST, width + 2 * EDGE);
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d");
  const [head, small] = [`500 ${whole < 800 ? 26 : 34}px ${colour("--words")}`, `500 15px ${colour("--labels")}`];
  context.font = head;
  const titles = lined(context, title, whole - 2 * EDGE);
  context.font = small;
  const notes = says ? lined(context, says, whole - 2 * EDGE) : [];
  const line = whole < 800 ? 34 : 43;
  const top = EDGE + titles.length * line + 16;
  const foot = top + height + 24;
  const tall = foot + 24 * (notes.length + 1) + EDGE - 4;
  Object.assign(canvas, { width: whole * SHARP, height: tall * SHARP });
  context.scale(SHARP, SHARP);
  Object.assign(context, { fillStyle: colour("--paper") }).fillRect(0, 0, whole, tall);
  Object.assign(context, { fillStyle: colour("--ink"), font: head, textBaseline: "alphabetic" });
  titles.forEach((text, i) => context.fillText(text, EDGE, EDGE + line * (i + 0.75)));
  context.drawImage(image, (whole - width) / 2, top, width, height);
  Object.assign(context, { fillStyle: colour("--hair") }).fillRect(EDGE, foot - 4, whole - 2 * EDGE, 1);
  Object.assign(context, { fillStyle: colour("--soft"), font: small });
  notes.forEach((text, i) => context.fillText(text, EDGE, foot + 24 * (i + 1)));
  Object.assign(context, { fillStyle: colour("--ink"), textAlign: "right" });
  context.fillText(from, whole - EDGE, foot + 24 * (notes.length + 1));
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
