"""What is said to the author of an answer: one slip, two that come together, or several that do the same."""


def as_text(causes: list[tuple[str, ...]], most: int = 3) -> str | None:
    """What to say of an answer, of which each cause is the slips that come together: all that do the same are named."""
    if not causes:
        return None
    shared = [slip for slip in causes[0] if all(slip in cause for cause in causes)]
    if len(causes) == 1:
        return together(causes[0])
    rest = list(dict.fromkeys(tuple(slip for slip in cause if slip not in shared) for cause in causes))
    if len(rest) == 1:
        return together((*shared, *rest[0]))
    listed = [f"- {' And: '.join(map(sentence, cause))}" for cause in rest[:most]]
    if shared:
        start = f"{together(tuple(shared))} And there is one thing more. Several would do the same:"
    else:
        start = "Your answer computes what you get by one of these slips:"
    more = ["- … or by another that does the same."] if len(rest) > most else []
    return "\n".join([start, *listed, *more])


def together(cause: tuple[str, ...]) -> str:
    """One slip as a sentence, or two as a list."""
    if len(cause) == 1:
        one = cause[0]
        return one if is_sentence(one) else f"Your answer computes what you get if {one}."
    start = "Your answer computes what you get from two things at once:"
    return "\n".join([start, *(f"- {sentence(one)}" for one in cause)])


def is_sentence(slip: str) -> bool:
    return slip.endswith((".", "?", "!"))


def sentence(slip: str) -> str:
    return slip if is_sentence(slip) else f"{slip[0].upper()}{slip[1:]}."


def without_place(slip: str) -> str:
    """The words of a slip without its surroundings."""
    return slip.partition(", in `")[0]


def places(found: list[tuple[str, str]], start: str = "One change would do", most: int = 3) -> str:
    """Where a change makes an answer right: pairs of a line and the code in it, of which one is shown for each line."""
    by_line: dict[str, str] = {}
    for line, source in found:
        if line not in by_line or len(source) < len(by_line[line]):
            by_line[line] = source
    listed = [f"`{source}` in {line}" for line, source in by_line.items()][:most]
    return f"{start}: look at {', or at '.join(listed)}."
