"""Lesson 16: implement `verifies`."""

import re

from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, number, pick
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.training.after_pretraining import digit_sums
from transformer_lab.training.after_pretraining.digit_sums import running_sums


def tried(label: str, text: str, problem: str = "38576") -> Case:
    return Case(label, {"problem": problem, "text": text})


verifies = Exercise(
    digit_sums.verifies,
    lesson="16",
    minutes=20,
    difficulty=2,
    statement="""
    Is this text a right answer? A model will learn from what you say, and it will find whatever you overlook.

    A problem is five digits, such as "38576". The answer is the last digit of their sum, here 9, in one of two forms:
      "9."         the digit and a stop
      "31639:9."   each running sum modulo 10, a colon, the digit, a stop
    Return True for these two texts and False for every other text: a right digit behind a wrong running sum, anything
    before it, anything behind the stop, digits of another script. It must never raise, whatever the text is.
    """,
    returns=("right",),
    cases=(
        tried("the digit and a stop", "9."),
        tried("worked out", "31639:9."),
        tried("a wrong digit", "8."),
        tried("no stop", "9"),
        tried("worked out, no stop", "31639:9"),
        tried("nothing at all", ""),
        tried("a stop alone", "."),
        tried("behind the stop", "9.9"),
        tried("two answers", "9.8."),
        tried("another mark for the stop", "9!"),
        tried("a space before it", " 9."),
        tried("a line behind it", "9.\n"),
        tried("all digits, one of them right", "0123456789."),
        tried("the right digit behind a wrong running sum", "31649:9."),
        tried("the right digit behind one sum", "7:9."),
        tried("a colon and nothing before it", ":9."),
        tried("a zero before the digit", "31639:09."),
        tried("right sums, a wrong digit", "31639:8."),
        tried("right sums without an answer", "31639."),
        tried("a sum too many", "316399:9."),
        tried("letters", "nine."),
        tried("a digit of another script", "\u0669."),
        tried("running sums of another script", "\u0663\u0661\u0666\u0663\u0669:9."),
        tried("the problem itself", "38576:9."),
        tried("the sum, not its last digit", "29."),
        tried("zeros", "00000:0.", "00000"),
        tried("zeros, at once", "0.", "00000"),
        tried("another problem", "41157=", "41157"),
        tried("another problem, worked out", "45618:8.", "41157"),
        tried("another problem's answer", "45618:8.", "38576"),
    ),
    hints=(
        "How many texts are right for one problem? Then you need not take the text apart at all.",
        "Build the right texts from the problem: the running sums, and the last one of them.",
        "Whoever converts the text to numbers must answer for everything that `int` accepts or refuses.",
    ),
)


def both_forms(problem):
    sums = running_sums(problem)
    return f"{sums[-1]}.", f"{sums}:{sums[-1]}."


@verifies.mistake(
    "A text without a stop passes. Then a model need not end its answer, and whatever would have come next is forgiven."
)
def no_stop_needed(problem, text):
    return text.removesuffix(".") in [form.removesuffix(".") for form in both_forms(problem)]


@verifies.mistake("The right digit anywhere is enough for it: a model that writes all ten digits is always right.")
def digit_anywhere(problem, text):
    return str(sum(map(int, problem)) % 10) in text


@verifies.mistake("What stands before the last digit is not looked at: wrong running sums pass.")
def end_alone(problem, text):
    return text.endswith(f"{sum(map(int, problem)) % 10}.")


@verifies.mistake("Running sums of any value pass, if the answer behind the colon is right.")
def work_unread(problem, text):
    return bool(re.fullmatch(rf"([0-9]{{5}}:)?{sum(map(int, problem)) % 10}\.", text))


@verifies.mistake("Whatever stands behind the stop is not looked at.")
def text_behind_the_stop(problem, text):
    return text.startswith(both_forms(problem))


@verifies.mistake("Spaces and line ends around the answer are taken off. They are characters that the model wrote.")
def stripped(problem, text):
    return text.strip() in both_forms(problem)


@verifies.mistake("Only the short form passes: an answer that works it out is right as well.")
def short_form_alone(problem, text):
    return text == f"{sum(map(int, problem)) % 10}."


@verifies.mistake("Only the worked form passes: the digit and a stop are right as well.")
def worked_form_alone(problem, text):
    return text == both_forms(problem)[1]


@verifies.mistake(
    "Digits of other scripts pass: `int` reads them, and `isdigit` is True of them. The model has not written the "
    "characters that were asked for."
)
def any_script(problem, text):
    if text[-1:] != ".":
        return False
    work, colon, answer = text[:-1].rpartition(":")
    if not answer.isdecimal() or len(answer) != 1 or (colon and not work.isdecimal()):
        return False
    sums = running_sums(problem)
    return int(answer) == int(sums[-1]) and (not colon or (len(work) == 5 and [*map(int, work)] == [*map(int, sums)]))


@verifies.mistake("What can't be read is taken for right: an exception ends in True. A model finds that out soon.")
def exception_passes(problem, text):
    if text in both_forms(problem):
        return True
    try:
        int(text.replace(":", "").replace(".", ""))
    except ValueError:
        return True
    return False


@verifies.mistake("The sum itself is asked for in your check. The answer is its last digit.")
def whole_sum(problem, text):
    return text == f"{sum(map(int, problem))}." or text == both_forms(problem)[1]


@verifies.mistake("It never says True.")
def never(problem, text):
    return False


@verifies.mistake(
    "In a pattern `.` stands for any character, so that other marks pass for the stop: write `\\.`, or compare texts."
)
def any_mark_for_the_stop(problem, text):
    sums = running_sums(problem)
    return bool(re.fullmatch(f"({sums}:)?{sums[-1]}.", text))


@verifies.mistake("In a pattern `$` also matches in front of a line end: take `re.fullmatch`, or compare texts.")
def a_line_end_passes(problem, text):
    sums = running_sums(problem)
    return bool(re.match(rf"({sums}:)?{sums[-1]}\.$", text))


@verifies.mistake(
    "`text == a or b` compares with a alone: where that fails, it gives b, a text, which counts as true. Write "
    "`text in (a, b)`."
)
def or_of_a_text(problem, text):
    short, worked = both_forms(problem)
    return text == short or worked


@verifies.mistake(
    "The text is taken apart at the colon, and a colon with nothing before it passes: the short form has none."
)
def a_bare_colon_passes(problem, text):
    sums = running_sums(problem)
    work, _, answer = text.rpartition(":")
    return answer == f"{sums[-1]}." and work in ("", sums)


@verifies.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    problem = "".join(str(number(generator, 0, 9)) for _ in range(5))
    short, long = both_forms(problem)
    spoiled = list(long)
    place = number(generator, 0, 6)
    spoiled[place] = ":" if place == 5 else str((int(spoiled[place] if place < 5 else long[6]) + 1) % 10)
    spoilt = "".join(spoiled)
    extra = pick(generator, "x", " ", ".", "0", "\n")
    texts = (short, long, spoilt, short + extra, extra + short, long + extra, extra + long, long[:-1], problem + ".")
    return {"problem": problem, "text": pick(generator, *texts)}
