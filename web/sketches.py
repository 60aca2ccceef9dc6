"""What the posters show: each lesson's question, drawn in threads, ribbons and words, before anything is answered."""

import math
from html import escape

from strokes import ACROSS, arc, box, curve, line, ring, row, seen, spark, tick, word


def start_here() -> str:
    names = [(90, "predict"), (260, "run"), (430, "check")]
    seals = ring(90, 100, 30) + ring(260, 100, 30) + '<path class="full" d="M260 70a30 30 0 0 0 0 60z"/>'
    seals += ring(430, 100, 30, "ink full") + tick(430, 100)
    threads = line((120, 100), (230, 100)) + line((290, 100), (400, 100))
    return threads + seals + seen(word(x, 166, name) for x, name in names)


def attention() -> str:
    xs, words = row(["We", "sat", "on", "the", "bank", "of", "the", "river"], 168)
    arcs = seen(arc(xs[4], x, 150) for x in xs if x != xs[4])
    return arcs + words + line((xs[4] - 24, 188), (xs[4] + 24, 188), kind="query")


def heads() -> str:
    ys = (40, 87, 133, 180)
    strands = seen(curve((70, 110), (180, y), "stream") + curve((340, y), (450, 110), "stream") for y in ys)
    boxes = seen(box(180, y - 17, 160, 34) + word(260, y, f"head {i}: ?", "label") for i, y in enumerate(ys))
    ends = line((10, 110), (70, 110), kind="stream thick") + line((450, 110), (510, 110), kind="stream thick")
    return strands + boxes + ends


def clocks() -> str:
    xs, words = row(["dog", "bites", "man", "man", "bites", "dog"], 156, 24, ACROSS - 24)
    hands = [(x, 80, math.pi * (0.5 - 0.42 * i)) for i, x in enumerate(xs)]
    faces = seen(
        ring(x, y, 26) + line((x, y), (x + 20 * math.cos(a), y - 20 * math.sin(a)), kind="ink") for x, y, a in hands
    )
    return line((8, 80), (512, 80)) + faces + words + line((260, 36), (260, 188), kind="dashed")


def depth() -> str:
    ys = range(20, 176, 13)
    left = seen(box(110, y, 90, 9, "hair" if y > 20 else "amount", 3) for y in ys) + line((155, 12), (155, 188))
    right = seen(box(320, y, 90, 9, "hair" if y > 20 else "amount", 3) for y in ys) + line((365, 12), (365, 188))
    around = seen(f'<path class="stream" d="M365 {y + 11}C424 {y + 11} 424 {y - 2} 365 {y - 2}"/>' for y in ys)
    names = word(155, 204, "layer by layer", "label") + word(365, 204, "and a way past each", "label")
    return left + right + around + names + word(82, 166, "?") + word(448, 166, "?")


PAINTED = (" ####", "# # #", " # ##", "# #  ", "##   ")  # as somebody might: "#" is shut, and two words see later ones


def masks() -> str:
    def window(i: int, j: int) -> str:
        x, y = 206 + 44 * j, 8 + 42 * i
        if PAINTED[i][j] == "#":
            return box(x, y, 40, 38, "slab", 4) + seen(
                line((x + 4, y + d), (x + 36, y + d), kind="slat") for d in range(6, 37, 7)
            )
        light = f'style="fill-opacity:{0.3 + 0.7 * ((3 * i + 5 * j) % 7) / 7:.2f}"'
        pane = f'<rect class="slab heat" {light} x="{x}" y="{y}" width="40" height="38" rx="4"/>'
        return pane + (spark(x + 20, y + 19, 13) if j > i else "")

    words = ("I", "am", "a", "student", ".")
    rows = seen(word(190, 27 + 42 * i, one, anchor="end") for i, one in enumerate(words))
    return rows + seen(window(i, j) for i in range(5) for j in range(5))


