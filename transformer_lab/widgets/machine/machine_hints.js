// What a reader of a machine that has learned English numbers should know of the text: how it is spelled, and why it
// cannot be translated. Of a machine that has learned something else nothing is said.
//   hintsOn("twenty one", tokenizer) → ["Write “twenty-one” with a hyphen."]
//   refusalOf("1000000") → { says: "That is too large: it has learned numbers below a million.", offer: "999 999" }

import { TENS, UNITS, readEnglish } from "./computing/machine_numerals.js";

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

export function hintsOn(text, tokenizer) {
  if (!learnedNumbers(tokenizer)) return [];
  const apart = text.match(APART);
  if (apart) return [`Write “${apart.slice(1).join("-").toLowerCase()}” with a hyphen.`];
  const goesOn = /(\band|-|,)\s*$/i.test(text) || !text.trim();
  return goesOn || readEnglish(text) !== null
    ? []
    : ["It has learned no number of this name, and answers all the same."];
}

const LARGE = /\b[a-z]*illions?\b/i;
const NOT_WHOLE = /\d[.,](?!\d{3}(?!\d))\d|^\s*[-−]/; // a comma or a point before three digits parts thousands
const digitsIn = (text) => (text.match(/\d[\d,.'’\s]*/g) ?? []).map((run) => run.replace(/\D/g, "").replace(/^0+/, ""));

// Why a text is no number that the machine can have learned, and one that it has; null where it may be one. Of a word
// that is not yet written to its end it is said how it may go on. `heard` is the number that it would hear, or null.
export function refusalOf(text, heard = () => null) {
  const words = text.toLowerCase().match(/\p{L}+/gu) ?? [];
  const strange = words.filter((word) => !WORDS.has(word));
  if (!/[\p{L}\d]/u.test(text)) return { says: "Type a number below a million, in words or digits.", offer: "42" };
  if (LARGE.test(text) || digitsIn(text).some(({ length }) => length > 6))
    return { says: "That is too large: it has learned numbers below a million.", offer: "999 999" };
  if (NOT_WHOLE.test(text)) return { says: "It has learned whole numbers only, from zero up.", offer: "42" };
  if (!strange.length) return null;
  const more = [...WORDS].filter((word) => word.startsWith(strange[0]) && text.toLowerCase().endsWith(strange[0]));
  const ends = more.slice(0, 3).map((word) => `“${word}”`);
  if (strange.length === 1 && more.length) return { says: `Go on: ${ends.join(", ")} …`, offer: "" };
  const [what, number] = [`“${strange[0]}” is none.`, heard()];
  const hears = number === null ? "" : ` Made to answer all the same, it would say ${number}.`;
  return { says: `It knows only numbers, and ${what}${hears}`, offer: "42" };
}
