"""The tiles of `fast.tiled_attention` as a Triton kernel (forward), as a GPU runs it. Optional: `pip install triton`.

Without a GPU, Triton's interpreter runs it, slowly, if TRITON_INTERPRET=1 is set before the import. Nothing else in the
package imports this module.
"""

from math import sqrt

import torch
import triton  # type: ignore[import-not-found, import-untyped, unused-ignore]
import triton.language as tl  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch import Tensor

from transformer_lab.checks import check_floats


@triton.jit
def attend_tiles(  # type: ignore[no-untyped-def]
    query,
    key,
    value,
    output,
    n_queries,
    n_keys,
    scale,
    width: tl.constexpr,
    tile: tl.constexpr,
    causal: tl.constexpr,
):
    """One program: `tile` queries of one head walk over all keys, `tile` at a time. The arguments are addresses."""
    head = tl.program_id(1).to(tl.int64)
    t, features = tl.program_id(0) * tile + tl.arange(0, tile), tl.arange(0, width)
    rows = head * n_queries * width + t[:, None] * width + features[None, :]  # (tile, width)
    q = tl.load(query + rows, mask=t[:, None] < n_queries, other=0.0) * scale
    maximum = tl.full([tile], float("-inf"), tl.float32)
    total = tl.zeros([tile], tl.float32)
    summed = tl.zeros([tile, width], tl.float32)
    for start in range(0, n_keys, tile):
        s = start + tl.arange(0, tile)
        columns = head * n_keys * width + s[:, None] * width + features[None, :]
        k = tl.load(key + columns, mask=s[:, None] < n_keys, other=0.0)
        v = tl.load(value + columns, mask=s[:, None] < n_keys, other=0.0)
        seen = s[None, :] < n_keys
        if causal:
            seen = seen & (s[None, :] <= t[:, None])
        scores = tl.where(seen, tl.dot(q, tl.trans(k), input_precision="ieee"), float("-inf"))  # (tile, tile)
        larger = tl.maximum(maximum, tl.max(scores, 1))
        weights, rescale = tl.exp(scores - larger[:, None]), tl.exp(maximum - larger)
        total = total * rescale + tl.sum(weights, 1)
        summed = summed * rescale[:, None] + tl.dot(weights, v, input_precision="ieee")
        maximum = larger
    tl.store(output + rows, summed / total[:, None], mask=t[:, None] < n_queries)


def triton_attention(query: Tensor, key: Tensor, value: Tensor, *, causal: bool = False, tile: int = 16) -> Tensor:
    """The output (B, h, T, d) of attention in float32: queries (B, h, T, d), keys and values (B, h, S, d).

    Raises:
        ValueError: the inputs are not float32 of four axes and one d; d or tile is no power of 2 from 16 on; causal
            with T unlike S.
    """
    for name, x in (("query", query), ("key", key), ("value", value)):
        check_floats(name, x, 4)
        if x.dtype != torch.float32 or x.size(-1) != query.size(-1):
            raise ValueError(f"{name} must be float32 of width {query.size(-1)} (got {x.dtype} of {x.size(-1)})")
    width, n_queries, n_keys = query.size(-1), query.size(-2), key.size(-2)
    for name, number in (("d", width), ("tile", tile)):
        if number < 16 or number & (number - 1):
            raise ValueError(f"{name} ({number}) must be a power of 2, 16 at least")
    if causal and n_queries != n_keys:
        raise ValueError(f"causal attention needs as many queries as keys (got {n_queries}, {n_keys})")
    query, key, value = (x.contiguous() for x in (query, key, value))
    output = torch.empty_like(query)
    grid = (triton.cdiv(n_queries, tile), query.size(0) * query.size(1))
    attend_tiles[grid](query, key, value, output, n_queries, n_keys, 1 / sqrt(width), width, tile, causal)
    return output
