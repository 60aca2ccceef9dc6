"""What stands at the end of the lessons of Parts II and III from 11 on: see `answered.py`."""

from html import escape

from sketches import CLINIC
from strokes import arc, box, curve, heat, line, ring, seen, tick, word


def swaps() -> str:
    """Two of the parts lowered the loss: their threads are thick."""
    parts = (("LayerNorm", "RMSNorm"), ("ReLU", "SwiGLU"), ("sine", "RoPE"), ("all keys", "shared keys"))
    ys, kinds = (30, 72, 114, 156), ("dashed", "ribbon", "ribbon thick", "dashed")
    rows = [(y + 17, kind, *names) for y, kind, names in zip(ys, kinds, parts, strict=True)]
    left = seen(box(40, y - 17, 150, 34) + word(115, y, one, "label") for y, _, one, _ in rows)
    right = seen(box(330, y - 17, 150, 34) + word(405, y, one, "label") for y, _, _, one in rows)
    between = seen(line((192, y), (328, y), kind=kind) for y, kind, _, _ in rows)
    said = word(260, 206, "amber: it lowered the loss", "label")
    return left + right + between + said


def weights() -> str:
    """The two vectors of bank differ, as those of another word in its place would."""
    lines = [("money in the", 52, 3), ("by the river", 152, 7)]
    words = seen(word(150, y, one, anchor="end") for one, y, _ in lines)
    banks = seen(box(162, y - 18, 66, 36, "hair", 8) + word(195, y, "bank") for _, y, _ in lines)
    bars = ((i, y, 8 + (turn * (i + 2) ** 2) % 29) for _, y, turn in lines for i in range(11))
    measured = seen(box(290 + 15 * i, y + 18 - high, 10, high, "amount", 3) for i, y, high in bars)
    ways = seen(curve((228, y), (284, y), "stream") for _, y, _ in lines)
    return ways + words + banks + measured + word(366, 102, "its company, not its sense", "label")


def tiles() -> str:
    """All tiles have been in reach, one after the other."""
    done = seen(
        heat(150 + 22 * j, 12 + 22 * i, 20, 20, 0.2 + 0.06 * ((i // 2) * 5 + j // 2))
        for i in range(8)
        for j in range(10)
    )
    desk = box(323, 143, 48, 48, "ink")
    return done + desk + word(76, 167, "in reach", "label") + line((112, 167), (320, 167), kind="dashed")


def clinic() -> str:
    """The line that the training lacked: old gradients were added to the new ones."""
    lines = [*CLINIC[:2], "    optimizer.zero_grad()", *CLINIC[2:]]
    code = seen(
        f'<text x="20" y="{46 + 34 * i}" class="code small" xml:space="preserve">{escape(text)}</text>'
        for i, text in enumerate(lines)
    )
    found = box(48, 90, 240, 34, "edge", 6)
    lens = line((392, 137), (430, 176), kind="ink thick") + ring(362, 108, 42, "lens") + tick(362, 108, "ink")
    return found + code + line((288, 107), (320, 107), kind="edge") + lens


def designs() -> str:
    """One layer looks at every token, and each of the others has a state of one size."""
    ys, xs = (194, 80, 52, 24), [128 + 40 * i for i in range(8)]
    looks = seen(arc(xs[-1], x, 190, "ribbon" if x == xs[0] else "edge", rise=0.29) for x in xs[:-1])
    dots = seen(ring(x, y, 4.5, "joint") for y in ys for x in xs)
    names = seen(word(92, y, name, "label", "end") for y, name in zip(ys, ("layer 0", "1", "2", "3"), strict=True))
    states = seen(box(446, y - 10, 20, 20, "amount", 4) for y in ys[1:])
    said = word(474, 52, "state", "label", "start")
    return seen(line((108, y), (440, y)) for y in ys) + looks + dots + names + states + said


def rewards() -> str:
    """The right answer has become likelier than it was, and the others less so."""
    tries, ys = ("31639:9.", "31639:8.", "31649:9.", "9."), (50, 98, 146, 194)
    asked = box(6, 96, 96, 52, "slab", 10) + word(54, 122, "38576", "code")
    ways = curve((102, 122), (170, ys[0]), "ribbon") + seen(curve((102, 122), (170, y), "stream") for y in ys[1:])
    answers = seen(
        box(172, y - 19, 132, 38, "hair", 19) + word(238, y, one, "code") for one, y in zip(tries, ys, strict=True)
    )
    places = [(464, ys[0]), *((372, y) for y in ys[1:])]
    scales = seen(
        line((340, y), (476, y), kind="dashed") + line((408, y - 11), (408, y + 11), kind="ink") for y in ys
    ) + seen(ring(x, y, 9, "amount" if x > 408 else "joint") for x, y in places)
    ends = word(340, 14, "worse", "label", "start") + word(476, 14, "better", "label", "end")
    ends += word(54, 80, "add these", "label") + word(238, 14, "sums : answer", "label")
    return ways + asked + answers + scales + ends


def ranks() -> str:
    """Round the ring every machine has got the whole sum."""
    places = [(170, 30), (300, 30), (300, 140), (170, 140)]
    boxes = seen(box(x, y, 56, 50, "amount") for x, y in places)
    ways = line((226, 55), (300, 55), kind="ribbon") + line((328, 80), (328, 140), kind="ribbon")
    ways += line((300, 165), (226, 165), kind="ribbon") + line((198, 140), (198, 80), kind="ribbon")
    said = word(90, 100, "each has", "label") + word(90, 122, "the whole sum", "label")
    return ways + boxes + said + word(263, 110, "6 steps", "label")
