"""Lesson 09: predict `predict_loss`."""

from functools import partial

from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.kinds import Predict


def loss_case(label: str, *losses: float) -> Case:
    return Case(label, {"losses": list(losses)})


@partial(
    Predict,
    lesson="09",
    minutes=15,
    difficulty=2,
    statement="""
    Predict the loss of a training before you pay for it.

    Three trainings took n, 2n and 4n steps, and ended at the three `losses`. Suppose that the law is
    loss = floor + a · steps^-b, where you know none of the three constants. What is the loss after 8n steps?

    Work it out on paper first. Return it as a number.
    """,
    returns=("loss",),
    cases=(
        loss_case("each doubling takes off half of what the one before took", 3.0, 2.0, 1.5),
        loss_case("each takes off three quarters", 4.2, 3.4, 2.8),
        loss_case("each takes off nine tenths", 4.5, 4.1, 3.74),
        loss_case("a training that is nearly over", 1.30, 1.12, 1.09),
        loss_case("each takes off a little more than half", 2.31, 1.86, 1.62),
    ),
    hints=(
        "Write the law down for n, 2n and 4n, and subtract. What falls out?",
        "How many times as large is a · (2n)^-b as a · n^-b? And a · (4n)^-b as a · (2n)^-b?",
        "The first doubling takes off some amount, the second takes off a share of it. What does the third take off?",
    ),
)
def predict_loss(losses):
    """The loss after 8n steps from those after n, 2n and 4n, where loss = floor + a · steps^-b.

    Each doubling then takes off the same share of what the doubling before it took off: a · (2n)^-b is 2^-b times
    a · n^-b, and the floor falls out of the differences.
    """
    first, second = losses[0] - losses[1], losses[1] - losses[2]
    return losses[2] - second * second / first


@predict_loss.mistake("The third doubling takes off less than the second: its share of what the second took.")
def as_much_again(losses):
    return losses[2] - (losses[1] - losses[2])


@predict_loss.mistake(
    "You draw a straight line over the steps: 4n more steps, twice as many as between the last two. The curve flattens."
)
def straight_line(losses):
    return losses[2] - 2 * (losses[1] - losses[2])


@predict_loss.mistake(
    "Here the whole loss shrinks by the share by which it shrank last. That is the law without a floor, and it "
    "promises too much: the floor does not shrink."
)
def without_a_floor(losses):
    return losses[2] * losses[2] / losses[1]


@predict_loss.mistake(
    "You let each doubling shrink the whole loss by the mean factor of the first two. That is the law without a floor: "
    "the floor does not shrink."
)
def without_a_floor_on_average(losses):
    return losses[2] * (losses[2] / losses[0]) ** 0.5


@predict_loss.mistake("You halve what the last doubling took off. The share is a half only if b is 1: read it off.")
def half_of_it(losses):
    return losses[2] - (losses[1] - losses[2]) / 2


@predict_loss.mistake(
    "You halve the whole loss. That is the law with b = 1 and without a floor: read off both from the three losses."
)
def whole_loss_halved(losses):
    return losses[2] / 2


@predict_loss.mistake(
    "You take off the mean of what the first two doublings took off. But they take off less and less, so the third "
    "takes off less than the second."
)
def mean_of_both(losses):
    return losses[2] - (losses[0] - losses[2]) / 2


@predict_loss.mistake("The training is not over: 4n steps ended lower than 2n did, and by the law 8n end lower still.")
def nothing_more(losses):
    return losses[2]


@predict_loss.mistake("This is the floor, the loss after infinitely many steps: the sum of all doublings to come.")
def the_floor(losses):
    first, second = losses[0] - losses[1], losses[1] - losses[2]
    return losses[2] - second * second / (first - second)


@predict_loss.mistake("This is the loss after 16n steps: you doubled once too often.")
def one_doubling_too_many(losses):
    first, second = losses[0] - losses[1], losses[1] - losses[2]
    return losses[2] - second * second / first - second**3 / first**2


@predict_loss.mistake(
    "You take off as much as the *first* doubling did, as if the share were upside down. The doublings take off less "
    "and less."
)
def upside_down(losses):
    return losses[2] - (losses[0] - losses[1])


@predict_loss.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    floor, share = number(generator, 50, 150) / 100, number(generator, 55, 90) / 100
    first = number(generator, 100, 300) / 100
    return {"losses": [floor + first * share**doubling for doubling in range(3)]}
