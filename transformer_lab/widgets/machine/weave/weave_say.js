// What is said of a weave, in sentences; words of the model stand in “quotes”.

import { bare } from "./weave_layout.js";
import { keptOf } from "./weave_seen.js";

const quoted = (token) => `“${bare(token)}”`;

// Where the followed token looks; what it was and where it looked before a cut.
//   { token, p, names, shares, layer, heads: "4 heads", before: { token, shares } | null, cuts: ["positions"],
//     puts: ["four for one"], why: "Norms keep …" }  // why: what the one part that is cut is for
export function sayLook({ token, p, names, shares, layer, heads, before, cuts, puts = [], why = "" }) {
  const most = likeliestOf(shares);
  const now = most < 0 ? "it looks at no input token" : `it looks most at ${quoted(names[most])}`;
  if (!before || (before.token === token && !cuts.length && !puts.length)) {
    const share =
      most < 0 ? "" : `: ${shares[most].toFixed(2)} of its attention, on the mean of ${heads} in layer ${layer}`;
    return `To write ${quoted(token)} (${p.toFixed(2)}) ${now}${share}.`;
  }
  const share = most < 0 ? "" : `, ${shares[most].toFixed(2)}`;
  const without = cuts.length ? `without ${listed(cuts)}` : "";
  const put = puts.length ? `with ${listed(puts)}` : "";
  const changed = [without, put].filter(Boolean).join(", ") || "with the change";
  const what = `${changed[0].toUpperCase()}${changed.slice(1)} `;
  return `${what}${now}${share}, and writes ${quoted(token)}. ${why || sayBefore(before, token, names)}`;
}

function sayBefore({ token: old, shares }, token, names) {
  if (old === undefined) return "Before the sentence had ended here.";
  const most = likeliestOf(shares);
  const wrote = old === token ? "the same" : quoted(old);
  const looked = most < 0 ? "" : ` and looked most at ${quoted(names[most])}, ${shares[most].toFixed(2)}`;
  return `Before it wrote ${wrote}${looked}.`;
}

function likeliestOf(shares) {
  const most = shares.indexOf(Math.max(...shares));
  return shares[most] > 0 ? most : -1;
}

export function listed(names) {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

// How many tokens a change has changed.
export function sayDiffers(before, after) {
  const n = Math.max(before.length, after.length);
  const apart = n - keptOf(before, after).length;
  return apart ? `The change alters ${apart} of ${n} tokens.` : "The change alters numbers, but no token.";
}

// A text in pieces, those in quotes apart: [["To write ", false], ["“ein”", true], …].
export function pieces(text) {
  return text
    .split(/(“[^”]*”)/)
    .filter(Boolean)
    .map((piece) => [piece, piece.startsWith("“")]);
}

// What a machine does that says so: a number, none, or no end.
export function sayLabel(label) {
  return label === "never stops" ? "it never stops" : `it says ${label}`;
}

// What came of a guess: `wanted` is the answer that was picked before the breaker was opened, or null.
export function sayGuess({ wanted, cut, label }) {
  const lack = `without ${cut.lack} ${sayLabel(label)}.`;
  if (wanted === null) return `W${lack.slice(1)}`;
  return wanted === label ? `Right: ${lack}` : `Not ${wanted}: ${lack}`;
}