def machine() -> str:
    ins, outs = [50 + 34 * i for i in range(4)], [67 + 34 * i for i in range(3)]
    threads = seen(line((92, y), (210, y)) for y in ins) + seen(line((330, y), (444, y)) for y in outs)
    slabs = seen(box(x, 28, 38, 148, "slab", 8) for x in (112, 160, 342, 390))
    looks = seen(curve((210, a), (330, b), "weight") for a in ins for b in outs)
    knots = seen(ring(x, y, 4, "joint") for x in (131, 179) for y in ins)
    knots += seen(ring(x, y, 4, "joint") for x in (361, 409) for y in outs)
    words = seen(word(84, y, one, anchor="end") for y, one in zip(ins, ("thirty-", "four", "and", "one"), strict=True))
    breakers = seen(
        ring(x - 13, 200, 4, "joint full")
        + ring(x + 13, 200, 4, "joint full")
        + line((x - 13, 200), (x + 13, 200), kind="ink")
        for x in (131, 179, 270, 361, 409)
    )
    return looks + slabs + threads + knots + words + seen(word(466, y, "?") for y in outs) + breakers


def training() -> str:
    left, right = [("twenty-", 76), ("one", 146)], [("ein", 50), ("und", 110), ("zwanzig", 170)]
    looks = seen(curve((130, a), (370, b), "dashed") for _, a in left for _, b in right)
    words = seen(word(118, y, one, anchor="end") for one, y in left)
    return looks + words + seen(word(384, y, one, anchor="start") for one, y in right) + word(250, 30, "?")


