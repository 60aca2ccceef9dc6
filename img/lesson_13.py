"""The figure of lesson 13: attention in tiles."""

from drawing import BODY, DOT, GREY, INK, KEY, LINE, PANEL, QUERY, SMALL, VALUE, WHITE, Drawing, mix

TILES, SIZE = 5, 46
LEFT, TOP = 110, 108
AT = (2, 3)  # the tile that is in memory: row, column


def walk(d):
    """Draw the score matrix as tiles: gone, at work, and not yet made."""
    for t in range(TILES):
        for s in range(TILES):
            x, y = LEFT + s * SIZE, TOP + t * SIZE
            done, now = (t, s) < AT, (t, s) == AT
            fill = mix(QUERY, 0.16) if done else WHITE
            d.rect(x + 2, y + 2, SIZE - 4, SIZE - 4, KEY if now else fill, KEY if now else LINE, 4)
            if done:
                d.path(f"M{x + 14} {y + 24}L{x + 21} {y + 31}L{x + 33} {y + 16}", GREY, 1.8)
    for t in range(TILES):
        d.rect(LEFT - 34, TOP + t * SIZE + 2, 22, SIZE - 4, mix(QUERY, 0.9 if t == AT[0] else 0.25), QUERY, 4)
    for s in range(TILES):
        now = s == AT[1]
        d.rect(LEFT + s * SIZE + 2, TOP - 34, SIZE - 4, 22, mix(KEY, 0.9 if now else 0.25), KEY, 4)
        d.rect(LEFT + s * SIZE + 2, TOP - 62, SIZE - 4, 22, mix(VALUE, 0.9 if now else 0.25), VALUE, 4)
    middle = LEFT + TILES * SIZE / 2
    d.text(LEFT - 23, TOP + TILES * SIZE + 16, "*Q*", SMALL, QUERY, bold=True)
    d.text(LEFT + TILES * SIZE + 14, TOP - 23, "*K*", SMALL, KEY, bold=True)
    d.text(LEFT + TILES * SIZE + 14, TOP - 51, "*V*", SMALL, VALUE, bold=True)
    d.text(middle, TOP + TILES * SIZE + 22, "scores, of which one tile exists", SMALL, GREY)


def remembered(d):
    """Draw what is kept of all tiles so far, and how a tile changes it."""
    x = 462
    d.rect(x, 66, 316, 272, PANEL, LINE, 12)
    d.text(x + 158, 88, "in fast memory", BODY, bold=True)
    d.rect(x + 24, 112, 66, 66, KEY, KEY, 5)
    d.text(x + 57, 145, "tile", BODY, WHITE, bold=True)
    rules = (("the largest score", "*m*"), ("the sum of exponentials", "*ℓ*"), ("the output so far", "*o*"))
    for i, (words, sign) in enumerate(rules):
        y = 112 + 26 * i
        d.text(x + 108, y + 7, sign, BODY, INK, "start", bold=True)
        d.text(x + 128, y + 7, words, SMALL, GREY, "start")
    d.path(f"M{x + 24} 204H{x + 292}", LINE, 1.2)
    d.text(x + 158, 228, "a larger score comes: *m* → *m*′", SMALL, INK)
    d.text(x + 158, 258, f"*ℓ* and *o* are mended: {DOT} *e*^{{m − m′}}", BODY, INK, bold=True)
    d.text(x + 158, 290, "after the last tile of a row:", SMALL, GREY)
    d.text(x + 158, 316, "output = *o* / *ℓ*", BODY, VALUE, bold=True)


def tiles():
    count = AT[0] * TILES + AT[1]
    d = Drawing(
        384,
        "Attention in tiles: what is in fast memory",
        f"Left, the scores as {TILES} by {TILES} tiles, with strips of queries at the side, of keys and values on top. "
        f"{count} tiles are done and gone, one is being worked on, the others are not made yet. Right, what is in fast "
        "memory: that tile, and for each of its queries the largest score m, the sum of exponentials l, and the output "
        "o. If a larger score comes, l and o are multiplied by e to the m minus m'. At the end the output is o / l.",
    )
    walk(d)
    d.route(
        [(LEFT + AT[1] * SIZE + SIZE, TOP + AT[0] * SIZE + SIZE / 2), (458, TOP + AT[0] * SIZE + SIZE / 2)],
        KEY,
        thick=2.6,
    )
    remembered(d)
    return d
