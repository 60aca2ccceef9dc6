// The rows of a weave that are seen of a text without end: as many as fit around the followed token, so that what
// stands under the weave stays in sight. The numbers of all else are as they were.
//   windowed(seen, { at: 20, most: 16 }) → { …, first: 12, of: 31 }, `first` being the token of the first row

import { clamp } from "../../shared/numbers.js";

export function windowed(seen, { at, most, first = null }) {
  const n = seen.target.length;
  const start = first ?? clamp(at - (most >> 1), 0, Math.max(0, n - most));
  const part = (rows) => rows.slice(start, start + most);
  const square = (map) => map && part(map).map((row) => row.slice(start, start + most));
  return {
    ...{ ...seen, first: start, of: n, cross: part(seen.cross), target: part(seen.target) },
    ...{ decoder: seen.decoder.map(square), leaks: seen.leaks.map(square) },
  };
}
