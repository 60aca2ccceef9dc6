"""What is drawn of a right answer is what was asked: whoever counts in the drawing comes to the answer, by Node."""

from math import prod

import pytest

from tests.web.test_judged import by_node, table
from transformer_lab.exercises import catalogue

# What is counted in each drawing, in JavaScript, of a case's `given`; and the answer.
COUNTED = {
    "visible_pairs": "given.lengths.map(n => seen(n, Math.max(...given.lengths)).length).reduce((a, b) => a + b)",
    "positions_computed": "computed(given).length",
    "tokens_per_pass": "written(given).reduce((a, b) => a + b)",
    "count_paths": "branches(given).reduce((a, b) => a * b)",
    "first_repeat": "meet(given, right)",
}


@pytest.mark.parametrize("name", COUNTED)
def test_what_is_drawn_adds_up_to_the_answer(name):
    cases = table(catalogue[name])["cases"]
    found = by_node(f"data.map(({{given, right}}) => {COUNTED[name]})", cases)
    assert found == pytest.approx([case["right"] for case in cases])


def test_paths_are_those_through_the_dots_that_are_drawn():
    assert by_node("branches({heads: [2, 0, 5]})", None) == [1, 3, 1, 6, 1]
    assert prod([1, 3, 1, 6, 1]) == 18


WORDS = {1234: "1234", 12345: "12\u202f345", 1234567: "1\u202f234\u202f567", -0.5: "−0.5", 1 / 3: "0.3333333"}


def test_numbers_are_written_with_thin_spaces_between_thousands():
    assert by_node("data.map(inDigits)", [*WORDS]) == [*WORDS.values()]


def test_rows_that_sum_to_1_are_weights():
    values = [[0.5, 0.3, 0.2], [[1.0], [1.0]], [3, 5], [], 4, [2.31, 1.86, 1.62], [[0.5, 0.5], [0.5, 0.6]]]
    assert by_node("data.map(areWeights)", values) == [True, True, False, False, False, False, False]


def test_a_region_holds_the_fault_and_becomes_smaller_with_the_misses():
    """Its lines follow one another, and the fault is not always in the middle."""
    lines = [0, 2, 3, 4, 6, 7, 8, 9, 10]
    places = set()
    for fault in lines:
        regions = by_node(f"[0, 2, 4, 6].map(misses => region({lines}, {fault}, misses))", None)
        assert [len(one) for one in regions] == [9, 5, 3, 2]
        assert all(fault in one for one in regions)
        assert all(one == lines[lines.index(one[0]) :][: len(one)] for one in regions)
        places.add(regions[1].index(fault))
    assert len(places) > 2
