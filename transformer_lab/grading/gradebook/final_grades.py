"""What each student gets in the end: computed points, less lateness, but for what the instructor decided by hand."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from transformer_lab.grading.gradebook import slip_days
from transformer_lab.grading.gradebook.hand_marks import NAME as MARKED
from transformer_lab.grading.gradebook.hand_marks import ByHand, Marked, read_marked
from transformer_lab.grading.gradebook.overrides import LATE, TOTAL, Override, read_overrides
from transformer_lab.grading.gradebook.regrades import Fingerprints, keep_fingerprints, overtaken, read_fingerprints
from transformer_lab.grading.handout.assignment import Assignment
from transformer_lab.grading.handout.lateness import days_late, due_for, penalty
from transformer_lab.grading.handout.roster import Person, Roster
from transformer_lab.grading.marking.records import Graded
from transformer_lab.grading.marking.scoring import Mark
from transformer_lab.grading.marking.variant_owner import Borrowed, owner_of_numbers
from transformer_lab.grading.submissions.pile import Submission

NOTHING = "handed in nothing"


@dataclass(frozen=True)
class FinalGrade:
    """A student's points. Without a record, nothing was handed in; without a person, the roster does not have them."""

    student: str
    graded: Graded | None
    person: Person | None
    points: dict[str, float | int]  # of each exercise and each question
    days: int  # late
    penalty: float | int
    total: float | int
    decided: tuple[Override, ...] = ()
    notes: tuple[str, ...] = ()
    by_hand: dict[str, ByHand] = field(default_factory=dict)  # for answers in words
    waiting: tuple[str, ...] = ()  # questions that nobody has marked yet
    no_time: str = ""  # why the time at which it came can't be read
    slip_days: int = 0  # of the late days, those that cost nothing
    slips_left: int = 0  # for the assignments after it

    @property
    def id(self) -> str:
        return self.person.id if self.person else self.student

    @property
    def name(self) -> str:
        return self.person.name if self.person else ""

    @property
    def late_in_words(self) -> str:
        return late_in_words(self.days, self.slip_days, self.slips_left)

    def came_by(self, *systems: str) -> bool:
        """Whether one of these systems handed it back, and so named it."""
        return self.graded is not None and self.graded.came_by.partition(" ")[0] in systems

    @property
    def computed(self) -> float | int:
        return self.graded.points if self.graded else 0

    @property
    def marks(self) -> tuple[Mark, ...]:
        return self.graded.marks if self.graded else ()


@dataclass(frozen=True)
class Gradebook:
    """All that reports are made of."""

    assignment: Assignment
    roster: Roster
    finals: tuple[FinalGrade, ...]

    @property
    def graded(self) -> list[Graded]:
        return [*{one.graded.student: one.graded for one in self.finals if one.graded}.values()]

    @property
    def not_read(self) -> list[tuple[FinalGrade, str]]:
        """What of whom could not be read; all else is graded."""
        told = [(one, why) for one in self.finals if one.graded for why in one.graded.left_out]
        return told + [(one, one.no_time) for one in self.finals if one.no_time]


def gradebook(graded: list[Graded], assignment: Assignment, roster: Roster, folder: Path) -> Gradebook:
    """Put records, roster and decisions together: those who were graded first, then those who handed in nothing.

    Raises:
        ValueError: decisions can't be read; says which.
    """
    roster = roster.knowing(graded)
    decided = read_overrides(folder, assignment, who_handed_in(graded), roster)
    marked, fingerprints = read_marked(folder / MARKED, assignment), read_fingerprints(folder)
    whose = {one.student: roster.find(one.student) for one in graded}
    others = owner_of_numbers({one.student: one.own_id for one in graded}, roster) if assignment.variants else {}
    rest = (assignment, decided, marked, others, roster, fingerprints, slip_days.kept_used(folder))
    graded, instead = one_each(graded, whose)
    finals = [final(one.student, one, whose[one.student], *rest) for one in graded]
    finals = [replace(one, notes=(*one.notes, *instead.get(one.student, ()))) for one in finals]
    there = {person.id for person in whose.values() if person} | set(whose)
    groups = {one.student for one in graded if not whose[one.student] and roster.group_of(one.student)}
    finals = [one for one in finals if one.student not in groups]  # a group's name is nobody's
    for one in graded:  # a group's work is that of all of it who handed in nothing themselves
        partners = [(name, roster.find(name)) for name in one.together]
        for name, person in (*partners, *((member.id, member) for member in roster.group_of(one.student))):
            student = person.id if person else name
            if student not in there:
                finals.append(final(student, one, at_the_time_of(whose[one.student], person), *rest))
                there.add(student)
    absent = [person for person in roster.people if person.id not in there]
    finals += [final(person.id, None, person, *rest) for person in absent]
    return Gradebook(assignment, roster, tuple(finals))


