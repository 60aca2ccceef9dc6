"""Case generators: each draws the arguments of one more case of an exercise, of any shape that its statement allows.

An instructor adds others with `--private FILE.py`:

    from transformer_lab.grading.case_generators import case_generator, number

    @case_generator("causal_mask")
    def _(generator: Generator) -> Arguments:
        return {"length": number(generator, 50, 99)}
"""

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Generator, Tensor

from transformer_lab.exercises import (
    Exercise,
    catalogue,
    lesson_04,
    lesson_04_controls,
    lesson_04_stack,
    lesson_06,
    lesson_10,
    lesson_11_cache,
    lesson_12_loading,
    lesson_14,
    lesson_14_around,
)
from transformer_lab.exercises.lesson_08 import scattered

T = TypeVar("T")
Arguments = dict[str, Any]  # of a case
CaseGenerator = Callable[[Generator], Arguments]
CASE_GENERATORS: dict[str, list[CaseGenerator]] = {}


def case_generator(name: str) -> Callable[[CaseGenerator], CaseGenerator]:
    """Decorator: the function draws the arguments of more cases of the exercise `name`.

    Raises:
        ValueError: there is no such exercise.
    """
    find_exercise(name)

    def add(function: CaseGenerator) -> CaseGenerator:
        CASE_GENERATORS.setdefault(name, []).append(function)
        return function

    return add


def find_exercise(name: str) -> Exercise:
    """The exercise of that name.

    Raises:
        ValueError: there is none.
    """
    if name not in catalogue:
        raise ValueError(f"an exercise must be one of {', '.join(catalogue)} (got {name})")
    return catalogue[name]


# ── what all draw with ──


def number(generator: Generator, low: int, high: int) -> int:
    """A whole number from low to high, both included."""
    return int(torch.randint(low, high + 1, (), generator=generator))


def pick(generator: Generator, *choices: T) -> T:
    return choices[number(generator, 0, len(choices) - 1)]


def several(generator: Generator, count: int, *choices: T) -> list[T]:
    """So many of the choices, none twice."""
    return [choices[i] for i in torch.randperm(len(choices), generator=generator)[:count]]


def sizes(generator: Generator, count: int, most: int = 6) -> list[int]:
    """The sizes of so many axes."""
    return [number(generator, 1, most) for _ in range(count)]


def leading(generator: Generator, most: int = 3) -> list[int]:
    """The sizes of up to so many axes that come first, such as batch and heads."""
    return sizes(generator, number(generator, 0, most), most=3)


def floats(generator: Generator, *dtypes: torch.dtype) -> Callable[..., Tensor]:
    """A function that draws tensors of one type, standard normal, now and then not contiguous."""
    dtype = pick(generator, *(dtypes or (torch.float32, torch.float64)))

    def normal(*shape: int) -> Tensor:
        swapped = len(shape) > 1 and number(generator, 0, 2) == 0
        stored = (*shape[:-2], shape[-1], shape[-2]) if swapped else shape
        x = torch.randn(stored, generator=generator, dtype=dtype, device="cpu")
        return x.mT if swapped else x

    return normal


def tokens(generator: Generator, vocabulary: int = 50) -> Tensor:
    """A few sequences of token ids from 1, each padded on the right with 0."""
    rows, length = number(generator, 2, 5), number(generator, 3, 9)
    ids = torch.randint(1, vocabulary, (rows, length), generator=generator, device="cpu")
    lengths = torch.randint(1, length + 1, (rows, 1), generator=generator, device="cpu")
    return ids.masked_fill(torch.arange(length, device="cpu") >= lengths, 0)


def mask(generator: Generator, *shape: int) -> Tensor:
    """True in about two of three places, wherever they are."""
    return torch.rand(shape, generator=generator, device="cpu") < 2 / 3


def a_model(generator: Generator) -> tuple[Callable, int, int]:
    """`(model, bos_id, eos_id)` of a model to decode from."""
    vocabulary = number(generator, 4, 8)
    bos_id, eos_id = torch.randperm(vocabulary, generator=generator)[:2].tolist()
    sharpness, salt = number(generator, 1, 3) / 2, number(generator, 10, 1_000_000)
    return scattered(vocabulary, eos_id, sharpness, salt), bos_id, eos_id


