// What stands over the columns of a weave: a name, and under it what the column does, as far as there is room.

import { label } from "./weave_marks.js";

const [NAME, MORE, APART] = [8.4, 6.9, 12]; // pixels of a letter of either, and between two texts

export function headings(
  { columns, narrow, width },
  { encoder, heads: looking = "the heads", target = [], first = 0, of = target.length },
  { layer },
) {
  const middle = (columns.from + columns.to) / 2;
  const over = (slabs) => (slabs[0].x + slabs.at(-1).x + slabs.at(-1).wide) / 2;
  const times = encoder.length === 1 ? "" : ` · ${encoder.length} times`;
  const some = of > target.length ? `${first}–${first + target.length - 1} of ${of}` : ""; // a text without end
  if (narrow)
    return [
      label("reads · encoder", columns.from, -13, { anchor: "end", more: "w-strong" }),
      label("attention", middle, -13, { anchor: "middle" }),
      label(some || "decoder · writes", some ? columns.writes : columns.to, -13, { more: "w-strong" }),
    ].join("");
  const german = some ? [`tokens ${some}`] : ["German tokens, and how sure it is", "German tokens"];
  const heads = [
    { at: columns.name, anchor: "end", names: ["reads"], more: ["English tokens"] },
    {
      ...{ at: over(columns.encoder), anchor: "middle", names: ["encoder"] },
      more: [`self-attention, then feed-forward${times}`, "self-attention, feed-forward", "self-attention"],
    },
    {
      ...{ at: middle, anchor: "middle", names: [`cross-attention, layer ${layer}`, "cross-attention", "attention"] },
      more: [`where it looks: mean of ${looking}`, `mean of ${looking}`],
    },
    {
      ...{ at: over(columns.decoder), anchor: "middle", names: ["decoder"] },
      more: ["self- and cross-attention, feed-forward", "self- and cross-attention", "self-attention"],
    },
    { at: columns.writes, anchor: "start", names: ["writes"], more: german },
  ];
  const line = (key, letter, y, look) =>
    fitting(
      heads.map(({ at, anchor, [key]: texts }) => ({ at, anchor, texts })),
      letter,
      width,
    ).map((text, i) => label(text, heads[i].at, y, { anchor: heads[i].anchor, ...look }));
  return [...line("names", NAME, -31, { more: "w-strong", size: 15 }), ...line("more", MORE, -13, {})].join("");
}

// Of each column the longest of its texts, the first one, beside which its neighbours have room; of two that meet the
// wider one gives way. A column whose shortest text has no room is left without.
export function fitting(columns, letter, width) {
  const left = columns.map(({ texts }) => [...texts, ""]);
  const wide = (i) => letter * left[i][0].length;
  const span = (i) => {
    const from = columns[i].at - wide(i) * { start: 0, middle: 0.5, end: 1 }[columns[i].anchor];
    return [from, from + wide(i)];
  };
  for (;;) {
    const seen = left.findIndex(
      (_, i) => (i > 0 && wide(i) && wide(i - 1) && span(i)[0] < span(i - 1)[1] + APART) || span(i)[1] > width + 1,
    );
    if (seen < 0) return left.map(([text]) => text);
    const pair = seen > 0 && wide(seen - 1) && span(seen)[1] <= width + 1 ? [seen - 1, seen] : [seen];
    const longest = pair.reduce((a, b) => (wide(b) > wide(a) ? b : a));
    const other = pair.find((i) => i !== longest);
    const gives = left[longest].length > 2 || other === undefined || left[other].length <= 2 ? longest : other;
    left[gives].shift();
  }
}
