// The judge of answers in a page: the same mistakes, by the same names, as the check in a notebook has, from tables that
// were computed from the exercises when the site was built.

const EXACT = 1e-6; // of a computed number, by which share it may be off
export const ROUGH = 5e-3; // of a number that was typed: three digits are enough
const ENOUGH = 2; // wrong answers that a mistake must explain before it is named, while answers are missing

const WORDS = { NaN: "nan", Infinity: "inf", "-Infinity": "-inf" }; // as the tables have them

// Whether a value is another, but for rounding; lists part by part. Where `isCounted`, whole numbers are not rounded.
export function same(given, wanted, tolerance = EXACT, isCounted = true) {
  if (Array.isArray(wanted)) {
    if (!Array.isArray(given) || given.length !== wanted.length) return false;
    return wanted.every((one, i) => same(given[i], one, tolerance, isCounted));
  }
  if (typeof given === "number" && !Number.isFinite(given)) return WORDS[String(given)] === wanted;
  if (typeof wanted !== "number" || typeof given !== "number") return given === wanted;
  if (isCounted && Number.isInteger(wanted) && Number.isInteger(given)) return given === wanted;
  return Math.abs(given - wanted) <= tolerance * Math.max(Math.abs(wanted), 1e-3);
}

// Of a table with cases, each with what is right and what each mistake makes of it, and an answer for each case or
// undefined: { passed, answered, wrong, failed, mistake }, where `failed` is the first case that is wrong.
export function judged(table, answers, tolerances = []) {
  const agrees = (i, value) => same(answers[i], value, tolerances[i], table.whole);
  const tried = table.cases.map((_, i) => i).filter((i) => answers[i] !== undefined);
  const wrong = tried.filter((i) => !agrees(i, table.cases[i].right));
  const isWhole = tried.length === table.cases.length;
  const result = { passed: isWhole && !wrong.length, answered: tried.length, wrong, failed: wrong[0], mistake: null };
  if (!wrong.length) return result;
  const fits = makersOf(table, wrong[0], answers[wrong[0]], tolerances[wrong[0]]).filter((one) => {
    const m = table.mistakes.indexOf(one);
    return tried.every((i) => agrees(i, table.cases[i].wrong[m]));
  });
  const isSure = isWhole || (fits.length === 1 && wrong.length >= ENOUGH);
  return isSure ? { ...result, mistake: fits[0] ?? null } : result;
}

// The mistakes that make a wrong answer of one case. A value that is right but for rounding is no part of a mistake.
export function makersOf(table, i, answer, tolerance) {
  const { right, wrong } = table.cases[i];
  const is = (value, other) => same(value, other, tolerance, table.whole);
  return table.mistakes.filter((_, m) => is(answer, wrong[m]) && !is(wrong[m], right));
}
