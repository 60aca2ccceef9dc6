"""The lines that a page takes for the fault of a broken function, against a diff that another tool makes."""

import ast
import sys
from difflib import ndiff
from html import unescape

import pytest

from tests.built_site import ROOT
from transformer_lab.exercises import catalogue
from transformer_lab.exercises.engine.checking import examine
from transformer_lab.exercises.engine.running import Attempt
from transformer_lab.exercises.kinds import FindTheBug

sys.path.insert(0, str(ROOT / "web"))
from faults.diffing import code_lines, repaired
from faults.harm import cause, elsewhere, symptom
from faults.places import MOST, count_of, is_style, places, separated
from faults.probes import probes

BROKEN = [one for one in catalogue.values() if isinstance(one, FindTheBug)]
each = pytest.mark.parametrize("exercise", BROKEN, ids=lambda one: one.name)


def bare(source: str) -> list[str]:
    """The lines of a program without comments and docstrings: Python's own parser drops both, and so does this."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.unparse(tree).replace("\n\n", "\n").splitlines()


def gone(exercise: FindTheBug) -> list[str]:
    """The lines that the repair takes away, as another diff has them."""
    diff = ndiff(bare(exercise.handed_out()), bare(repaired(exercise)))
    return [line[2:] for line in diff if line.startswith("- ")]


def lines_of(exercise: FindTheBug, numbers: list[int]) -> list[str]:
    """Lines of the broken function, written as Python's own parser writes them."""
    written = dict(zip(code_lines(exercise.handed_out()), bare(exercise.handed_out()), strict=True))
    return [written[n] for n in numbers]


@each
def test_the_lines_at_fault_are_those_that_a_diff_takes_away(exercise):
    found = [n for place in places(exercise) for n in place]
    taken = [n for n in code_lines(exercise.handed_out()) if lines_of(exercise, [n])[0] in gone(exercise)]
    assert taken
    if separated(exercise) == places(exercise) != []:
        assert {*found} <= {*taken}
        assert len(found) < len(code_lines(exercise.handed_out())) - 1, "a line that is at no fault is left"
    else:
        assert found == [n for n in taken if not is_style(exercise, n)]
        assert 1 <= len(found) <= MOST * len(code_lines(exercise.handed_out()))


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("mend_stack", ["x = norm_1(x)", "x = norm_1(x)", "return x"]),
        ("mend_accumulation", ["n_portions = -(-len(inputs) // portion)", "gradient = gradient * (max_norm"]),
        ("clinic_02", ["padding = positions >= lengths[:, None]"]),
        ("clinic_03", ["scores.mul(scale)"]),
        ("mend_bigram_loss", ["text = torch.cat", "probabilities =", "return"]),
        ("mend_generation", ["mask = tokens != pad_id", "positions = torch.arange", "positions = torch.full_like"]),
        ("mend_rotary_cache", ["query =", "key, value =", "keys, values ="]),
        ("mend_loading", ["x = word[tokens]", "parts =", "weights ="]),
        ("mend_rolling_cache", ["slot = min", "keys, values =", "scores = scores.masked_fill"]),
    ],
)
def test_where_much_is_repaired_there_are_as_many_places_as_defects(name, found):
    exercise = catalogue[name]
    lines = code_lines(exercise.handed_out())
    assert len(places(exercise)) == len(found)
    assert all(lines[place[0]].strip().startswith(one) for place, one in zip(places(exercise), found, strict=True))


@each
def test_each_place_says_what_it_does(exercise):
    said = [cause(exercise, place) for place in places(exercise)]
    assert all(said)
    assert not [one for one in said if "mended" in one or "(NaN" in one]


@each
def test_there_are_as_many_places_as_defects(exercise):
    assert len(places(exercise)) == count_of(exercise)


def test_a_place_that_the_simplest_case_does_not_show_names_the_case_that_does():
    said = [elsewhere(catalogue["mend_tiles"], place) for place in places(catalogue["mend_tiles"])]
    assert said[0] == "The case below does not show it, but “scores far below zero” does."
    assert "tiles of two”" in said[1]
    assert said[2] == ""
    stack = catalogue["mend_stack"]
    assert not any(elsewhere(stack, place) for place in places(stack)), "all three show in what is drawn"


def test_a_line_that_is_only_written_otherwise_is_no_fault():
    tiles = catalogue["mend_tiles"]
    style = [n for n, line in code_lines(tiles.handed_out()).items() if line.strip().startswith("total = total")]
    assert is_style(tiles, style[0])
    assert style[0] not in [n for place in places(tiles) for n in place]


def test_a_place_is_told_by_the_mistake_that_it_makes_alone():
    step = catalogue["mend_training_step"]
    told = [cause(step, place) for place in places(step)]
    assert [one.partition(":")[0] for one in told] == [
        "The targets are the inputs",
        "Padding counts",
        "The gradient is added",
    ]


@each
def test_the_simplest_case_that_fails_is_shown_and_no_line_of_the_repair(exercise):
    said = symptom(exercise)
    failing = next(case for case in exercise.cases if not examine(exercise, Attempt(exercise.broken), [case]).passed)
    assert failing.label in unescape(said)
    fixed = {*code_lines(repaired(exercise)).values()} - {*code_lines(exercise.handed_out()).values()}
    text = said + "".join(cause(exercise, place) for place in places(exercise))
    assert [line for line in fixed if line.strip() in unescape(text)] == []


@each
def test_with_the_lines_at_fault_the_function_is_broken(exercise):
    assert not examine(exercise, Attempt(exercise.broken), exercise.cases).passed
    assert examine(exercise, Attempt(exercise.reference), exercise.cases).passed


@each
def test_a_line_at_no_fault_says_what_comes_out_of_it_and_looks_up_to_a_fault_only(exercise):
    said, faults = probes(exercise), [n for place in places(exercise) for n in place]
    assert not {*said} & {*faults}
    assert all(min(faults) < n for n, one in said.items() if "look further up" in one)


def test_what_comes_out_of_a_line_is_what_the_function_computes_there():
    exercise = catalogue["clinic_07"]
    said = probes(exercise)
    steps = exercise.cases[0].arguments["tokens"].size(1) - 1
    assert f"<code>n_steps</code> comes out of it as it should: <code>{steps}</code>." in said[2]
    assert said[5] == "This line is right, but what it returns is wrong by now: look further up."
