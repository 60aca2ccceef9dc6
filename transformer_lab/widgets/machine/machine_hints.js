// What a reader of a machine that has learned English numbers should know of the text: how far the numbers go, and
// what in the text is no such number. Of a machine that has learned something else nothing is said.
//   hintsOn("twenty one", tokenizer) → ["Write “twenty-one” with a hyphen."]

import { TENS, UNITS } from "./computing/machine_numerals.js";

const list = (words) => words.split(" ");
const WORDS = new Set([
  ...["zero", ...UNITS, ...TENS, "hundred", "thousand", "and"],
  ...list("ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"),
]);
const APART = new RegExp(`\\b(${TENS.join("|")})\\s+(${UNITS.join("|")})\\b`, "i");

// Numbers in which a change may show that does not show in the reader's own.
export const OTHERS = [
  ...["two", "fourteen", "thirty-five", "sixty-two", "three hundred and eighty-one", "five hundred and nineteen"],
  ...["four thousand, two hundred and fifty-six", "seventy-one thousand and twenty-eight"],
  ...["thirty-four thousand and twenty-one", "nine thousand, four hundred and seventy-three"],
  ...["six hundred and fifteen thousand, two hundred and thirty-eight"],
  ...["eight hundred and forty-two thousand, five hundred and ninety-six"],
];

// The names of numbers below a million have made “thousand” one symbol, and the hyphen a letter.
export function learnedNumbers({ encode }) {
  return encode(" thousand").ids.length === 1 && !encode("-").unknown.length;
}

export function rangeOf(tokenizer) {
  return learnedNumbers(tokenizer) ? "It has learned numbers below a million, in English words: “forty-two”." : "";
}

export function hintsOn(text, tokenizer) {
  if (!learnedNumbers(tokenizer)) return [];
  const [apart, hints] = [text.match(APART), []];
  if (/\d/.test(text)) hints.push("It has learned numbers below a million.");
  if (apart) hints.push(`Write “${apart.slice(1).join("-").toLowerCase()}” with a hyphen.`);
  const strange = (text.toLowerCase().match(/\p{L}+/gu) ?? []).filter((word) => !WORDS.has(word));
  if (strange.length) hints.push(`“${strange[0]}” is no word of the numbers that it has learned.`);
  return hints;
}
