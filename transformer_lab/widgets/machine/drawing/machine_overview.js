// The drawing of the machine: the paper's Figure 1, encoder at the left, decoder at the right, from the bottom up, with
// the matrices of a run as small pictures in their places.
//   paintMachine(context, layoutOf(…), { run, off, swaps, names, at, … });

import { FONT } from "../../shared/grid.js";
import { paintKey, paintLines } from "./machine_lines.js";
import * as thumbs from "./machine_thumbs.js";
import { SMALL } from "./machine_thumbs.js";
import { NOW } from "../../shared/palette.js";

const PAD = 8;
// What a box has to do with: attention is amber everywhere, the residual stream a thread, all else ink.
const HUES = { embedding: "soft", attention: "amber-edge", feed: "soft", residual: "thread", output: "ink" };

// `names`: the tokens of both sides; `at`: the output token that is looked at; `shares`: how much each input token is
// looked at; `chosen`: the part that is open; `cursor`: the one under the mouse or the keys; `change(name)`: 0 … 1.
export function paintMachine(context, plan, seen) {
  const pictures = plan.items.map(({ part }) => part.thumb).filter((name) => name && name !== "probabilities");
  const look = { ...seen, atlas: thumbs.atlasOf(seen.run, pictures) };
  const ink = { ink: look.ink, dim: look.dim };
  paintLines(context, plan, look);
  paintKey(context, plan, look);
  for (const column of plan.columns) {
    paintFrames(context, column, look);
    for (const one of column.boxes) paintBox(context, one, column, look, ink);
  }
  for (const [item, dashes] of [
    [look.chosen, []],
    [look.cursor, [3, 3]],
  ]) {
    if (!item) continue;
    Object.assign(context, { strokeStyle: NOW.ink, lineWidth: 2 });
    context.setLineDash(dashes);
    context.strokeRect(item.x - 2.5, item.y - 2.5, item.width + 5, item.height + 5);
  }
  context.setLineDash([]);
}

function rounded(context, x, y, width, height, radius) {
  context.beginPath();
  context.roundRect(x, y, width, height, radius);
}

// A frame around the boxes of each layer, which the paper draws once and calls N×.
function paintFrames(context, { side, boxes, left, width }, { ink }) {
  const layers = new Set(boxes.map(({ box }) => box.layer).filter((layer) => layer !== undefined));
  for (const layer of layers) {
    const own = boxes.filter(({ box }) => box.layer === layer);
    const top = own.at(-1).y - 4;
    const bottom = own[0].y + own[0].height + 4;
    context.globalAlpha = 0.06;
    context.fillStyle = ink;
    rounded(context, left - 4, top, width + 8, bottom - top, 7);
    context.fill();
    context.globalAlpha = 1;
  }
  const top = boxes.at(-1).y;
  Object.assign(context, { fillStyle: ink, font: `600 ${FONT}`, textAlign: "left", textBaseline: "bottom" });
  context.fillText(side, left, top - 5);
}

function paintBox(context, { box, x, y, width, height, parts }, { side }, look) {
  const { ink, dim, paper } = look;
  context.fillStyle = paper;
  rounded(context, x, y, width, height, 5);
  context.fill();
  Object.assign(context, { strokeStyle: dim, lineWidth: 0.7 });
  context.stroke();
  context.fillStyle = NOW[HUES[box.kind]];
  rounded(context, x, y, 4, height, [5, 0, 0, 5]);
  context.fill();
  Object.assign(context, { fillStyle: ink, font: SMALL, textAlign: "left", textBaseline: "middle" });
  for (const [title, left] of titlesOf(box, { x, width, parts })) context.fillText(title, left, y + 10);
  if (box.last) {
    Object.assign(context, { fillStyle: dim, textAlign: "right" });
    context.fillText(`layer ${box.layer}`, x + width - 8, y + 10);
  }
  parts.forEach((place, i) => paintPart(context, { ...place, first: i === 0 }, side, look));
}

// The title, or, where there is room, the names of two strips over each of them.
function titlesOf(box, { x, width, parts }) {
  const [first, second] = parts;
  if (box.kind !== "residual" || width <= 190) return [[titleOf(box, width), x + PAD + 4]];
  return [
    ["add", first.x],
    ["& norm", second.x],
  ];
}

// The title, shorter where there is little room.
function titleOf({ kind, title }, width) {
  if (width > 190) return title;
  if (kind !== "attention" || !title.startsWith("masked")) return title.replace("attention", "att.");
  return width > 145 ? "masked self-att." : "masked att."; // the mask stands beside it
}

function paintPart(context, { part, x, y, width, height, labels, name, first }, side, look) {
  const place = { x, y, width, height };
  const { run, off, swaps, ink } = look;
  const gone = off.has(part.off);
  if (!part.thumb) return thumbs.paintMask(context, place, gone, look);
  if (part.thumb === "probabilities") return thumbs.paintOutput(context, place, look);
  thumbs.paintMatrix(context, look.atlas, part.thumb, place, look.dim);
  if (labels) thumbs.paintTokens(context, { x, y, height, labels }, side, look);
  if (name) {
    Object.assign(context, { fillStyle: ink, font: SMALL, textAlign: "right", textBaseline: "middle" });
    context.fillText(name, x - 5, y + height / 2);
  }
  if (side === "decoder" && first && !name) thumbs.here(context, place, run.target.length, look.at);
  thumbs.paintChange(context, place, look.change(part.thumb));
  if (gone) thumbs.crossed(context, place, look.dark);
  if (swaps.some((swap) => swap.key === part.key)) thumbs.swapped(context, place);
}
