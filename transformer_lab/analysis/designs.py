"""Five designs of a cache: what each keeps of a text, in numbers, and what it still knows of a token after many more.

Multi-head and grouped attention keep keys and values, latent attention one short vector for both, a window those of the
last tokens, and the delta rule a state of fixed size. A model may have layers of two kinds. Left out are what a layer
keeps of its last three positions for a short convolution, and what is not kept for each text.

The presets are the published configurations of: Llama 2 7B (arXiv:2307.09288, the `config.json` of meta-llama/
Llama-2-7b-hf), Llama 3 8B (arXiv:2407.21783, table 3), DeepSeek-V3 (arXiv:2412.19437, section 4.2), Gemma 3 12B
(arXiv:2503.19786, sections 2 and 2.1, and the `config.json` of google/gemma-3-12b-pt) and Qwen3-Next 80B-A3B (the
`config.json` of Qwen/Qwen3-Next-80B-A3B-Instruct).
"""

from dataclasses import asdict, dataclass

from transformer_lab.checks import check_least


@dataclass(frozen=True)
class Kept:
    """What layers of one kind keep: so many numbers a token and layer, of the last `window` tokens, or a state.

    `whole` is how many numbers keys and values have from which `numbers` are compressed; 0 where they are kept as they
    are.
    """

    n_layers: int
    numbers: int = 0  # a token and layer
    window: int = 0  # 0: all tokens
    state: int = 0  # numbers a layer, however long the text is
    d_key: int = 0  # of the state's keys
    whole: int = 0

    def __post_init__(self) -> None:
        check_least(0, **asdict(self))
        if bool(self.numbers) == bool(self.state):
            raise ValueError(
                f"a layer must keep numbers for each token or a state (got {self.numbers} and {self.state})"
            )

    @property
    def reach(self) -> int:
        """How many positions back information can come from through windows: L (w - 1); 0 without a window."""
        return self.n_layers * (self.window - 1) if self.window else 0

    def n_numbers(self, length: int) -> int:
        """The numbers that all these layers keep of a text."""
        held = min(length, self.window) if self.window else length
        return self.n_layers * (self.numbers * held + self.state)

    def known(self, age: int, decay: float = 1.0, beta: float = 1.0) -> float:
        """The share that is left of a token after `age` more: 1 or 0, or for a state what has not faded.

        A state answers to the token's own key with that share of its value, on average, if all later keys point
        anywhere, each as likely: every token lets `decay` of the state stand, and overwrites `beta` of what it holds
        in the direction of one of d_key features          ((1 - beta / d_key) decay)^age

        Through windows a token is known at second hand beyond `window`, and not at all beyond `reach`; here 0 begins
        where it leaves the cache.
        """
        if self.state:
            return float(((1 - beta / self.d_key) * decay) ** age)
        return float(not self.window or age < self.window)


@dataclass(frozen=True)
class Design:
    """A model's cache: a name, and what its layers keep."""

    name: str
    model: str
    parts: tuple[Kept, ...]

    def n_numbers(self, length: int) -> int:
        """The numbers that are kept of a text of that length.

        Raises:
            ValueError: length is below 1.
        """
        check_least(1, length=length)
        return sum(part.n_numbers(length) for part in self.parts)

    def known(self, age: int, decay: float = 1.0, beta: float = 1.0) -> float:
        """The share that the layers which know most still know of a token after `age` more."""
        return max(part.known(age, decay, beta) for part in self.parts)


def keys_and_values(n_layers: int, n_kv_heads: int, d_head: int, window: int = 0) -> Kept:
    """Keys and values of so many heads."""
    return Kept(n_layers, 2 * n_kv_heads * d_head, window)


def latent(n_layers: int, n_heads: int, d_head: int, d_latent: int, d_rope: int) -> Kept:
    """A vector from which all heads make keys and values, and the features of a key that are turned."""
    return Kept(n_layers, d_latent + d_rope, whole=n_heads * (2 * d_head + d_rope))


def state(n_layers: int, n_heads: int, d_key: int, d_value: int) -> Kept:
    """A matrix for each head."""
    return Kept(n_layers, state=n_heads * d_key * d_value, d_key=d_key)


NAMES = ("multi-head", "grouped", "latent", "window", "state")
PUBLISHED = tuple(
    Design(name, model, parts)
    for name, model, parts in (
        ("multi-head", "Llama 2 7B", (keys_and_values(32, 32, 128),)),
        ("grouped", "Llama 3 8B", (keys_and_values(32, 8, 128),)),
        ("latent", "DeepSeek-V3", (latent(61, 128, 128, 512, 64),)),
        ("window", "Gemma 3 12B", (keys_and_values(8, 8, 256), keys_and_values(40, 8, 256, window=1024))),
        ("state", "Qwen3-Next 80B", (keys_and_values(12, 2, 256), state(36, 32, 128, 128))),
    )
)


def alike(n_layers: int = 32, n_heads: int = 32, n_kv_heads: int = 8, d_head: int = 128) -> tuple[Design, ...]:
    """The five designs at one size, without layers of a second kind: a latent of 512 + 64, a window of 1024."""
    parts = (
        keys_and_values(n_layers, n_heads, d_head),
        keys_and_values(n_layers, n_kv_heads, d_head),
        latent(n_layers, n_heads, d_head, 512, 64),
        keys_and_values(n_layers, n_kv_heads, d_head, window=1024),
        state(n_layers, n_heads, d_head, d_head),
    )
    return tuple(Design(name, "", (part,)) for name, part in zip(NAMES, parts, strict=True))
