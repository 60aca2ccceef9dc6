// A number that differs from another in one word: what is proposed when a part is to be swapped.
//   otherOf("thirty-four thousand and twenty-one") → { text: "thirty-five thousand and twenty-one", from: "four",
//   to: "five" }

import { TEENS, TENS, UNITS } from "../computing/machine_numerals.js";

// The first unit becomes the next one; where there is none the first ten; else the first word that the text has twice
// or more letters of is left as it is, and null is the answer.
export function otherOf(text) {
  for (const words of [UNITS, TENS]) {
    const found = text.match(new RegExp(`\\b(${words.join("|")})\\b`));
    if (!found) continue;
    const to = words[(words.indexOf(found[1]) + 1) % words.length];
    return { from: found[1], to, text: text.slice(0, found.index) + to + text.slice(found.index + found[1].length) };
  }
  return null;
}

// The words of a text that could be others, each with those of its kind: [{ word, at, others: [{ to, text }] }].
export function choicesIn(text) {
  return [...text.matchAll(/[a-z]+/gi)].flatMap(({ 0: word, index: at }) => {
    const kind = [UNITS, TEENS, TENS].find((words) => words.includes(word.toLowerCase()));
    const other = (to) => ({ to, text: text.slice(0, at) + to + text.slice(at + word.length) });
    return kind ? [{ word, at, others: kind.filter((to) => to !== word.toLowerCase()).map(other) }] : [];
  });
}
