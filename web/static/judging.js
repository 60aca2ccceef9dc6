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
// undefined: { passed, answered, wrong, failed, mistake, perhaps }, where `failed` is the first case that is wrong, and
// `perhaps` is the one mistake that would explain what is too little to be sure.
export function judged(table, answers, tolerances = []) {
  const agrees = (i, value) => same(answers[i], value, tolerances[i], table.whole);
  const tried = table.cases.map((_, i) => i).filter((i) => answers[i] !== undefined);
  const wrong = tried.filter((i) => !agrees(i, table.cases[i].right));
  const isWhole = tried.length === table.cases.length;
  const result = { passed: isWhole && !wrong.length, answered: tried.length, wrong, failed: wrong[0], mistake: null, perhaps: null };
  if (!wrong.length) return result;
  const fits = table.mistakes.filter((_, m) => {
    const { right, wrong: made } = table.cases[wrong[0]];
    return !same(made[m], right, tolerances[wrong[0]], table.whole) && tried.every((i) => agrees(i, table.cases[i].wrong[m]));
  });
  const isSure = isWhole || (fits.length === 1 && wrong.length >= ENOUGH);
  if (isSure) return { ...result, mistake: fits[0] ?? null };
  return { ...result, perhaps: fits.length === 1 ? fits[0] : null };
}