def decoding() -> str:
    twigs, leaves = (50, 110, 170), [28 + 20.5 * i for i in range(9)]
    first = seen(curve((70, 110), (220, y)) for y in twigs)
    second = seen(curve((232, twigs[i // 3]), (390, y)) for i, y in enumerate(leaves))
    ends = seen(ring(396, y, 4.5, "joint") for y in leaves) + seen(ring(226, y, 6, "joint") for y in twigs)
    return first + second + ends + ring(62, 110, 8, "joint full") + word(450, 110, "which?", "label")


def language_model() -> str:
    typed = word(40, 110, "for i in ra", "code", "start") + line((188, 92), (188, 128), kind="ink")
    next_, ys = ("nge(", "w:", "ise", "␣"), (38, 86, 134, 182)
    ways = seen(curve((200, 110), (330, y)) for y in ys)
    ghosts = seen(
        box(334, y - 20, 96, 40, "dashed", 8) + word(382, y, one, "code") for one, y in zip(next_, ys, strict=True)
    )
    return box(16, 72, 180, 76, "slab", 10) + ways + typed + ghosts + seen(word(460, y, "?") for y in ys)


def induction() -> str:
    xs, words = row(["the", "cat", "sat", "on", "the", "mat", "the", "cat"], 168, 12, 452)
    arcs = seen(arc(x, xs[-1], 150, "dashed") for x in xs[:-1])
    return arcs + words + box(466, 148, 42, 40, "dashed") + word(487, 168, "?")


def swaps() -> str:
    ys, old = (30, 72, 114, 156), ("LayerNorm", "ReLU", "sine", "all keys")
    left = seen(box(40, y, 150, 34) + word(115, y + 17, one, "label") for y, one in zip(ys, old, strict=True))
    right = seen(box(330, y, 150, 34, "dashed") + word(405, y + 17, "?") for y in ys)
    between = seen(line((200, y + 17), (320, y + 17), kind="dashed") for y in ys)
    return left + right + between + word(115, 206, "2017", "label") + word(405, 206, "today", "label")


def weights() -> str:
    """Two sentences, and the vector of their word bank: bars that nobody has measured yet."""
    lines = [("money in the", 52), ("by the river", 152)]
    words = seen(word(150, y, one, anchor="end") for one, y in lines)
    banks = seen(box(162, y - 18, 66, 36, "hair", 8) + word(195, y, "bank") for _, y in lines)
    heights = (9, 22, 14, 31, 7, 26, 18, 34, 12, 24, 16)
    bars = seen(
        box(290 + 15 * i, y + 18 - high, 10, high, "hair", 3) for _, y in lines for i, high in enumerate(heights)
    )
    ways = seen(curve((228, y), (284, y), "stream") for _, y in lines)
    same = line((366, 78), (366, 88), kind="ink") + line((366, 116), (366, 126), kind="ink")
    return ways + words + banks + bars + same + word(366, 102, "the same?", "label")


def tiles() -> str:
    sheet = seen(box(150 + 22 * j, 12 + 22 * i, 20, 20, "hair", 2) for i in range(9) for j in range(10))
    desk = seen(box(216 + 22 * j, 56 + 22 * i, 20, 20, "amount", 2) for i in range(2) for j in range(2))
    return (
        sheet
        + desk
        + box(213, 53, 48, 48, "ink")
        + word(76, 77, "in reach", "label")
        + line((112, 77), (208, 77), kind="dashed")
    )


CLINIC = ("for x, y in batches:", "    loss = model(x, y)", "    loss.backward()", "    optimizer.step()")


def clinic() -> str:
    """A training that raises no error: its code, its falling loss, and a lens that has found nothing yet."""
    code = seen(
        f'<text x="20" y="{58 + 38 * i}" class="code small" xml:space="preserve">{escape(text)}</text>'
        for i, text in enumerate(CLINIC)
    )
    axes = line((326, 34), (326, 178), (504, 178), kind="hair")
    falls = ((326 + 178 * i / 24, 172 - 128 * math.exp(-i / 5) - 5 * math.sin(2.3 * i)) for i in range(25))
    loss = line(*falls, kind="ink") + word(415, 200, "the loss falls", "label")
    lens = ring(252, 108, 40, "lens") + line((281, 137), (318, 176), kind="ink thick")
    return axes + loss + code + lens + word(252, 108, "?")


def designs() -> str:
    ys, xs = (194, 80, 52, 24), [128 + 46 * i for i in range(8)]
    looks = seen(arc(xs[-1], x, 190, rise=0.29) for x in xs[:-1])  # below the next layer
    dots = seen(ring(x, y, 4.5, "joint") for y in ys for x in xs)
    names = seen(word(92, y, name, "label", "end") for y, name in zip(ys, ("layer 0", "1", "2", "3"), strict=True))
    return seen(line((108, y), (472, y)) for y in ys) + looks + dots + names + seen(word(498, y, "?") for y in ys[1:])


def rewards() -> str:
    """A problem, four answers that a model has tried, and a scale for each, on which nothing lies yet."""
    tries, ys = ("31639:9.", "31639:8.", "31649:9.", "9."), (50, 98, 146, 194)
    asked = box(6, 96, 96, 52, "slab", 10) + word(54, 122, "38576", "code")
    ways = seen(curve((102, 122), (170, y), "stream") for y in ys)
    answers = seen(
        box(172, y - 19, 132, 38, "hair", 19) + word(238, y, one, "code") for one, y in zip(tries, ys, strict=True)
    )
    scales = seen(
        line((340, y), (476, y), kind="dashed") + line((408, y - 11), (408, y + 11), kind="ink") + ring(408, y, 7)
        for y in ys
    )
    ends = word(340, 14, "worse", "label", "start") + word(476, 14, "better", "label", "end")
    ends += word(54, 80, "add these", "label") + word(238, 14, "sums : answer", "label")
    return ways + asked + answers + scales + ends + seen(word(502, y, "?") for y in ys)


def ranks() -> str:
    places = [(170, 30), (300, 30), (300, 140), (170, 140)]
    boxes = seen(box(x, y, 56, 50) + box(x, y + 37.5, 56, 12.5, "amount", 3) for x, y in places)
    ways = line((226, 55), (300, 55), kind="dashed") + line((328, 80), (328, 140), kind="dashed")
    ways += line((300, 165), (226, 165), kind="dashed") + line((198, 140), (198, 80), kind="dashed")
    return boxes + ways + word(263, 110, "?") + word(90, 110, "a quarter each", "label")
