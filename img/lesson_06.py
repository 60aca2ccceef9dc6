"""The figure of lesson 06: three families of models from the same blocks."""

from drawing import BODY, GREY, INK, KEY, LINE, PANEL, QUERY, SMALL, TIMES, VALUE, WHITE, WIDTH, Drawing, mix

BLOCK, GRAIN = 146, 9  # the width of a block; the size of a cell of the small masks
BOTTOM, FIRST = 470, 354  # heights: what enters, and the lower edge of the lowest sub-layer
STEP = 68  # from one sub-layer to the next
LOOK = {  # fill and outline
    "self-attention": (mix(QUERY, 0.14), QUERY),
    "cross-attention": (mix(KEY, 0.16), KEY),
    "feed-forward": (mix(VALUE, 0.16), VALUE),
}


def sublayer(d, x, bottom, name, mask):
    """Draw one sub-layer on its lower edge; self-attention has a small mask at its right."""
    masked = name == "self-attention"
    d.rect(x - BLOCK / 2, bottom - 42, BLOCK, 42, *LOOK[name])
    d.text(x - (18 if masked else 0), bottom - 21, name, SMALL)
    if masked:
        small_mask(d, x + BLOCK / 2 - 3 * GRAIN - 9, bottom - 21 - 1.5 * GRAIN, mask)


def small_mask(d, x, y, allowed):
    """Draw a table of 3 × 3: filled where a query (row) may attend to a key (column)."""
    for row in range(3):
        for column in range(3):
            fill = QUERY if allowed(row, column) else WHITE
            d.rect(x + column * GRAIN, y + row * GRAIN, GRAIN, GRAIN, fill, GREY, radius=0, thick=0.8)


def everything(row, column):
    return True


def the_past(row, column):
    return column <= row


def tower(d, x, mask, enters, leaves, cross=False):
    """Draw one tower from its tokens up; return the height of what leaves it."""
    names = ["self-attention", "cross-attention", "feed-forward"] if cross else ["self-attention", "feed-forward"]
    top = FIRST - STEP * len(names) - 14
    d.text(x, BOTTOM, enters, SMALL)
    d.route([(x, BOTTOM - 13), (x, BOTTOM - 30)])
    d.box(x - BLOCK / 2 - 10, BOTTOM - 62, BLOCK + 20, 32, "embedding + position", PANEL, size=SMALL)
    d.rect(x - BLOCK / 2 - 15, top, BLOCK + 30, FIRST + 24 - top, "none", LINE, radius=12)
    d.text(x + BLOCK / 2, top + 16, f"{TIMES} *N*", SMALL, GREY, "end")
    d.route([(x, BOTTOM - 62), (x, FIRST)])
    for i, name in enumerate(names):
        bottom = FIRST - STEP * i
        sublayer(d, x, bottom, name, mask)
        d.route([(x, bottom - 42), (x, bottom - STEP if name != names[-1] else top - 20)])
        around = x - BLOCK / 2 - 7  # the residual connection: around the sub-layer, to the sum and norm above it
        d.route([(x, bottom + 10), (around, bottom + 10), (around, bottom - 50), (x, bottom - 50)], thick=1.4)
    d.text(x, top - 32, leaves, SMALL)
    return top - 32


def families():
    d = Drawing(
        564,
        "Three families from the same blocks: encoder-only, decoder-only, encoder-decoder",
        "Three models, each from bottom to top. Encoder-only: tokens, embedding plus position, N layers of "
        "self-attention, where every token may see every other, and feed-forward, with a residual connection around "
        "each; out comes a vector for each token. "
        "Decoder-only: the same blocks, but each token sees itself and the past only; out comes the next token. "
        "Encoder-decoder: both towers; the right one has a cross-attention between its two sub-layers, which asks the "
        "left one's output, the memory.",
    )
    for x in (214, 424):
        d.path(f"M{x} 28V498", LINE, 1.2)
    for x, name, does in (
        (107, "encoder-only", "reads"),
        (319, "decoder-only", "continues a text"),
        (612, "encoder-decoder", "reads one text, writes another"),
    ):
        d.text(x, 38, name, BODY, INK, bold=True)
        d.text(x, 64, does, SMALL, GREY)
    tower(d, 107, everything, "tokens", "a vector for each")
    tower(d, 319, the_past, "tokens so far", "the next token")
    memory = tower(d, 520, everything, "source tokens", "memory")
    tower(d, 704, the_past, "target so far", "the next token", cross=True)
    cross = FIRST - STEP - 21
    d.route([(554, memory), (612, memory), (612, cross), (704 - BLOCK / 2, cross)], KEY, thick=2.8)
    notes = (
        "small tables: rows are queries, columns are keys;",
        "filled = may attend. Thin lines: residual connections.",
    )
    for line, words in enumerate(notes):
        d.text(WIDTH / 2, 524 + 20 * line, words, SMALL, GREY)
    return d
