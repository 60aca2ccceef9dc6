"""What each form of parallelism sends in a training step and holds in memory, from sizes alone, and what it takes."""

from dataclasses import dataclass
from math import ceil

from transformer_lab.checks import check_least
from transformer_lab.models.language_model import LanguageModelConfig

FLOAT = 4  # bytes of a number in float32
WAYS = ("data", "sharded", "tensor", "context", "pipeline")


def check_way(scheme: str) -> None:
    """Raise a ValueError unless this is the name of a form of parallelism."""
    if scheme not in WAYS:
        raise ValueError(f"scheme must be one of {', '.join(WAYS)} (got {scheme!r})")


def bytes_sent(
    scheme: str, n_ranks: int, n_parameters: int, n_layers: int, n_tokens: int, d_model: int, n_bytes: int = FLOAT
) -> int:
    """The bytes that all ranks together send in one training step; a sum over ranks is computed in a ring.

    `n_tokens` are those of the whole batch, B · T. A ring adds up x numbers on each of n ranks in 2 (n - 1) x messages
    of one number; to gather, or to add up and keep a part each, takes half of it.

    data: the gradients are summed once. sharded: the weights are gathered forward and backward, the gradients summed
    for one owner each. tensor: four sums of a batch's activations a layer, two each way. context: keys and values
    go n - 1 times to the next rank, forward and backward, and their gradients n times; then the gradients of the
    weights are summed as in data. pipeline: activations cross each of n - 1 borders, and so do their gradients.

    Raises:
        ValueError: an unknown scheme, or a number below 1.
    """
    check_way(scheme)
    check_least(1, n_ranks=n_ranks, n_parameters=n_parameters, n_layers=n_layers, n_tokens=n_tokens, d_model=d_model)
    others, activations = n_ranks - 1, n_tokens * d_model
    numbers = {
        "data": 2 * others * n_parameters,
        "sharded": 3 * others * n_parameters,
        "tensor": n_layers * 4 * 2 * others * activations,
        "context": 2 * others * n_parameters,
        "pipeline": 2 * others * activations,
    }[scheme]
    if scheme == "context" and n_ranks > 1:
        numbers += n_layers * (3 * n_ranks - 2) * 2 * activations
    return n_bytes * numbers


def calls_made(scheme: str, n_ranks: int, n_layers: int, n_micro: int = 1) -> int:
    """The number of messages and collectives that all ranks together start in one step.

    Raises:
        ValueError: an unknown scheme, or a number below 1.
    """
    check_way(scheme)
    check_least(1, n_ranks=n_ranks, n_layers=n_layers, n_micro=n_micro)
    hops = 3 * n_ranks - 2 if n_ranks > 1 else 0
    return {
        "data": n_ranks,
        "sharded": n_ranks * (3 * n_layers + 2),  # each layer three times; what is in no layer is gathered once
        "tensor": n_ranks * 4 * n_layers,
        "context": n_ranks * (hops * n_layers + 1),
        "pipeline": 2 * (n_ranks - 1) * n_micro,
    }[scheme]


def weights_held(scheme: str, n_ranks: int, config: LanguageModelConfig) -> int:
    """How many weights the rank that holds most of them has between two steps; as many gradients go with them.

    data and context cut none. sharded cuts all, tensor the matrices of the layers and the biases of cut columns, and
    pipeline the layers: then the first rank has the embeddings as well, or the last one the final norm and the logits.

    Raises:
        ValueError: an unknown scheme, a number below 1, or a model other than GPT-2 in more than its sizes.
    """
    check_way(scheme)
    check_least(1, n_ranks=n_ranks)
    check_like_gpt2(config)
    d, d_ff, n_layers = config.d_model, config.d_ff, config.n_layers
    split, everywhere = 4 * d * d + 2 * d * d_ff + 3 * d + d_ff, 6 * d  # of a layer: matrices and biases; the rest
    embeddings, positions, norm = config.vocab_size * d, config.max_len * d, 2 * d
    outside = embeddings * (1 if config.tie_weights else 2) + positions + norm
    total = n_layers * (split + everywhere) + outside
    return {
        "data": total,
        "sharded": ceil(total / n_ranks),
        "tensor": n_layers * (ceil(split / n_ranks) + everywhere) + outside,
        "context": total,
        "pipeline": ceil(n_layers / n_ranks) * (split + everywhere) + embeddings + max(positions, norm)
        if n_ranks > 1
        else total,
    }[scheme]


def activations_kept(
    scheme: str, n_ranks: int, config: LanguageModelConfig, n_texts: int, length: int, n_micro: int = 4
) -> int:
    """The bytes that the forward pass of the rank with most of them keeps for the backward pass, in float32.

    A layer keeps four vectors of d_model for each token that tensor parallel can't cut (both inputs of a residual, and
    both normed), four that it can (queries, keys, values, and what the heads read), and two of d_ff, before and after
    the activation. Context parallel copies what the heads read once more. The end of the model keeps two vectors of
    d_model and the probabilities. A layer's mask is as large as a text is long, squared, and no way cuts it by texts;
    context parallel keeps none. Left out is what is small: ids, and the statistics of norms and softmax.

    Raises:
        ValueError: as `weights_held`.
    """
    check_way(scheme)
    check_least(1, n_ranks=n_ranks, n_texts=n_texts, length=length, n_micro=n_micro)
    check_like_gpt2(config)
    d, tokens, masks = config.d_model, n_texts * length, config.n_layers * length**2
    split, n_layers = 4 * d + 2 * config.d_ff, config.n_layers  # numbers for a token, in each layer
    layers, end = n_layers * (4 * d + split), 2 * d + config.vocab_size
    of_texts = ceil(n_texts / n_ranks) * length * (layers + end) + masks
    numbers = {
        "data": of_texts,
        "sharded": of_texts,
        "tensor": tokens * (n_layers * (4 * d + ceil(split / n_ranks)) + end) + masks,
        "context": n_texts * ceil(length / n_ranks) * (layers + n_layers * d + end),
        "pipeline": ceil(n_layers / n_ranks) * (tokens * (4 * d + split) + n_micro * length**2) + tokens * end,
    }[scheme]
    return FLOAT * numbers


def check_like_gpt2(config: LanguageModelConfig) -> None:
    """Raise a ValueError unless a model differs from GPT-2 in its sizes alone, and drops nothing."""
    sizes = ("vocab_size", "d_model", "n_heads", "d_ff", "n_layers", "max_len", "tie_weights")
    like = LanguageModelConfig(**{name: getattr(config, name) for name in sizes}, dropout=0.0, attention_dropout=0.0)
    if config != like:
        raise ValueError(f"config must have the parts of GPT-2, and no dropout (got {config})")


@dataclass(frozen=True)
class Cluster:
    """What the machines of a cluster can do: the numbers of a data sheet, and the fraction of them that is reached."""

    flops: float  # a second, of one GPU
    link: float  # bytes a second that one GPU can send
    reached: float = 0.4  # of the flops, in matrix products of a real training

    def seconds_computing(self, n_parameters: float, n_tokens: float, n_ranks: int) -> float:
        """The time for computing: 6 FLOPs per parameter and token, forward and backward, shared by all ranks."""
        return 6 * n_parameters * n_tokens / (n_ranks * self.reached * self.flops)

    def seconds_sending(self, n_bytes: float, n_ranks: int) -> float:
        """The time for sending, if all ranks send at the same time and equally much."""
        return n_bytes / (n_ranks * self.link)
