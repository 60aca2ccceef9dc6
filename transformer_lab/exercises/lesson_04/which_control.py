"""Lesson 04: predict `which_control`."""

from collections.abc import Iterable
from functools import partial

from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, number, pick, several
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.kinds import Predict

Run = tuple[dict, str]  # what it changes, what it measures


BACK: Run = ({"gradient": "rescaled"}, "loss")  # right whatever the task is


ALONE: Run = ({"attention": "itself"}, "loss")  # right where each token can do the task alone


DISTRACTORS: tuple[Run, ...] = (
    ({"residual": True}, "loss"),
    ({"layers": 2}, "loss"),
    ({"seed": 77}, "loss"),
    ({}, "gradient"),
    ({}, "similarity"),
    ({"gradient": "rescaled", "attention": "itself"}, "loss"),
    ({"gradient": "rescaled", "seed": 77}, "loss"),
    ({"gradient": "rescaled"}, "gradient"),
    ({"attention": "itself"}, "similarity"),
    ({"gradient": "clipped"}, "loss"),
    ({"attention": "uniform"}, "loss"),
)


def described(layers: int, seed: int, task: str, runs: Iterable[Run]) -> list[dict]:
    """The failed run, and what others change of it and measure."""
    failed = {"layers": layers, "residual": False, "attention": "learned", "gradient": "as it is"}
    failed |= {"seed": seed, "task": task}
    return [{"settings": failed | changed, "measures": what} for changed, what in (({}, "loss"), *runs)]


def control_case(label: str, layers: int, seed: int, task: str, *runs: Run) -> Case:
    return Case(label, {"experiments": described(layers, seed, task, runs)})


@partial(
    Predict,
    lesson="04",
    minutes=20,
    difficulty=3,
    statement="""
    A deep stack without residual connections does not learn: its loss stays where it was. Two explanations: the
    *gradient vanishes* on its way to the first layers, or the *tokens collapse*, that is, averaged layer after layer,
    they become so alike that no later layer can tell them apart. Which run separates the two?

    `experiments` is a list of runs; the first is the one that failed. Each is a dict: `settings`, all that it ran with,
    and what it `measures`: the training "loss" at the end, the norm of the "gradient" at the first layer, or the
    "similarity" of the tokens after the last layer. All runs take plain gradient steps, without Adam. The settings:

      layers     how many
      residual   False or True
      attention  "learned"; "itself": each token attends to itself alone; "uniform": to all tokens alike
      gradient   "as it is"; "rescaled": that of each layer to length 1; "clipped": to length 1 if it is longer
      seed       of the weights and the data
      task       "copy": say each token itself; "reverse": say the tokens backwards

    Return the index of the run that changes one setting, thereby undoes one of the two troubles and leaves the other
    as it is, and measures something that the two explanations then predict differently. There is one in each list.
    """,
    returns=("index",),
    cases=(
        control_case("a residual connection, or the gradient", 24, 0, "reverse", DISTRACTORS[0], BACK),
        control_case("another loss, or a symptom", 24, 0, "copy", DISTRACTORS[3], ALONE, DISTRACTORS[4]),
        control_case("two changes", 12, 0, "reverse", DISTRACTORS[5], DISTRACTORS[6], BACK),
        control_case("what is set is measured", 12, 5, "reverse", DISTRACTORS[7], DISTRACTORS[8], BACK),
        control_case("a clipped gradient", 12, 5, "reverse", DISTRACTORS[9], DISTRACTORS[1], BACK),
        control_case("uniform attention", 30, 5, "copy", DISTRACTORS[10], DISTRACTORS[2], ALONE, DISTRACTORS[0]),
        control_case("the task is to reverse", 24, 3, "reverse", ALONE, BACK, DISTRACTORS[8]),
        control_case("similarity, or the loss", 24, 3, "copy", DISTRACTORS[8], DISTRACTORS[4], BACK, DISTRACTORS[3]),
        control_case("all at once, backwards", 18, 1, "reverse", *DISTRACTORS, ALONE, BACK),
        control_case("all at once, a copy", 18, 1, "copy", *DISTRACTORS[::-1], ALONE),
    ),
    hints=(
        "For each setting: does changing it undo the vanishing gradient, the collapse, both, or neither? A residual "
        "connection carries the gradient past a layer, and it carries the tokens past it, too.",
        "Both symptoms may be present at once, even though only one of them is the cause. What must a run measure to "
        "show that what it took away *was* the cause?",
        "A run that sets a quantity and then measures it tells you nothing. And a model that can't do the task any "
        "more fails for a third reason.",
    ),
)
def which_control(experiments):
    """The index of the run that separates a vanishing gradient from collapsed tokens.

    It changes one thing and measures the loss, the failure itself: if it falls, what was undone was a cause.
    """
    failed = experiments[0]["settings"]
    for i, run in enumerate(experiments):
        settings = run["settings"]
        changed = {name: settings[name] for name in failed if settings[name] != failed[name]}
        gradient_is_back = changed == {"gradient": "rescaled"}
        tokens_stay_apart = changed == {"attention": "itself"} and failed["task"] == "copy"  # not backwards
        if run["measures"] == "loss" and (gradient_is_back or tokens_stay_apart):
            return i
    return None


