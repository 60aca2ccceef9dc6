// Where the boxes of the machine and the parts in them stand, and which part is beside which.
//   const boxes = { encoder: boxesOf("encoder", …), decoder: … };
//   const plan = layoutOf({ boxes, width, rows: [S, T] });

const [PAD, TITLE, GAP] = [8, 19, 9];

// { width, height, columns: [{ side, left, width, top, items: [{ box, part, x, y, width, height }], frames }], items }
export function layoutOf({ boxes, width, rows }) {
  const between = width < 480 ? 22 : 44; // room for the memory's arrow
  const side = width < 480 ? 10 : 16; // … and for the residual connections
  const wide = (width - between - 2 * side) / 2;
  const columns = ["encoder", "decoder"].map((name, i) => ({
    side: name,
    left: side + i * (wide + between),
    width: wide,
    boxes: boxes[name].map((box) => ({ box, height: heightOf(box, wide, rows[i]) })),
  }));
  const tall = columns.map(({ boxes: all }) => all.reduce((sum, { height, box }) => sum + height + gapUnder(box), 0));
  const height = Math.max(...tall) + 26;
  for (const column of columns) {
    let y = height - 8;
    for (const one of column.boxes) {
      y -= one.height;
      Object.assign(one, { x: column.left, y, width: column.width });
      one.parts = partsIn(one);
      y -= gapUnder(one.box);
    }
    column.top = column.boxes.at(-1).y;
  }
  const items = columns.flatMap(({ side: name, boxes: all }) =>
    all.flatMap(({ box, parts }) => parts.map((place) => ({ side: name, box, ...place }))),
  );
  return { width, height, columns, items, side, between };
}

// A sub-layer and the norm that follows it stand close together.
function gapUnder({ kind }) {
  return kind === "attention" || kind === "feed" ? 3 : GAP;
}

function heightOf({ kind, parts }, width, rows) {
  if (kind === "embedding") return TITLE + Math.min(Math.max(rows, 4) * 13, 210) + 26 + PAD;
  if (kind === "attention") {
    const heads = parts.filter(({ thumb }) => thumb).length;
    return TITLE + Math.min(Math.max((width - 2 * PAD) / heads - 6, 30), 62) + PAD;
  }
  return kind === "output" ? TITLE + 5 * 16 + PAD : TITLE + 24 + PAD;
}

// The parts of a box, each with the rectangle of its picture.
function partsIn({ box, x, y, width, height }) {
  const inner = { x: x + PAD + 4, y: y + TITLE, width: width - 2 * PAD - 4, height: height - TITLE - PAD };
  const [first, second] = box.parts;
  if (box.kind === "embedding") {
    const label = Math.min(84, inner.width * 0.38);
    const main = {
      ...inner,
      x: inner.x + label,
      y: inner.y + 26,
      width: inner.width - label,
      height: inner.height - 26,
    };
    const strip = { ...main, y: inner.y, height: 20, name: label < 60 ? "+ pos." : "+ position" };
    return [
      { part: first, ...main, labels: label },
      { part: second, ...strip },
    ];
  }
  if (box.kind === "residual") {
    const half = (inner.width - 8) / 2;
    return [
      { part: first, ...inner, width: half },
      { part: second, ...inner, x: inner.x + half + 8, width: half },
    ];
  }
  const heads = box.parts.filter(({ thumb }) => thumb);
  const each = (inner.width + 6) / heads.length;
  const places = heads.map((part, i) => ({ part, ...inner, x: inner.x + i * each, width: each - 6 }));
  const mask = box.parts.find(({ thumb }) => !thumb);
  // The mask is a small triangle in the title's line.
  if (mask) places.push({ part: mask, x: x + width - 30, y: y + 3, width: 24, height: 14 });
  return places;
}

// The part at a point, with a little room around it.
export function partAt({ items }, px, py) {
  const near = ({ x, y, width, height, labels = 0 }) =>
    px >= x - labels - 3 && px <= x + width + 3 && py >= y - 3 && py <= y + height + 3;
  return items.findLast(near) ?? null;
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
