// Where the boxes of the machine and the parts in them stand, and which part is beside which. They stand as a score's
// bars do: from left to right, in bands, and a token has the same row in all matrices of a band.
//   const boxes = { encoder: boxesOf("encoder", …), decoder: … };
//   const plan = layoutOf({ boxes, width, rows: [S, T], lit: { encoder: 6, decoder: 3 } });  // these rows are higher

export const [HEAD, BETWEEN] = [34, 12]; // over a band: the layer's name and those of its boxes; between two boxes
const [FOOT, GAP, AHEAD, PAD] = [15, 11, 30, 4]; // under a band; between bands; before a self-attention; between parts
const [RIGHT, LEAST] = [12, 30]; // for the memory's line; pixels of a part, from which on a narrow page scrolls

const sizeOf = ({ kind }, { thumb }) => (thumb ? ({ feed: 1.6, output: 2.2 }[kind] ?? 1) : 0);
const shown = ({ parts }) => parts.filter(({ thumb }) => thumb);
const sumOf = (all, f) => all.reduce((sum, one) => sum + f(one), 0);
const before = (box) => (box.kind === "attention" && box.title.endsWith("self-attention") ? AHEAD : BETWEEN);
const gapsIn = (boxes) => sumOf(boxes, (box) => before(box) + PAD * (shown(box).length - 1));
const sizesIn = (boxes) => sumOf(boxes, (box) => sumOf(box.parts, (part) => sizeOf(box, part)));

// The encoder's layers two in a band, the decoder's, which have more in them, one.
function bandsOf(boxes, side) {
  const bands = [];
  for (const box of boxes[side]) {
    const band = Math.floor((box.layer ?? (box.kind === "output" ? Infinity : 0)) / (side === "encoder" ? 2 : 1));
    (bands[Math.min(band, bands.length)] ??= []).push(box);
    if (box.kind === "output" && bands.length > 1) bands.at(-2).push(...bands.pop());
  }
  return bands.map((all) => ({ side, all }));
}

// { width, height, row, labels, bands: [{ side, rows: [{ y, high }], top, tall, left, right, boxes: [{ box, x, y,
// width, height, parts }] }], items: [{ side, box, part, x, y, width, height }] }
export function layoutOf({ boxes, width: room, rows, lit = {} }) {
  const narrow = room < 700;
  const labels = narrow ? 70 : 84;
  const row = Math.min(28, Math.max(6, (narrow ? 114 : 134) / (Math.max(...rows) + 1)));
  const bands = ["encoder", "decoder"].flatMap((side) => bandsOf(boxes, side));
  const widest = Math.max(...bands.map(({ all }) => sizesIn(all) * LEAST + gapsIn(all)));
  const width = Math.max(room, labels + widest + RIGHT);
  let y = 0;
  for (const band of bands) {
    const n = rows[band.side === "encoder" ? 0 : 1];
    const unit = (width - labels - RIGHT - gapsIn(band.all)) / sizesIn(band.all);
    const high = (t) => (t === lit[band.side] ? Math.max(2.2 * row, 24) : row);
    band.rows = [];
    let tall = 0;
    for (let t = 0; t < n; tall += high(t), t += 1) band.rows.push({ y: y + HEAD + tall, high: high(t) });
    Object.assign(band, { top: y + HEAD, tall, left: labels, right: width - RIGHT, boxes: [] });
    let x = labels;
    for (const box of band.all) {
      x += before(box);
      const one = { box, x, y: y + HEAD - 17, height: band.tall + 17, parts: [] };
      for (const part of shown(box)) {
        const wide = unit * sizeOf(box, part);
        one.parts.push({ part, x, y: band.top, width: wide, height: band.tall });
        x += wide + PAD;
      }
      x -= PAD;
      one.width = x - one.x;
      const mask = box.parts.find(({ thumb }) => !thumb); // a small triangle in the title's line
      if (mask) one.parts.push({ part: mask, x: x - 26, y: y + HEAD - 17, width: 24, height: 14 });
      band.boxes.push(one);
    }
    y = band.top + band.tall + FOOT + GAP;
  }
  const items = bands.flatMap(({ side, boxes: all }) =>
    all.flatMap(({ box, parts }) => parts.map((place) => ({ side, box, ...place }))),
  );
  return { width, height: y - GAP + 2, row, labels, bands, items };
}

// The part at a point, with a little room around it; in a box, but in none of its parts, the nearest.
export function partAt({ items, bands }, px, py) {
  const near = ({ x, y, width, height }) => px >= x - 3 && px <= x + width + 3 && py >= y - 3 && py <= y + height + 3;
  const box = bands.flatMap(({ boxes }) => boxes).find(near);
  const away = ({ x, width }) => Math.abs(x + width / 2 - px);
  const inBox = items.filter((item) => item.box === box?.box && item.part.thumb);
  return items.findLast(near) ?? inBox.sort((a, b) => away(a) - away(b))[0] ?? null;
}

// The next part from one of them in the direction of an arrow key: beside it in its row, or, from the end of the row,
// as they are counted; upwards and downwards the nearest in the next row.
export function neighbour(items, at, key) {
  const [cx, cy] = centre(items[at]);
  const across = { ArrowLeft: -1, ArrowRight: 1 }[key];
  const next = Math.min(Math.max(at + (across ?? 0), 0), items.length - 1);
  let [best, least] = [across ? next : at, Infinity];
  items.forEach((item, i) => {
    const [dx, dy] = [centre(item)[0] - cx, centre(item)[1] - cy];
    const ahead = across ? dx * across : dy * (key === "ArrowUp" ? -1 : 1);
    const overlap = item.x < items[at].x + items[at].width && items[at].x < item.x + item.width;
    const aside = across ? Math.abs(dy) : overlap ? 0 : Math.abs(dx);
    if (ahead < 4 || (across && aside > 12)) return;
    const cost = ahead + 3 * aside;
    if (cost < least) [best, least] = [i, cost];
  });
  return best;
}

const centre = ({ x, y, width, height }) => [x + width / 2, y + height / 2];
