"""What stands at a lesson's end: the drawing of its poster once more, with what the lesson has found in it.

Amber is where it is found. As in the posters, amounts are a drawing's and not a model's: the numbers stand in the text.
"""

import math
from collections.abc import Callable

import answered_later
from strokes import ACROSS, arc, box, curve, heat, line, ring, row, seen, tick, word


def start_here() -> str:
    names = [(90, "predict"), (260, "run"), (430, "check")]
    seals = seen(ring(x, 100, 30, "ink full") + tick(x, 100) + word(x, 166, name) for x, name in names)
    return line((90, 100), (430, 100), kind="ribbon") + seals


def attention() -> str:
    xs, words = row(["We", "sat", "on", "the", "bank", "of", "the", "river"], 168)
    thin = seen(arc(xs[4], x, 150) for x in xs[:-1] if x != xs[4])
    return thin + arc(xs[4], xs[-1], 150, "ribbon") + words + line((xs[4] - 24, 188), (xs[4] + 24, 188), kind="query")


def heads() -> str:
    ys, looks = (40, 87, 133, 180), ("the same word", "the word before", "itself", "all words")
    strands = seen(curve((70, 110), (170, y), "stream") + curve((350, y), (450, 110), "ribbon") for y in ys)
    boxes = seen(box(170, y - 17, 180, 34) + word(260, y, one, "label") for y, one in zip(ys, looks, strict=True))
    ends = line((10, 110), (70, 110), kind="stream thick") + line((450, 110), (510, 110), kind="stream thick")
    return strands + boxes + ends


def clocks() -> str:
    """The same words twice: in each pair the hands stand differently."""
    words = ["dog", "bites", "man", "man", "bites", "dog"]
    xs, named = row(words, 176, 24, ACROSS - 24)
    pairs = seen(arc(x, xs[-1 - i], 70, "edge", 0.12) for i, x in enumerate(xs[:2]))
    hands = [(x, 110, math.pi * (0.5 - 0.42 * i)) for i, x in enumerate(xs)]
    faces = seen(
        ring(x, y, 26) + line((x, y), (x + 20 * math.cos(a), y - 20 * math.sin(a)), kind="ribbon") for x, y, a in hands
    )
    return pairs + line((8, 110), (512, 110)) + faces + named + word(260, 208, "the same word, another hand", "label")


def depth() -> str:
    ys = range(20, 176, 13)
    left = seen(heat(110, y, 90, 9, max(0, 1 - i / 4)) for i, y in enumerate(ys)) + line((155, 12), (155, 188))
    right = seen(heat(320, y, 90, 9, 1) for y in ys) + line((365, 12), (365, 188))
    around = seen(f'<path class="stream" d="M365 {y + 11}C424 {y + 11} 424 {y - 2} 365 {y - 2}"/>' for y in ys)
    names = word(155, 204, "layer by layer", "label") + word(365, 204, "and a way past each", "label")
    return (
        left
        + right
        + around
        + names
        + word(98, 166, "lost", "label", "end")
        + word(432, 166, "whole", "label", "start")
    )


def masks() -> str:
    def window(i: int, j: int) -> str:
        x, y = 206 + 44 * j, 8 + 42 * i
        if j <= i:
            return heat(x, y, 40, 38, 0.3 + 0.7 * ((3 * i + 5 * j) % 7) / 7)
        slats = seen(line((x + 4, y + d), (x + 36, y + d), kind="slat") for d in range(6, 37, 7))
        return box(x, y, 40, 38, "slab", 4) + slats

    words = ("I", "am", "a", "student", ".")
    rows = seen(word(190, 27 + 42 * i, one, anchor="end") for i, one in enumerate(words))
    return rows + seen(window(i, j) for i in range(5) for j in range(5))


def machine() -> str:
    """Where its parameters are, in millions."""
    parts = [(46, "feed-forward", 25), (98, "attention", 19), (150, "table of tokens", 19)]
    bars = seen(box(190, y - 15, 10 * millions, 30, "amount", 4) for _, y, millions in ((n, y, m) for y, n, m in parts))
    names = seen(word(178, y, name, "label", "end") for y, name, _ in parts)
    counts = seen(word(200 + 10 * millions, y, f"{millions}", anchor="start") for y, _, millions in parts)
    return bars + names + counts + word(260, 200, "63 million, and 0.03 in all the norms", "label")


def training() -> str:
    left, right = [("twenty-", 76), ("one", 146)], [("ein", 50), ("und", 110), ("zwanzig", 170)]
    looks = curve((130, 146), (370, 50), "ribbon") + curve((130, 76), (370, 170), "ribbon")
    looks += curve((130, 76), (370, 110)) + curve((130, 146), (370, 110))
    words = seen(word(118, y, one, anchor="end") for one, y in left)
    return looks + words + seen(word(384, y, one, anchor="start") for one, y in right)


def decoding() -> str:
    twigs, leaves, chances = (50, 110, 170), [28 + 20.5 * i for i in range(9)], (0.6, 0.3, 0.1)
    ways = [curve((70, 110), (220, y)) for y in twigs[1:]]
    ways += [curve((232, twigs[i // 3]), (390, y)) for i, y in enumerate(leaves) if i != 1]
    best = curve((70, 110), (220, twigs[0]), "ribbon") + curve((232, twigs[0]), (390, leaves[1]), "ribbon")
    ends = seen(ring(396, y, 4.5, "joint") for y in leaves) + seen(ring(226, y, 6, "joint") for y in twigs)
    shares = seen(word(214, y - 18, f"{p}", "label", "end") for y, p in zip(twigs[:2], chances, strict=False))
    return (
        seen(ways)
        + best
        + ends
        + ring(62, 110, 8, "joint full")
        + shares
        + word(410, leaves[1], "greedy", "label", "start")
    )


def language_model() -> str:
    typed = word(40, 110, "for i in ra", "code", "start") + line((188, 92), (188, 128), kind="ink")
    next_, ys = ("nge(", "w:", "ise", "␣"), (38, 86, 134, 182)
    ways = curve((200, 110), (330, ys[0]), "ribbon") + seen(curve((200, 110), (330, y)) for y in ys[1:])
    frames = box(334, ys[0] - 20, 96, 40, "edge", 8) + seen(box(334, y - 20, 96, 40, "dashed", 8) for y in ys[1:])
    words = seen(word(382, y, one, "code") for one, y in zip(next_, ys, strict=True))
    return box(16, 72, 180, 76, "slab", 10) + ways + typed + frames + words


def induction() -> str:
    xs, words = row(["the", "cat", "sat", "on", "the", "mat", "the", "cat"], 168, 12, 452)
    arcs = arc(xs[2], xs[-1], 150, "ribbon") + arc(xs[1], xs[2], 150)
    notes = word((xs[1] + xs[2]) / 2, 96, "after cat", "label") + word(300, 36, "“after cat”?", "label")
    return arcs + notes + words + box(460, 148, 54, 40, "edge") + word(487, 168, "sat")


ANSWERED: dict[str, Callable[[], str]] = {
    f"{number:02}": draw
    for number, draw in enumerate(
        (
            *(
                start_here,
                attention,
                heads,
                clocks,
                depth,
                masks,
                machine,
                training,
                decoding,
                language_model,
                induction,
            ),
            *(answered_later.swaps, answered_later.weights, answered_later.tiles, answered_later.clinic),
            *(answered_later.designs, answered_later.rewards, answered_later.ranks),
        )
    )
}
