"""Whose numbers a student worked with, where everybody has numbers of their own: theirs, another's, or nobody's."""

from collections import Counter
from dataclasses import dataclass

from transformer_lab.grading.handout.roster import Roster, folded


@dataclass(frozen=True)
class Borrowed:
    """What is odd about the id that stands in a student's notebook; another's numbers count nothing."""

    note: str
    counts_nothing: bool = False


def owner_of_numbers(ids: dict[str, str], roster: Roster) -> dict[str, Borrowed]:
    """For each student whose id is odd, why. `ids` has what everybody wrote, by the name of their submission."""
    used = Counter(folded(id_) for id_ in ids.values())
    found = {student: oddity(student, id_, ids, used, roster) for student, id_ in ids.items() if folded(id_)}
    return {student: odd for student, odd in found.items() if odd}


def oddity(student: str, id_: str, ids: dict[str, str], used: Counter, roster: Roster) -> Borrowed | None:
    me, owner = roster.find(student), roster.find(id_)
    if (owner and me and owner.id == me.id) or folded(id_) == folded(student):
        return None
    has_handed_in = owner is not None and any(roster.find(other) == owner for other in ids)
    if (owner and (me or has_handed_in)) or folded(id_) in map(folded, ids):
        return Borrowed(f"worked with the numbers of `{id_}`, who is somebody else: they count nothing", True)
    if used[folded(id_)] > 1:
        return Borrowed(f"worked with the numbers of `{id_}`, as others did: is it their id?")
    if owner or not roster.people:
        return Borrowed(f"worked with the numbers of `{id_}`: is it them?") if owner else None
    return Borrowed(f"worked with the numbers of `{id_}`, who is not on the roster")
