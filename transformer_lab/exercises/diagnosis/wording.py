"""The sentences in which a diagnosis is told to the author of an answer."""

from collections.abc import Iterable

from transformer_lab.exercises.diagnosis.repairs import Repair

MOST_SHOWN = 4  # places


def one_change(repairs: list[Repair], start: str = "One change would do") -> str:
    """Say where one change makes an answer right; of several places in a line, choose the one that is said shortest."""
    by_line: dict[str, str] = {}
    for repair in repairs:
        line, source = repair.places[0]
        if line not in by_line or len(source) < len(by_line[line]):
            by_line[line] = source
    return f"{start}: look at {', or at '.join(shown(by_line.items()))}."


def several_changes(repair: Repair, end: str = "would do") -> str:
    """Say which places must be changed together."""
    number = {2: "Two", 3: "Three", 4: "Four"}.get(len(repair.places), "A few")
    return f"{number} changes together {end}: look at {', and at '.join(shown(dict.fromkeys(repair.places)))}."


def beside_a_mistake(found: list[Repair]) -> str:
    """Say where the changes are that leave only a mistake of the catalogue."""
    if len(found[0].places) > 1:
        return several_changes(found[0], "do away with the rest")
    return one_change(found, "One change does away with the rest")


def shown(places: Iterable[tuple[str, str]]) -> list[str]:
    return [f"`{source}` in {line}" for line, source in places][:MOST_SHOWN]


def both(explanation: str, rest: str) -> str:
    """Say a mistake of the catalogue, and what else is wrong."""
    return f"Two things are wrong:\n- {explanation}\n- {rest}"
