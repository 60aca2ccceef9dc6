"""The mark of one answer: what the exercise's check says of it, tried in a jail on the visible and on fresh cases."""

from dataclasses import dataclass

from torch import Tensor

from transformer_lab.exercises import Exercise
from transformer_lab.exercises.checking import breaks, fault, recognised, wrong_gradient, wrong_value
from transformer_lab.exercises.comparing import fault_of_gradient
from transformer_lab.exercises.running import Case, Outcome, as_tuple, run, run_with_gradients
from transformer_lab.grading.jail import Ended, Jail, NotDefined
from transformer_lab.grading.notebooks import Answer
from transformer_lab.grading.remote import MOST_WORK, work
from transformer_lab.grading.walls import NoJail

VERDICTS = ("ok", "wrong", "raised", "timeout", "crashed", "policy", "missing")
ADVICE = {
    "timeout": "It did not end in time: is there a loop without an end?",
    "crashed": "Its process ended before it returned, or what it returned was no result.",
    "policy": "It imports `transformer_lab`, which holds the answers. Write the function with torch alone.",
    "missing": "There is no answer.",
}

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


def mark(exercise: Exercise, answer: Answer, jail: Jail, fresh: list[Case], most: float | int) -> Mark:
    """Grade one answer. Nothing that an answer sends raises an error here."""
    try:
        verdict, mistake, message = judge(exercise, answer, jail, fresh)
    except NoJail:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, ArithmeticError, RuntimeError) as error:
        # Its results contradict one another: those of one call have gradients, say, and those of the next have none.
        verdict, mistake, message = "crashed", None, f"{ADVICE['crashed']} ({type(error).__name__})"
    points = most if verdict == "ok" else 0.0
    return Mark(exercise.name, verdict, points, most, mistake, message or ADVICE.get(verdict, ""), answer.notes)


def judge(exercise: Exercise, answer: Answer, jail: Jail, fresh: list[Case]) -> tuple[str, str | None, str]:
    """Verdict, recognised mistake, message."""
    if answer.program is None:
        return "missing", None, ""
    try:
        with jail.attempt(answer.program, answer.name) as attempt:
            outcomes = [attempt.run(case) for case in exercise.cases]
            failure = wrong_value(exercise, outcomes) or wrong_gradient(exercise, attempt)
            if failure:
                return explained(exercise, outcomes, *failure)
            if any(not right_on(exercise, attempt, case) for case in fresh):
                return "wrong", None, BY_HEART
    except Ended as end:
        return end.how, None, ""
    except NotDefined as failed:
        return raised(failed.error)
    return "ok", None, "Right."


def right_on(exercise: Exercise, attempt, case: Case) -> bool:
    """Whether an attempt does on a fresh case what the reference does, values and gradients."""
    wanted = run_with_gradients(exercise.reference, case)
    if fault(attempt.run(case), run(exercise.reference, case), exercise.returns, case.coarse):
        return False
    given = attempt.run_with_gradients(case) if wanted.gradients else None
    return given is None or (given.error is None and not gradient_differs(given, wanted, case.coarse))


def gradient_differs(given: Outcome, wanted: Outcome, coarse: bool) -> bool:
    missing = [name for name in wanted.gradients if name not in given.gradients]
    return bool(missing) or any(
        fault_of_gradient(given.gradients[name], right, name, coarse) for name, right in wanted.gradients.items()
    )


def explained(exercise: Exercise, outcomes: list[Outcome], case: Case, outcome: Outcome, what: str):
    """What to tell a student: the mistake, the kind of case, the laws broken; neither inputs nor what was expected."""
    if outcome.error is not None:
        verdict, _, message = raised(outcome.error)
        mistake = recognised(exercise, outcomes)
        return verdict, mistake and mistake.name, f"{mistake.explanation}\n{message}" if mistake else message
    mistake = recognised(exercise, outcomes)
    lines = [mistake.explanation] if mistake else []
    lines += [f"It fails on this case: {case.label}.", what.splitlines()[0]]
    tensors = [x for x in (*as_tuple(outcome.value), *case.arguments.values()) if isinstance(x, Tensor)]
    if work(tensors) <= MOST_WORK:  # of a law, a tensor of shape (60000, 1) may make one of 60000 × 60000
        lines += [f"It should hold that {law.sentence}." for law in exercise.laws if breaks(law, case, outcome)]
    return "wrong", mistake and mistake.name, "\n".join(lines)


def raised(error: Exception) -> tuple[str, None, str]:
    name = str(getattr(error, "name", "") or "")
    if isinstance(error, ImportError) and name.split(".")[0] == "transformer_lab":
        return "policy", None, ADVICE["policy"]
    place = getattr(error, "place", "")
    text = f"{type(error).__name__}: {error}".splitlines()[0][:300]
    return "raised", None, f"It raises an error{', in ' + place if place else ''}: {text}"
