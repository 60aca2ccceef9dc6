"""The mark of one answer: what the exercise's check says of it, tried in a sandbox on visible and hidden cases."""

from dataclasses import dataclass, replace

from transformer_lab.exercises import Exercise
from transformer_lab.exercises.engine.checking import Result
from transformer_lab.exercises.engine.running import Attempt, Case, Outcome
from transformer_lab.exercises.engine.verdicts import report
from transformer_lab.exercises.kinds import WriteTheTest
from transformer_lab.grading.marking.partial_credit import share_right
from transformer_lab.grading.sandbox.policy import NoSandbox
from transformer_lab.grading.sandbox.sandbox import Ended, NotDefined, Sandbox
from transformer_lab.grading.submissions.answers import Answer

VERDICTS = ("ok", "wrong", "raised", "timeout", "crashed", "policy", "missing", "ungraded")
ADVICE = {
    "timeout": "It did not end in time: is there a loop without an end?",
    "crashed": "Its process ended before it returned, or what it returned was no result.",
    "policy": "It imports `transformer_lab`, which holds the answers. Write the function with torch alone.",
    "missing": "There is no answer.",
    "ungraded": "It could not be graded by machine; your instructor will look at it.",
}
MOST_MESSAGE, MOST_PROGRAM = 3000, 1 << 16
BY_HEART = "Right on the visible cases, wrong on others: does it depend on particular inputs?"
COUNTED = (
    "The points are counted by the lower of two scores: {:.0f} % on the candidates of the check, {:.0f} % on others, "
    "the same for the whole class, which are not shown."
)
PARTIAL = (
    "Part of the points: on cases that are not shown, {:.0f} % of what is asked is right, of values, gradients and "
    "properties together."
)


@dataclass(frozen=True)
class Mark:
    """How one answer did: one of VERDICTS, the points, the recognised mistake, and words for the student.

    `program` is what was graded. `follows` names the exercise whose wrong answer makes this one fail. `counted` says
    in words what part of the points was counted from.
    """

    exercise: str
    verdict: str
    points: float | int
    most: float | int
    mistake: str | None = None
    message: str = ""
    notes: tuple[str, ...] = ()
    program: str = ""
    follows: str = ""
    counted: str = ""


def mark(
    exercise: Exercise, answer: Answer, sandbox: Sandbox, hidden: list[Case], most: float | int, partial: bool = False
) -> Mark:
    """Grade one answer, as it was when its cell had run, or else when all had. Nothing that it sends raises errors."""
    made = mark_as_it_stands(exercise, answer, sandbox, hidden, most, partial)
    if made.points == made.most or answer.at_the_end is None:
        return made
    other = replace(answer, program=answer.at_the_end, at_the_end=None)
    again = mark_as_it_stands(exercise, other, sandbox, hidden, most, partial)
    return again if again.points > made.points else made


def mark_as_it_stands(
    exercise: Exercise, answer: Answer, sandbox: Sandbox, hidden: list[Case], most: float | int, partial: bool
) -> Mark:
    try:
        verdict, mistake, message, score, counted = judge(exercise, answer, sandbox, hidden, partial)
    except NoSandbox:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, ArithmeticError, RuntimeError) as error:
        # Its results contradict one another: those of one call have gradients, say, and those of the next have none.
        verdict, mistake, score, counted = "crashed", None, 0.0, ""
        message = f"{ADVICE['crashed']} ({type(error).__name__})"
    points, message = most if verdict == "ok" else round(most * score, 2), message or ADVICE.get(verdict, "")
    program = (answer.program or "")[:MOST_PROGRAM]
    told = message[:MOST_MESSAGE]
    return Mark(exercise.name, verdict, points, most, mistake, told, answer.notes, program, counted=counted)


def judge(
    exercise: Exercise, answer: Answer, sandbox: Sandbox, hidden: list[Case], partial: bool
) -> tuple[str, str | None, str, float, str]:
    """Verdict, recognised mistake, message, the share of the points, and what that was counted from."""
    if answer.program is None:
        unread = next((f"{n[0].upper()}{n[1:]}." for n in answer.notes if "can't be parsed" in n), "")
        return "missing", None, unread, 0.0, ""
    try:
        with sandbox.attempt(answer.program, answer.name) as bare:
            attempt = Placed(bare, answer)
            result = exercise.examine(attempt, exercise.cases)
            unseen = exercise.examine(attempt, hidden) if hidden and result.score > 0 else result
            if result.passed and unseen.passed:
                return "ok", None, "Right.", 1.0, ""
            score, counted = min(result.score, unseen.score), ""
            scored = isinstance(exercise, WriteTheTest)
            if scored and hidden and result.score > 0:
                counted = COUNTED.format(100 * result.score, 100 * unseen.score)
            elif partial and score == 0 and not scored:
                score = share_right(exercise, attempt, exercise.cases, hidden)
                counted = PARTIAL.format(100 * score) if score else ""
            told = ("wrong", None, BY_HEART) if result.passed else explained(exercise, result)
            return *told, score, counted
    except Ended as end:
        return end.how, None, "", 0.0, ""
    except NotDefined as failed:
        return *raised(located(failed.error, answer)), 0.0, ""


def is_right(exercise: Exercise, program: str, sandbox: Sandbox, hidden: list[Case]) -> bool:
    """Whether a program answers an exercise."""
    return mark(exercise, Answer(exercise.name, program), sandbox, hidden, 1).verdict == "ok"


class Placed(Attempt):
    """An attempt whose errors name the lines that the student counts, not those of the program."""

    def __init__(self, attempt: Attempt, answer: Answer):
        self.attempt, self.answer = attempt, answer

    def run(self, case: Case) -> Outcome:
        return self.with_place(self.attempt.run(case))

    def run_with_gradients(self, case: Case) -> Outcome:
        return self.with_place(self.attempt.run_with_gradients(case))

    def with_place(self, outcome: Outcome) -> Outcome:
        if outcome.error is not None:
            located(outcome.error, self.answer)
        return outcome


def located(error: BaseException, answer: Answer) -> BaseException:
    vars(error)["place"] = answer.in_words(getattr(error, "place", ""))
    return error


def explained(exercise: Exercise, result: Result) -> tuple[str, str | None, str]:
    """What to tell a student who fails on a visible case: the mistake, the case with its numbers, what is broken."""
    assert result.case is not None
    mistake = result.mistake.name if result.mistake else None
    if result.outcome.error is not None and (verdict := raised(result.outcome.error)[0]) == "policy":
        return verdict, mistake, ADVICE["policy"]
    scored = isinstance(exercise, WriteTheTest)  # what it misses says more than one candidate
    message = exercise.rejection(result).message if scored else "\n".join(report(result, result.case))
    return "raised" if result.outcome.error else "wrong", mistake, message


def raised(error: BaseException) -> tuple[str, None, str]:
    name = str(getattr(error, "name", "") or "")
    if isinstance(error, ImportError) and name.split(".")[0] == "transformer_lab":
        return "policy", None, ADVICE["policy"]
    place = getattr(error, "place", "")
    text = f"{type(error).__name__}: {error}".splitlines()[0][:300]
    return "raised", None, f"It raises an error{', in ' + place if place else ''}: {text}"
