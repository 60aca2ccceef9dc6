"""Lesson 10: implement `logit_lens`."""

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from transformer_lab import analysis
from transformer_lab.exercises.engine.case_drawing import Arguments, floats, leading, pick, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.exercises.lesson_04.shared import doubled, learned_norm, standardised


def root_mean_square(x):
    """A norm that takes no mean away."""
    return x / x.square().mean(-1, keepdim=True).add(1e-6).sqrt()


def lens_case(label: str, hidden: Tensor, norm, unembedding: Tensor) -> Case:
    return Case(label, {"hidden": hidden, "norm": norm, "unembedding": unembedding})


THREE_TOKENS = torch.tensor([[1.0, 0], [0, 1], [1, 1]], device="cpu")


logit_lens = Exercise(
    analysis.logit_lens,
    lesson="10",
    minutes=5,
    difficulty=1,
    statement="""
    The logit lens: what would the model say if its layers ended here?

    `hidden` (…, d_model) is the residual stream between two layers. `norm` is the model's last norm, a function, and
    `unembedding` (vocab, d_model) its output matrix, with a row for each token as in `nn.Linear`. Read the stream as
    the model reads its last one: return logits (…, vocab).
    """,
    returns=("logits",),
    cases=(
        lens_case("two numbers, three tokens", torch.tensor([1.0, 2], device="cpu"), doubled, THREE_TOKENS),
        lens_case("as many tokens as numbers", normal(3, 4), standardised, counting(4, 4) / 4),
        lens_case("a norm with weights", normal(3, 5), learned_norm, normal(7, 5)),
        lens_case("another norm", normal(4, 3), root_mean_square, normal(6, 3)),
        lens_case("a batch", 3 * normal(2, 3, 4), learned_norm, normal(5, 4)),
        lens_case("a square batch", normal(4, 4, 4), learned_norm, normal(4, 4)),
        lens_case("all layers of a batch", normal(3, 2, 4, 6), learned_norm, normal(9, 6)),
        lens_case("float64", normal(2, 5, dtype=torch.float64), learned_norm, normal(8, 5, dtype=torch.float64)),
    ),
    hints=(
        "What does the model do to its stream after the last layer? Name the two steps, in their order.",
        "Each logit is the dot product of a state with the row of a token. Which axis of the matrix is summed over?",
    ),
)


@logit_lens.mistake(
    "The norm is missing. The output matrix has only ever read normalised states; the stream itself grows with depth."
)
def without_the_norm(hidden, norm, unembedding):
    return hidden @ unembedding.T


@logit_lens.mistake("You normalise the *logits*. The norm belongs to the stream, and comes before the matrix.")
def norm_after_the_matrix(hidden, norm, unembedding):
    return norm(hidden @ unembedding.T)


@logit_lens.mistake("You normalise the rows of the matrix. They are weights: the state is what the norm is for.")
def matrix_normalised(hidden, norm, unembedding):
    return hidden @ norm(unembedding).T


@logit_lens.mistake(
    "The matrix is not transposed. `unembedding` has a row for each token, (vocab, d_model): the sum runs over its "
    "*columns*. It fits by chance where there are as many tokens as numbers."
)
def not_transposed(hidden, norm, unembedding):
    return norm(hidden) @ unembedding


@logit_lens.mistake("These are probabilities. Logits are asked for: what comes before the softmax.")
def probabilities(hidden, norm, unembedding):
    return (norm(hidden) @ unembedding.T).softmax(-1)


@logit_lens.mistake("These are logarithms of probabilities. Logits are asked for: what comes before the softmax.")
def log_probabilities(hidden, norm, unembedding):
    return (norm(hidden) @ unembedding.T).log_softmax(-1)


@logit_lens.mistake("You apply the norm twice. Its weights then count twice as well.")
def norm_applied_twice(hidden, norm, unembedding):
    return norm(norm(hidden)) @ unembedding.T


@logit_lens.mistake(
    "You normalise with a norm of your own. The model's has learned weights, which the output matrix counts on: call "
    "`norm`."
)
def a_norm_of_its_own(hidden, norm, unembedding):
    return F.layer_norm(hidden, hidden.shape[-1:]) @ unembedding.T


@logit_lens.mistake("The norm runs over the positions. It is to run over the features of each state: the last axis.")
def norm_over_positions(hidden, norm, unembedding):
    return norm(hidden.mT).mT @ unembedding.T


@logit_lens.mistake("You read the last position alone. Every state has logits: the axes before the last one stay.")
def last_position_alone(hidden, norm, unembedding):
    return norm(hidden[..., -1, :]) @ unembedding.T


@logit_lens.mistake("You return the most likely token. The logits of *all* tokens are asked for.")
def most_likely_token(hidden, norm, unembedding):
    return (norm(hidden) @ unembedding.T).argmax(-1)


@logit_lens.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, axes, (d_model, vocabulary) = floats(generator), leading(generator), sizes(generator, 2, most=9)
    norm = pick(generator, learned_norm, root_mean_square)
    return {"hidden": 2 * normal(*axes, d_model), "norm": norm, "unembedding": normal(vocabulary, d_model)}
