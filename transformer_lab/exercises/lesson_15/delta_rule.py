"""Lesson 15: implement `delta_rule`."""

import torch
from torch import Generator, Tensor

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.models.since_llama import delta_rule as delta_rules

NAMES = ("query", "key", "value", "beta", "decay")


def text(label: str, query: list, key: list, value: list, beta: list, decay: list) -> Case:
    """One short text of vectors that a reader can follow."""
    tensors = (torch.tensor([x], device="cpu") for x in (query, key, value, beta, decay))
    return Case(label, dict(zip(NAMES, tensors, strict=True)))


def drawn(label: str, batch: int, length: int, d_k: int, d_v: int, **like) -> Case:
    query, key = normal(2, batch, length, d_k, **like)
    beta, decay = torch.sigmoid(normal(2, batch, length, **like))
    tensors: tuple[Tensor, ...] = (query, key / d_k**0.5, normal(batch, length, d_v, **like), beta, decay)
    return Case(label, dict(zip(NAMES, tensors, strict=True)))


ONE, OTHER = [1.0, 0.0], [0.0, 1.0]

delta_rule = Exercise(
    delta_rules.delta_rule,
    lesson="15",
    minutes=20,
    difficulty=2,
    statement="""
    The gated delta rule: what a state of fixed size answers to each query, while it learns a text.

    The state S, (d_k, d_v) for each text of the batch, holds zeros at first. In step t it first fades, then it learns,
    and then it is asked:

    S ← decay_t S
    S ← S + beta_t k_t (v_t - k_tᵀ S)
    o_t = q_tᵀ S

    query and key are (B, T, d_k), value is (B, T, d_v), beta and decay are (B, T); a decay lies above 0 and is at most
    1. In the second line k_t is a column and (v_t - k_tᵀ S) a row, so that their product is a matrix. Return the
    outputs (B, T, d_v).
    """,
    returns=("output",),
    cases=(
        text("a value is stored", [ONE], [ONE], [[3.0, 5.0]], [1.0], [1.0]),
        text("two keys at right angles", [ONE, ONE], [ONE, OTHER], [[3.0], [5.0]], [1.0, 1.0], [1.0, 1.0]),
        text("one key, taught a second value", [ONE, ONE], [ONE, ONE], [[3.0], [5.0]], [1.0, 1.0], [1.0, 1.0]),
        text("half of it is written", [ONE, ONE], [ONE, ONE], [[8.0], [8.0]], [0.5, 0.5], [1.0, 1.0]),
        text("it fades", [ONE, ONE, ONE], [ONE, OTHER, OTHER], [[8.0], [1.0], [2.0]], [1.0] * 3, [1.0, 0.5, 0.5]),
        text("a long key", [ONE, OTHER], [[1.0, 2.0], [2.0, 1.0]], [[3.0], [5.0]], [0.5, 0.25], [1.0, 0.5]),
        drawn("one position", 2, 1, 3, 4),
        drawn("a batch", 2, 6, 3, 5),
        drawn("one feature", 3, 5, 1, 1),
        drawn("more features than positions", 2, 4, 7, 3),
        drawn("float64", 3, 5, 4, 2, dtype=torch.float64),
    ),
    hints=(
        "Work out the third case by hand. What does the state answer to the key before it is taught the second value, "
        "and what remains to be written?",
        "A loop over the positions is enough, because the state after a step depends on the state before it. Which "
        "of the three lines needs the state as the line before has left it?",
        "A column times a row is a matrix: give k_t the shape (B, d_k, 1) and the row the shape (B, 1, d_v). Give "
        "beta_t and decay_t two axes of size 1, so that each text is multiplied by its own.",
    ),
)


def steps(query, key, value, beta, decay, write=None, before=False, fades=True, late=False, start=None):
    """The rule with each place where one can go wrong as an argument; `write(state, k, v, b)` is what is added."""
    state = query.new_zeros(query.size(0), key.size(-1), value.size(-1))
    outputs = []
    for t in range(query.size(1)):
        k, v, q = key[:, t, :, None], value[:, t, None], query[:, t, None]
        b, d = beta[:, t, None, None], decay[:, t, None, None] if fades else 1.0
        old = state
        state = state if late else d * state
        answered = q @ state
        known = start(old, state) if start else state
        state = state + (write(known, k, v, b, q) if write else b * k @ (v - k.mT @ known))
        state = d * state if late else state
        outputs.append(answered if before else q @ state)
    return torch.cat(outputs, dim=1)


@delta_rule.mistake(
    "Nothing is corrected: you add k vᵀ, as plain linear attention does. A key that is taught a second value then "
    "answers with the sum of both. Take off what the state answers to this key already."
)
def no_correction(query, key, value, beta, decay):
    return steps(query, key, value, beta, decay, write=lambda s, k, v, b, q: b * k @ v)


@delta_rule.mistake("The state fades *after* the new value has been written, so that each answer has faded as well.")
def fades_after_writing(query, key, value, beta, decay):
    return steps(query, key, value, beta, decay, late=True)