def one_each(graded: list[Graded], whose: dict[str, Person | None]) -> tuple[list[Graded], dict[str, list[str]]]:
    """Of what one person handed in under several names one record, and for its student what is to be said of it.

    So it is where somebody's second version was sent by mail, say, and lies in a folder of its own. It may be of one
    notebook alone, so the last answer to each exercise counts.
    """
    last: dict[str, Graded] = {}
    said: dict[str, list[str]] = {}
    for one in sorted(graded, key=lambda one: one.submitted):
        person = whose[one.student]
        before = last.get(id_ := person.id if person else f"{one.student}/")
        if before:
            older = {mark.exercise: mark for mark in before.marks}
            marks = (older.get(mark.exercise, mark) if mark.verdict == "missing" else mark for mark in one.marks)
            texts = before.texts | {question: text for question, text in one.texts.items() if text}
            one = replace(one, marks=tuple(marks), texts=texts, hand_back=one.hand_back or before.hand_back)
            note = f"handed in as {before.student}, too: the last answer to each exercise counts"
            said[one.student] = [*said.pop(before.student, []), note]
        last[id_] = one
    order = [one.student for one in graded]
    return sorted(last.values(), key=lambda one: order.index(one.student)), said


def at_the_time_of(other: Person | None, person: Person | None) -> Person | None:
    """A person as the roster has them, with the time of whoever handed in for them, if they have none."""
    told = person.submitted.strip("-") if person else ""
    return replace(person, submitted=other.submitted) if person and other and not told else person


def check_decisions(
    graded: list[Graded], students: Iterable[str], assignment: Assignment, roster: Roster, folder: Path
) -> None:
    """Read all that is decided by hand before anything is graded anew, and keep what it stands on.

    `graded` are the records so far, `students` the names of those who will be there.

    Raises:
        ValueError: a decision, or an extension in the roster, can't be read.
    """
    roster = roster.knowing(graded)
    for person in roster.people:
        due_for(assignment, person)
    decided = read_overrides(folder, assignment, sorted(students), roster)
    read_marked(folder / MARKED, assignment)
    if decided and folder.is_dir():
        keep_fingerprints(folder, decided, graded, roster)


def who_handed_in(found: Iterable[Graded | Submission]) -> list[str]:
    """The names of all who did, alone or with others."""
    return [name for one in found for name in (one.student, *one.together)]


def late_in_words(days: int, slips: int, left: int) -> str:
    most = "" if slips == days else f"{slips} of them "
    free = f", {most}covered by slip days, of which {left or 'none'} {'is' if left == 1 else 'are'} left"
    return f"{days} {'day' if days == 1 else 'days'} late{free if slips else ''}"


def final(
    student: str,
    graded: Graded | None,
    person: Person | None,
    assignment: Assignment,
    decided: list[Override],
    marked: Marked,
    others: dict[str, Borrowed],
    roster: Roster,
    fingerprints: Fingerprints,
    used: dict[str, int],
) -> FinalGrade:
    own = tuple(one for one in decided if one.student in (student, person.id if person else student))
    set_by_hand = {one.exercise: one.points for one in own}
    texts = graded.texts if graded else {}
    read = {
        q: one
        for q in assignment.questions
        if (one := marked.get((graded.student if graded else student, q))) and one.points is not None
    }
    computed = {mark.exercise: mark.points for mark in graded.marks} if graded else {}
    computed |= {question: one.points for question, one in read.items() if one.points is not None}
    borrowed = others.get(graded.student if graded else student)
    computed |= dict.fromkeys(assignment.variants, 0.0) if borrowed and borrowed.counts_nothing else {}
    points = {name: set_by_hand.get(name, computed.get(name, 0.0)) for name in assignment.most}
    waiting = tuple(question for question in texts if question not in {*read, *set_by_hand})
    try:
        came = (graded.submitted, graded.came_by) if graded else ("", "")
        days, unread = days_late(assignment, person, *came), ""
    except ValueError as error:  # one row of the roster: the others' grades don't wait for it
        days, unread = 0, f"not known whether it is late: {error}"
    earned = sum(points.values())
    before = used.get(person.id if person else student, 0)
    slips = 0 if {LATE, TOTAL} & set_by_hand.keys() else slip_days.taken(assignment, days, earned, before)
    left = max(0, assignment.slip_days - before - slips)
    taken = set_by_hand.get(LATE, penalty(assignment, days - slips, earned))
    notes = [] if graded else [NOTHING]
    notes += [late_in_words(days, slips, left)] if days else []
    notes += [unread] if unread else []
    notes += [f"handed in with {graded.student}"] if graded and student != graded.student else []
    notes += ["is not on the roster"] if roster.people and person is None else []
    notes += [borrowed.note] if borrowed else []
    changed = [question for question, one in read.items() if not one.is_of(texts.get(question, ""))]
    notes += [f"wrote something else to `{question}` since it was marked" for question in changed]
    notes += [note for one in own if graded and (note := overtaken(one, graded, fingerprints))]
    total = round(set_by_hand.get(TOTAL, max(0.0, earned - taken)), 2)
    return FinalGrade(
        student, graded, person, points, days, taken, total, own, tuple(notes), read, waiting, unread, slips, left
    )
