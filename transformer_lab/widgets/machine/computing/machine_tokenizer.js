// Byte-pair encoding in the page, as tokenizer.py does it: in each word the pair that was learned first becomes one
// symbol, again and again; of equal pairs the leftmost.
//   const tokenizer = tokenizerOf({ alphabet, merges, symbols });
//   tokenizer.encode("twenty-one") → { ids: [7, 30], unknown: [] }

// What counts as white space in Python.
const SPACE = "\\t-\\r\\x1c- \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const WORD = new RegExp(`[${SPACE}]?[^${SPACE}]+|[${SPACE}]`, "gu");

// `symbols` are the texts of the ids that the page knows, from `first` on (those before are special); `ids` count from
// there.
export function tokenizerOf({ alphabet, merges, symbols, special }) {
  const [rank, ids] = [new Map(), new Map()];
  merges.forEach((pair, i) => rank.set(pair.join("\0"), i));
  symbols.forEach((symbol, i) => {
    if (i >= special) ids.set(symbol, i);
  });
  const known = new Set(alphabet);

  const pieces = (word) => {
    const row = [...word];
    for (;;) {
      let [best, at] = [Infinity, -1];
      for (let i = 0; i + 1 < row.length; i += 1) {
        const found = rank.get(`${row[i]}\0${row[i + 1]}`);
        if (found < best) [best, at] = [found, i];
      }
      if (at < 0) return row;
      row.splice(at, 2, row[at] + row[at + 1]);
    }
  };
  return {
    // The ids of a text, and the characters in it that no text had that the tokenizer was made of: they are left out,
    // or become small where the small letter is known.
    encode(text) {
      const [kept, unknown] = [[], new Set()];
      for (const letter of text) {
        const found = [letter, letter.toLowerCase()].find((one) => known.has(one));
        found === undefined ? unknown.add(letter) : kept.push(found);
      }
      const words = kept.join("").match(WORD) ?? [];
      return { ids: words.flatMap(pieces).map((symbol) => ids.get(symbol)), unknown: [...unknown] };
    },
    decode: (some) =>
      some
        .filter((i) => i >= special)
        .map((i) => symbols[i])
        .join(""),
    // As a person can read it, a space as a dot.
    name: (i) => symbols[i].replaceAll(" ", "·"),
  };
}
