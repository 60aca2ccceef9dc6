// The same colour for the same thing in views and in the static figures.

import assert from "node:assert/strict";
import test from "node:test";

import { assertClose, fixtures, load } from "./support.mjs";

const palette = await load("palette");
const shadesNow = () => Array.from({ length: 101 }, (_, i) => palette.amounts(i / 100));
const luminance = (rgb) => {
  const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};

test("series have the colours of the figures, in their order", () => {
  assert.deepEqual(palette.COLOURS, fixtures.colours);
});

test("what has a colour of its own has the same one in the figures", () => {
  assert.deepEqual(palette.MEANINGS, fixtures.meanings);
});

test("a light page has the colours of the figures", () => {
  assert.deepEqual(palette.PAPER.light, fixtures.paper);
});

test("amounts run from paper to amber as in the static figures", () => {
  shadesNow().forEach((rgb, i) => assertClose(rgb, fixtures.amounts[i], 1));
  assert.deepEqual([palette.amounts(-3), palette.amounts(3)], [palette.amounts(0), palette.amounts(1)]);
});

test("amounts leave the paper all the way, so they can be read without seeing colour, and numbers on them, too", () => {
  try {
    for (const theme of ["light", "dark"]) {
      palette.useTheme(theme);
      const lights = shadesNow().map(luminance);
      lights.slice(1).forEach((light, i) => assert.ok(light > lights[i] === (theme === "dark"), `${theme}: step ${i}`));
      for (const rgb of shadesNow()) {
        const light = luminance(rgb);
        const [black, white] = [(light + 0.05) / 0.05, 1.05 / (light + 0.05)];
        assert.equal(palette.inkOn(rgb), black > white ? "#000" : "#fff", palette.css(rgb));
        assert.ok(Math.max(black, white) >= 4.5, palette.css(rgb));
      }
    }
  } finally {
    palette.useTheme("light");
  }
});

test("numbers with a sign part at the page's ground, and stand out the more the farther from 0", () => {
  try {
    for (const theme of ["light", "dark"]) {
      palette.useTheme(theme);
      const shades = Array.from({ length: 101 }, (_, i) => palette.diverging(i / 100));
      const lights = shades.map(luminance);
      const ground = luminance(palette.rgbOf(palette.NOW.paper));
      assert.ok(Math.abs(lights[50] - ground) < 0.06, `${theme}: ${lights[50]} on ${ground}`);
      const leaves = theme === "light" ? (a, b) => a >= b : (a, b) => a <= b;
      for (let i = 51; i < 101; i += 1) {
        assert.ok(leaves(lights[i - 1], lights[i]), `${theme}: blue ${i}`);
        assert.ok(leaves(lights[101 - i], lights[100 - i]), `${theme}: red ${100 - i}`);
      }
      assert.ok(shades[15][0] > shades[15][2] && shades[85][2] > shades[85][0], theme);
    }
  } finally {
    palette.useTheme("light");
  }
});

test("a theme changes what is drawn with, and keeps the meaning of each place", () => {
  palette.useTheme("dark");
  const [night, meanings] = [[...palette.COLOURS], { ...palette.MEANINGS }];
  palette.useTheme("light");
  const { dark } = palette.PAPER;
  assert.deepEqual(night, [dark.query, dark.key, dark.value, dark.change, dark["amber-edge"], dark.thread]);
  assert.equal(meanings.query, dark.query);
  assert.deepEqual(palette.COLOURS, fixtures.colours);
});

test("query, key and value stand out from the paper by 4.5 to 1, by day and by night, and so do the series by 3", () => {
  for (const theme of ["light", "dark"]) {
    const colours = palette.PAPER[theme];
    const against = (hex) => {
      const [low, high] = [hex, colours.paper].map((one) => luminance(palette.rgbOf(one))).sort((a, b) => a - b);
      return (high + 0.05) / (low + 0.05);
    };
    for (const name of ["ink", "soft", "query", "key", "value", "change", "amber-ink"])
      assert.ok(against(colours[name]) >= 4.5, `${theme} ${name}: ${against(colours[name])}`);
    for (const name of ["edge", "thread", "amber-edge"]) assert.ok(against(colours[name]) >= 3, `${theme} ${name}`);
  }
});

test("a page is dark where it writes in a light ink", () => {
  assert.deepEqual(["rgb(22, 32, 43)", "rgba(0, 0, 0, 0.87)", "rgb(255, 255, 255)", ""].map(palette.isDark), [
    false,
    false,
    true,
    false,
  ]);
});

test("a mixture begins and ends at its colours", () => {
  const [one, other] = [
    [0, 10, 200],
    [100, 20, 0],
  ];
  assert.deepEqual(palette.mixed(one, other, 0), one);
  assert.deepEqual(palette.mixed(one, other, 1), other);
  assert.deepEqual(palette.mixed(one, other, 0.5), [50, 15, 100]);
});

// ── paper, ink and thread ──

const contrast = (one, other) => {
  const [low, high] = [luminance(palette.rgbOf(one)), luminance(palette.rgbOf(other))].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};

test("text stands out by 4.5 to 1 and an edge by 3, by day and by night, on paper and on a page of white or black", () => {
  for (const [theme, page] of [
    ["light", "#ffffff"],
    ["dark", "#111111"],
  ]) {
    const colours = palette.PAPER[theme];
    for (const ground of [colours.paper, page]) {
      for (const text of ["ink", "soft", "amber-ink", "change"])
        assert.ok(contrast(colours[text], ground) >= 4.5, `${theme} ${text}`);
      for (const edge of ["edge", "amber-edge", "thread"])
        assert.ok(contrast(colours[edge], ground) >= 3, `${theme} ${edge}`);
    }
    for (const text of ["ink", "soft"])
      assert.ok(contrast(colours[text], colours.slab) >= 4.5, `${theme} ${text} on a slab`);
    assert.ok(contrast(colours.paper, colours.ink) >= 4.5);
  }
});

test("both themes have the same names, and a style has them as its properties", () => {
  assert.deepEqual(Object.keys(palette.PAPER.light), Object.keys(palette.PAPER.dark));
  assert.match(palette.inPaper("dark"), /--tl-paper: #0e1217; /);
});
