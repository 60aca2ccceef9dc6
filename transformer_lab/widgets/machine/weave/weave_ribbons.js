// Ribbons of a weave: one for each pair of an output and an input token, as thick as the attention between the two. At
// both ends they are stacked without gaps, so that those of one output token are together exactly one `unit` wide.
//   ribbonsOf({ cross: [[0.9, 0.1], …], left: [y, …], right: [y, …], unit: 30, height: 400 })
//     → [{ s, t, weight, from, to, wide }], `from` and `to` being the upper edges at the left and at the right

export const FAINT = 0.01; // of a weight that is drawn

export function ribbonsOf({ cross, left, right, unit, height }) {
  const sums = left.map((_, s) => cross.reduce((sum, row) => sum + (row[s] ?? 0), 0) * unit);
  const next = stacked(sums, left, height);
  return cross.flatMap((row, t) => {
    let to = right[t] - unit / 2;
    return row.map((weight, s) => {
      const wide = weight * unit;
      const ribbon = { s, t, weight, from: next[s], to, wide };
      next[s] += wide;
      to += wide;
      return ribbon;
    });
  });
}

// The upper edges of stacks of these heights, each as near to its centre as it can be without touching another: the
// least squares under that order, by pooling neighbours that would overlap.
export function stacked(heights, centres, room) {
  const before = heights.map((_, i) => heights.slice(0, i).reduce((a, b) => a + b, 0));
  const total = heights.reduce((a, b) => a + b, 0);
  const pools = [];
  centres.forEach((centre, i) => {
    pools.push({ sum: centre - heights[i] / 2 - before[i], n: 1 });
    while (pools.length > 1 && mean(pools.at(-2)) > mean(pools.at(-1))) {
      const { sum, n } = pools.pop();
      pools.at(-1).sum += sum;
      pools.at(-1).n += n;
    }
  });
  const shifts = pools.flatMap((pool) => Array(pool.n).fill(mean(pool)));
  return shifts.map((shift, i) => Math.max(0, Math.min(shift, room - total)) + before[i]);
}

const mean = ({ sum, n }) => sum / n;

// The outline of a ribbon between two columns, as an SVG path.
export function pathOf({ from, to, wide }, x0, x1) {
  const middle = r((x0 + x1) / 2);
  const [a, b, c, d] = [from, to, to + wide, from + wide].map(r);
  return `M${r(x0)} ${a}C${middle} ${a} ${middle} ${b} ${r(x1)} ${b}V${c}C${middle} ${c} ${middle} ${d} ${r(x0)} ${d}Z`;
}

// The ribbon at a point of the columns between which they run, or the nearest within `reach`; null if none is so near.
export function ribbonNear(ribbons, { from: x0, to: x1 }, x, y, reach = 40) {
  const share = (x - x0) / (x1 - x0);
  const bend = share * share * (3 - 2 * share);
  const far = ({ from, to, wide }) => Math.abs(from + bend * (to - from) + wide / 2 - y) - wide / 2;
  const seen = ribbons.filter(({ weight }) => weight >= FAINT);
  const best = seen.reduce((least, one) => (!least || far(one) < far(least) ? one : least), null);
  return best && share >= 0 && share <= 1 && far(best) <= reach ? best : null;
}

// A line between two rows of a slab, as an SVG path.
export function curveOf(x0, y0, x1, y1) {
  const middle = r((x0 + x1) / 2);
  return `M${r(x0)} ${r(y0)}C${middle} ${r(y0)} ${middle} ${r(y1)} ${r(x1)} ${r(y1)}`;
}

// Between two lists of ribbons, a share of the way from one to the other; what is new grows, what is gone shrinks.
export function between(old, now, share) {
  const before = new Map(old.map((one) => [`${one.s} ${one.t}`, one]));
  const mix = (a, b) => a + (b - a) * share;
  return now.map((one) => {
    const was = before.get(`${one.s} ${one.t}`) ?? { ...one, wide: 0, weight: 0 };
    const [from, to, wide] = ["from", "to", "wide"].map((key) => mix(was[key], one[key]));
    return { ...one, from, to, wide };
  });
}

export const r = (x) => Math.round(x * 100) / 100;
