// What a machine is set to, as the part of an address behind its #, and back.
//   addressOf({ text, at: 3, layer: 1, off: ["positions"], … }) → "s=forty-two&t=3&layer=1&off=positions"
// Only a page that belongs to one machine has its address: an ancestor with the attribute `data-tl-page`.

// `open` is the part that is seen near, with its tab and the number whose sum is seen; `view` is “map”, “off” or “swap”
// where all matrices are seen; `other` is the sentence from which vectors are swapped.
const NAMES = {
  ...{ text: "s", at: "t", layer: "layer", off: "off", swaps: "swap", other: "with" },
  ...{ view: "view", open: "at", tab: "tab", cell: "n" },
};

// A swap: the part, the position at which it is put in, and, where it was dragged, the one that it comes from.
const written = ({ key, position, from }) => [key, position, ...(from === undefined ? [] : [from])].join(":");

export function addressOf({ off, swaps = [], cell = null, ...set }) {
  const parts = new URLSearchParams();
  const all = { ...set, off: off.join(","), swaps: swaps.map(written).join(","), cell: cell?.join(",") };
  for (const [name, short] of Object.entries(NAMES)) if (all[name] || all[name] === 0) parts.set(short, all[name]);
  return parts.toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
}

// What an address asks for; what it says nothing of is undefined or empty.
export function askedOf(hash) {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  if (!parts.has(NAMES.text)) return null;
  const said = (name) => parts.get(NAMES[name]) ?? "";
  const whole = (text) => (/^\d{1,3}$/.test(text) ? Number(text) : undefined);
  const list = (name) => said(name).split(",").filter(Boolean);
  const cell = list("cell").map(whole);
  return {
    ...{ text: said("text"), at: whole(said("at")), layer: whole(said("layer")), off: list("off") },
    ...{ view: said("view"), open: said("open"), tab: whole(said("tab")), other: said("other") },
    cell: cell.length === 2 && !cell.includes(undefined) ? cell : null,
    swaps: list("swaps")
      .map((one) => one.split(":"))
      .map(([key, position, from]) => ({ key, position: whole(position ?? ""), from: from && whole(from) }))
      .filter(({ position, from }) => position !== undefined && from !== ""),
  };
}
