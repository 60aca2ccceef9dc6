"""Names that are nearly those asked for: misspelt, or made of letters that only look alike."""

import unicodedata
from collections.abc import Iterable
from difflib import SequenceMatcher

NEAR = 0.75  # `casual_mask` and `pad_mask` are near `causal_mask` and `padding_mask`


def look_alikes(name: str, names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Those of some names that look like the one asked for, the nearest first; those `taken` mean something else."""
    others = sorted(set(names) - {name, *taken})
    same = [other for other in others if skeleton(other) == skeleton(name)]
    near = sorted((one for one in others if nearness(one, name) >= NEAR), key=lambda one: -nearness(one, name))
    return list(dict.fromkeys([*same, *near]))


def nearness(one: str, other: str) -> float:
    """From 0 to 1."""
    return SequenceMatcher(None, skeleton(one), skeleton(other), autojunk=False).ratio()


def skeleton(name: str) -> str:
    """A name without accents, case and underscores; Cyrillic and Greek letters become the Latin ones they look like."""
    plain = unicodedata.normalize("NFKD", name).casefold().translate(LOOKS_LIKE)
    return "".join(c for c in plain if c.isascii() and c.isalnum())


LOOKS_LIKE = str.maketrans("асеіјорѕхуԁԛԝһοανρτυχικ", "aceijopsxydqwhoavptuxik")
