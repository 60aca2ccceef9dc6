// What a machine is set to, as the part of an address behind its #, and back.
//   addressOf({ text, at: 3, layer: 1, off: ["positions"], open: "" }) → "s=forty-two&t=3&layer=1&off=positions"
// Only a page that belongs to one machine has its address: an ancestor with the attribute `data-tl-page`.

const NAMES = { text: "s", at: "t", layer: "layer", off: "off", open: "at", other: "swap" };

export function addressOf({ text, at, layer, off, open = "", other = "" }) {
  const parts = new URLSearchParams();
  const set = (name, value) => value !== "" && parts.set(NAMES[name], value);
  Object.entries({ text, at, layer, off: off.join(","), open, other }).forEach(([name, value]) => set(name, value));
  return parts.toString().replaceAll("%2C", ",");
}

// What an address asks for; what it says nothing of is undefined.
export function askedOf(hash) {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  if (!parts.has(NAMES.text)) return null;
  const whole = (name) => {
    const found = parts.get(NAMES[name]);
    return found !== null && /^\d{1,3}$/.test(found) ? Number(found) : undefined;
  };
  return {
    ...{ text: parts.get(NAMES.text), at: whole("at"), layer: whole("layer") },
    off: (parts.get(NAMES.off) ?? "").split(",").filter(Boolean),
    ...{ open: parts.get(NAMES.open) ?? "", other: parts.get(NAMES.other) ?? "" },
  };
}
