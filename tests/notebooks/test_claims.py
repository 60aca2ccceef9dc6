"""Claims are tried at shifted seeds: every seed is shifted, but those of data; what falls is found and reported."""

import random

import nbformat
import numpy
import pytest

from notebooks.build import text_to_notebook
from tests.claims import Outcome, claims_of, compare, report, try_claims
from transformer_lab.data import tasks

SHIFT = 1000
SPLIT = {"n_train": 3, "n_test": 2, "below": 1000, "seed": 42}
LESSON = f"""\
# %% [markdown]
# # A lesson

# %%
import random, numpy, torch
from multiprocessing import get_context
from transformer_lab.data import tasks

assert torch.manual_seed(7).initial_seed() == 1007
assert torch.Generator("cpu").manual_seed(7).initial_seed() == 1007
with get_context("spawn").Pool(1) as pool:
    seed = pool.apply(eval, ("__import__('torch').manual_seed(7).initial_seed()",))
assert seed == 1007
assert random.Random(7).random() == {random.Random(7 + SHIFT).random()}
assert numpy.random.default_rng(seed=7).random() == {numpy.random.default_rng(7 + SHIFT).random()}
assert tasks.number_names("en", "de", **{SPLIT}).test == {tasks.number_names("en", "de", **SPLIT).test}

# %%
random.seed(7)
first = random.random()
for limit in (0.1, 0.9):
    assert first > limit
print("first", first, "above 0.9:", first > 0.9)

# %%
def root(x):
    assert x >= 0
    return x ** 0.5


try:
    root(-1)
except AssertionError:
    print("refused:", True)
print("drawn:", "heads" if first < 0.5 else "tails")
"""


@pytest.fixture(scope="module")
def outcome(tmp_path_factory) -> Outcome:
    source = tmp_path_factory.mktemp("lesson") / "99_synthetic.py"
    source.write_text(LESSON)
    stored = text_to_notebook(source)
    for cell, text in zip(
        stored.cells[2:], ("first 0.95 above 0.9: True\n", "refused: True\ndrawn: heads\n"), strict=True
    ):
        cell.outputs = [nbformat.v4.new_output("stream", text=text)]
    return try_claims(text_to_notebook(source), stored, SHIFT)


def test_every_seed_is_shifted_but_that_of_the_split(outcome):
    in_the_first_cell = {claim for cell, claim in outcome.held if cell == 2}
    assert len(in_the_first_cell) == 6
    assert not any(cell == 2 for cell, _ in outcome.fell)


def test_an_assert_that_fails_is_noted_and_the_lesson_goes_on(outcome):
    drawn = random.Random(7 + SHIFT).random()
    assert 0.5 < drawn < 0.9
    printed = f"first {drawn} above 0.9: False"
    assert outcome.fell == {(3, "assert first > limit"): printed, (3, "first 0.95 above 0.9: True"): printed}


def test_an_assert_inside_a_function_or_an_expected_one_is_no_claim(outcome):
    assert {claim for claim in outcome.held if claim[0] == 4} == {(4, "refused: True")}


def test_claims_are_counted_without_executing_them(tmp_path):
    source = tmp_path / "99_synthetic.py"
    source.write_text(LESSON)
    stored = text_to_notebook(source)
    stored.cells[2].outputs = [nbformat.v4.new_output("stream", text="first 0.95 above 0.9: True\nno verdict\n")]
    claims = claims_of(text_to_notebook(source), stored)
    assert {(3, "assert first > limit"), (3, "first 0.95 above 0.9: True")} <= claims
    assert len(claims) == 8
    assert not any(claim == "assert x >= 0" for _, claim in claims)


def test_cells_that_print_other_words_are_named(outcome):
    assert outcome.reworded == {4}


@pytest.mark.parametrize(
    ("stored", "found", "held", "fell", "reworded"),
    [
        ("loss 0.3: True", "loss 0.2: True", 1, 0, 0),
        ("loss 0.3: True", "loss 0.9: False", 0, 1, 0),
        ("a False b True", "a True b False", 0, 1, 0),
        ("loss 0.3", "loss 0.2", 0, 0, 0),
        ("said ja", "said nein", 0, 0, 1),
        ("said ja", "said ja\nand nein", 0, 0, 1),
    ],
)
def test_a_line_holds_or_falls_by_its_verdicts(stored, found, held, fell, reworded):
    outcome = Outcome()
    compare(outcome, 1, stored.splitlines(), found.splitlines())
    assert (len(outcome.held), len(outcome.fell), len(outcome.reworded)) == (held, fell, reworded)


def test_the_report_says_what_fell_and_where(capsys):
    fine = Outcome(held={(2, "assert a"), (3, "b: True")})
    assert report("99", {1000: fine})
    assert not report("99", {1000: fine, 2000: Outcome({(2, "assert a")}, {(3, "b: True"): "b: False"}, {5})})
    assert capsys.readouterr().out.splitlines() == [
        "",
        "99: 0 of 2 claims fell, in 1 runs",
        "",
        "99: 1 of 2 claims fell, in 2 runs",
        "",
        "| cell | claim | fell at seeds shifted by | where it first fell, the cell printed |",
        "|---|---|---|---|",
        "| 3 | `b: True` | 2000 | b: False |",
        "other words are printed by the cells 5",
    ]


def test_training_is_longer_where_a_cell_names_its_steps(tmp_path):
    source = tmp_path / "99_synthetic.py"
    source.write_text(
        "# %% steps=[20, 1500]\nsteps, width, parts = 20, 2_0.0, 1_500\nassert steps == 200\nassert parts == 15_000\n"
        "assert width == 5 * 4\n\n# %%\nassert steps != 20\n"
    )
    text = text_to_notebook(source)
    longer = try_claims(text, text, SHIFT, longer=10)
    assert [len(longer.held), longer.fell] == [4, {}]
    as_it_is = try_claims(text, text, SHIFT)
    assert {claim for _, claim in as_it_is.fell} == {
        "assert steps == 200",
        "assert parts == 15000",
        "assert steps != 20",
    }
