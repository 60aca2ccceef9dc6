"""The figure of lesson 15: what five designs of a layer still hold after twelve tokens, drawn to scale."""

from drawing import BODY, CHANGE, GREY, INK, KEY, LINE, QUERY, SMALL, VALUE, Drawing, mix, number

TOKENS, ROW, TOP = 12, 19, 100  # rows, their height, and where the first begins
WIDE, STEP, LEFT = 120, 154, 30  # of all heads' keys and values, from panel to panel, of the first
HEADS, GROUPS, D_HEAD, LATENT, WINDOW = 32, 8, 128, 576, 4  # 576 is 512 + 64, as in DeepSeek-V3
ALL_HEADS = 2 * HEADS * D_HEAD  # numbers for a token
DESIGNS = (  # the name, how much it keeps of a token, and the first token of which it still has something
    ("all heads", ALL_HEADS, 0, ("8192 numbers", "a token")),
    ("8 groups", 2 * GROUPS * D_HEAD, 0, ("2048 numbers", "a token")),
    ("latent", LATENT, 0, ("576 numbers", "a token")),
    ("window", 2 * GROUPS * D_HEAD, TOKENS - WINDOW, ("2048 a token,", "the last ones only")),
    ("state", 0, TOKENS, ("the same size", "after any text")),
)


def column(d, x, kept, first, colour):
    """Draw what is kept of each token, as wide as it is large; of what is gone, an outline."""
    for token in range(TOKENS):
        y, wide = TOP + ROW * token, WIDE * kept / ALL_HEADS
        if token < first:
            wide = max(wide, 30)
            d.path(f"M{number(x)} {number(y + 3)}h{number(wide)}v{ROW - 6}h-{number(wide)}z", LINE, 1, "2 4")
        else:
            d.rect(x, y, wide, ROW - 3, mix(colour, 0.6), colour, 2, 1)


def caches():
    d = Drawing(
        432,
        "What five designs of a layer hold after twelve tokens",
        "Five columns with a row for each of twelve tokens. All heads: a wide bar for every token. 8 groups: bars a "
        "quarter as wide. Latent: bars a fourteenth as wide. Window: bars as wide as those of 8 groups, for the last "
        "four tokens only. State: no bars, but one square matrix, which stays as large as it is.",
    )
    for i, (name, kept, first, said) in enumerate(DESIGNS):
        x, colour = LEFT + i * STEP, (QUERY, QUERY, VALUE, KEY, CHANGE)[i]
        d.text(x, 38, name, BODY, INK, "start", bold=True)
        d.text(x, 64, "↓ tokens", SMALL, GREY, "start")
        column(d, x, kept, first, colour)
        if not kept:
            for token in range(TOKENS):
                d.route([(x + 34, TOP + ROW * token + ROW / 2), (x + 52, TOP + ROW * (token + 6) / 2)], LINE, thick=1.2)
            d.rect(x + 54, TOP + ROW * 6 - 38, 76, 76, mix(colour, 0.6), colour, 3)
        for line, words in enumerate(said):
            d.text(x, TOP + ROW * TOKENS + 26 + 20 * line, words, SMALL, INK, "start")
    d.text(400, 410, "widths to scale, for 32 heads of 128 features; the state is not", SMALL, GREY)
    return d
