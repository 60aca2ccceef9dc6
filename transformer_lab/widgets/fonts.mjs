// Copies the fonts of pages and views, and their licences, out of npm's packages into static/fonts: `npm run fonts`.
//
// Latin letters, variable weight, the serif with its optical size: each file is the package's own, byte for byte.

import { copyFile, mkdir, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const out = fileURLToPath(new URL("static/fonts", import.meta.url));
const FONTS = {
  "source-serif-4": ["opsz-normal", "wght-italic"],
  inter: ["wght-normal"],
  "jetbrains-mono": ["wght-normal"],
};

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
for (const [family, cuts] of Object.entries(FONTS)) {
  const from = `${root}node_modules/@fontsource-variable/${family}`;
  await copyFile(`${from}/LICENSE`, `${out}/${family}.LICENSE`);
  for (const cut of cuts) await copyFile(`${from}/files/${family}-latin-${cut}.woff2`, `${out}/${family}-${cut}.woff2`);
}
