// The heads of an attention: what each looks at, their mean in a sentence, and the picture of both, in which a press
// chooses a head.

import { mergePicture } from "../near/machine_merge.js";
import { bare } from "./weave_layout.js";
import { r } from "./weave_ribbons.js";
import { headsOn, meanOf, ofHeads, rowsOf } from "./weave_seen.js";
import { listed } from "./weave_say.js";
import { button, element } from "../../shared/ui.js";

// What is seen of an attention: { keys, queries, at, heads: [rows, …], on, shares, mean, most }: `on` has the numbers
// of the heads that are on, `most` is the key that the followed query looks at most on their mean.
export function headsSeen({ run, names, at, name, n_heads, off = new Set() }) {
  const encoder = name.startsWith("encoder");
  const every = encoder || name.includes("cross_attention") ? names.source : names.fed;
  const all = [...Array(n_heads).keys()];
  const rows = all.map((head) => rowsOf(run, `${name}.weights.${head}`));
  const keys = every.slice(0, rows[0][at].length); // in the decoder none that is written later
  const heads = rows.map((one) => one.map((row) => keys.map((_, s) => row[s] ?? 0)));
  const on = headsOn(name, n_heads, off);
  const shares = keys.map((_, s) => meanOf(run, name, n_heads, off)[at][s] ?? 0);
  const most = shares.indexOf(Math.max(...shares));
  return { keys, queries: encoder ? names.source : names.written, at, heads, on, shares, mean: shares[most], most };
}

// What the picture shows, and the mean as a sum that one can check.
export function sayHeads({ keys, queries, heads, on, at, most, mean }, name) {
  const [query, key] = [queries[at], keys[most]].map((token) => `“${bare(token)}”`);
  if (!on.length) return [`No head looks for ${query}`, "All are switched off.", ""];
  const who = name.startsWith("encoder") ? `${query} looks most at` : `To write ${query} it looks most at`;
  const each = listed(on.map((head) => heads[head][at][most].toFixed(2)));
  const several = ofHeads(on.length, heads.length);
  const of = `From ${several} ${key} gets ${each} of the attention, ${mean.toFixed(2)} on average.`;
  return [
    `${who} ${key}: ${mean.toFixed(2)}`,
    `${on.length > 1 ? of : "One head is on."}${sayOff(heads, on)}`,
    "Press a head to see how it decides.",
  ];
}

// Those that are off, and what that means.
function sayOff(heads, on) {
  const off = [...heads.keys()].filter((head) => !on.includes(head));
  const [who, verb] = off.length > 1 ? ["Heads", "are off and write"] : ["Head", "is off and writes"];
  return off.length ? ` ${who} ${listed(off)} ${verb} zeros.` : "";
}

export function headsOf({ state, machine, open }) {
  const [picture, wall] = [element("div"), element("div", { class: "tl-wall" })];
  const node = element("div", { class: "tl-heads" }, picture, wall);
  // The token that looks is that of the row `t`. A mask has a picture of its own.
  const show = ({ box, part }, t) => {
    node.hidden = box.kind !== "attention" || part.key.endsWith(".mask");
    if (node.hidden) return null;
    const { run, now } = state;
    const seen = headsSeen({
      run,
      names: state.names(),
      at: t,
      name: box.name,
      n_heads: machine.n_heads,
      off: now.off,
    });
    const opened = Number(part.key.split(".").at(-1));
    const draw = (width) => mergePicture(seen, opened, width);
    const { svg, plan } = draw(Math.floor(node.clientWidth) || 900);
    if (picture.drawn !== svg) picture.innerHTML = picture.drawn = svg;
    const [x, wide, tall] = [plan.x.slab, plan.wide, plan.tall];
    wall.replaceChildren(
      ...plan.slabs.map((y, head) => {
        const looks = `“${bare(seen.keys[seen.most])}” ${seen.heads[head][t][seen.most].toFixed(2)}`;
        const said = `head ${head}: ${seen.on.includes(head) ? looks : "is off"}`;
        return button("", () => open(`${box.name}.head.${head}`), {
          ...{ "aria-pressed": String(head === opened), "aria-label": said },
          style: `left:${r(x)}px;top:${r(y)}px;width:${wide}px;height:${r(tall)}px`,
        });
      }),
    );
    return { ...seen, says: sayHeads(seen, box.name), draw };
  };
  return { node, show };
}
