"""`exercises.mine()`: what passed can be used again, in another notebook too; what did not pass never is."""

import copy
import inspect
import itertools
import json
import linecache
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import torch
from nbformat.v4 import new_code_cell, new_notebook

from notebooks.build import execute, text_to_notebook
from tests.notebook_rules import ROOT
from transformer_lab import exercises
from transformer_lab.exercises import own_answers
from transformer_lab.exercises.engine import time_limit as limits
from transformer_lab.exercises.own_answers import NotYours
from transformer_lab.exercises.progress import progress_store
from transformer_lab.exercises.progress.own_source import own_source
from transformer_lab.exercises.progress.progress_store import OwnSource, read_answers
from transformer_lab.nn import attention

COUNT = itertools.count()


@pytest.fixture(autouse=True)
def session(monkeypatch):
    """No test leaves an answer to the next one."""
    monkeypatch.setattr(progress_store, "SESSION", {})
    monkeypatch.setattr(own_answers, "EXAMINED", {})


@pytest.fixture
def path(tmp_path, monkeypatch) -> Path:
    path = tmp_path / "data" / "progress.json"
    monkeypatch.setenv("TRANSFORMER_LAB_PROGRESS", str(path))
    return path


class Notebook:
    """Cells that share their variables, and whose source Python can look up, as in Jupyter."""

    def __init__(self, *cells: str):
        self.variables: dict = {"__name__": "__main__", "exercises": exercises}
        for cell in cells:
            self.run(cell)

    def run(self, cell: str) -> None:
        file = f"<cell {next(COUNT)}>"
        linecache.cache[file] = (len(cell), None, cell.splitlines(keepends=True), file)
        exec(compile(cell, file, "exec"), self.variables)

    def check(self, name: str) -> None:
        assert exercises.catalogue[name].check(self.variables[name]).passed


RIGHT = """
import torch

def softmax(scores, dim):
    powers = torch.exp(scores - scores.max(dim, keepdim=True).values)
    return powers / powers.sum(dim, keepdim=True)
"""
WRONG = "def softmax(scores, dim):\n    return scores.exp() / scores.exp().sum()\n"
SCORES = torch.tensor([[0.0, 1.0], [2.0, 5.0]])


def softmax_of(mine) -> bool:
    return torch.allclose(mine.softmax(SCORES, -1), SCORES.softmax(-1))


# ── what passed ──


@pytest.mark.parametrize("kept", [True, False])
def test_a_right_answer_is_used_and_it_is_the_learner_s(path, monkeypatch, kept):
    if not kept:
        monkeypatch.setenv("TRANSFORMER_LAB_PROGRESS", "off")
    mine = exercises.mine()
    assert "softmax" not in mine
    Notebook(RIGHT).check("softmax")
    assert softmax_of(mine)
    assert mine.softmax.__code__.co_names == ("torch", "exp", "max", "values", "sum")
    assert "softmax" in mine
    assert list(mine) == ["softmax"]
    assert repr(mine) == f"1 of {len(exercises.catalogue)} functions are yours: softmax"
    assert path.exists() is kept


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_it_may_be_asked_for_where_no_gradients_are_tracked(path, mode):
    Notebook(RIGHT).check("softmax")
    with mode():
        assert softmax_of(exercises.mine())


def test_another_notebook_in_another_process_has_it_too(path):
    Notebook(RIGHT).check("softmax")
    program = (
        "import torch\nfrom transformer_lab.exercises import mine\nprint(mine().softmax(torch.zeros(2), 0).tolist())"
    )
    done = subprocess.run([sys.executable, "-c", program], env=os.environ, capture_output=True, text=True)
    assert done.stdout == "[0.5, 0.5]\n", done.stderr


def test_two_real_notebooks_share_an_answer_with_all_that_it_uses(path):
    """In Jupyter's own kernels, whose cells are no files."""
    first = [*WITH_HELPERS, "from transformer_lab import exercises\nexercises.softmax.check(softmax)"]
    first[-2] = first[-2].replace("@twice\n", "")
    second = ["import torch\nfrom transformer_lab.exercises import mine\nmine().softmax(torch.zeros(4), 0).tolist()"]
    for cells, said in ((first, "✓ softmax: passed"), (second, "[0.25, 0.25, 0.25, 0.25]")):
        notebook = execute(new_notebook(cells=[new_code_cell(cell) for cell in cells]), path.parents[1])
        assert said in notebook.cells[-1].outputs[0].data["text/plain"]


