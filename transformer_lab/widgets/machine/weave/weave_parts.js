// The parts of a weave that one can go to, open and cut, from left to right.
//   partsOf(plan, layer, n) → [{ id, title, says, open, cut, x, wide }]; `open` is the machine's part that a press
//   opens, `says` what the part does, in few words

import { escaped } from "./weave_marks.js";
import { r } from "./weave_ribbons.js";

export function partsOf({ columns, narrow }, layer) {
  const { name, clock, encoder, decoder, from, to, writes } = columns;
  const whole = (x) => x + 34;
  const side = (stack, slabs, looks, cuts) => {
    const [start, last] = [slabs[0].x - 9, slabs.at(-1)];
    const rails = narrow ? { id: stack, x: start, wide: last.x + last.wide + 9 - start } : null; // a rail is thin
    return slabs.flatMap(({ x, wide }, i) => {
      const at = `${stack}.layers.${i}`;
      const both = { x, wide, rails, cut: cuts[Math.min(i, cuts.length - 1)] };
      return [
        {
          id: `${stack}.${i}.attention`,
          title: `${stack}, layer ${i}, ${looks}`,
          says: `${looks}, layer ${i}`,
          open: `${at}.self_attention.head.0`,
          ...both,
        },
        {
          ...{ id: `${stack}.${i}.feed`, title: `${stack}, layer ${i}, feed-forward` },
          says: `feed-forward, layer ${i}`,
          ...{ open: `${at}.feed_forward`, ...both },
        },
      ];
    });
  };
  const places =
    clock === null
      ? []
      : [
          {
            id: "positions",
            title: "positions",
            says: "where a token stands",
            open: "src_embedding.positions",
            cut: "positions",
            x: clock - 14,
            wide: 28,
          },
        ];
  return [
    {
      id: "reads",
      title: "reads: the tokens' rows of the table",
      open: "src_embedding.tokens",
      cut: null,
      x: 0,
      wide: name + 6,
    },
    ...places,
    ...side("encoder", encoder, "self-attention", ["residual", "norm"]),
    {
      ...{ id: "cross", title: `cross-attention, layer ${layer}`, cut: "cross", x: from, wide: to - from },
      open: `decoder.layers.${layer}.cross_attention.head.0`,
    },
    ...side("decoder", decoder, "masked self-attention", ["mask", "feed"]),
    {
      id: "writes",
      title: "writes: the probabilities of all tokens",
      open: "to_logits",
      cut: null,
      x: writes - 8,
      wide: whole(90),
    },
  ];
}

// Beside a part in the direction of a key; from nowhere to the ribbons.
export function beside(parts, at, by) {
  if (at === null) return parts.findIndex(({ id }) => id === "cross");
  return Math.min(Math.max(at + by, 0), parts.length - 1);
}

// Where a part stands, as [left, width]. A layer's slab holds two.
function spanOf({ id, x, wide }) {
  if (id.endsWith(".attention")) return [x, 0.7 * wide];
  return id.endsWith(".feed") ? [x + 0.7 * wide, 0.3 * wide] : [x, wide];
}

// What dims all that stands beside a part, below the headings, as SVG.
export function veilOf(part, width, tall, top = 0) {
  const [left, wide] = spanOf(part);
  const veil = (from, to) =>
    `<rect class="w-veil" x="${r(from)}" y="${top}" width="${r(Math.max(0, to - from))}" height="${tall - top}"/>`;
  return veil(-20, left - 3) + veil(left + wide + 3, width + 20);
}

// The frame around a part, as SVG.
export function frameOf(part, height, above, kind = "w-cursor") {
  const [left, width] = spanOf(part);
  const place = `x="${r(left - 2)}" y="${above - 8}" width="${r(width + 4)}" height="${r(height + 16)}"`;
  return `<rect class="${kind}" ${place} rx="9"/>`;
}

// A press on a phone's rails asks which of the parts behind them to open: for each layer their names and keys.
export function behind(side, layers) {
  const all = Array.from({ length: layers }, (_, i) => {
    const at = `${side}.layers.${i}`;
    const across = side === "decoder" ? [["cross-attention", `${at}.cross_attention.head.0`]] : [];
    const looks = [["self-attention", `${at}.self_attention.head.0`], ...across];
    return [...looks, ["feed-forward", `${at}.feed_forward`]];
  });
  const before = side === "encoder" ? [["positions", "src_embedding.positions"]] : [];
  return { before, layers: all };
}

// What answers the pointer at each part that opens: a frame, and what a press does. A phone has no room for it.
export function looksOf(parts, { height, narrow, width }, above) {
  if (narrow) return "";
  const opens = parts.filter(({ id }) => id !== "reads" && id !== "writes");
  const one = (part) => {
    const [left, wide] = spanOf(part);
    const tip = part.says ? tipOf(`${part.says}: look inside`, left + wide / 2, above + 4, width) : "";
    return `<g class="w-look" data-part="${part.id}">${frameOf(part, height, above, "w-hit")}${tip}</g>`;
  };
  return opens.map(one).join("");
}

// What a press does, said beside the pointer.
export function tipOf(text, x, y, width) {
  const wide = 7 * text.length + 18;
  const middle = Math.min(Math.max(x, wide / 2), width - wide / 2);
  const box = `<rect class="w-tip" x="${r(middle - wide / 2)}" y="${r(y - 11)}" width="${wide}" height="22" rx="11"/>`;
  return `${box}<text class="w-tip" x="${r(middle)}" y="${r(y)}">${escaped(text)}</text>`;
}
