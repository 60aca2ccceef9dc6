"""What the cards of the gallery's wall show: of each view what it is made of, large enough to be read on a card.

They are drawn as the posters are, but 400 units wide and 190 high, and show what happens, where a poster only asks.
Amounts are a drawing's, not a model's: the numbers stand in the views.
"""

import math
import re
from collections.abc import Callable, Sequence
from html import unescape

from strokes import arc, box, curve, heat, line, ring, row, seen, spark, word

ACROSS, DOWN = 400, 190
WORD = re.compile(r'<text x="([-\d.]+)" y="([-\d.]+)" text-anchor="(\w+)"[^>]*>([^<]+)</text>')
BELL = (0.06, 0.16, 0.56, 0.16, 0.06)


def grid(x: float, y: float, size: float, n: int, share: Callable[[int, int], float]) -> str:
    step = size + 2
    return seen(heat(x + step * s, y + step * t, size, size, share(t, s)) for t in range(n) for s in range(n))


def weave(x: float, y: float, wide: float, high: float, ways: Sequence[tuple[int, int, str]], n: int) -> str:
    at = [y + high * i / (n - 1) for i in range(n)]
    return seen(curve((x, at[a]), (x + wide, at[b]), kind) for a, b, kind in ways)


def plot(x: float, y: float, wide: float, high: float, values: Sequence[float], kind: str) -> str:
    step = wide / (len(values) - 1)
    axes = line((x, y), (x, y + high), (x + wide, y + high), kind="hair")
    return axes + line(*((x + i * step, y + high * (1 - value)) for i, value in enumerate(values)), kind=kind)


def arcs() -> str:
    xs, words = row(["We", "sat", "on", "the", "bank", "of", "the", "river"], 150, 8, ACROSS - 8)
    thin = seen(arc(xs[4], x, 134) for x in xs[:-1] if x != xs[4])
    return (
        thin + arc(xs[4], xs[-1], 134, "ribbon", 0.5) + words + line((xs[4] - 20, 170), (xs[4] + 20, 170), kind="query")
    )


def attention() -> str:
    return grid(110, 10, 32, 5, lambda t, s: (0.2 + 0.7 * ((3 * t + 5 * s) % 7) / 7) if s <= t else 0)


def saturation() -> str:
    levels = (0.04, 0.02, 0.05, 0.94, 0.03, 0.02, 0.04)
    tubes = seen(box(34 + 48 * i, 20, 34, 150, "slab", 15) for i in range(7))
    water = (box(37 + 48 * i, 167 - 144 * level, 28, 144 * level, "amount", 5) for i, level in enumerate(levels))
    return tubes + seen(water)


def maps() -> str:
    shares = (
        lambda t, s: BELL[abs(t - s)] * 1.6,
        lambda t, s: 0.15 + 0.7 * (s == 4),
        lambda t, s: BELL[abs(t + s - 4) % 5],
    )
    return seen(grid(16 + 126 * i, 36, 22, 5, share) for i, share in enumerate(shares))


def heads() -> str:
    ways = (
        ((0, 0, "ribbon"), (1, 1, "ribbon"), (2, 2, "ribbon"), (3, 3, "ribbon")),
        ((0, 1, "ribbon"), (1, 2, "ribbon"), (2, 3, "ribbon"), (3, 3, "edge")),
        ((0, 0, "ribbon"), (0, 1, "ribbon"), (0, 2, "ribbon"), (0, 3, "ribbon")),
        ((0, 3, "ribbon"), (1, 2, "edge"), (2, 1, "ribbon"), (3, 0, "edge")),
    )
    return seen(box(10 + 97 * i, 20, 88, 150) + weave(26 + 97 * i, 42, 56, 106, way, 4) for i, way in enumerate(ways))


def masks() -> str:
    seen_ = grid(110, 10, 32, 5, lambda t, s: 0.75 / (t + 1) + 0.15 if s <= t else 0)
    lid = (
        line((113 + 34 * s, y), (139 + 34 * s, y), kind="slat")
        for t in range(5)
        for s in range(t + 1, 5)
        for y in range(15 + 34 * t, 42 + 34 * t, 6)
        if (t, s) != (1, 3)
    )
    leak = heat(110 + 34 * 3, 10 + 34, 32, 32, 0.5) + spark(110 + 34 * 3 + 16, 10 + 34 + 16, 12)
    return seen_ + seen(lid) + leak


def encoding() -> str:
    angles = [math.pi * (0.5 - 0.42 * i) for i in range(6)]
    hands = seen(
        ring(42 + 63 * i, 52, 25)
        + line((42 + 63 * i, 52), (42 + 63 * i + 19 * math.cos(a), 52 - 19 * math.sin(a)), kind="ink")
        for i, a in enumerate(angles)
    )
    return hands + line(*((17 + 4 * i, 135 - 30 * math.sin(i / 5)) for i in range(92)), kind="edge")