def test_what_another_notebook_adds_is_found_by_a_mine_made_before(path):
    mine, first, second = (
        exercises.mine(),
        Notebook(RIGHT),
        Notebook("def dot_product(a, b):\n    return (a * b).sum()"),
    )
    first.check("softmax")
    second.check("dot_product")
    assert list(mine) == ["dot_product", "softmax"]
    assert softmax_of(mine)


def test_the_last_that_passed_is_kept_and_a_wrong_one_after_it_changes_nothing(path):
    notebook = Notebook(RIGHT)
    notebook.check("softmax")
    notebook.run(
        "def softmax(scores, dim):\n    return (e := (scores - scores.amax(dim, True)).exp()) / e.sum(dim, True)"
    )
    notebook.check("softmax")
    notebook.run(WRONG)
    assert not exercises.softmax.check(notebook.variables["softmax"]).passed
    assert exercises.mine().softmax.__code__.co_names == ("amax", "exp", "sum")
    assert softmax_of(exercises.mine())


# ── what did not ──


@pytest.mark.parametrize("kept", [True, False])
def test_a_wrong_answer_can_t_be_used(path, monkeypatch, kept):
    if not kept:
        monkeypatch.setenv("TRANSFORMER_LAB_PROGRESS", "off")
    notebook = Notebook(WRONG)
    exercises.softmax.check(notebook.variables["softmax"])
    with pytest.raises(
        NotYours, match=r"softmax is not solved yet: solve it in lesson 01 .*transformer_lab.nn.attention.softmax"
    ):
        exercises.mine().softmax  # noqa: B018
    assert not hasattr(exercises.mine(), "softmax")
    with pytest.raises(NotYours, match=r"leaks is not solved yet: .*lesson 05 .* exercises.leaks.reference"):
        exercises.mine().leaks  # noqa: B018


def test_a_wrong_answer_that_was_written_into_the_file_is_not_handed_out(path):
    Notebook(RIGHT).check("softmax")
    kept = json.loads(path.read_text())
    for source, message in (
        (WRONG, r"your softmax does not pass as it was kept .*: run exercises.softmax.check\(softmax\)"),
        ("def softmax(", r"your softmax can't be run as it was kept \(SyntaxError"),
        ("1 / 0", r"your softmax can't be run as it was kept \(ZeroDivisionError"),
        ("import nowhere_to_be_found", r"can't be run as it was kept \(ModuleNotFoundError"),
    ):
        kept["answers"]["softmax"]["source"] = source
        path.write_text(json.dumps(kept))
        with pytest.raises(NotYours, match=message):
            exercises.mine().softmax  # noqa: B018


def test_what_never_ends_is_stopped(path, monkeypatch):
    progress_store.record("softmax", True, OwnSource("def softmax(scores, dim):\n    while True: pass"))
    monkeypatch.setattr(own_answers, "time_limit", lambda: limits.time_limit(0.2))
    with pytest.raises(NotYours, match="your softmax did not end in time"):
        exercises.mine().softmax  # noqa: B018


def test_nothing_is_run_before_it_is_asked_for(path, tmp_path):
    witness = tmp_path / "witness"
    progress_store.record("softmax", True, OwnSource(f"import os\nos.mkdir({str(witness)!r})\n{RIGHT}"))
    mine = exercises.mine()
    assert "softmax" in mine
    assert [*mine, repr(mine), dir(mine), exercises.progress()]
    assert not witness.exists()
    assert softmax_of(mine)
    assert witness.exists()


def test_there_is_no_such_exercise():
    with pytest.raises(NotYours, match="there is no exercise sofmax: do you mean softmax"):
        exercises.mine().sofmax  # noqa: B018