# ── lessons 00 to 03 ──


@case_generator("dot_product")
def _(generator: Generator) -> Arguments:
    normal, length = floats(generator), number(generator, 1, 60)
    return {"a": normal(length), "b": normal(length)}


@case_generator("softmax")
def _(generator: Generator) -> Arguments:
    shape = sizes(generator, number(generator, 1, 4))
    return {"scores": 3 * floats(generator)(*shape), "dim": number(generator, -len(shape), len(shape) - 1)}


@case_generator("scaled_dot_product_attention")
def _(generator: Generator) -> Arguments:
    normal, axes, (queries, keys, d_k, d_v) = floats(generator), leading(generator), sizes(generator, 4, most=8)
    return {"query": normal(*axes, queries, d_k), "key": normal(*axes, keys, d_k), "value": normal(*axes, keys, d_v)}


@case_generator("softmax_jacobian")
def _(generator: Generator) -> Arguments:
    return {"weights": floats(generator)(*leading(generator), number(generator, 1, 8)).softmax(-1)}


@case_generator("new_weights")
def _(generator: Generator) -> Arguments:
    scores = torch.randn(*leading(generator), number(generator, 2, 8), generator=generator, dtype=torch.float64)
    given: Arguments = {"weights": scores.softmax(-1), "shift": float(number(generator, -90, 90))}
    return given | {"factor": pick(generator, 0.2, 0.7, 1.6, 2.2, 4.0)}


@case_generator("look_at_kind")
def _(generator: Generator) -> Arguments:
    kinds = torch.randint(3, (number(generator, 2, 12),), generator=generator, device="cpu")
    others = torch.randn(len(kinds), number(generator, 0, 9), generator=generator)
    return {"words": torch.cat([torch.eye(3, device="cpu")[kinds], number(generator, 1, 3) * others], 1)}


@case_generator("split_heads")
def _(generator: Generator) -> Arguments:
    batch, length, n_heads, d_head = sizes(generator, 4)
    return {"x": floats(generator)(batch, length, n_heads * d_head), "n_heads": n_heads}


