// Marks on the large map of a part: the row that wrote the output token that is looked at, and the number whose sum is
// seen. They are what `tokenMap` (grid.js) draws beside its cells, and `wideMap` over them.

import { FONT } from "../../shared/grid.js";
import { NOW } from "../../shared/palette.js";

const [ROOM, NARROW] = [110, 520]; // pixels beside a map for what a row writes, and maps that have none to spare

// The row that wrote an output token, { t, fed, token }: the one of the token before, which the decoder reads to write
// it. Null where the rows are those of the source.
export function writerOf({ rows, fed }, written, at) {
  return rows === fed ? { t: at, fed: rows[at], token: written[at] } : null;
}

export function sayWriter(writer) {
  if (!writer) return "";
  return `The marked row, “${writer.fed}”, writes “${writer.token}”: the decoder reads a token and writes the next.`;
}

// For a map of square cells, whose `layout()` says where they stand.
export function marksBeside({ writer, cell, width, layout }) {
  const wide = writer && width >= NARROW ? ROOM : 0;
  const draw = (context, { x, ink }) => {
    const { left, top, size, first, shown } = layout();
    const [t, s] = [cell[0] - first[0], cell[1] - first[1]];
    const row = writer ? writer.t - first[0] : -1;
    if (row >= 0 && row < shown[0]) {
      frame(context, [left - 3, top + row * size - 3, shown[1] * size + 5, size + 5]);
      Object.assign(context, { fillStyle: ink, font: `bold ${FONT}`, textAlign: "left", textBaseline: "middle" });
      if (wide) context.fillText(`writes ${writer.token}`, x, top + (row + 0.5) * size, ROOM - 14);
    }
    if (t >= 0 && t < shown[0] && s >= 0 && s < shown[1])
      markCell(context, [left + s * size + 1, top + t * size + 1, size - 3, size - 3]);
  };
  return { width: wide, draw };
}

export function frame(context, place) {
  Object.assign(context, { strokeStyle: NOW.ink, lineWidth: 3 });
  context.strokeRect(...place);
}

// Seen on every colour: dark within light.
export function markCell(context, place) {
  for (const [strokeStyle, lineWidth] of [
    ["#fff", 4],
    ["#111", 2],
  ]) {
    Object.assign(context, { strokeStyle, lineWidth });
    context.strokeRect(...place);
  }
}
