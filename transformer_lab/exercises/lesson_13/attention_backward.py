"""Lesson 13: implement `attention_backward`."""

from math import sqrt

import torch
from torch import Generator, Tensor

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, leading, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.kernels import tiled_attention


def backward_case(label: str, query: Tensor, key: Tensor, value: Tensor) -> Case:
    seed = counting(*query.shape[:-1], value.size(-1)).to(value.dtype)
    arguments = {"query": query, "key": key, "value": value, "grad_output": (seed * 1.3).sin()}
    return Case(label, arguments, by_hand="gradients")


def drawn(label: str, *axes: int, sizes: tuple[int, int, int, int], dtype: torch.dtype = torch.float32) -> Case:
    """Sizes are T, S, d_k and d_v."""
    length, n_keys, d_k, d_v = sizes
    shapes = ((length, d_k), (n_keys, d_k), (n_keys, d_v))
    query, key, value = (normal(*axes, *shape, dtype=dtype) for shape in shapes)
    return backward_case(label, 1.5 * query, key, value)


ONE = torch.ones(1, 1, device="cpu")


attention_backward = Exercise(
    tiled_attention.attention_backward,
    lesson="13",
    minutes=30,
    difficulty=3,
    statement="""
    The gradients of attention, by hand: `backward()` and `autograd.grad` raise an error here.

    Attention takes query (…, T, d_k), key (…, S, d_k) and value (…, S, d_v), and its output is
    softmax(query keyᵀ / √d_k) value, of shape (…, T, d_v). `grad_output` is the gradient of a loss with respect to
    that output. Return `(grad_query, grad_key, grad_value)`, each of the shape of its tensor. The axes in front are
    free.
    """,
    returns=("grad_query", "grad_key", "grad_value"),
    cases=(
        backward_case("one query, two equal keys", ONE, torch.cat([ONE, ONE]), counting(2, 1)),
        backward_case("one query, two keys", 2 * ONE, counting(2, 1), counting(2, 1) + 1),
        drawn("two queries, three keys", sizes=(2, 3, 4, 2)),
        drawn("all sizes equal", sizes=(3, 3, 3, 3)),
        drawn("all sizes different", sizes=(5, 4, 3, 6)),
        drawn("a batch", 2, sizes=(4, 3, 5, 2)),
        drawn("batch and heads", 2, 3, sizes=(4, 5, 2, 3)),
        drawn("a square batch", 3, sizes=(3, 3, 3, 3)),
        drawn("float64", 2, sizes=(3, 4, 2, 5), dtype=torch.float64),
    ),
    hints=(
        "Go backwards through three steps: S = Q Kᵀ / √d_k, P = softmax(S), O = P V. Begin with the last. If "
        "O = P V, then the gradient of V is Pᵀ dO; what is that of P? Let the shapes guide you.",
        "Row by row, softmax's Jacobian is diag(p) - p pᵀ (lesson 01). Multiply it by a row of dP, without building "
        "it: p ⊙ dP less p times a number. Which number?",
        "dS = P ⊙ (dP - the row's sum of P ⊙ dP). Then S = Q Kᵀ / √d_k is a product again, with a constant.",
    ),
)


def gradients(
    query, key, value, grad_output, before=None, after=None, jacobian=lambda p, dp: p * (dp - (p * dp).sum(-1, True))
):
    """The reference, with the scale of the scores and of the gradients, and the softmax's Jacobian, to be chosen."""
    scale = 1 / sqrt(query.size(-1))
    weights = ((scale if before is None else before) * query @ key.mT).softmax(-1)
    scores = (scale if after is None else after) * jacobian(weights, grad_output @ value.mT)
    return scores @ key, scores.mT @ query, weights.mT @ grad_output


@attention_backward.mistake(
    "The gradient of the scores lacks the row's sum: softmax's Jacobian is diag(p) - p pᵀ, and you use diag(p) alone."
)
def diagonal_alone(query, key, value, grad_output):
    return gradients(query, key, value, grad_output, jacobian=lambda p, dp: p * dp)


@attention_backward.mistake("The division by √d_k is missing, in the scores and in their gradient.")
def unscaled(query, key, value, grad_output):
    return gradients(query, key, value, grad_output, before=1.0, after=1.0)


