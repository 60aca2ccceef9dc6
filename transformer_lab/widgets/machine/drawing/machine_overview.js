// The drawing of the machine: its layers from left to right, the encoder above, the decoder below. Each token is a
// thread through all of them, and one is followed.
//   paintMachine(context, layoutOf(…), { run, off, swaps, names, at, … });

import { BETWEEN } from "./machine_layout.js";
import { paintLines, paintLooks, paintThreads } from "./machine_lines.js";
import * as thumbs from "./machine_thumbs.js";
import { SMALL } from "./machine_thumbs.js";
import { NOW, SANS } from "../../shared/palette.js";

// What an attention does, said where there is room.
const DOES = {
  ...{ "self-attention": "looks around", "masked self-attention": "looks back" },
  "cross-attention": "looks at the input",
};

// `lit`: the row that is followed, at both sides; `shares`: how much each input token is looked at; `chosen`: the part
// that is open; `cursor`: the one under the mouse or the keys; `change(name)`: 0 … 1; `looks(box)`: its mean.
export function paintMachine(context, plan, seen) {
  const pictures = plan.items.map(({ part }) => part.thumb).filter((name) => name?.includes(".weights."));
  const look = { ...seen, atlas: thumbs.atlasOf(seen.run, pictures) };
  for (const band of plan.bands) {
    const here = { ...look, rows: band.rows, lit: seen.lit[band.side] };
    paintLayers(context, band, plan.small);
    paintThreads(context, band, here);
    for (const one of band.boxes) (plan.small ? paintParts : paintBox)(context, one, band, here);
  }
  if (!plan.small) paintLines(context, plan, look);
  for (const [item, dashes] of [
    [look.chosen, []],
    [look.cursor, [3, 3]],
  ]) {
    if (!item) continue;
    Object.assign(context, { strokeStyle: NOW.ink, lineWidth: 2 });
    context.setLineDash(dashes);
    context.strokeRect(item.x - 2, item.y - 2, item.width + 4, item.height + 4);
  }
  context.setLineDash([]);
}

// A slab behind each layer, which the paper draws once and calls N×, with its name.
function paintLayers(context, { side, boxes, slab }, small) {
  const layers = new Set(boxes.map(({ box }) => box.layer));
  for (const layer of layers) {
    const own = boxes.filter(({ box }) => box.layer === layer);
    const [gap, last] = [small ? 2 : BETWEEN / 2, own.at(-1)];
    const from = own[0].x - gap;
    if (layer !== undefined) {
      context.fillStyle = NOW.slab;
      context.beginPath();
      context.roundRect(from, slab.y, last.x + last.width + gap - from, slab.height, small ? 3 : 8);
      context.fill();
    }
    if (small || (layer === undefined && own[0].box.kind === "output")) continue;
    Object.assign(context, { fillStyle: NOW.ink, font: `650 12px ${SANS}`, textAlign: "left", textBaseline: "middle" });
    context.fillText(layer === undefined ? side : `${side}, layer ${layer}`, own[0].x, slab.y + 9);
  }
}

function paintBox(context, { box, x, width, parts }, { top }, look) {
  Object.assign(context, { fillStyle: NOW.ink, font: SMALL, textAlign: "left", textBaseline: "middle" });
  const end = x + width + (box.kind === "attention" ? -30 : 8);
  const fits = (text, left) => left + context.measureText(text).width < end;
  for (const [title, left] of titlesOf(box, { x, parts }))
    context.fillText(fits(title, left) ? title : title.split(/[ -]/)[0], left, top - 8);
  context.fillStyle = NOW.soft;
  const [does, from] = [DOES[box.title], x + context.measureText(box.title).width + 7];
  if (does && fits(does, from)) context.fillText(does, from, top - 8);
  const [{ part, y, height }] = parts;
  if (box.kind === "embedding")
    context.fillText(`${look.run.at.get(part.thumb).rows[0].length} numbers`, x, y + height + 10);
  if (box.kind === "attention" && box.title.endsWith("self-attention"))
    paintLooks(context, { ...look, x, weights: look.looks(box)[look.lit] ?? [] });
  paintParts(context, { parts }, null, look);
}

const paintParts = (context, { parts }, band, look) => parts.forEach((place) => paintPart(context, place, look));

// The title, or, of two parts, the name of each over it.
export function titlesOf({ kind, title }, { x, parts }) {
  const names = { residual: ["add", "norm"], embedding: ["word", "place"] }[kind];
  if (names) return names.map((name, i) => [name, parts[i].x]);
  return [[kind === "output" ? "writes" : title, x]];
}

function paintPart(context, { part, ...place }, look) {
  const gone = look.off.has(part.off);
  if (!part.thumb) return thumbs.paintMask(context, place, gone);
  if (part.thumb === "probabilities") return thumbs.paintWritten(context, place, look);
  (part.thumb.includes(".weights.") ? thumbs.paintMatrix : thumbs.paintWaves)(context, part.thumb, place, look);
  thumbs.paintChange(context, place, look.change(part.thumb));
  if (gone) thumbs.crossed(context, place);
  if (look.swaps.some((swap) => swap.key === part.key)) thumbs.swapped(context, place);
}
