// The lines of a function that still come into question after some have been pressed in vain.

export const EACH = 2; // misses after which the lines that come into question become fewer, each time half

// The lines that still come into question after so many misses: a stretch around a fault, which need not be its middle.
export function region(lines, fault, misses) {
  const size = Math.max(2, Math.ceil(lines.length / 2 ** Math.floor(misses / EACH)));
  const at = lines.indexOf(fault);
  const first = Math.max(0, Math.min(lines.length - size, at - (fault % size)));
  return lines.slice(first, first + size);
}
