"""Lesson 16: implement `dpo_loss`."""

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number, pick
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.exercises.lesson_16.shared import CONSTANT
from transformer_lab.training.after_pretraining import preferences

NAMES = ("chosen", "rejected", "reference_chosen", "reference_rejected")


def pairs_case(label: str, beta: float, *log_probs, **like) -> Case:
    """Log probabilities of the four kinds, a list or a tensor each."""
    tensors = (torch.as_tensor(one, device="cpu", **like) for one in log_probs)
    return Case(label, dict(zip(NAMES, tensors, strict=True)) | {"beta": beta})


def drawn(label: str, batch: int, beta: float, **like) -> Case:
    return pairs_case(label, beta, *(-5 - 2 * normal(batch, 4, **like)).unbind(1))


dpo_loss = Exercise(
    preferences.dpo_loss,
    lesson="16",
    minutes=15,
    difficulty=2,
    statement="""
    The loss of direct preference optimisation.

    -mean of ln σ(β [(chosen - reference_chosen) - (rejected - reference_rejected)])

    The four tensors, (B,) each, are ln p of whole answers: the better one and the worse one of B pairs, by the model
    that learns, and by the reference that it started as. It must stay finite, with a gradient, however far apart they
    are. The reference's are numbers: the gradient is that of chosen and rejected alone.
    """,
    returns=("loss",),
    domains={"reference_chosen": CONSTANT, "reference_rejected": CONSTANT},
    cases=(
        pairs_case("the model is still the reference", 0.5, [-2.0], [-3.0], [-2.0], [-3.0]),
        pairs_case("the chosen one has become likelier", 1.0, [-1.0], [-3.0], [-2.0], [-3.0]),
        pairs_case("the rejected one has become less likely", 1.0, [-2.0], [-5.0], [-2.0], [-3.0]),
        pairs_case("both less likely, the rejected one more so", 0.5, [-4.0], [-9.0], [-2.0], [-3.0]),
        pairs_case("the wrong way", 0.1, [-6.0], [-1.0], [-2.0], [-3.0]),
        drawn("three pairs", 3, 0.1),
        drawn("a large beta", 4, 2.0),
        pairs_case("far apart", 1.0, [-500.0, -1.0], [-1.0, -500.0], [-2.0, -2.0], [-3.0, -3.0]),
        drawn("float64", 5, 0.3, dtype=torch.float64),
    ),
    hints=(
        "First how much each answer has gained on the reference, then the difference of the two gains.",
        "β times that difference is a logit: the model's confidence that the chosen answer is the better one.",
        "ln σ of a very negative number is nearly that number, but σ of it is 0. torch has one function for both "
        "steps.",
    ),
)


def loss_of(margin, beta):
    return -torch.nn.functional.logsigmoid(beta * margin).mean()


@dpo_loss.mistake("The reference is missing: an answer that was likely all along looks as if the model had learned it.")
def no_reference(chosen, rejected, reference_chosen, reference_rejected, beta):
    return loss_of(chosen - rejected, beta)


@dpo_loss.mistake("Chosen and rejected are exchanged: the worse answer would be learned.")
def exchanged(chosen, rejected, reference_chosen, reference_rejected, beta):
    return loss_of((rejected - reference_rejected.detach()) - (chosen - reference_chosen.detach()), beta)


@dpo_loss.mistake(
    "Where the answers are far apart, what you take the logarithm of is 0 in your computation, or ∞, and the loss is "
    "infinite. Take both steps of ln σ in one function."
)
def logarithm_of_sigmoid(chosen, rejected, reference_chosen, reference_rejected, beta):
    margin = (chosen - reference_chosen.detach()) - (rejected - reference_rejected.detach())
    return -torch.log(torch.sigmoid(beta * margin)).mean()


@dpo_loss.mistake("β stands outside of σ, where it only scales the loss. It belongs inside, beside the difference.")
def beta_outside(chosen, rejected, reference_chosen, reference_rejected, beta):
    margin = (chosen - reference_chosen.detach()) - (rejected - reference_rejected.detach())
    return beta * loss_of(margin, 1.0)


@dpo_loss.mistake("β is missing.")
def without_beta(chosen, rejected, reference_chosen, reference_rejected, beta):
    return loss_of((chosen - reference_chosen.detach()) - (rejected - reference_rejected.detach()), 1.0)


@dpo_loss.mistake("You divide by β. It multiplies: the larger it is, the sooner a small gain is enough.")
def divided_by_beta(chosen, rejected, reference_chosen, reference_rejected, beta):
    return loss_of((chosen - reference_chosen.detach()) - (rejected - reference_rejected.detach()), 1 / beta)


@dpo_loss.mistake("That is the sum over the pairs. Take their mean.")
def summed(chosen, rejected, reference_chosen, reference_rejected, beta):
    margin = (chosen - reference_chosen.detach()) - (rejected - reference_rejected.detach())
    return -torch.nn.functional.logsigmoid(beta * margin).sum()


@dpo_loss.mistake("The sign is missing: ln σ is never above 0, and would be made smaller and smaller.")
def sign_missing(chosen, rejected, reference_chosen, reference_rejected, beta):
    return -loss_of((chosen - reference_chosen.detach()) - (rejected - reference_rejected.detach()), beta)


@dpo_loss.mistake("The logarithm is missing: you return the mean of -σ, whose gradient vanishes where it is needed.")
def without_logarithm(chosen, rejected, reference_chosen, reference_rejected, beta):
    margin = (chosen - reference_chosen.detach()) - (rejected - reference_rejected.detach())
    return -torch.sigmoid(beta * margin).mean()


@dpo_loss.mistake("The reference is added where it is to be subtracted.")
def reference_added(chosen, rejected, reference_chosen, reference_rejected, beta):
    return loss_of((chosen + reference_chosen.detach()) - (rejected + reference_rejected.detach()), beta)


@dpo_loss.mistake("The mean is taken before ln σ: pairs that are right then hide those that are wrong.")
def mean_first(chosen, rejected, reference_chosen, reference_rejected, beta):
    return loss_of(((chosen - reference_chosen.detach()) - (rejected - reference_rejected.detach())).mean(), beta)


@dpo_loss.mistake(
    "A small number beside σ keeps the logarithm finite, and wrong: where the answers are far apart the loss grows no "
    "more, so that nothing is learned there. Take both steps of ln σ in one function."
)
def a_little_added(chosen, rejected, reference_chosen, reference_rejected, beta):
    margin = (chosen - reference_chosen.detach()) - (rejected - reference_rejected.detach())
    return -torch.log(torch.sigmoid(beta * margin) + 1e-8).mean()


@dpo_loss.mistake(
    "You divide, and take a logarithm. The four tensors are logarithms already: ln of a ratio is their difference."
)
def logarithm_twice(chosen, rejected, reference_chosen, reference_rejected, beta):
    gains = [torch.log(a / b.detach()) for a, b in ((chosen, reference_chosen), (rejected, reference_rejected))]
    return loss_of(gains[0] - gains[1], beta)


@dpo_loss.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    """Margins far below 20, from where on torch's softplus(x) is x itself, and so a little off in float64."""
    normal, batch = floats(generator), number(generator, 2, 8)
    return {name: 2 * normal(batch) - 8 for name in NAMES} | {"beta": pick(generator, 0.05, 0.3, 1.0)}