def test_solved_before_answers_were_kept(path):
    progress_store.record("softmax", True)
    with pytest.raises(NotYours, match=r"softmax was solved before answers were kept: .*run exercises.softmax.check"):
        exercises.mine().softmax  # noqa: B018


@pytest.mark.parametrize(
    "answers", [[], "no", {"softmax": "source"}, {"softmax": {"source": 3, "missing": []}}, {"softmax": {"source": ""}}]
)
def test_a_file_with_damaged_answers_is_put_aside_with_a_message(path, answers):
    Notebook(RIGHT).check("softmax")
    text = json.dumps(json.loads(path.read_text()) | {"answers": answers})
    path.write_text(text)
    with pytest.warns(UserWarning, match=r"could not be read; the file is kept as .*damaged-1"):
        assert list(exercises.mine()) == []
    assert path.with_name("progress.json.damaged-1").read_text() == text
    Notebook(RIGHT).check("softmax")
    assert softmax_of(exercises.mine())


# ── what an answer uses of its notebook ──

WITH_HELPERS = [
    """
import math
from functools import lru_cache, partial

import numpy as np
import torch as t
import torch.nn.functional as F
from torch import exp, float32, nn, Tensor
""",
    "EPS, KEEP, INFINITE, TYPE = 0.0, {'keepdim': True}, math.inf, float32",
    """
class Base:
    def largest(self, scores, dim):
        return scores.amax(dim, **KEEP)
""",
    """
class Helper(Base):
    def __call__(self, scores: Tensor, dim: int = int(EPS)) -> "Tensor":
        return exp(scores - self.largest(scores, dim))
""",
    """
def twice(function):
    return lambda *arguments: function(*arguments)

def powers(scores, dim):
    assert INFINITE > 0 and TYPE is t.float32 and np.pi
    return Helper()(scores, dim)

def even(n):
    return n == 0 or odd(n - 1)

def odd(n):
    return n != 0 and even(n - 1)
""",
    """
def with_a_default(scores, dim, total=sum, unused=F.relu):
    p = powers(scores, dim)
    KEPT = [x for x in (1, 2)]
    return p / p.sum(dim, **KEEP) if even(4) else KEPT
""",
    """
@twice
def softmax(scores, dim):
    return with_a_default(scores, dim)
""",
]


def test_helpers_constants_classes_and_imports_go_with_it(path):
    notebook = Notebook(*WITH_HELPERS[:-1], WITH_HELPERS[-1].replace("@twice\n", ""))
    notebook.check("softmax")
    notebook.run("def powers(scores, dim):\n    return 0 * scores")  # later, in that notebook: not in what passed
    assert softmax_of(exercises.mine())
    source = read_answers()["softmax"].source
    assert "import torch as t\n" in source
    assert "def twice" not in source
    compile(source, "<kept>", "exec")


def test_a_decorator_goes_with_it(path):
    decorated = "import torch\n\n@torch.no_grad()\ndef dot_product(a, b):\n    return a @ b"
    kept = own_source("dot_product", Notebook(decorated).variables["dot_product"])
    assert "@torch.no_grad()" in kept.source
    assert "import torch as torch" in kept.source


def test_a_name_of_its_own_and_a_function_of_a_library_serve(path):
    notebook = Notebook(
        "def mine_is_better(scores, dim):\n    return (e := (scores - scores.amax(dim, True)).exp()) / e.sum(dim, True)"
    )
    assert exercises.softmax.check(notebook.variables["mine_is_better"]).passed
    assert softmax_of(exercises.mine())
    assert exercises.dot_product.check(torch.dot).passed
    assert exercises.mine().dot_product is torch.dot


def test_a_lambda_with_a_name_serves(path):
    power = "power = lambda x: x.exp()"
    Notebook(power, "softmax = lambda x, dim: (e := power(x - x.amax(dim, True))) / e.sum(dim, True)").check("softmax")
    assert softmax_of(exercises.mine())


def test_mine_can_be_shown_and_copied(path):
    Notebook(RIGHT).check("softmax")
    for one in (exercises.mine(), exercises.mine().or_package()):
        assert not hasattr(one, "_repr_html_")
        assert softmax_of(copy.copy(one))


