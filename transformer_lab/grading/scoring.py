"""The mark of one answer: what the exercise's check says of it, tried in a sandbox on visible and hidden cases."""

from dataclasses import dataclass

from transformer_lab.exercises import Exercise
from transformer_lab.exercises.checking import Result
from transformer_lab.exercises.running import Case
from transformer_lab.grading.notebooks import Answer
from transformer_lab.grading.policy import NoSandbox
from transformer_lab.grading.sandbox import Ended, NotDefined, Sandbox

VERDICTS = ("ok", "wrong", "raised", "timeout", "crashed", "policy", "missing", "ungraded")
ADVICE = {
    "timeout": "It did not end in time: is there a loop without an end?",
    "crashed": "Its process ended before it returned, or what it returned was no result.",
    "policy": "It imports `transformer_lab`, which holds the answers. Write the function with torch alone.",
    "missing": "There is no answer.",
    "ungraded": "It could not be graded by machine; your instructor will look at it.",
}
MOST_MESSAGE = 3000
BY_HEART = "Right on the visible cases, wrong on others: does it depend on particular inputs?"


@dataclass(frozen=True)
class Mark:
    """How one answer did: one of VERDICTS, the points, the recognised mistake, and words for the student."""

    exercise: str
    verdict: str
    points: float | int
    most: float | int
    mistake: str | None = None
    message: str = ""
    notes: tuple[str, ...] = ()


def mark(exercise: Exercise, answer: Answer, sandbox: Sandbox, hidden: list[Case], most: float | int) -> Mark:
    """Grade one answer. Nothing that an answer sends raises an error here."""
    try:
        verdict, mistake, message, score = judge(exercise, answer, sandbox, hidden)
    except NoSandbox:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, ArithmeticError, RuntimeError) as error:
        # Its results contradict one another: those of one call have gradients, say, and those of the next have none.
        verdict, mistake, message, score = "crashed", None, f"{ADVICE['crashed']} ({type(error).__name__})", 0.0
    points, message = most if verdict == "ok" else round(most * score, 2), message or ADVICE.get(verdict, "")
    return Mark(exercise.name, verdict, points, most, mistake, message[:MOST_MESSAGE], answer.notes)


def judge(
    exercise: Exercise, answer: Answer, sandbox: Sandbox, hidden: list[Case]
) -> tuple[str, str | None, str, float]:
    """Verdict, recognised mistake, message, and the share of the points."""
    if answer.program is None:
        return "missing", None, "", 0.0
    try:
        with sandbox.attempt(answer.program, answer.name) as attempt:
            result = exercise.examine(attempt, exercise.cases)
            unseen = exercise.examine(attempt, hidden) if hidden and result.score > 0 else result
            score = min(result.score, unseen.score)
            if not result.passed:
                return *explained(result), score
            if not unseen.passed:
                return "wrong", None, BY_HEART, score
    except Ended as end:
        return end.how, None, "", 0.0
    except NotDefined as failed:
        return *raised(failed.error), 0.0
    return "ok", None, "Right.", 1.0


def explained(result: Result) -> tuple[str, str | None, str]:
    """What to tell a student: the mistake, the kind of case, what is broken; neither inputs nor what was expected."""
    mistake, lines = (result.mistake.name, [result.mistake.explanation]) if result.mistake else (None, [])
    if result.outcome.error is not None:
        verdict, _, message = raised(result.outcome.error)
        return verdict, mistake, "\n".join([*lines, message])
    case = f"It fails on this case: {result.case.label}." if result.case else ""
    lines += [case, result.headline]
    lines += [f"It should hold that {one.sentence}." for one in result.broken]
    return "wrong", mistake, "\n".join(lines)


def raised(error: BaseException) -> tuple[str, None, str]:
    name = str(getattr(error, "name", "") or "")
    if isinstance(error, ImportError) and name.split(".")[0] == "transformer_lab":
        return "policy", None, ADVICE["policy"]
    place = getattr(error, "place", "")
    text = f"{type(error).__name__}: {error}".splitlines()[0][:300]
    return "raised", None, f"It raises an error{', in ' + place if place else ''}: {text}"
