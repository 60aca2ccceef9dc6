"""Areas that Python counts, for the test of the tiles' picture."""

from transformer_lab.analysis import tile_bytes


def numbers() -> dict[str, list]:
    sizes = ((2, 64, 1024), (8, 64, 16), (4, 128, 65536))
    return {"scales": [{"desk": tile_bytes(tile, d_head), "sheet": 4 * n * n} for tile, d_head, n in sizes]}
