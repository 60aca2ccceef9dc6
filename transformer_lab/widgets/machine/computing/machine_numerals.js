// Numbers in words, read as numerals, so that a reader without German sees what a translation says.
//   readEnglish("thirty-four thousand and twenty-one") → 34021
//   readGerman("vierunddreißigtausendeinundzwanzig") → 34021
//   numeral(34021) → "34 021"
// What is no number below a million is null: “viertausendausend” means nothing.

const list = (words) => words.split(" ");
const counted = (words, first, step = 1) => Object.fromEntries(words.map((word, i) => [word, first + i * step]));

export const UNITS = list("one two three four five six seven eight nine");
export const TEENS = list("ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen");
export const TENS = list("twenty thirty forty fifty sixty seventy eighty ninety");

const ENGLISH = { units: counted(UNITS, 1), teens: counted(TEENS, 10), tens: counted(TENS, 20, 10) };
const GERMAN = {
  units: { ...counted(list("ein zwei drei vier fünf sechs sieben acht neun"), 1), eins: 1 },
  teens: counted(list("zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn"), 10),
  tens: counted(list("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig"), 20, 10),
};

export function readEnglish(text) {
  const plain = text.trim().toLowerCase().replaceAll(",", " ").replace(/\s+/g, " ").replace(/ and /g, " ");
  if (plain === "zero") return 0;
  return thousands(plain.split(/ ?\bthousand\b ?/), englishHundreds);
}

export function readGerman(text) {
  const plain = text.trim().toLowerCase();
  if (plain === "null") return 0;
  return thousands(plain.split("tausend"), germanHundreds, 1);
}

// Both sides of the thousand, of which the left may be missing where `none` says what it then counts.
function thousands(sides, hundreds, none = null) {
  if (sides.length > 2) return null;
  if (sides.length === 1) return sides[0] ? hundreds(sides[0]) : null;
  const [many, rest] = [
    sides[0] ? hundreds(sides[0]) : none,
    sides[1] ? hundreds(sides[1].replace(/^und(?!ert)/, "")) : 0,
  ];
  return many === null || rest === null ? null : 1000 * many + rest;
}

function englishHundreds(words) {
  const [, many, rest] = words.match(/^(?:(\w+) hundred ?)?(.*)$/);
  const above = many === undefined ? 0 : ENGLISH.units[many];
  const below = rest ? belowHundred(rest.match(/^(?:(\w+?)-)?(\w+)$/), ENGLISH) : 0;
  return above === undefined || below === null || !words ? null : 100 * above + below;
}

// “twenty-one”, “twenty”, “twelve” or “one”: what stands before the hyphen is a ten.
function belowHundred(found, { units, teens, tens }) {
  if (!found) return null;
  const [, ten, last] = found;
  if (ten !== undefined) return tens[ten] && units[last] ? tens[ten] + units[last] : null;
  return units[last] ?? teens[last] ?? tens[last] ?? null;
}

function germanHundreds(word) {
  const [, many, rest] = word.match(/^(?:(.*?)hundert(?:und(?=.))?)?(.*)$/);
  const above = many === undefined ? 0 : many === "" ? 1 : GERMAN.units[many];
  const below = rest ? belowHundred(turned(rest), GERMAN) : 0;
  return above === undefined || below === null || !word ? null : 100 * above + below;
}

// “einundzwanzig” as its ten and its unit, as the English has them.
function turned(word) {
  const found = word.match(/^(.+?)und(.+)$/);
  return found ? [word, found[2], found[1]] : [word, undefined, word];
}

// Thousands apart, by a narrow space.
export function numeral(n) {
  return String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}