@delta_rule.mistake("Nothing fades: decay is never used.")
def no_decay(query, key, value, beta, decay):
    return steps(query, key, value, beta, decay, fades=False)


@delta_rule.mistake("The whole difference is written: beta is never used.")
def no_beta(query, key, value, beta, decay):
    return steps(query, key, value, torch.ones_like(beta), decay)


@delta_rule.mistake(
    "beta multiplies the value alone. It is the share of the *difference* that is written: what the state answers "
    "already is taken off by that share, too."
)
def beta_on_the_value_alone(query, key, value, beta, decay):
    return steps(query, key, value, beta, decay, write=lambda s, k, v, b, q: k @ (b * v - k.mT @ s))


@delta_rule.mistake(
    "The difference is measured from the state before it faded. What is corrected is the state as it is after fading."
)
def corrected_before_fading(query, key, value, beta, decay):
    return steps(query, key, value, beta, decay, start=lambda old, faded: old)


@delta_rule.mistake(
    "The query is answered before its own position is learned. It asks the state *after* the step, so that it finds "
    "its own key, too."
)
def asked_before_writing(query, key, value, beta, decay):
    return steps(query, key, value, beta, decay, before=True)


@delta_rule.mistake(
    "What the state answers to the *query* is taken off. What must be corrected is its answer to the key that is "
    "taught."
)
def corrected_by_the_query(query, key, value, beta, decay):
    return steps(query, key, value, beta, decay, write=lambda s, k, v, b, q: b * k @ (v - q @ s))


@delta_rule.mistake(
    "The signs are swapped: what is written is the value minus the answer, v - kᵀS, and not the opposite."
)
def wrong_way_round(query, key, value, beta, decay):
    return steps(query, key, value, beta, decay, write=lambda s, k, v, b, q: b * k @ (k.mT @ s - v))


@delta_rule.mistake("What the state answers is *added* to the value. It must be taken off.")
def answer_added(query, key, value, beta, decay):
    return steps(query, key, value, beta, decay, write=lambda s, k, v, b, q: b * k @ (v + k.mT @ s))


@delta_rule.mistake(
    "beta and decay have changed places: the state is multiplied by decay, and beta is the share that is written."
)
def beta_and_decay_exchanged(query, key, value, beta, decay):
    return steps(query, key, value, decay, beta)


@delta_rule.mistake("The state is multiplied by e^decay, and grows. A decay is a factor already: multiply by it.")
def exponential_of_the_decay(query, key, value, beta, decay):
    return steps(query, key, value, beta, decay.exp())


@delta_rule.mistake("The state is multiplied by 1 - decay. The decay is the share that *remains*: multiply by it.")
def what_is_lost_remains(query, key, value, beta, decay):
    return steps(query, key, value, beta, 1 - decay)


@delta_rule.mistake(
    "Every position begins with a state of zeros, so that a query finds its own key alone. The state is carried on."
)
def state_forgotten(query, key, value, beta, decay):
    return steps(query, key, value, beta, torch.zeros_like(decay))


@delta_rule.mistake(
    "The texts of a batch share one state, into which all of them write. Each text has a state of its own."
)
def one_state_for_the_batch(query, key, value, beta, decay):
    def write(s, k, v, b, q):
        return (b * k @ (v - k.mT @ s)).sum(0, keepdim=True)

    return steps(query, key, value, beta, decay, write=write)


@delta_rule.mistake("The queries are divided by √d_k. There is no softmax here, and the rule asks for none of that.")
def queries_scaled(query, key, value, beta, decay):
    return steps(query / query.size(-1) ** 0.5, key, value, beta, decay)


@delta_rule.mistake(
    "The keys are given the length 1. Models do that before, and then the rule needs nothing more; here the keys are "
    "taken as they are."
)
def keys_of_length_one(query, key, value, beta, decay):
    return steps(query, key / key.norm(dim=-1, keepdim=True), value, beta, decay)


@delta_rule.mistake("The state is asked by the key, and the query is never read. It is q_t that asks: o_t = q_tᵀ S.")
def asked_by_the_key(query, key, value, beta, decay):
    return steps(key, key, value, beta, decay)


@delta_rule.mistake(
    "The difference is written under the *query*. It belongs to the key that is taught: k_t (v_t - k_tᵀ S)."
)
def written_under_the_query(query, key, value, beta, decay):
    return steps(query, key, value, beta, decay, write=lambda s, k, v, b, q: b * q.mT @ (v - k.mT @ s))


@delta_rule.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, (batch, d_k, d_v), length = floats(generator), sizes(generator, 3), number(generator, 2, 9)
    query, key, value = (normal(batch, length, d) for d in (d_k, d_k, d_v))
    beta, decay = (torch.sigmoid(normal(batch, length) + more) for more in (0, 1))
    return dict(zip(NAMES, (query, key / d_k**0.5, value, beta, decay), strict=True))
