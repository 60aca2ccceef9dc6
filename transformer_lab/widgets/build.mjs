// Builds the script of each view, <name>_view.js and what it imports, into static/: `npm run build`, after each change.
//
// A script is all that its output needs, and makes the element live whose name the output gives as TAG. What each was
// built from stands in static/manifest.json, so that a test can tell, without Node, when one is stale.

import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";

import { build, version } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const hash = (text) => createHash("sha256").update(text).digest("hex");
const hashes = async (folder, names) =>
  Object.fromEntries(
    await Promise.all(names.map(async (name) => [basename(name), hash(await readFile(folder + name))])),
  );

// Styles are texts, which esbuild leaves as they are: their comments and indents, and spaces and ends of lines around
// marks, are not sent. What the machine's repeat most is sent as one letter, which no style has, and which the page
// replaces: what stands for a letter and more comes behind it.
const tightened = (css) =>
  css
    .replace(/\/\*.*?\*\//g, "")
    .replace(/^ +/gm, "")
    .replace(/ ?([{};:,]) /g, "$1")
    .replace(/^(?!\/\/)(.*[{};,])\n/gm, "$1")
    .replace(/;}/g, "}");
const OFTEN = [
  ["^", ".tl-machine ", /\.tl-machine (?=[.:[\w])/g],
  ["~", "var(--tl-"],
  ["?", "^.tl-"],
  ["&", "color:~"],
  ["_", "display:"],
  ["|", "height:"],
  ["<", "border"],
  ["Z", "font-size:"],
  ["Q", "background:"],
  ["K", "<-radius:"],
  ["Y", "min-|"],
  ["J", "margin"],
  ["W", "padding"],
  ["M", ".tl-"],
  ["D", "-width:"],
  ["U", "stroke"],
  ["O", "grid-template-columns:"],
  ["§", "pointer-events:none"],
  ["¢", "position:"],
  ["¡", "align-items:center"],
  ["£", "fill:"],
  ["¶", "^.w-"],
  ["¥", "?stage "],
  ["¬", "font-weight:"],
  ["¤", "text-decoration:underline 1px;text-underline-offset:3px"],
  ["A", " button"],
  ["V", "cursor:pointer"],
  ["F", "box-sizing:<-box"],
  ["G", "¢absolute"],
  ["N", "white-space:nowrap"],
  ["P", "flex-wrap:"],
  ["R", "linear-gradient("],
  ["I", "minmax(0,"],
  ["L", "?zoom"],
  ["B", "[aria-pressed=true]"],
  ["æ", "px solid ~"],
  ["å", "justify-content:"],
  ["ø", "overflow:hidden;text-overflow:ellipsis"],
  ["þ", ":not([hidden])"],
];
const shortened = (css) => {
  const taken = OFTEN.filter(([letter]) => css.includes(letter));
  if (taken.length) throw new Error(`a style has ${taken[0][0]}, which stands for ${taken[0][1]}`);
  return OFTEN.reduce((text, [letter, whole, where = whole]) => text.replaceAll(where, letter), css);
};
const back = (text) =>
  `${JSON.stringify(
    OFTEN.toReversed()
      .map(([letter, whole]) => letter + whole)
      .join("\n"),
  )}.split("\\n")` + `.reduce((css,one)=>css.replaceAll(one[0],one.slice(1)),${text})`;
const stylesIn = (text, change) =>
  text.replace(/(export const [A-Z]+|const STYLE) = `\n([^`]+)`;/g, (_, name, css) => `${name} = \`${change(css)}\`;`);
const tight = {
  name: "styles without spaces",
  setup: ({ onLoad }) => {
    const change = (filter, by) =>
      onLoad({ filter }, async ({ path }) => ({ contents: by(await readFile(path, "utf8")) }));
    change(/shared.ui\.js$/, (text) => stylesIn(text, tightened));
    change(/_style\w*\.js$/, (text) => stylesIn(text, (css) => shortened(tightened(css))));
    const all = "STYLE + WEAVE + FOOT + STEPS"; // where the page puts them together
    change(/machine_view\.js$/, (text) => text.replace(all, back(all)));
  },
};

const all = (await readdir(here, { recursive: true })).map((name) => name.replaceAll("\\", "/"));
const modules = all.filter((name) => /\.m?js$/.test(name) && !name.startsWith("static/")).sort();
const views = modules.filter((name) => name.endsWith("_view.js"));

const scripts = {};
for (const view of views) {
  const { outputFiles } = await build({
    stdin: {
      contents: `import { define } from "./shared/ui.js"; import view from "./${view}"; define(TAG, view);`,
      resolveDir: here,
    },
    write: false,
    bundle: true,
    plugins: [tight],
    minify: true,
    format: "esm",
    target: "es2022",
    charset: "utf8",
  });
  scripts[basename(view)] = outputFiles[0].text;
}

// Only now that every script has been built: an error above leaves the old ones where they are.
await mkdir(`${here}static`, { recursive: true });
for (const name of await readdir(`${here}static`)) {
  if (name.endsWith(".js")) await rm(`${here}static/${name}`); // fonts/ is not ours
}
for (const [name, text] of Object.entries(scripts)) await writeFile(`${here}static/${name}`, text);

const manifest = {
  esbuild: version,
  sources: await hashes(here, modules),
  scripts: await hashes(`${here}static/`, views.map((view) => basename(view)).sort()),
};
await writeFile(`${here}static/manifest.json`, `${JSON.stringify(manifest, null, 2)}\n`);
