// The heads of an attention as one picture: from the words that can be looked at ribbons go into each head, as thick as
// its weights, and from all heads on into their mean, which is what the first screen shows.
//   mergePicture(seen, opened, width) → { svg, tall, plan }; `seen` as `headsSeen` has it, `opened` a head's number

import { clamp } from "../../shared/numbers.js";
import { bare } from "../weave/weave_layout.js";
import { ofHeads } from "../weave/weave_seen.js";
import { label, saidWide, wideOf, word } from "../weave/weave_marks.js";
import { FAINT, pathOf, r, stacked } from "../weave/weave_ribbons.js";
import { svgOf } from "./machine_guess.js";

const [HEAD, NARROW, WORDY] = [34, 620, 960]; // pixels of the headings, and widths below which there is less room

// Where everything stands: words as tall as their ribbons, heads in slabs, and the mean as one bar.
export function mergeOf({ keys, heads, on, at }, width) {
  const narrow = width < NARROW;
  const [n, unit] = [heads.length, (narrow ? 108 : 126) / heads.length];
  const tall = Math.max(unit + 10, 46);
  const gap = narrow ? 8 : 12;
  const least = clamp((narrow ? 190 : 160) / keys.length, 14, 22);
  const sums = keys.map((_, s) => heads.reduce((sum, rows) => sum + rows[at][s], 0) * unit);
  const rooms = sums.map((sum) => Math.max(least, sum + 6));
  const whole = Math.max(
    rooms.reduce((a, b) => a + b),
    n * (tall + gap) - gap,
  );
  const centred = (own) => HEAD + (whole - own) / 2;
  const first = centred(rooms.reduce((a, b) => a + b));
  const words = rooms.map((room, s) => first + rooms.slice(0, s).reduce((a, b) => a + b, 0) + room / 2);
  const slabs = heads.map((_, head) => centred(n * (tall + gap) - gap) + head * (tall + gap));
  const wide = narrow ? 102 : 150;
  const x = narrow
    ? { from: 0.235 * width, slab: 0.325 * width, bar: width - 104 }
    : { from: 0.125 * width, slab: (width < WORDY ? 0.32 : 0.38) * width, bar: (width < WORDY ? 0.6 : 0.69) * width };
  return {
    narrow,
    width,
    height: HEAD + whole + 6,
    unit,
    tall,
    wide,
    x,
    words,
    sums,
    slabs,
    top: centred(on.length * unit),
  };
}

// Both halves of the ribbons: { s, head, weight, into: path, out: path or "" }.
export function flowsOf({ unit, tall, wide, x, words, sums, slabs, top }, { keys, heads, on, at }) {
  const left = words.map((y, s) => y - sums[s] / 2);
  const right = keys.map(
    (_, s) =>
      top + keys.slice(0, s).reduce((sum, __, k) => sum + on.reduce((a, h) => a + heads[h][at][k], 0), 0) * unit,
  );
  return heads.flatMap((rows, head) => {
    let inside = slabs[head] + (tall - unit) / 2;
    return rows[at].map((weight, s) => {
      const here = weight * unit;
      const into = pathOf({ from: left[s], to: inside, wide: here }, x.from, x.slab);
      const goes = on.includes(head);
      const out = goes ? pathOf({ from: inside, to: right[s], wide: here }, x.slab + wide, x.bar) : "";
      [left[s], inside, right[s]] = [left[s] + here, inside + here, right[s] + (goes ? here : 0)];
      return { s, head, weight, into, out };
    });
  });
}