def differences(experiments):
    """For each run but the first: its index, the settings that it changes, with their values, what it measures."""
    failed = experiments[0]["settings"]
    for i, run in enumerate(experiments[1:], start=1):
        yield i, {k: v for k, v in run["settings"].items() if v != failed[k]}, run["measures"]


def task_of(experiments):
    return experiments[0]["settings"]["task"]


def undoes_one(changed, task):
    return changed == {"gradient": "rescaled"} or (changed == {"attention": "itself"} and task == "copy")


def first(experiments, fits):
    """The index of the first run behind the failed one whose changes and what it measures fit; None if none does."""
    return next((i for i, changed, what in differences(experiments) if fits(changed, what)), None)


def right_run(experiments):
    task = task_of(experiments)
    return first(experiments, lambda changed, what: what == "loss" and undoes_one(changed, task))


@which_control.mistake(
    "A residual connection cures both: the gradient has a way past each layer, and so have the tokens. If the stack "
    "then learns, you know no more than before."
)
def residual_connection(experiments):
    return first(experiments, lambda changed, what: changed == {"residual": True}) or right_run(experiments)


@which_control.mistake(
    "With fewer layers the gradient has a shorter way, and the tokens are averaged less often: both explanations say "
    "that it will learn."
)
def fewer_layers(experiments):
    return first(experiments, lambda changed, what: list(changed) == ["layers"]) or right_run(experiments)


@which_control.mistake("Another seed undoes neither: it shows how much of the result is chance, not what caused it.")
def another_seed(experiments):
    return first(experiments, lambda changed, what: list(changed) == ["seed"]) or right_run(experiments)


@which_control.mistake(
    "You measure the gradient of the run that failed. If it is small, that is a symptom; the tokens may have collapsed "
    "as well. To see a cause, take it away."
)
def gradient_of_the_failed_run(experiments):
    return first(experiments, lambda changed, what: not changed and what == "gradient") or right_run(experiments)


@which_control.mistake(
    "You measure how alike the tokens of the failed run are. If they are, that is a symptom; the gradient may vanish "
    "as well. To see a cause, take it away."
)
def similarity_of_the_failed_run(experiments):
    return first(experiments, lambda changed, what: not changed and what == "similarity") or right_run(experiments)


@which_control.mistake("Your run changes more than one thing: if it learns, you can't tell which of them did it.")
def more_than_one_change(experiments):
    for i, changed, what in differences(experiments):
        if changed.get("gradient") == "rescaled" and what == "loss":
            return i
        if changed == {"attention": "itself"} and task_of(experiments) == "copy" and what == "loss":
            return i


@which_control.mistake(
    "You don't look at what is measured. A run that rescales the gradient and measures the gradient finds what it has "
    "set; the loss says whether that was what the stack lacked."
)
def whatever_is_measured(experiments):
    task = task_of(experiments)
    return first(experiments, lambda changed, what: undoes_one(changed, task))


@which_control.mistake("Clipping makes long gradients shorter. One that vanishes stays as short as it is.")
def clipped_gradient(experiments):
    for i, changed, what in differences(experiments):
        if what == "loss" and (undoes_one(changed, task_of(experiments)) or changed == {"gradient": "clipped"}):
            return i


@which_control.mistake("Uniform attention averages more, not less: under either explanation it still does not learn.")
def uniform_attention(experiments):
    for i, changed, what in differences(experiments):
        if what == "loss" and (undoes_one(changed, task_of(experiments)) or changed == {"attention": "uniform"}):
            return i


@which_control.mistake(
    "Where each token attends to itself alone, no model can say the tokens *backwards*: its loss stays high for a "
    "third reason, whichever explanation is true."
)
def task_forgotten(experiments):
    return first(experiments, lambda changed, what: what == "loss" and undoes_one(changed, "copy"))


@which_control.mistake("The first run in the list, the one that failed, has index 0: you count from the one after it.")
def counted_without_the_failed_run(experiments):
    return right_run(experiments) - 1


@which_control.mistake(
    "You always take the last run. It stands in another place in each list: look at what it changes."
)
def always_the_last(experiments):
    return len(experiments) - 1


@which_control.mistake(
    "You look for the run with a residual connection, and find none in some lists. Such a run cures both troubles: the "
    "gradient has a way past each layer, and so have the tokens. If the stack then learns, you know no more than "
    "before."
)
def residual_connection_alone(experiments):
    return first(experiments, lambda changed, what: "residual" in changed)


@which_control.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    task, seed = pick(generator, "copy", "reverse"), number(generator, 100, 999)
    right = pick(generator, BACK, ALONE) if task == "copy" else None
    runs = several(generator, number(generator, 6, 11), *DISTRACTORS)
    runs += [right] if right else [BACK, ALONE]
    shuffled = several(generator, len(runs), *runs)
    return {"experiments": described(number(generator, 9, 40), seed, task, shuffled)}
