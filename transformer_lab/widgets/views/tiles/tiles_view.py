"""Tiles that move over a score matrix: what fast memory holds, and what each query remembers of the keys so far."""

from matplotlib.figure import Figure
from torch import Tensor

from transformer_lab.analysis import tile_bytes
from transformer_lab.plots.checks import Tokens, Values, check_shape, to_array, to_tensor
from transformer_lab.widgets.shared.view import View
from transformer_lab.widgets.views.tiles.tiles_picture import draw_tiles

MOST_TOKENS = 16
SIZES = (1, 2, 3, 4, 6, 8)
TEXT = 1024  # tokens of the text for which desk and sheet are drawn to scale at first


def tiles(
    scores: Values,
    query_tokens: Tokens | None = None,
    key_tokens: Tokens | None = None,
    *,
    tile: int = 2,
    d_head: int = 64,
    causal: bool = False,
) -> View:
    """Go over scores (T, S), already divided by √d_k, tile by tile: step, resize the tiles, or hide the future.

    For the queries of a tile the page shows the largest score so far, the sum of exponentials measured from it, and the
    factor by which that sum was mended. Bytes are counted for heads of `d_head` features in float32. Tokens without
    names are numbered.

    Raises:
        ValueError: the scores are not finite or do not fit the tokens; there are more than 16 tokens or fewer than 2;
            there is no tile of that size; causal scores are not square.
    """
    given = to_tensor(scores).detach().cpu()
    if given.ndim != 2 or not all(2 <= n <= MOST_TOKENS for n in given.shape):
        raise ValueError(f"scores must be (T, S) of 2 to {MOST_TOKENS} tokens (their shape is {tuple(given.shape)})")
    rows, columns = (
        list(map(str, range(n) if names is None else names))
        for n, names in zip(given.shape, (query_tokens, key_tokens), strict=True)
    )
    check_shape("scores", to_array(given), ("query_tokens", rows), ("key_tokens", columns))
    if not given.isfinite().all():
        raise ValueError("scores must be finite: what is hidden is hidden here")
    if tile not in SIZES:
        raise ValueError(f"tile must be one of {', '.join(map(str, SIZES))} (got {tile})")
    if causal and len(rows) != len(columns):
        raise ValueError(f"causal attention needs as many queries as keys (got {len(rows)}, {len(columns)})")
    state = {"scores": given, "rows": rows, "columns": columns, "tile": tile, "d_head": d_head, "causal": causal}
    said = summary(given, tile, d_head, causal)

    def draw() -> Figure:
        return draw_tiles(given, (rows, columns), tile=tile, d_head=d_head, causal=causal, text=TEXT)

    return View("tiles", state | {"sizes": SIZES, "text": TEXT}, said, draw)


def summary(scores: Tensor, tile: int, d_head: int, causal: bool) -> str:
    """A one-line summary of how many tiles there are, and how much memory they take."""
    starts = [range(0, n, tile) for n in scores.shape]
    count = sum(not causal or s < t + tile for t in starts[0] for s in starts[1])
    sizes = " × ".join(map(str, scores.shape))
    hidden = ", those of the future left out" if causal else ""
    bytes_at_a_time = f"{tile_bytes(tile, d_head):,} bytes in fast memory at a time, whatever the length of the text"
    return f"{count} tiles of {tile} × {tile} walk over {sizes} scores{hidden}: {bytes_at_a_time}."