@attention_backward.mistake("The scores have a factor 1 / √d_k, and it is missing on the way back from them.")
def scale_forgotten_on_the_way_back(query, key, value, grad_output):
    return gradients(query, key, value, grad_output, after=1.0)


@attention_backward.mistake(
    "On the way back you divide by √d_k twice, or by d_k, which is the same. The scores were divided by √d_k once."
)
def scaled_twice(query, key, value, grad_output):
    return gradients(query, key, value, grad_output, after=1 / query.size(-1))


@attention_backward.mistake("You divide by d_k. Scores are divided by its square root.")
def divided_by_d_k(query, key, value, grad_output):
    return gradients(query, key, value, grad_output, before=1 / query.size(-1), after=1 / query.size(-1))


@attention_backward.mistake(
    "You subtract the plain sum of dP. It is to be weighted: the sum of P ⊙ dP over the keys of a row."
)
def sum_without_weights(query, key, value, grad_output):
    return gradients(query, key, value, grad_output, jacobian=lambda p, dp: p * (dp - dp.sum(-1, True)))


@attention_backward.mistake("You subtract the mean of dP. It is to be weighted by P, not evenly.")
def mean_without_weights(query, key, value, grad_output):
    return gradients(query, key, value, grad_output, jacobian=lambda p, dp: p * (dp - dp.mean(-1, True)))


@attention_backward.mistake(
    "The sum of P ⊙ dP runs over the queries. Attention's softmax runs over the *keys*, row by row: sum over the last "
    "axis."
)
def sum_over_queries(query, key, value, grad_output):
    return gradients(query, key, value, grad_output, jacobian=lambda p, dp: p * (dp - (p * dp).sum(-2, True)))


@attention_backward.mistake("Softmax is left out on the way back: you hand on the gradient of the weights.")
def softmax_left_out(query, key, value, grad_output):
    return gradients(query, key, value, grad_output, jacobian=lambda p, dp: dp)


@attention_backward.mistake(
    "You use the softmax's Jacobian as if it were the sigmoid's, p (1 - p): each score also moves the *other* weights "
    "of its row."
)
def as_if_sigmoid(query, key, value, grad_output):
    return gradients(query, key, value, grad_output, jacobian=lambda p, dp: p * (1 - p) * dp)


@attention_backward.mistake("The order of the gradients is reversed: query first, then key, then value.")
def value_first(query, key, value, grad_output):
    return gradients(query, key, value, grad_output)[::-1]


@attention_backward.mistake("A gradient of query or key stands in the other's place: query first, then key.")
def query_and_key_exchanged(query, key, value, grad_output):
    of_query, of_key, of_value = gradients(query, key, value, grad_output)
    return of_key, of_query, of_value


@attention_backward.mistake(
    "In the gradient of value the weights are not transposed. Value s gets the gradient of each query t, times "
    "weights[t, s]."
)
def weights_not_transposed(query, key, value, grad_output):
    of_query, of_key, _ = gradients(query, key, value, grad_output)
    weights = (query @ key.mT / sqrt(query.size(-1))).softmax(-1)
    return of_query, of_key, weights @ grad_output


@attention_backward.mistake(
    "`.T` reverses all axes. With a batch in front, only the last two are to change places: `.mT` or "
    "`transpose(-2, -1)`."
)
def two_axes_only(query, key, value, grad_output):
    scale = 1 / sqrt(query.size(-1))
    weights = (scale * query @ key.permute(*range(key.ndim)[::-1])).softmax(-1)
    grad_weights = grad_output @ value.permute(*range(value.ndim)[::-1])
    scores = scale * weights * (grad_weights - (weights * grad_weights).sum(-1, True))
    backwards = [*range(weights.ndim)][::-1]
    return scores @ key, scores.permute(*backwards) @ query, weights.permute(*backwards) @ grad_output


@attention_backward.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, axes, (length, n_keys, d_k, d_v) = floats(generator), leading(generator, most=2), sizes(generator, 4)
    given = {"query": normal(*axes, length, d_k), "key": normal(*axes, n_keys + 1, d_k)}
    return given | {"value": normal(*axes, n_keys + 1, d_v), "grad_output": normal(*axes, length, d_v)}