def shift() -> str:
    def clock(x: float, angle: float) -> str:
        return ring(x, 95, 62) + line((x, 95), (x + 50 * math.cos(angle), 95 - 50 * math.sin(angle)), kind="ribbon")

    return clock(80, 1.3) + clock(320, 0.1) + line((160, 95), (240, 95), (228, 86)) + word(200, 66, "+ k")


def depth() -> str:
    left = seen(box(100 - 75 * 0.8**i, 14 + 16.5 * i, 75 * 0.8**i, 10, "amount", 3) for i in range(10))
    right = seen(box(300, 14 + 16.5 * i, 68 - 2 * i, 10, "amount", 3) for i in range(10))
    layers = seen(box(x, 14 + 16.5 * i, 70, 10, "hair", 3) for x in (112, 220) for i in range(10))
    return left + right + layers


def decoding() -> str:
    twigs, leaves = (45, 95, 145), [24 + 17.75 * i for i in range(9)]
    thin = seen(curve((40, 95), (180, y), "stream") for y in twigs[1:])
    thin += seen(curve((190, twigs[i // 3]), (350, y), "stream") for i, y in enumerate(leaves) if i != 1)
    thick = curve((40, 95), (180, 45), "ribbon") + curve((190, 45), (350, leaves[1]), "ribbon")
    return thin + thick + seen(ring(356, y, 4.5, "joint") for y in leaves) + ring(35, 95, 8, "joint full")


def machine() -> str:
    read, written = ("thirty-", "four", "and", "one"), ("vier", "und", "dreißig")
    words = seen(word(96, 30 + 44 * i, one, anchor="end") for i, one in enumerate(read))
    words += seen(word(300, 46 + 50 * i, one, anchor="start") for i, one in enumerate(written))
    slabs = seen(box(x, 12, 24, 168, "slab", 6) for x in (112, 264))
    ways = ((0, 2, "ribbon"), (1, 0, "ribbon"), (2, 1, "ribbon"), (3, 0, "edge"), (0, 1, "edge"))
    looks = (curve((112, 30 + 44 * a), (288, 46 + 50 * b), kind) for a, b, kind in ways)
    return slabs + seen(looks) + words


def cache() -> str:
    laptop = box(110, 14, 180, 130, "ink", 8) + line((84, 160), (316, 160), kind="ink thick")
    return laptop + seen(box(120, 128 - 22 * i, 160, 18, "amount" if i < 3 else "slab", 3) for i in range(5))


def loss() -> str:
    return plot(40, 20, 320, 145, [0.12 + 0.83 * math.exp(-i / 9) + 0.02 * math.sin(5 * i) for i in range(50)], "query")


def completer() -> str:
    bars = (0.9, 0.55, 0.36, 0.2)
    typed = box(16, 16, 368, 54, "slab", 8) + word(32, 42, "four thousand and", anchor="start")
    typed += line((190, 28), (190, 58), kind="ink")
    return typed + seen(
        word(40, 96 + 25 * i, letter) + box(60, 86 + 25 * i, 300 * bar, 16, "amount", 3)
        for i, (letter, bar) in enumerate(zip("ftsn", bars, strict=True))
    )


def lens() -> str:
    rows = (("a", "n", "d", "s", "e"), ("o", "e", "o", "s", "e"), ("t", "w", "o", "s", "i"))
    letters = (
        f'<g style="opacity:{(1, 0.65, 0.35)[2 - t]}">{word(72 + 64 * i, 40 + 55 * (2 - t), letter)}</g>'
        for t, row_ in enumerate(rows)
        for i, letter in enumerate(row_)
    )
    return seen(line((72 + 64 * i, 24), (72 + 64 * i, 166), kind="ribbon faint") for i in range(5)) + seen(letters)


def induction() -> str:
    xs, words = row(["the", "cat", "sat", "on", "the", "cat", "sat"], 150, 8, ACROSS - 8)
    thin = seen(arc(x, xs[5], 134, "dashed") for x in (xs[0], xs[1], xs[3], xs[4]))
    return (
        thin + arc(xs[2], xs[5], 134, "ribbon", 0.45) + words + line((xs[6] - 18, 170), (xs[6] + 18, 170), kind="ink")
    )


def swaps() -> str:
    ys = (18, 76, 134)
    names = (("LayerNorm", "RMSNorm"), ("ReLU", "SwiGLU"), ("sine", "RoPE"))
    left = seen(box(12, y, 130, 40) + word(77, y + 20, old) for y, (old, _) in zip(ys, names, strict=True))
    right = seen(box(258, y, 130, 40, "ink") + word(323, y + 20, new) for y, (_, new) in zip(ys, names, strict=True))
    return left + right + seen(curve((142, y + 20), (258, y + 20), "ribbon") for y in ys)


def designs() -> str:
    levels = (0.9, 0.34, 0.12, 0.5, 0.08)
    shelves = (
        box(16 + 76 * i, 20, 64, 150, "slab", 6) + box(19 + 76 * i, 167 - 144 * level, 58, 144 * level, "amount", 4)
        for i, level in enumerate(levels)
    )
    return seen(shelves)


def tiles() -> str:
    sheet = seen(box(114 + 22 * j, 8 + 22 * i, 19, 19, "hair", 2) for i in range(8) for j in range(8))
    desk = seen(box(158 + 22 * j, 52 + 22 * i, 19, 19, "amount", 2) for i in range(2) for j in range(2))
    return sheet + desk + box(154, 48, 49, 49, "ink")


def speculation() -> str:
    names = "thcat"
    drafts = seen(
        box(40 + 66 * i, 62, 54, 66, "ink" if i < 3 else "dashed", 8) + word(67 + 66 * i, 95, letter)
        for i, letter in enumerate(names)
    )
    return drafts + line((246, 122), (286, 68), kind="struck")


def rewards() -> str:
    ys = (30, 74, 118, 162)
    ways = curve((150, 95), (300, ys[0]), "ribbon") + curve((150, 95), (300, ys[2]), "ribbon")
    ways += seen(curve((150, 95), (300, y), "stream") for y in (ys[1], ys[3]))
    return word(78, 95, "08855 =") + ways + seen(word(326, y, sign) for y, sign in zip(ys, "✓✗✓✗", strict=True))


def ranks() -> str:
    steps = seen(box(24 + 92 * i, 16 + 42 * r, 56, 28, "slab") for r in range(4) for i in range(4))
    sent = seen(line((91 + 92 * i, 20), (91 + 92 * i, 166), kind="ribbon") for i in range(3))
    return seen(line((12, 30 + 42 * r), (388, 30 + 42 * r)) for r in range(4)) + steps + sent


def own_sentence() -> str:
    words = word(120, 62, "twenty-", anchor="end") + word(120, 128, "one", anchor="end")
    words += seen(word(280, 36 + 58 * i, one, anchor="start") for i, one in enumerate(("ein", "und", "zwanzig")))
    ways = curve((130, 128), (270, 36), "ribbon") + curve((130, 62), (270, 152), "ribbon")
    return ways + curve((130, 62), (270, 94)) + curve((130, 128), (270, 94)) + words


def training() -> str:
    curve_ = plot(30, 20, 170, 145, [0.1 + 0.85 / (1 + math.exp((i - 18) / 4)) for i in range(40)], "query")
    return curve_ + grid(236, 24, 26, 5, lambda t, s: 0.85 if t + s == 4 else 0.08)


WALL: dict[str, Callable[[], str]] = {
    "view-arcs": arcs,
    "view-attention": attention,
    "view-saturation": saturation,
    "view-attention-2": maps,
    "view-heads": heads,
    "view-masks": masks,
    "view-encoding": encoding,
    "view-shift": shift,
    "view-depth": depth,
    "view-decoding": decoding,
    "view-machine": machine,
    "view-cache": cache,
    "view-training-monitor": loss,
    "view-completer": completer,
    "view-lens": lens,
    "view-induction": induction,
    "view-swaps": swaps,
    "view-designs": designs,
    "view-tiles": tiles,
    "view-speculation": speculation,
    "view-rewards": rewards,
    "view-ranks": ranks,
    "view-own-sentence": own_sentence,
    "view-training-monitor-2": training,
}


def greeked(word_: re.Match[str]) -> str:
    """A word, and the bar that stands for it where the drawing is so small that it could not be read."""
    x, y, anchor, text = float(word_[1]), float(word_[2]), word_[3], unescape(word_[4])
    wide = 9 * len(text)
    left = x - wide * {"start": 0, "middle": 0.5, "end": 1}[anchor]
    return word_[0] + box(left, y - 12, wide, 10, "greeked", 5)


def on_card(place: str) -> str:
    """The drawing of a view's card.

    Raises:
        ValueError: nobody has drawn this view.
    """
    if place not in WALL:
        raise ValueError(f"the gallery's wall has no drawing of {place}: WALL in web/wall_sketches.py must have one")
    drawn = WORD.sub(greeked, WALL[place]())
    return f'<svg class="sketch" viewBox="0 0 {ACROSS} {DOWN}" aria-hidden="true">{drawn}</svg>'
