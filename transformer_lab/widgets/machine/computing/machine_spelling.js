// How English numbers are written in the pairs that the machine has learned from: hyphens, “and”, and a comma before
// the hundreds behind a thousand. What is written otherwise is put into that form, or said to be another.
//   englishOf(999999) → "nine hundred and ninety-nine thousand, nine hundred and ninety-nine"
//   spelledOut("34 021") → "thirty-four thousand and twenty-one"

import { TEENS, TENS, UNITS, readEnglish } from "./machine_numerals.js";

const APART = new RegExp(`\\b(${TENS.join("|")})\\s+(?=(?:${UNITS.join("|")})\\b)`, "gi");
const DIGITS = /\d{1,3}(?:[,.'’\s]?\d{3})(?!\d)|\d+/g; // thousands may stand apart

export function englishOf(n) {
  if (!n) return "zero";
  const [many, rest] = [Math.floor(n / 1000), n % 1000];
  if (!many) return belowThousand(rest);
  return `${belowThousand(many)} thousand${rest ? (rest < 100 ? " and " : ", ") + belowThousand(rest) : ""}`;
}

function belowThousand(n) {
  const [hundreds, rest] = [Math.floor(n / 100), n % 100];
  const above = hundreds ? `${UNITS[hundreds - 1]} hundred` : "";
  if (!rest) return above;
  const unit = rest % 10 ? UNITS[(rest % 10) - 1] : "";
  const ten = rest < 20 ? "" : TENS[Math.floor(rest / 10) - 2];
  const below = rest < 10 ? unit : rest < 20 ? TEENS[rest - 10] : unit ? `${ten}-${unit}` : ten;
  return above ? `${above} and ${below}` : below;
}

// A text with its digits in words; what is a million or more stays.
export function spelledOut(text) {
  return text.replace(DIGITS, (digits) => {
    const n = Number(digits.replace(/\D/g, ""));
    return n < 1e6 ? englishOf(n) : digits;
  });
}

// The number that a text names, in whatever spelling, and how the machine has learned to read it; null for no number.
export function learnedSpelling(text) {
  const number = readEnglish(text.replace(APART, "$1-"));
  return number === null ? null : { number, text: englishOf(number) };
}

// What a text lacks of the learned spelling, in words: “a comma”, “and” or “a hyphen”; "" where it is more than one.
export function differenceIn(text, learned) {
  const plain = text.trim().toLowerCase().replace(/\s+/g, " ");
  const without = (pattern, by = "") => learned.replace(pattern, by) === plain;
  if (without(/,/)) return "a comma";
  if (without(/ and /g, " ")) return "“and”";
  if (without(/-/g, " ")) return "a hyphen";
  return "";
}
