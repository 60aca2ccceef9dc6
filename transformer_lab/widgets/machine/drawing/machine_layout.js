// Where the boxes of the machine and the parts in them stand, and which part is beside which. They stand as a score's
// bars do: from left to right, in bands, and a token has the same row in all matrices of a band.
//   const boxes = { encoder: boxesOf("encoder", …), decoder: … };
//   // rows that are lit are higher
//   const plan = layoutOf({ boxes, width, rows: [S, T], lit: { encoder: 6, decoder: 3 }, labels: 100 });
// With `small`, the pixels of a band, it is a strip without words.

export const [HEAD, BETWEEN] = [33, 12]; // over a band: the layer's name and those of its boxes; between two boxes
// Under a band; between bands; before a self-attention; between boxes and between parts; for the memory's line.
const LARGE = { head: HEAD, foot: 15, gap: 11, ahead: 30, between: BETWEEN, pad: 4, right: 12 };
const SMALL = { head: 2, foot: 2, gap: 4, ahead: 7, between: 7, pad: 1, right: 3 };
const LEAST = 44; // pixels of a part, from which on a page scrolls, if it has less than FITS
const FITS = 800;
const LIT = 33; // pixels of a row that is followed: two lines of words
const AIR = [98, 113]; // pixels of all rows but that one, if each is to have room: on a phone, and elsewhere
export const LINE = 14; // pixels from which on a row has its word

const sizeOf = ({ kind }, { thumb }) => (thumb ? ({ embedding: 1.3, feed: 1.6, output: 2.2 }[kind] ?? 1) : 0);
const shown = ({ parts }) => parts.filter(({ thumb }) => thumb);
const sumOf = (all, f) => all.reduce((sum, one) => sum + f(one), 0);
const isSelf = ({ kind, title }) => kind === "attention" && title.endsWith("self-attention");
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
export function layoutOf({ boxes, width: room, rows, lit = {}, labels = 0, small = 0 }) {
  const narrow = room < 700;
  const { head, foot, gap, ahead, between, pad, right } = small
    ? SMALL
    : narrow
      ? { ...LARGE, foot: 12, gap: 6 }
      : LARGE;
  const before = (box) => (isSelf(box) ? ahead : between);
  const gapsIn = (all) => sumOf(all, (box) => before(box) + pad * (shown(box).length - 1));
  const most = Math.max(...rows);
  const row = small ? small / (most + 1.5) : Math.min(28, Math.max(6, AIR[narrow ? 0 : 1] / (most - 1 || 1)));
  const bands = ["encoder", "decoder"].flatMap((side) => bandsOf(boxes, side));
  const widest = Math.max(...bands.map(({ all }) => sizesIn(all) * LEAST + gapsIn(all)));
  const width = small || room >= FITS ? room : Math.max(room, labels + widest + right);
  let y = 0;
  for (const band of bands) {
    const n = rows[band.side === "encoder" ? 0 : 1];
    const unit = (width - labels - right - gapsIn(band.all)) / sizesIn(band.all);
    const high = (t) => (t === lit[band.side] ? (small ? 2.5 * row : Math.max(2 * row, LIT)) : row);
    band.rows = [];
    let tall = 0;
    for (let t = 0; t < n; tall += high(t), t += 1) band.rows.push({ y: y + head + tall, high: high(t) });
    const slab = { y, height: head + tall + (small ? foot : foot - 2) };
    Object.assign(band, { top: y + head, tall, slab, left: labels, right: width - right, boxes: [] });
    let x = labels;
    for (const box of band.all) {
      x += before(box);
      const title = small ? 0 : 17;
      const one = { box, x, y: y + head - title, height: band.tall + title, parts: [] };
      for (const part of shown(box)) {
        const wide = unit * sizeOf(box, part);
        one.parts.push({ part, x, y: band.top, width: wide, height: band.tall });
        x += wide + pad;
      }
      x -= pad;
      one.width = x - one.x;
      const mask = box.parts.find(({ thumb }) => !thumb); // a small triangle in the title's line
      if (mask && !small) one.parts.push({ part: mask, x: x - 26, y: y + head - 17, width: 24, height: 14 });
      band.boxes.push(one);
    }
    y = band.top + band.tall + foot + gap;
  }
  const items = bands.flatMap(({ side, boxes: all }) =>
    all.flatMap(({ box, parts }) => parts.map((place) => ({ side, box, ...place }))),
  );
  return { width, height: y - gap + 2, row, labels, small, bands, items };
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

// The part nearest to a point; beside it counts more than above or below it.
export function nearest({ items }, px, py) {
  const away = (item) =>
    Math.abs(centre(item)[0] - px) + 3 * Math.max(0, Math.abs(centre(item)[1] - py) - item.height / 2);
  return items.reduce((best, item) => (away(item) < away(best) ? item : best));
}

const centre = ({ x, y, width, height }) => [x + width / 2, y + height / 2];
