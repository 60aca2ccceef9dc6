"""The roster of a course: who is in it, under which names systems know them, and who was given more time.

A table (CSV) of one's own, with a column `id` and any of `name`, `email`, `extension`, `group`, `submitted`; or what
Canvas's gradebook and Moodle's grading worksheet export, as it is or with such columns added.
"""

import re
import shutil
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from transformer_lab.grading.handout.moodle_columns import LANGUAGES, english_names
from transformer_lab.grading.handout.spreadsheets import read_table

KEPT = "roster-used.csv"  # beside the grades: the roster that they were made with
CANVAS = ("Student", "ID")  # columns by which its table is known
TEST_STUDENT = "Student, Test"  # whom Canvas makes for its "Student View", and exports with the others
OURS = ("extension", "group", "team", "submitted")  # which no system exports
COLUMNS = {  # of ours: by what names each may go; of Moodle's exports too, whose identifiers differ by assignment
    "id": ("id", "id number", "student id", "sis user id", "student", "username", "email address", "identifier"),
    "name": ("name", "full name", "student name"),
    "email": ("email", "email address", "sis login id"),
    "extension": ("extension",),
    "group": OURS[1:3],
    "submitted": ("submitted", "last modified (submission)"),
}


class HasAddresses(Protocol):
    """A submission, or the record of one."""

    @property
    def addresses(self) -> dict[str, str]:
        """Of those who handed it in, by the names that it has for them."""


@dataclass(frozen=True)
class Person:
    """A student of the course. `row` is their line in the table, whose columns have Moodle's English names."""

    id: str
    name: str = ""
    email: str = ""
    extension: str = ""
    submitted: str = ""
    group: str = ""  # who are in one hand in together
    row: dict[str, str] = field(default_factory=dict)

    def known_as(self, elsewhere: bool = False) -> Iterator[str]:
        """What a submission may call this person, the surest first; `elsewhere`, in a system that isn't the roster's,
        nobody has the numbers that Moodle and Canvas count their people with."""
        given = [self.row.get(column, "") for column in ("SIS User ID", "SIS Login ID", "Username")]
        counted = [self.row.get("Identifier", ""), self.row.get("ID", "")]
        counted.append(re.sub(r"\D", "", counted[0]))  # `Participant 123`
        told = [self.id, *([] if elsewhere else counted), *given, self.email, self.email.partition("@")[0]]
        yield from filter(None, told)

    def names(self) -> Iterator[str]:
        """The name in the orders in which it is written: `Doe, Ann` is `annDoe` and `doeann`."""
        words = self.name.replace(",", " ").split()
        for i in range(max(len(words), 1)):
            yield folded("".join(words[i:] + words[:i]))


@dataclass(frozen=True)
class Roster:
    """Who is in the course, in the table's order, and the table's columns."""

    people: tuple[Person, ...] = ()
    columns: tuple[str, ...] = ()
    possible: dict[str, str] = field(default_factory=dict)  # Canvas's row of the points possible
    addresses: dict[str, str] = field(default_factory=dict)  # of who handed in by Gradescope: see `knowing`

    @property
    def is_canvas(self) -> bool:
        return set(CANVAS) <= set(self.columns)

    @property
    def is_moodle(self) -> bool:
        return "Identifier" in (*self.columns, *english_names(self.columns).values())

    def find(self, student: str) -> Person | None:
        """The one person whom a submission's name can mean: by number or id, else by name; None if there isn't one."""
        name, _, number = student.rpartition("_")
        address, elsewhere = self.addresses.get(student, ""), student in self.addresses
        for told in filter(folded, (student, number, address)):
            found = [one for one in self.people if folded(told) in map(folded, one.known_as(elsewhere))]
            if len(found) == 1:
                return found[0]
        for told in (student, name):
            found = [one for one in self.people if folded(told) and folded(told) in one.names()]
            if len(found) == 1:
                return found[0]
        return None

    def knowing(self, handed_in: Iterable[HasAddresses]) -> "Roster":
        """This roster, which finds those who handed in also by the addresses that their submissions tell."""
        return replace(self, addresses={name: to for one in handed_in for name, to in one.addresses.items()})

    def group_of(self, student: str) -> list[Person]:
        """Who handed in together under this name: a person's group, or that of this name; else the person alone."""
        person = self.find(student)
        names = [person.group] if person else [student, student.rpartition("_")[0]]
        together = [one for one in self.people if folded(one.group) and folded(one.group) in map(folded, names)]
        return [person, *(one for one in together if one != person)] if person else together


def folded(text: str) -> str:
    """Letters and digits alone, small, without accents."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    return "".join(c for c in plain if c.isalnum())


def read_roster(path: Path | None) -> Roster:
    """Read the table; without a path, a roster of nobody.

    Raises:
        ValueError: it is no table, has no column that says who is who, or names somebody twice.
    """
    if path is None:
        return Roster()
    columns, lines = read_table(path, "the roster")
    english = english_names(columns)
    rows = [{english.get(column, column): cell for column, cell in row.items()} for _, row in lines]
    people = tuple(one for row in rows if (one := person(row)) is not None)
    if not people:
        wanted = "a column `id` (or Canvas's `Student` and `ID`, or Moodle's `Identifier`), and a row for each student"
        told = f"(it has {', '.join(columns) or 'no columns'}). A worksheet of Moodle's is read in {LANGUAGES}"
        raise ValueError(
            f"the roster {path} must have {wanted} {told}: set Moodle to one of them, and download it again"
        )
    ids = [one.id for one in people]
    if twice := next((id_ for id_ in ids if ids.count(id_) > 1), None):
        raise ValueError(f"the roster {path} must name everybody once ({twice} is in it twice)")
    possible = next((row for row in rows if row.get("Student", "").startswith("Points Possible")), {})
    return Roster(people, columns, possible)


def keep_roster(path: Path | None, folder: Path) -> None:
    """Keep the table beside the grades, as it is; without one, keep none."""
    kept = folder / KEPT
    if path is None:
        kept.unlink(missing_ok=True)
    elif path.resolve() != kept.resolve():
        shutil.copyfile(path, kept)


def kept_roster(folder: Path) -> Roster:
    """The roster that the grades in a folder were made with."""
    return read_roster(folder / KEPT if (folder / KEPT).exists() else None)


def person(row: dict[str, str]) -> Person | None:
    """The person of a row; None for one that is nobody's, such as Canvas's `Points Possible`."""
    small = {name.casefold().strip(): value for name, value in row.items()}
    told = {one: next((small[name] for name in names if small.get(name)), "") for one, names in COLUMNS.items()}
    if set(CANVAS) <= set(row):
        own = {"id": row.get("SIS User ID") or row["ID"], "name": row["Student"], "email": row.get("SIS Login ID", "")}
        is_for_trying = row["Student"] == TEST_STUDENT and not row.get("SIS User ID")
        return Person(**told | own, row=row) if row["ID"] and not is_for_trying else None
    told["name"] = told["name"] or " ".join(filter(None, (small.get("first name"), small.get("last name"))))
    return Person(**told, row=row) if told["id"] else None