def test_a_function_within_a_function_goes_with_what_it_encloses(path):
    notebook = Notebook(
        "def make(one):\n    def softmax(scores, dim):\n        e = (scores - scores.amax(dim, True)).exp()\n"
        "        return one * e / e.sum(dim, True)\n    return softmax"
    )
    assert exercises.softmax.check(notebook.variables["make"](1)).passed
    assert softmax_of(exercises.mine())


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (
            "import torch\nONE = torch.ones(1)\ndef softmax(scores, dim):\n"
            "    e = (scores - scores.amax(dim, True)).exp()\n    return ONE * e / e.sum(dim, True)",
            r"your softmax needs `ONE`, a Tensor, which is not kept with it. Define it in the function",
        ),
        (
            "softmax = [lambda scores, dim: ((e := (scores - scores.amax(dim, True)).exp()) / e.sum(dim, True))][0]",
            r"your softmax needs its own source.*write it as a `def`",
        ),
        (
            "class S:\n    def __call__(self, scores, dim):\n        e = (scores - scores.amax(dim, True)).exp()\n"
            "        return e / e.sum(dim, True)\nsoftmax = S()",
            r"your softmax needs its own source",
        ),
    ],
)
def test_what_can_t_be_kept_is_named(path, cell, message):
    Notebook(cell).check("softmax")
    with pytest.raises(NotYours, match=message):
        exercises.mine().softmax  # noqa: B018


def test_a_local_name_that_is_a_variable_of_the_notebook_too_is_no_need(path):
    Notebook("powers = object()", RIGHT).check("softmax")
    assert softmax_of(exercises.mine())


def test_an_error_in_an_own_function_shows_its_line(path):
    Notebook(RIGHT).check("softmax")
    with pytest.raises(AttributeError) as caught:
        exercises.mine().softmax("no tensor", 0)
    assert (
        str(caught.traceback[-1].statement).strip()
        == "powers = torch.exp(scores - scores.max(dim, keepdim=True).values)"
    )


# ── part by part ──


def test_what_is_not_solved_is_the_package_s_and_the_list_says_which(path):
    Notebook(RIGHT).check("softmax")
    parts = exercises.mine().or_package()
    assert softmax_of(parts)
    assert parts.split_heads is inspect.unwrap(attention.split_heads)
    assert parts.yours == ["softmax"]
    assert repr(parts).splitlines() == [
        "1 of 2 parts are yours",
        "  lesson 01  softmax      yours",
        "  lesson 02  split_heads  the package's",
    ]
    with pytest.raises(NotYours, match="there is no exercise heads"):
        parts.heads  # noqa: B018


def test_a_part_that_can_t_be_run_is_the_package_s_and_the_list_says_why(path):
    progress_store.record("softmax", True, OwnSource("", ("`ONE`, a Tensor, which is not kept with it",)))
    parts = exercises.mine().or_package()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert softmax_of(parts)
    assert parts.yours == []
    assert "softmax  the package's (your softmax needs `ONE`, a Tensor" in repr(parts)


@pytest.mark.parametrize("name", exercises.catalogue)
def test_every_published_solution_can_be_kept_and_used(path, name):
    notebook = Notebook(exercises.catalogue[name].solution_source())
    notebook.check(name)
    assert read_answers()[name].missing == ()
    assert callable(getattr(exercises.mine(), name))


def test_the_transformer_of_lesson_06_is_made_of_all_that_is_solved(path, capsys):
    """As a learner who comes with everything solved: each of its parts is then the learner's own."""
    for name, exercise in exercises.catalogue.items():
        Notebook(exercise.solution_source()).check(name)
    cells = text_to_notebook(ROOT / "notebooks" / "source" / "06_the_transformer.py").cells
    own = [cell.source for cell in cells if cell.metadata.get("own")]
    Notebook("import torch\nfrom transformer_lab import default_device, exercises", *own)
    printed = capsys.readouterr().out
    assert "three hundred and twelve → dreihundertzwölf\n12 of 12 parts are yours" in printed
    assert "the package's" not in printed
