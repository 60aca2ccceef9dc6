"""Questions that are answered in words and marked by hand: read from a text, and what students wrote to them.

## why_scaled (2)

Why are the scores divided by the root of d_head? What would you see without it?

### For the marker

One point for the variance of the sum, one for the softmax that saturates.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import sha256
from math import inf
from pathlib import Path

from transformer_lab.exercises import catalogue
from transformer_lab.grading.submissions.notebooks import every_cell, raw_notebook, text_of

FILE = "questions.ipynb"  # of what is handed out
HEADING = re.compile(r"^##[ \t]+(\S+)[ \t]+\((\d+(?:\.\d+)?)(?:[ \t]+points?)?\)[ \t]*$", re.MULTILINE)
GUIDES = ("for the marker", "for the markers")  # headings of any level, in whatever letters
SEEMS_A_GUIDE = re.compile(
    r"(notes? )?for (the )?(marker|grader|marking|grading)s?\b|(mark|grad)ing (guide|scheme|key)\b"
)
HEADLINE = "# Questions\n\nWrite your answer to each question into the cell below it, in your own words."
HERE = "*Write your answer here.*"
UNANSWERED = re.compile(rf"{re.escape(HERE)}|\bYOUR ANSWER HERE\b")  # ours, and nbgrader's own words
MOST_TEXT = 20_000  # characters of an answer
TAKEN = ("late", "total")  # words of overrides.csv


@dataclass(frozen=True)
class Question:
    """The points, the text that a student reads, and what whoever marks it reads beside the answers."""

    points: float | int
    text: str
    guide: str = ""

    def statement(self, name: str) -> str:
        return f"## {name} ({self.points:g} {'point' if self.points == 1 else 'points'})\n\n{self.text}"


def read_questions(path: Path | None) -> dict[str, Question]:
    """The questions of a file in Markdown; without a file, none.

    Raises:
        ValueError: there is no such file, or what it says is no list of questions; says why.
    """
    if path is None:
        return {}
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"--questions takes a text in Markdown ({error})") from None
    before, *parts = HEADING.split(text)
    if not parts or before.strip():
        wanted = "a heading such as `## why_scaled (2)` above each question, and nothing before the first"
        raise ValueError(f"{path} must have {wanted} (it begins: {text.strip()[:40]!r})")
    names = parts[0::3]
    for name in names:
        if not name.isidentifier() or name in catalogue or name in TAKEN or names.count(name) > 1:
            raise ValueError(f"a question needs a name of its own, of letters, digits and _ (got {name})")
    return {
        name: question(name, float(points), body)
        for name, points, body in zip(names, parts[1::3], parts[2::3], strict=True)
    }


def question(name: str, points: float, body: str) -> Question:
    lines = body.split("\n")
    end = next((number for number, line in enumerate(lines) if begins_guide(line)), len(lines))
    text = "\n".join(lines[:end]).strip()
    if not text:
        raise ValueError(f"the question {name} must ask something (its text is empty)")
    if not 0 < points < inf:
        raise ValueError(f"the points of a question must be positive ({name}: {points:g})")
    if line := next(filter(seems_a_guide, lines[:end]), None):  # students would read what follows
        raise ValueError(
            f"what is for the marker alone must stand below a heading of its own, `### For the marker` "
            f"(the question {name} has the line {line.strip()[:60]!r})"
        )
    return Question(points, text, "\n".join(line for line in lines[end:] if not begins_guide(line)).strip())


def bare(line: str) -> str:
    """The words of a line, without marks."""
    return re.sub(r"[\W_]+", " ", line).strip().casefold()


def begins_guide(line: str) -> bool:
    return line.lstrip().startswith("#") and bare(line) in GUIDES


def seems_a_guide(line: str) -> bool:
    """Whether a line looks as if what follows were for the marker alone: a heading misspelt, or none at all."""
    words = bare(line)
    return bool(SEEMS_A_GUIDE.match(words) or get_close_matches(words, GUIDES, cutoff=0.8))


# ── what students wrote ──


def texts_of(paths: list[Path], questions: dict[str, Question]) -> tuple[dict[str, str], list[str]]:
    """What a student wrote to each question, from the newest notebook that answers it, and what was odd.

    Files that can't be read are passed over: whoever reads their code says why.
    """
    found: dict[str, str] = {}
    notes = []
    for path in paths if questions else ():
        try:
            cells = [*every_cell(raw_notebook(path))] if path.suffix.lower() != ".py" else []
            new = texts_in(cells, questions)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
        for name, text in new.items():
            if name in found and found[name] != text:
                notes.append(f"`{name}` is answered in several notebooks; {path.name} is the newest, and counts")
            found[name] = text
    return found, notes


def texts_in(cells: list[dict], questions: dict[str, Question]) -> dict[str, str]:
    """What stands in the cells of each question, and in those that a student added behind them; not what was asked."""
    parts: dict[str, list[str]] = {name: [] for name in questions}
    current = None
    for cell in cells:
        text = text_of(cell.get("source", cell.get("input", "")))
        current = next_question(cell, text, current, questions)
        if current is not None:
            asked = questions[current].statement(current)
            own = text.replace("\r\n", "\n").replace(asked, "")
            own = UNANSWERED.sub("", own).strip()
            parts[current] += [own] if own else []
    texts = {name: "\n\n".join(own) for name, own in parts.items() if own}
    return {name: text[:MOST_TEXT] + (" … (cut)" if len(text) > MOST_TEXT else "") for name, text in texts.items()}


def next_question(cell: dict, text: str, current: str | None, questions: dict[str, Question]) -> str | None:
    """The question to which a cell belongs: by its mark, else by its heading, else the one before it."""
    metadata = cell.get("metadata", {})
    if (name := metadata.get("question")) in questions:
        return name
    if "exercise" in metadata:
        return None
    heading = HEADING.search(text) if cell["cell_type"] != "code" else None
    return heading[1] if heading and heading[1] in questions else current


def fingerprint(text: str) -> str:
    """Tells whether a text is still the one that was marked."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def alike(texts: dict[str, str]) -> Iterator[tuple[str, int]]:
    """Each student, and how many others wrote the same words, whatever the case and the spaces."""
    folded = {student: " ".join(text.casefold().split()) for student, text in texts.items()}
    counts = [*folded.values()]
    yield from ((student, counts.count(text) - 1) for student, text in folded.items())
