"""What each decision by hand was made on, kept beside the grades: so that one that has been overtaken is said to be."""

import json
from collections.abc import Iterable
from pathlib import Path

from transformer_lab.grading.gradebook.overrides import LATE, TOTAL, Override
from transformer_lab.grading.handout.questions import fingerprint
from transformer_lab.grading.handout.roster import Roster
from transformer_lab.grading.marking.records import Graded

NAME = "decided-on.json"
Fingerprints = dict[str, str]  # by decision: the fingerprint of what it was made on


def read_fingerprints(folder: Path) -> Fingerprints:
    """What is kept in a folder of grades. A file that can't be read counts as none: it only leads to notes."""
    try:
        return {str(key): str(value) for key, value in json.loads((folder / NAME).read_text(encoding="utf-8")).items()}
    except (OSError, ValueError, AttributeError):
        return {}


def keep_fingerprints(folder: Path, decided: Iterable[Override], graded: Iterable[Graded], roster: Roster) -> None:
    """Note what each decision stands on when it is first seen, and forget decisions that were taken back."""
    before, now = read_fingerprints(folder), {}
    people = {one.student: roster.find(one.student) for one in graded}
    for one in graded:
        person = people[one.student]
        for decision in decided:
            if decision.student in (one.student, person.id if person else ""):
                now[key(decision, one)] = before.get(key(decision, one), made_on(decision, one))
    if now != before:
        (folder / NAME).write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")


def key(decision: Override, one: Graded) -> str:
    return json.dumps([one.student, decision.exercise, decision.points, decision.comment])


def made_on(decision: Override, one: Graded) -> str:
    """A fingerprint of the answer that a decision is about; of all that was handed in, if it is about all."""
    if decision.exercise in (LATE, TOTAL):
        return one.digest
    programs = {mark.exercise: mark.program for mark in one.marks} | one.texts
    return fingerprint(programs.get(decision.exercise, ""))


def overtaken(decision: Override, one: Graded, fingerprints: Fingerprints) -> str:
    """What to say of a decision if something else was handed in since; else nothing."""
    if fingerprints.get(key(decision, one), made_on(decision, one)) == made_on(decision, one):
        return ""
    held = f"`{decision.exercise}` was decided by hand before that: {decision.points:g} still counts"
    if decision.exercise in (LATE, TOTAL):
        return f"handed in something else since; {held}"
    computed = next((f", {m.points:g} is computed" for m in one.marks if m.exercise == decision.exercise), "")
    return f"answered `{decision.exercise}` anew since; {held}{computed}"
