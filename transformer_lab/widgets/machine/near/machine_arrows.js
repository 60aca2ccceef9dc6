// Two vectors and their sum as arrows in the plane that holds them: their lengths and the angles between them are true.
//   planeOf(a, b) → { a: [x, 0], sum: [x, y], lengths: { a, b, sum }, turned: degrees from a to the sum }
//   arrowsPicture({ plane, names, gone }, { width, tall }) → SVG in a box; `names` say what a, b and their sum are

import { label, saidWide } from "../weave/weave_marks.js";
import { r } from "../weave/weave_ribbons.js";

const size = (v) => Math.sqrt(v.reduce((sum, x) => sum + x * x, 0));

export function planeOf(a, b) {
  const lengths = { a: size(a), b: size(b), sum: size(a.map((x, i) => x + b[i])) };
  const along = a.reduce((sum, x, i) => sum + x * b[i], 0) / (lengths.a || 1); // of b, in the direction of a
  const sum = [lengths.a + along, Math.sqrt(Math.max(0, lengths.b ** 2 - along ** 2))];
  return { a: [lengths.a, 0], sum, lengths, turned: (180 / Math.PI) * Math.atan2(sum[1], sum[0]) };
}

// An arrow from a point to another, its head as wide as the line is thick, thrice.
function arrow(kind, [x0, y0], [x1, y1], thick) {
  const long = Math.hypot(x1 - x0, y1 - y0) || 1;
  const [ux, uy] = [(x1 - x0) / long, (y1 - y0) / long];
  const head = Math.min(4.5 * thick, long);
  const [bx, by] = [x1 - head * ux, y1 - head * uy];
  const wing = (side) => `${r(bx - side * 0.42 * head * uy)} ${r(by + side * 0.42 * head * ux)}`;
  const line = `<line class="w-arrow ${kind}" x1="${r(x0)}" y1="${r(y0)}" x2="${r(bx)}" y2="${r(by)}"`;
  const tip = `<path class="w-tip-of ${kind}" d="M${r(x1)} ${r(y1)}L${wing(1)}L${wing(-1)}Z"/>`;
  return `${line} stroke-width="${thick}"/>${tip}`;
}

// What is said of each stands beside it; what is left of the room is divided above and below.
export function arrowsPicture({ plane, names, gone }, { width, tall, size = 13 }) {
  const { a, sum, lengths, turned } = plane;
  const long = [lengths.a, lengths.b, lengths.sum].map((length) => length.toFixed(1));
  const [side, over, under] = [saidWide(names[1], true, size) + 12, 2 * size + 6, 2 * size]; // room for what is said
  const [low, high] = [Math.min(0, sum[0]), Math.max(a[0], sum[0])];
  const scale = Math.min((width - side) / (high - low || 1), (tall - over - under) / (sum[1] || 1));
  const left = (width - side - (high - low) * scale) / 2;
  const base = (tall + over + sum[1] * scale - under) / 2;
  const place = ([x, y]) => [left + 4 + (x - low) * scale, base - y * scale];
  const [from, first, end] = [[0, 0], a, sum].map(place);
  const says = (text, x, y, more = {}) => label(text, x, y, { size, more: "w-strong w-halo", ...more });
  const wide = saidWide(`${names[2]}: ${long[2]}`, true, size) / 2;
  const middle = Math.min(Math.max(end[0], wide), width - wide);
  const bend = Math.min(58, 0.45 * lengths.a * scale);
  const half = (turned * Math.PI) / 360;
  const on = (far, angle) => [r(from[0] + far * Math.cos(angle)), r(from[1] - far * Math.sin(angle))];
  const arc = `M${on(bend, 0).join(" ")}A${r(bend)} ${r(bend)} 0 0 0 ${on(bend, 2 * half).join(" ")}`;
  const [ax, ay] = on(bend + 8, half);
  const beside = [Math.max(first[0], (first[0] + end[0]) / 2) + 12, (first[1] + end[1]) / 2];
  const added = { more: "w-strong w-halo w-added" };
  const body = [
    gone ? "" : `<path class="w-angle" d="${arc}"/>${says(`${turned.toFixed(0)}°`, Number(ax), Number(ay) + 4.5)}`,
    arrow(gone ? "w-cut" : "w-was", from, first, 4),
    arrow("w-added", first, end, 4),
    gone ? "" : arrow("w-now", from, end, 5),
    says(`${names[0]}: ${gone ? "cut" : long[0]}`, (from[0] + first[0]) / 2, from[1] + 1.6 * size, {
      anchor: "middle",
    }),
    says(names[1], beside[0], beside[1] - 2, added),
    says(long[1], beside[0], beside[1] + 1.3 * size, added),
    gone ? "" : says(`${names[2]}: ${long[2]}`, middle, end[1] - size, { anchor: "middle" }),
  ];
  return body.join("");
}
