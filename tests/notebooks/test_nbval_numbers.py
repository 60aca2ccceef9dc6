"""In a cell with a tolerance numbers need only be near the stored ones; text, signs and counts must be equal."""

import pytest

from tests.nbval_numbers import differences


@pytest.mark.parametrize(
    ("stored", "found"),
    [
        ("loss 0.31 against 2.30", "loss 0.29 against 2.40"),
        ("about 0.1 apart: 1.0", "about 0.1 apart: 1.1"),  # 1.1 - 1.0 is more than 0.1 in floating point
        ("a tenth of 200 numbers", "a tenth of 180 numbers"),
        ("16,640 parameters", "17,001 parameters"),
        ("between −1.51 and -1,200.5", "between −1.55 and -1,234.5"),
        ("98 %, 97.5%", "100 %, 99.5%"),
        ("influence 1e-05, scores 2.3e+08", "influence 9.5e-06, scores 2.4e+08"),
        ("[nan, inf, -inf, NaN]", "[nan, inf, -inf, NaN]"),
        ("mean 0.00", "mean -0.00"),
        ("mean -0.04", "mean 0.00"),
        ("tensor([[ 9.9600, -1.]])", "tensor([[10.0100, -1.02]])"),
        ("loss  9.98 of 1\n    2 layers", "loss 10.02 of 1\n   2.1 layers"),
        ("no number", "no number"),
    ],
)
def test_near_numbers_agree(stored, found):
    assert list(differences(stored, found, 0.1)) == []


@pytest.mark.parametrize(
    ("stored", "found", "problem"),
    [
        ("loss 0.31", "loss 0.42", "number 1 of 1: 0.31 stored, 0.42 found (tolerance 0.1)"),
        ("200 of 1", "221 of 1", "number 1 of 2: 200 stored, 221 found (tolerance 0.1)"),
        ("16,640", "1,664", "number 1 of 1: 16,640 stored, 1,664 found (tolerance 0.1)"),
        ("98 %", "87 %", "number 1 of 1: 98 stored, 87 found (tolerance 0.1)"),
        ("2.3e+08", "2.3e+07", "number 1 of 1: 2.3e+08 stored, 2.3e+07 found (tolerance 0.1)"),
        ("slope 0.5", "slope -0.5", "number 1 of 1: 0.5 stored, -0.5 found (tolerance 0.1)"),
        ("slope −0.04", "slope 0.04", "number 1 of 1: −0.04 stored, 0.04 found (tolerance 0.1)"),
        ("loss 1.0", "loss nan", "number 1 of 1: 1.0 stored, nan found (tolerance 0.1)"),
        ("loss nan", "loss 1.0", "number 1 of 1: nan stored, 1.0 found (tolerance 0.1)"),
        ("score -inf", "score inf", "number 1 of 1: -inf stored, inf found (tolerance 0.1)"),
        ("score inf", "score 1e30", "number 1 of 1: inf stored, 1e30 found (tolerance 0.1)"),
        ("loss 0.3", "cost 0.3", "the text 'loss' is stored, 'cost' found"),
        ("above 0.9: True", "above 0.9: False", "the text ': True' is stored, ': False' found"),
        ("98 %", "98", "the text '%' is stored, '' found"),
        ("d_3 0.3", "d_4 0.3", "the text 'd_3' is stored, 'd_4' found"),
        ("0.3 0.4", "0.3", "numbers stored: 2, found: 1"),
        ("0.3", "", "lines stored: 1, found: 0"),
        ("0.3\n", "0.3\n0.4", "lines stored: 1, found: 2"),
    ],
)
def test_what_differs_is_found(stored, found, problem):
    (complaint,) = differences(stored, found, 0.1)
    assert problem in complaint


def test_a_complaint_names_the_line_and_shows_both():
    (complaint,) = differences("first 1\nloss 0.31, then 0.2", "first 1\nloss 0.31, then 0.9", 0.1)
    assert complaint.splitlines() == [
        "line 2: number 2 of 2: 0.2 stored, 0.9 found (tolerance 0.1)",
        "  stored: loss 0.31, then 0.2",
        "  found:  loss 0.31, then 0.9",
    ]