export function mergePicture(seen, opened, width) {
  const plan = mergeOf(seen, width);
  const { narrow, height, unit, tall, wide, x, words, slabs, top } = plan;
  const { keys, queries, heads, on, shares, at, most } = seen;
  const drawn = flowsOf(plan, seen).filter(({ weight }) => weight >= FAINT);
  drawn.sort((a, b) => (a.s === most) - (b.s === most));
  const paths = drawn.map(({ s, head, into, out }) => {
    const kind = `class="${on.includes(head) ? `w-ribbon${s === most ? " w-lit" : ""}` : "w-old"}" data-s="${s}"`;
    return `<path ${kind} d="${into}"/>${out && `<path ${kind} d="${out}"/>`}`;
  });
  const size = (s) => clamp(13 + 26 * shares[s], 13, narrow ? 19 : 27);
  const reads = keys.map((token, s) =>
    word(token, x.from - 9, words[s], {
      size: size(s),
      anchor: "end",
      room: x.from - 12,
      more: s === most ? "w-loud" : "",
    }),
  );
  const boxes = slabs.map((y, head) => {
    const row = heads[head][at];
    const best = row.indexOf(Math.max(...row));
    const middle = x.slab + wide / 2;
    const gone = !on.includes(head);
    const [kind, halo] = gone ? ["w-slab w-gone", "w-halo"] : ["w-slab", ""];
    const cross = `M${r(x.slab)} ${r(y)}l${wide} ${r(tall)}m0 ${r(-tall)}l${-wide} ${r(tall)}`;
    const looks = !gone ? `${bare(keys[best])} ${row[best].toFixed(2)}` : "is off";
    const frame =
      head === opened
        ? `<rect class="w-frame" x="${r(x.slab)}" y="${r(y)}" width="${wide}" height="${r(tall)}" rx="9"/>`
        : "";
    return (
      `<rect class="${kind}" x="${r(x.slab)}" y="${r(y)}" width="${wide}" height="${r(tall)}" rx="9"/>${frame}` +
      (gone ? `<path class="w-crossed" d="${cross}"/>` : "") +
      label(`head ${head}`, middle, y + tall / 2 - 5, { anchor: "middle", more: `w-strong ${halo}` }) +
      label(looks, middle, y + tall / 2 + 14, { anchor: "middle", size: narrow ? 12 : 13, more: halo })
    );
  });
  // Beside the bar what each of its parts is.
  let from = top;
  const parts = shares.map((share, s) => ({
    s,
    share,
    y: (from += share * on.length * unit) - (share * on.length * unit) / 2,
  }));
  const named = parts.filter(({ share }) => share >= 0.02);
  const pitch = narrow ? 18 : 22;
  const places = stacked(
    named.map(() => pitch),
    named.map(({ y }) => y),
    height,
  );
  const short = (text) => (narrow && text.length > 9 ? `${text.slice(0, 8)}…` : text);
  const beside = x.bar + (narrow ? 18 : 26);
  let far = beside; // where the longest of them ends
  const said = named.map(({ s, share }, i) => {
    const loud = s === most ? `w-weight${width < WORDY ? "" : " w-big"}` : "";
    const text = `${short(bare(keys[s]))} ${share.toFixed(2)}`;
    const size = loud && width >= WORDY ? 17 : narrow ? 12 : 13;
    far = Math.max(far, beside + saidWide(text, loud, size));
    return label(text, beside, places[i] + pitch / 2 + 4.5, { size, more: loud });
  });
  const bar = `<rect class="w-mean" x="${r(x.bar)}" y="${r(top)}" width="12" height="${r(on.length * unit)}" rx="2"/>`;
  const [middle, name] = [top + (on.length * unit) / 2, bare(queries[at])];
  const long = Math.min(Math.min(0.14 * width, 36 * wideOf(name)) + 28, width - far - 10); // it hides no number
  const box = `x="${r(width - long)}" y="${r(middle - 30)}" width="${r(long)}" height="60" rx="9"`;
  const target = narrow
    ? word(name, x.bar + 16, Math.min(top, places[0] ?? top) - 14, {
        size: 20,
        anchor: "middle",
        more: "w-loud",
        room: 110,
      })
    : `<line class="w-thread w-lit" x1="${r(Math.min(x.bar + 150, width - long))}" ` +
      `x2="${r(width - long)}" y1="${r(middle)}" y2="${r(middle)}"/>` +
      `<rect class="w-frame" ${box}/>` +
      word(name, width - long / 2, middle, { size: 36, anchor: "middle", more: "w-loud", room: long - 24 });
  const looking = ofHeads(on.length, heads.length);
  const titles = [
    label(narrow ? "words" : "what can be looked at", 0, 13, { more: "w-strong" }),
    label(
      width < WORDY ? looking : `${looking}${on.length < heads.length ? " are on" : ": each looks by itself"}`,
      x.slab + wide / 2,
      13,
      {
        anchor: "middle",
        more: "w-strong",
      },
    ),
    label("their mean", x.bar + (narrow ? 12 : 6), 13, {
      anchor: "middle",
      more: "w-strong",
    }),
  ];
  const body = [...paths, ...reads, ...boxes, bar, ...said, target, ...titles].join("");
  return { svg: svgOf(width, r(height), body), tall: height, plan };
}
