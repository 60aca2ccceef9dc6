"""Where a formula may go on below itself."""

import importlib

import pytest


@pytest.fixture
def formula_lines(monkeypatch, request):
    monkeypatch.syspath_prepend(request.config.rootpath / "web")
    return importlib.import_module("formula_lines")


def test_a_formula_goes_on_before_its_relations_and_never_within_brackets(formula_lines):
    tex = r"\mathrm{softmax}(P\,X = Y)\,PX = P\,\mathrm{softmax}(XAX^\top)\,X"
    assert formula_lines.lines(tex) == [r"\mathrm{softmax}(P\,X = Y)\,PX", r"= P\,\mathrm{softmax}(XAX^\top)\,X"]


def test_only_what_is_still_long_goes_on_before_its_sums(formula_lines):
    short, long = r"\mathrm{FFN}(x) = x W_1 + b_1 + b_2", r"y = \mathrm{softmax}(Q K^\top) V + " + "x" * 60
    assert formula_lines.lines(short) == [r"\mathrm{FFN}(x)", "= x W_1 + b_1 + b_2"]
    assert formula_lines.lines(long)[-1] == "+ " + "x" * 60


def test_a_short_formula_and_a_matrix_are_whole(formula_lines):
    assert formula_lines.lines(r"a + b = c + d") == ["a + b = c + d"]
    assert formula_lines.lines(r"\begin{pmatrix} 1 & 0 \\ 0 & 1 \end{pmatrix}") == [
        r"\begin{pmatrix} 1 & 0 \\ 0 & 1 \end{pmatrix}"
    ]
