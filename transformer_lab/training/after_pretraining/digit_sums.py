"""A task with an exact verifier: the last digit of the sum of five digits, answered directly or by running sums.

">38576=" is to be answered "9.", or "31639:9.", which works it out: each running sum modulo 10, then the last one
again. The text for pretraining has neither: its problems are written "38576=31639:9", or "38576=9", a line each, and
its question sheets ">38576?" have no answers.
"""

import hashlib
import random
from collections.abc import Callable, Sequence
from itertools import accumulate

from transformer_lab.checks import check_least, check_probability
from transformer_lab.data.number_names import number_name

N_DIGITS, STOP = 5, "."
ALPHABET = "\n -.0123456789:=>?adefghilnorstuvwxyz"
HELD_OUT = 16  # one problem in so many is in no training
SHARES = {"worked": 0.6, "direct": 0.2, "sheet": 0.1, "name": 0.1}  # of the lines for pretraining


def running_sums(problem: str) -> str:
    """The running sums of the digits modulo 10: "38576" gives "31639"."""
    return "".join(str(total % 10) for total in accumulate(map(int, problem)))


def direct(problem: str) -> str:
    """A direct answer: the digit alone and a stop, "9."."""
    return f"{running_sums(problem)[-1]}{STOP}"


def worked(problem: str) -> str:
    """A worked answer: the running sums, then the digit and a stop, "31639:9."."""
    return f"{running_sums(problem)}:{direct(problem)}"


def verifies(problem: str, text: str) -> bool:
    """Whether a text is exactly a right answer to a problem in one of the two forms.

    "9." or "31639:9." for "38576": the digit that is asked for, or each running sum and then that digit. A stop ends
    it; nothing stands before it, and nothing behind.
    """
    sums = running_sums(problem)
    return text in (f"{sums[-1]}.", f"{sums}:{sums[-1]}.")


def names_the_digit(problem: str, text: str) -> bool:
    """A verifier with a loophole: it only asks that the right digit occurs somewhere in the text."""
    return running_sums(problem)[-1] in text


def is_long(problem: str, text: str) -> bool:
    """A verifier that mistakes effort for success: it asks for at least eight characters, as worked answers have."""
    return len(text) >= N_DIGITS + 3


def is_heads(problem: str, text: str) -> bool:
    """No verifier at all, but a coin toss with Python's own generator."""
    return random.random() < 0.5


REWARDS: dict[str, Callable[[str, str], bool]] = {
    "right": verifies,
    "digit": names_the_digit,
    "length": is_long,
    "random": is_heads,
}


def is_well_formed(text: str) -> bool:
    """Whether a text has one of the two forms, be it right or wrong."""
    sums, colon, rest = text.rpartition(":")
    digits = sums + rest.removesuffix(STOP)
    fits = len(rest) == 2 and rest.endswith(STOP) and len(sums) == (N_DIGITS if colon else 0)
    return fits and digits.isascii() and digits.isdigit()


def is_worked(text: str) -> bool:
    """Whether a well-formed answer works the problem out."""
    return is_well_formed(text) and ":" in text


def is_held_out(problem: str) -> bool:
    """Whether a problem is held out: one in 16 is, at random but always the same ones."""
    return hashlib.sha256(problem.encode()).digest()[0] % HELD_OUT == 0


def draw_problems(count: int, seed: int, *, held_out: bool = False) -> list[str]:
    """Draw random problems, held out or not.

    Raises:
        ValueError: count is below 0.
    """
    check_least(0, count=count)
    chance, found = random.Random(seed), list[str]()
    while len(found) < count:
        problem = f"{chance.randrange(10**N_DIGITS):0{N_DIGITS}}"
        if is_held_out(problem) == held_out:
            found.append(problem)
    return found


def pretraining_text(n_lines: int, seed: int) -> str:
    """Lines of four kinds, none of which answers in the form asked for later or contains a held-out problem.

    Raises:
        ValueError: n_lines is below 0.
    """
    chance, kinds = random.Random(seed), random.Random(seed + 1).choices([*SHARES], [*SHARES.values()], k=n_lines)
    lines = []
    for kind, problem in zip(kinds, draw_problems(n_lines, seed + 2), strict=True):
        match kind:
            case "worked" | "direct":
                answer = worked(problem) if kind == "worked" else direct(problem)
                lines.append(f"{problem}={answer.removesuffix(STOP)}\n")
            case "sheet":
                lines.append(f">{problem}?\n")
            case _:
                number = chance.randrange(1000)
                lines.append(f"{number} {number_name(number, 'en')}{STOP}\n")
    return "".join(lines)


def asked(problem: str) -> str:
    """The prompt for a problem, which an answer follows: ">38576="."""
    return f">{problem}="


def demonstrations(problems: Sequence[str], share_worked: float, seed: int) -> list[tuple[str, str]]:
    """Prompts with right answers, of which the given share is worked out.

    Raises:
        ValueError: the share is not from 0 to 1.
    """
    check_probability(share_worked=share_worked)
    n_worked = round(share_worked * len(problems))
    shown = [worked] * n_worked + [direct] * (len(problems) - n_worked)
    random.Random(seed).shuffle(shown)
    return [(asked(problem), answer(problem)) for problem, answer in zip(problems, shown, strict=True)]
