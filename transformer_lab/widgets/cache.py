"""What a key-value cache costs and what it saves: its bytes, and the work for a new token with and without it.

Counted are the self-attention and feed-forward layers of a decoder: the projections, the scores, the weighted sum and
the two matrices of the feed-forward layer, a multiply-add as 2 FLOPs. Left out is what costs little (softmax, norms,
biases), what costs the same either way (embedding and output layer), and a translator's cross-attention, whose keys and
values do not grow. A kB is 1000 bytes.

    from transformer_lab.widgets.cache import PRESETS, cache_bytes, flops_with_cache, flops_without_cache
    cache_bytes(PRESETS["GPT-2 small"], length=1024)
"""

from dataclasses import asdict, dataclass

from transformer_lab.plots import plot_lines
from transformer_lab.widgets.kit import View


@dataclass(frozen=True)
class DecoderSize:
    """The sizes of a decoder. Groups of query heads may share keys and values: `n_kv_heads` below `n_heads`.

    n_kv_heads = n_heads is multi-head attention (MHA), 1 is multi-query attention (MQA: Shazeer, 2019,
    arXiv:1911.02150), between them lies grouped-query attention (GQA: Ainslie et al., 2023, arXiv:2305.13245).

    Raises:
        ValueError: n_heads is not a multiple of n_kv_heads.
    """

    n_layers: int
    n_heads: int
    n_kv_heads: int
    d_head: int
    d_ff: int

    def __post_init__(self):
        if self.n_kv_heads < 1 or self.n_heads % self.n_kv_heads:
            raise ValueError(f"n_heads ({self.n_heads}) must be divisible by n_kv_heads ({self.n_kv_heads})")

    @property
    def d_model(self) -> int:
        return self.n_heads * self.d_head


PRESETS = {
    "this project's translator": DecoderSize(2, 4, 4, 32, 256),
    "Transformer base": DecoderSize(6, 8, 8, 64, 2048),  # Vaswani et al., 2017, Table 3
    "GPT-2 small": DecoderSize(12, 12, 12, 64, 3072),  # Radford et al., 2019, Table 2, and its published weights
    "GPT-3": DecoderSize(96, 96, 96, 128, 4 * 12288),  # Brown et al., 2020, arXiv:2005.14165, Table 2.1
}
NUMBERS = {"float32": 4, "float16": 2, "int8": 1}  # bytes of a number; bfloat16 has 2 as well
LENGTHS = [round(2 ** (step / 2)) for step in range(35) if step != 1]  # 1 to 131072


def cache_bytes(size: DecoderSize, length: int, batch: int = 1, bytes_per_number: int = 2) -> int:
    """Bytes of the keys and the values of all layers: 2 · n_layers · n_kv_heads · d_head · length · batch · bytes."""
    return 2 * size.n_layers * size.n_kv_heads * size.d_head * length * batch * bytes_per_number


def flops_of_a_position(size: DecoderSize) -> int:
    """FLOPs for one position, apart from attention: projections of query, key, value and output, and feed-forward."""
    projections = 2 * size.d_model * (2 * size.d_model + 2 * size.n_kv_heads * size.d_head)
    return size.n_layers * (projections + 2 * 2 * size.d_model * size.d_ff)


def flops_of_a_pair(size: DecoderSize) -> int:
    """FLOPs for one query and one key: a score, and a value added to the sum, in every head and layer."""
    return size.n_layers * 2 * 2 * size.d_model


def flops_with_cache(size: DecoderSize, length: int) -> int:
    """FLOPs for token number `length` of one sentence: one new position, which attends to `length` keys."""
    return flops_of_a_position(size) + length * flops_of_a_pair(size)


def flops_without_cache(size: DecoderSize, length: int) -> int:
    """FLOPs for the same token if all `length` positions are computed anew, as one square of scores."""
    return length * flops_of_a_position(size) + length**2 * flops_of_a_pair(size)


def total_with_cache(size: DecoderSize, length: int) -> int:
    """FLOPs for a whole sentence of `length` tokens: the sum of `flops_with_cache` over 1, …, length."""
    return length * flops_of_a_position(size) + length * (length + 1) // 2 * flops_of_a_pair(size)


def total_without_cache(size: DecoderSize, length: int) -> int:
    """FLOPs for a whole sentence: the sum of `flops_without_cache` over 1, …, length."""
    squares = length * (length + 1) * (2 * length + 1) // 6
    return length * (length + 1) // 2 * flops_of_a_position(size) + squares * flops_of_a_pair(size)


def cache_cost(preset: str = "GPT-2 small", length: int = 512) -> View:
    """Explore what a key-value cache costs in bytes, and what it saves in FLOPs, over the length of the text.

    It starts at one of the PRESETS, at the length of the view that is nearest, batch 1 and float16; everything can be
    moved, the number of KV heads too.

    Raises:
        ValueError: there is no such preset; length is below 1 or above 131072.
    """
    if preset not in PRESETS:
        raise ValueError(f"preset must be one of {', '.join(PRESETS)} (got {preset})")
    if not 1 <= length <= LENGTHS[-1]:
        raise ValueError(f"length ({length}) must be at least 1 and at most {LENGTHS[-1]}")
    at = min(range(len(LENGTHS)), key=lambda i: abs(LENGTHS[i] - length))
    sizes = [{"name": name} | asdict(size) for name, size in PRESETS.items()]
    state = {"presets": sizes, "preset": list(PRESETS).index(preset), "lengths": LENGTHS, "at": at, "numbers": NUMBERS}
    return View("cache", state, summary(preset, LENGTHS[at]), lambda: still(preset))


def summary(preset: str, length: int) -> str:
    """One line that says what a cache takes, and what it saves."""
    size = PRESETS[preset]
    times = flops_without_cache(size, length) / flops_with_cache(size, length)
    return (
        f"{preset} at {length} tokens: its key-value cache takes {in_units(cache_bytes(size, length))} in float16, "
        f"and without it token {length} costs {times:.0f} times the FLOPs."
    )


def still(preset: str):
    """The work for a token with and without a cache."""
    size, names = PRESETS[preset], ("without cache", "with cache")
    curves = {
        name: [flops(size, n) for n in LENGTHS]
        for name, flops in zip(names, (flops_without_cache, flops_with_cache), strict=True)
    }
    axes = plot_lines(LENGTHS, curves, x_label="tokens", y_label="FLOPs for the next token", log_x=True, log_y=True)
    axes.set_title(preset)
    return axes


def in_units(n_bytes: int) -> str:
    """18874368 -> "18.9 MB"."""
    units = ("B", "kB", "MB", "GB", "TB")
    step = min((len(str(n_bytes)) - 1) // 3, len(units) - 1)
    return f"{n_bytes / 1000**step:.{2 - (len(str(n_bytes)) - 1) % 3}f} {units[step]}"