@case_generator("place_in_heads")
def _(generator: Generator) -> Arguments:
    n_heads, length = number(generator, 2, 9), number(generator, 3, 30)
    d_model = n_heads * number(generator, 2, 40)
    place = {"token": number(generator, 1, length - 1), "feature": number(generator, d_model // 2, d_model - 1)}
    return place | {"length": length, "d_model": d_model, "n_heads": n_heads}


@case_generator("merge_heads")
def _(generator: Generator) -> Arguments:
    return {"x": floats(generator)(*sizes(generator, 4))}


@case_generator("multi_head_attention")
def _(generator: Generator) -> Arguments:
    normal, (batch, queries, keys, n_heads, d_head) = floats(generator), sizes(generator, 5, most=5)
    d_model = n_heads * d_head
    inputs = {"query": normal(batch, queries, d_model)} | {x: normal(batch, keys, d_model) for x in ("key", "value")}
    weights = {name: normal(d_model, d_model) * d_model**-0.5 for name in ("w_q", "w_k", "w_v", "w_o")}
    return inputs | weights | {"n_heads": n_heads}


@case_generator("sinusoidal_encoding")
def _(generator: Generator) -> Arguments:
    return {"length": number(generator, 2, 60), "d_model": 2 * number(generator, 1, 40)}


@case_generator("shift_matrix")
def _(generator: Generator) -> Arguments:
    return {"offset": number(generator, -30, 30), "d_model": 2 * number(generator, 1, 20)}


@case_generator("first_repeat")
def _(generator: Generator) -> Arguments:
    periods = [number(generator, 2, 15) for _ in range(number(generator, 2, 4))]
    return {"periods": periods, "with_cosine": pick(generator, False, True)}


@case_generator("rotate")
def _(generator: Generator) -> Arguments:
    normal = floats(generator, torch.float32)  # so that angles in float32 are close enough
    return {"x": normal(*leading(generator), number(generator, 2, 12), 2 * number(generator, 1, 8))}


# ── lessons 04 to 06: over fewer than four features, a norm leaves hardly more than rounding ──


@case_generator("layer_norm")
def _(generator: Generator) -> Arguments:
    normal, d_model = floats(generator), number(generator, 4, 12)
    x = pick(generator, 0.5, 2) * normal(*leading(generator), d_model) + number(generator, -3, 3)
    return {"x": x, "weight": normal(d_model), "bias": normal(d_model), "eps": pick(generator, 1e-5, 1e-3, 0.1)}


@case_generator("residual_block")
def _(generator: Generator) -> Arguments:
    x = floats(generator)(*sizes(generator, 2), number(generator, 4, 9))
    sublayer = pick(generator, lesson_04.plus_ten, lesson_04.doubled, lesson_04.bent, lesson_04.squared)
    norm = pick(generator, lesson_04.standardised, lesson_04.learned_norm)
    return {"x": x, "sublayer": sublayer, "norm": norm, "norm_first": pick(generator, False, True)}


@case_generator("mend_stack")
def _(generator: Generator) -> Arguments:
    x = floats(generator)(*sizes(generator, 2), number(generator, 4, 9))
    known = (lesson_04.plus_ten, lesson_04.doubled, lesson_04.bent, lesson_04.squared)
    sublayers = [pick(generator, *known) for _ in range(2)]
    norms = several(generator, 3, lesson_04.standardised, lesson_04.learned_norm, lesson_04_stack.scaled_norm)
    names = ("sublayer_1", "sublayer_2", "norm_1", "norm_2", "norm_3")
    return {"x": x, **dict(zip(names, (*sublayers, *norms), strict=True))}


@case_generator("which_control")
def _(generator: Generator) -> Arguments:
    task, seed = pick(generator, "copy", "sum"), number(generator, 100, 999)
    right = pick(generator, lesson_04_controls.BACK, lesson_04_controls.ALONE) if task == "copy" else None
    runs = several(generator, number(generator, 6, 11), *lesson_04_controls.DISTRACTORS)
    runs += [right] if right else [lesson_04_controls.BACK, lesson_04_controls.ALONE]
    shuffled = several(generator, len(runs), *runs)
    return {"experiments": lesson_04_controls.described(number(generator, 9, 40), seed, task, shuffled)}


@case_generator("causal_mask")
def _(generator: Generator) -> Arguments:
    return {"length": number(generator, 1, 40)}


@case_generator("padding_mask")
@case_generator("decoder_mask")
def _(generator: Generator) -> Arguments:
    pad_id = number(generator, 0, 9)
    ids = tokens(generator)
    return {"tokens": torch.where(ids == 0, pad_id, ids + 10), "pad_id": pad_id}


@case_generator("masked_softmax")
def _(generator: Generator) -> Arguments:
    *axes, queries, keys = shape = [*leading(generator), *sizes(generator, 2)]
    shapes = (shape, [queries, keys], [keys], [*(1 for _ in axes), 1, keys], [*axes, 1, keys])
    return {"scores": 3 * floats(generator)(*shape), "mask": mask(generator, *pick(generator, *shapes))}


@case_generator("visible_pairs")
def _(generator: Generator) -> Arguments:
    return {"lengths": [number(generator, 0, 30) for _ in range(number(generator, 2, 9))] + [number(generator, 1, 30)]}


@case_generator("embed")
def _(generator: Generator) -> Arguments:
    normal, (batch, length, vocabulary, d_model) = floats(generator), sizes(generator, 4, most=9)
    ids = torch.randint(vocabulary, (batch, length), generator=generator, device="cpu")
    encoding = normal(length + number(generator, 0, 9), d_model)
    return {"tokens": ids, "table": normal(vocabulary, d_model), "encoding": encoding}


def norms(generator: Generator, count: int) -> dict[str, Callable]:
    known = (lesson_06.NORM_1, lesson_06.NORM_2, lesson_06.NORM_3, lesson_06.standardised)
    return {f"norm_{i}": norm for i, norm in enumerate(several(generator, count, *known), start=1)}


@case_generator("encoder_layer")
def _(generator: Generator) -> Arguments:
    batch, length, d_model = *sizes(generator, 2), number(generator, 4, 9)
    look = pick(generator, lesson_06.average, lesson_06.first_look, lesson_06.second_look)
    feed_forward = pick(generator, lesson_06.doubled, lesson_06.bent, lesson_06.plus_one)
    given = {"x": floats(generator)(batch, length, d_model), "self_attention": look, "feed_forward": feed_forward}
    shape = pick(generator, (length, length), (batch, 1, length), (batch, length, length))
    return given | norms(generator, 2) | {"mask": mask(generator, *shape)}


@case_generator("decoder_layer")
def _(generator: Generator) -> Arguments:
    normal, (batch, length, words), d_model = floats(generator), sizes(generator, 3), number(generator, 4, 9)
    looks = several(generator, 2, lesson_06.average, lesson_06.first_look, lesson_06.second_look)
    feed_forward = pick(generator, lesson_06.doubled, lesson_06.bent, lesson_06.plus_one)
    given: Arguments = {"x": normal(batch, length, d_model), "memory": normal(batch, words, d_model)}
    given |= dict(zip(("self_attention", "cross_attention"), looks, strict=True)) | {"feed_forward": feed_forward}
    tgt = mask(generator, *pick(generator, (length, length), (batch, length, length)))
    return given | norms(generator, 3) | {"tgt_mask": tgt, "memory_mask": mask(generator, batch, 1, words)}


@case_generator("count_parameters")
def _(generator: Generator) -> Arguments:
    n_heads, vocabulary = number(generator, 2, 8), number(generator, 20, 30_000)
    layers = {"n_heads": n_heads, "d_ff": number(generator, 3, 2000), "n_layers": number(generator, 2, 12)}
    return {"vocab_size": vocabulary, "d_model": n_heads * number(generator, 2, 64)} | layers


# ── lessons 07 to 09 ──


@case_generator("merge_pair")
def _(generator: Generator) -> Arguments:
    alphabet = ("a", "b", "ab", "c")[: number(generator, 2, 4)]
    picks = torch.randint(len(alphabet), (number(generator, 5, 40),), generator=generator)
    left, right = torch.randint(len(alphabet), (2,), generator=generator)
    return {"symbols": [alphabet[i] for i in picks], "pair": (alphabet[left], alphabet[right])}


@case_generator("learn_merges")
def _(generator: Generator) -> Arguments:
    letters, words = "abcdez·", {}
    for _ in range(number(generator, 3, 12)):
        picks = torch.randint(number(generator, 2, len(letters)), (number(generator, 1, 9),), generator=generator)
        words["".join(letters[i] for i in picks)] = number(generator, 1, 9)
    return {"words": words, "n_merges": number(generator, 3, 12)}


@case_generator("shift_right")
def _(generator: Generator) -> Arguments:
    return {"tokens": tokens(generator), "bos_id": number(generator, 50, 99)}


@case_generator("label_smoothing_loss")
def _(generator: Generator) -> Arguments:
    vocabulary = number(generator, 5, 15)
    targets, pad_id = tokens(generator, vocabulary), number(generator, 0, vocabulary - 1)
    logits = 2 * floats(generator, torch.float32)(*targets.shape, vocabulary)
    targets = torch.where(targets == 0, pad_id, torch.where(targets == pad_id, 0, targets))
    return {"logits": logits, "targets": targets, "smoothing": number(generator, 0, 9) / 10, "pad_id": pad_id}


@case_generator("warmup_rate")
def _(generator: Generator) -> Arguments:
    warmup_steps = number(generator, 2, 8000)
    step = number(generator, 1, 4 * warmup_steps)
    return {"step": step, "d_model": number(generator, 1, 1024), "warmup_steps": warmup_steps}


@case_generator("same_rate_again")
def _(generator: Generator) -> Arguments:
    warmup_steps = number(generator, 10, 8000)
    return {"step": number(generator, 2, warmup_steps - 1), "warmup_steps": warmup_steps}


@case_generator("next_token_loss")
def _(generator: Generator) -> Arguments:
    vocabulary = number(generator, 5, 15)
    ids, pad_id = tokens(generator, vocabulary), number(generator, 0, vocabulary - 1)
    ids[:, 1] = ids[:, 1].clamp(min=1)  # two tokens at least in each row
    ids = torch.where(ids == 0, pad_id, torch.where(ids == pad_id, 0, ids))
    return {"logits": 2 * floats(generator, torch.float32)(*ids.shape, vocabulary), "tokens": ids, "pad_id": pad_id}


@case_generator("perplexity")
def _(generator: Generator) -> Arguments:
    return {"token_log_probs": -2 * floats(generator, torch.float32)(number(generator, 2, 400)).abs()}


@case_generator("bits_per_byte")
def _(generator: Generator) -> Arguments:
    n_tokens = number(generator, 2, 5000)
    nats = n_tokens * number(generator, 1, 500) / 100
    return {"nats": nats, "n_tokens": n_tokens, "n_bytes": n_tokens * number(generator, 2, 5) + 1}


@case_generator("mend_bigram_loss")
def _(generator: Generator) -> Arguments:
    vocab_size = number(generator, 3, 9)
    lengths = {"train": number(generator, 5, 60), "test": number(generator, 4, 60)}
    texts = {name: torch.randint(vocab_size, (n,), generator=generator) for name, n in lengths.items()}
    return texts | {"vocab_size": vocab_size}


@case_generator("predict_loss")
def _(generator: Generator) -> Arguments:
    floor, share = number(generator, 50, 150) / 100, number(generator, 55, 90) / 100
    first = number(generator, 100, 300) / 100
    return {"losses": [floor + first * share**doubling for doubling in range(3)]}


@case_generator("mend_training_step")
def _(generator: Generator) -> Arguments:
    vocabulary = number(generator, 6, 15)
    ids, pad_id = tokens(generator, vocabulary), number(generator, 0, vocabulary - 1)
    ids[:, 1] = ids[:, 1].clamp(min=1)  # two words at least in each sentence
    ids = torch.where(ids == 0, pad_id, torch.where(ids == pad_id, 0, ids))
    weights = floats(generator)(vocabulary, vocabulary)
    return {"weights": weights, "tokens": ids, "rate": number(generator, 1, 30) / 10, "pad_id": pad_id}


@case_generator("greedy_decode")
def _(generator: Generator) -> Arguments:
    model, bos_id, eos_id = a_model(generator)
    return {"next_logits": model, "bos_id": bos_id, "eos_id": eos_id, "max_length": number(generator, 2, 15)}


@case_generator("beam_search")
def _(generator: Generator) -> Arguments:
    model, bos_id, eos_id = a_model(generator)
    size, length = number(generator, 2, 5), number(generator, 3, 8)
    return {"next_log_probs": model, "bos_id": bos_id, "eos_id": eos_id, "beam_size": size, "max_length": length}


@case_generator("top_k_filter")
def _(generator: Generator) -> Arguments:
    vocabulary = number(generator, 2, 12)
    return {"logits": floats(generator)(*leading(generator), vocabulary), "k": number(generator, 1, vocabulary)}


@case_generator("top_p_filter")
def _(generator: Generator) -> Arguments:
    logits = 2 * floats(generator)(*leading(generator), number(generator, 2, 12))
    return {"logits": logits, "p": number(generator, 1, 99) / 100}


@case_generator("positions_computed")
def _(generator: Generator) -> Arguments:
    return {"prompt": number(generator, 2, 50), "new": number(generator, 2, 80), "cached": False}


@case_generator("positions_computed")
def _(generator: Generator) -> Arguments:
    return {"prompt": number(generator, 2, 50), "new": number(generator, 2, 80), "cached": True}


@case_generator("cached_attention")
def _(generator: Generator) -> Arguments:
    normal, (batch, n_heads, d_head), length = floats(generator), sizes(generator, 3), number(generator, 0, 9)
    new = {name: normal(batch, n_heads, 1, d_head) for name in ("query", "key", "value")}
    return new | {"cache": normal(2, batch, n_heads, length, d_head)}


@case_generator("look_back_one")
@case_generator("look_both_ways")
def _(generator: Generator) -> Arguments:
    d_model = number(generator, 3, 12)
    axes = torch.linalg.qr(torch.randn(d_model, d_model, generator=generator, dtype=torch.float64)).Q
    return {"positions": axes[: number(generator, 2, d_model)].float()}


# ── lesson 10 ──


@case_generator("induction_score")
def _(generator: Generator) -> Arguments:
    period, n_heads = number(generator, 2, 12), number(generator, 1, 5)
    scores = 2 * floats(generator)(n_heads, 2 * period, 2 * period)
    return {"weights": lesson_10.causal(scores), "period": period}


@case_generator("logit_lens")
def _(generator: Generator) -> Arguments:
    normal, axes, (d_model, vocabulary) = floats(generator), leading(generator), sizes(generator, 2, most=9)
    norm = pick(generator, lesson_04.learned_norm, lesson_10.root_mean_square)
    return {"hidden": 2 * normal(*axes, d_model), "norm": norm, "unembedding": normal(vocabulary, d_model)}


@case_generator("ablate_head")
def _(generator: Generator) -> Arguments:
    normal, (batch, n_heads, length, d_head) = floats(generator), sizes(generator, 4)
    width, head = n_heads * d_head, number(generator, 0, n_heads - 1)
    return {"output_by_head": normal(batch, n_heads, length, d_head), "w_o": normal(width, width), "head": head}


@case_generator("count_paths")
def _(generator: Generator) -> Arguments:
    return {"heads": sizes(generator, number(generator, 3, 6), most=9)}


@case_generator("induction_by_hand")
def _(generator: Generator) -> Arguments:
    n_tokens = number(generator, 2, 5)
    return {"n_tokens": n_tokens, "n_positions": 2 * n_tokens + number(generator, 1, 40)}


# ── lesson 11 ──


@case_generator("rms_norm")
def _(generator: Generator) -> Arguments:
    normal, d_model = floats(generator), number(generator, 3, 12)
    x = pick(generator, 0.5, 2) * normal(*leading(generator), d_model) + number(generator, -3, 3)
    return {"x": x, "weight": normal(d_model), "eps": pick(generator, 1e-5, 1e-3, 0.1)}


@case_generator("swiglu")
def _(generator: Generator) -> Arguments:
    normal, (d_model, d_ff) = floats(generator), sizes(generator, 2, most=8)
    matrices = {"w_gate": normal(d_model, d_ff), "w_up": normal(d_model, d_ff), "w_down": normal(d_ff, d_model)}
    return {"x": 2 * normal(*leading(generator), d_model)} | matrices


@case_generator("grouped_query_attention")
def _(generator: Generator) -> Arguments:
    normal, (batch, groups, n_queries, n_keys, d_head) = floats(generator), sizes(generator, 5)
    heads = groups * number(generator, 1, 4)
    shared = {name: normal(batch, groups, n_keys, d_head) for name in ("key", "value")}
    return {"query": 2 * normal(batch, heads, n_queries, d_head)} | shared


@case_generator("kv_cache_bytes")
def _(generator: Generator) -> Arguments:
    heads = {"n_kv_heads": number(generator, 2, 32), "d_head": 2 * number(generator, 2, 64)}
    read = {"length": number(generator, 2, 100_000), "batch": number(generator, 2, 64)}
    return {"n_layers": number(generator, 2, 96)} | heads | read | {"bytes_per_number": pick(generator, 2, 4)}


@case_generator("mend_rotary_cache")
def _(generator: Generator) -> Arguments:
    normal, (batch, heads, pairs), length = floats(generator), sizes(generator, 3, most=4), number(generator, 1, 40)
    new = {name: normal(batch, heads, 1, 2 * pairs) for name in ("query", "key", "value")}
    rotate = pick(generator, lesson_11_cache.rope, lesson_11_cache.rope_of_halves, lesson_11_cache.slow_rope)
    return new | {"cache": normal(2, batch, heads, length, 2 * pairs), "rotate": rotate}


# ── lesson 12 ──


@case_generator("mean_pool")
def _(generator: Generator) -> Arguments:
    normal, (batch, length, width) = floats(generator), sizes(generator, 3, most=9)
    mask = torch.rand(batch, length, generator=generator) < pick(generator, 0.3, 0.8)
    return {"hidden": normal(batch, length, width), "mask": mask}


@case_generator("split_fused_projection")
def _(generator: Generator) -> Arguments:
    normal, n_parts = floats(generator), number(generator, 2, 7)
    d_in, d_out = sizes(generator, 2, most=9)
    return {"weight": normal(d_in, n_parts * d_out), "bias": normal(n_parts * d_out), "n_parts": n_parts}


@case_generator("mend_loading")
def _(generator: Generator) -> Arguments:
    normal, n_heads, length = floats(generator), number(generator, 2, 5), number(generator, 2, 12)
    d_model = n_heads * 2 * number(generator, 3, 6)
    tokens = torch.randint(20, (length,), generator=generator)
    given = {"tokens": tokens, "word": normal(20, d_model), "types": normal(2, d_model)}
    given |= {"w_qkv": normal(d_model, 3 * d_model) / d_model**0.5, "w_out": normal(d_model, d_model) / d_model**0.5}
    return given | {"n_heads": n_heads, "eps": number(generator, 1, 9) / 10, "rotate": lesson_12_loading.rotate}


# ── lesson 13 ──


@case_generator("online_softmax")
def _(generator: Generator) -> Arguments:
    normal, axes, shift = floats(generator), leading(generator, most=2), number(generator, -30, 30)
    widths = sizes(generator, number(generator, 2, 6))
    return {"chunks": tuple(4 * normal(*axes, width) + shift for width in widths)}


@case_generator("merge_partial")
def _(generator: Generator) -> Arguments:
    normal, axes, (d,), shift = floats(generator), leading(generator), sizes(generator, 1), number(generator, -40, 40)
    return {
        name: normal(*axes, d) if name.startswith("output") else 2 * normal(*axes) + shift
        for name in ("output_a", "lse_a", "output_b", "lse_b")
    }


@case_generator("mend_tiles")
def _(generator: Generator) -> Arguments:
    normal, (length, d_k, d_v), n_keys = floats(generator), sizes(generator, 3), number(generator, 2, 12)
    given = {"query": 2 * normal(length, d_k), "key": normal(n_keys, d_k), "value": normal(n_keys, d_v)}
    return given | {"tile": number(generator, 1, 6)}


@case_generator("attention_backward")
def _(generator: Generator) -> Arguments:
    normal, axes, (length, n_keys, d_k, d_v) = floats(generator), leading(generator, most=2), sizes(generator, 4)
    given = {"query": normal(*axes, length, d_k), "key": normal(*axes, n_keys + 1, d_k)}
    return given | {"value": normal(*axes, n_keys + 1, d_v), "grad_output": normal(*axes, length, d_v)}


@case_generator("residual_distribution")
def _(generator: Generator) -> Arguments:
    normal, axes, vocabulary = floats(generator), leading(generator), number(generator, 3, 9)
    return {name: (2 * normal(*axes, vocabulary)).softmax(-1) for name in ("p", "q")}


@case_generator("tokens_per_pass")
def _(generator: Generator) -> Arguments:
    return {"acceptance": number(generator, 5, 95) / 100, "n_draft": number(generator, 1, 12)}


# ── lesson 14 ──


@case_generator("clinic_01")
def _(generator: Generator) -> Arguments:
    normal, (batch, length, words, width, value_width) = floats(generator), sizes(generator, 5)
    keys = words + 1  # more than one, lest every weight be 1
    given = {"query": normal(batch, length, width), "key": normal(batch, keys, width)}
    return given | {"value": normal(batch, keys, value_width)}


@case_generator("clinic_02")
def _(generator: Generator) -> Arguments:
    normal, (batch, length, words, width), value_width = floats(generator), sizes(generator, 4), 5
    lengths = torch.randint(1, words + 2, (batch,), generator=generator, device="cpu")
    given = {"query": normal(batch, length, width), "key": normal(batch, words + 1, width)}
    return given | {"value": normal(batch, words + 1, value_width), "lengths": lengths}


@case_generator("clinic_03")
def _(generator: Generator) -> Arguments:
    normal, (batch, n_heads, length, words), width = floats(generator), sizes(generator, 4), number(generator, 2, 20)
    return {"query": normal(batch, n_heads, length, width), "key": normal(batch, n_heads, words + 1, width)}


@case_generator("clinic_04")
def _(generator: Generator) -> Arguments:
    normal, (batch, length, width), vocabulary = floats(generator), sizes(generator, 3), number(generator, 2, 7)
    ids = torch.randint(vocabulary, (batch, length + 1), generator=generator, device="cpu")
    rows = max(batch, length, vocabulary) + number(generator, 2, 9)
    return {"tokens": ids, "table": normal(vocabulary, width), "encoding": normal(rows, width)}


@case_generator("clinic_05")
def _(generator: Generator) -> Arguments:
    normal, shape = floats(generator), (*leading(generator), number(generator, 5, 9))
    noise = torch.rand(shape, generator=generator, device="cpu")
    given: Arguments = {"x": normal(*shape), "output": normal(*shape), "noise": noise}
    return given | {"rate": number(generator, 1, 9) / 10, "training": pick(generator, True, False)}


@case_generator("clinic_06")
def _(generator: Generator) -> Arguments:
    normal, (batch, length, words) = floats(generator, torch.float64), sizes(generator, 3)
    width = number(generator, 4, 9)
    given: Arguments = {"x": normal(batch, length, width), "memory": normal(batch, words, width)}
    given |= {"attend": pick(generator, lesson_14.mean_of_memory, lesson_14.likest)}
    given |= {"feed_forward": pick(generator, lesson_14.bent, lesson_14.waved)}
    return given | {f"gain_{i}": normal(width) for i in (1, 2, 3)}


@case_generator("clinic_07")
def _(generator: Generator) -> Arguments:
    vocabulary, (rows, length) = number(generator, 3, 9), sizes(generator, 2)
    ids = torch.randint(vocabulary, (rows, length + 1), generator=generator, device="cpu")
    return {"logits": 2 * floats(generator, torch.float32)(*ids.shape, vocabulary), "tokens": ids}


@case_generator("clinic_08")
def _(generator: Generator) -> Arguments:
    vocabulary = number(generator, 5, 15)
    targets, pad_id = tokens(generator, vocabulary), number(generator, 0, vocabulary - 1)
    logits = 2 * floats(generator, torch.float32)(*targets.shape, vocabulary)
    targets = torch.where(targets == 0, pad_id, torch.where(targets == pad_id, 0, targets))
    return {"logits": logits, "targets": targets, "pad_id": pad_id}


@case_generator("clinic_09")
def _(generator: Generator) -> Arguments:
    normal, (batch, width), length = floats(generator), sizes(generator, 2), number(generator, 0, 9)
    given = {"x": normal(batch, 1, width), "past": normal(batch, length, width)}
    return given | {"encoding": normal(length + number(generator, 2, 5), width)}


@case_generator("clinic_10")
def _(generator: Generator) -> Arguments:
    vocabulary, width, count = number(generator, 3, 9), number(generator, 2, 6), number(generator, 1, 7)
    ids = torch.randint(vocabulary, (2, count), generator=generator, device="cpu")
    saved = floats(generator, torch.float32)(vocabulary, width)
    return {"saved": saved, "tokens": ids[0], "targets": ids[1], "rate": number(generator, 1, 20) / 20}


@case_generator("clinic_11")
def _(generator: Generator) -> Arguments:
    model, bos_id, _ = a_model(generator)
    model = pick(generator, model, lesson_14_around.loud(model))
    return {"next_logits": model, "bos_id": bos_id, "width": number(generator, 2, 5), "length": number(generator, 3, 7)}


@case_generator("clinic_12")
def _(generator: Generator) -> Arguments:
    count, length = number(generator, 8, 16), number(generator, 2, 4)
    sentences = torch.randint(3, (count, length), generator=generator, device="cpu")
    return {"sentences": sentences, "n_training": number(generator, 2, count // 2)}
