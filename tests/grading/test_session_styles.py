"""What people write around their answers, magics, shell lines and imports of what grading lacks, costs no point."""

import ast
import json
import subprocess
from pathlib import Path
from time import process_time
from types import SimpleNamespace

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from tests.grading.honest_styles import losses
from tests.grading.hostile_notebooks import notebook
from tests.grading.session_styles import ANSWER, FILES, STYLES
from tests.grading.support import needs_bwrap
from transformer_lab.grading.handout.assign import Policy, assign
from transformer_lab.grading.handout.assignment import Assignment
from transformer_lab.grading.handout.lesson_notebooks import where_the_package_is
from transformer_lab.grading.marking import course
from transformer_lab.grading.marking.course import grade_one
from transformer_lab.grading.submissions.notebooks import read_notebook, read_notebooks
from transformer_lab.grading.submissions.submissions import find_submissions


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(notebook(*text.split("\n# %%\n")) if path.suffix == ".ipynb" else text, encoding="utf-8")


def hand_in(folder: Path, style: str) -> None:
    text = STYLES[style].replace("ANSWER", ANSWER)
    write(folder / "05_masking.ipynb", text if "causal_mask(" in text else f"{text}\n# %%\n{ANSWER}")
    for name, content in FILES.get(style, {}).items():
        write(folder / name, content)


@needs_bwrap
@pytest.mark.parametrize("start", range(4))
def test_what_surrounds_an_answer_costs_no_point(tmp_path, sandbox, monkeypatch, start):
    monkeypatch.setattr(course, "SANDBOX", [sandbox])
    styles = {f"s{number}": style for number, style in enumerate([*STYLES][start::4])}
    for student, style in styles.items():
        hand_in(tmp_path / student, style)
    assignment = Assignment("hw1", {"causal_mask": 1}, seconds=sandbox.seconds, seed="fixed")
    found = {styles[s.student]: losses(grade_one(s, assignment)) for s in find_submissions(tmp_path, "hw1")}
    assert len(found) == len(styles)
    lost = {style: why for style, why in found.items() if why}
    assert not lost, "\n".join(f"{style}: {why}" for style, why in lost.items())


@needs_bwrap
@pytest.mark.parametrize(
    ("source", "verdict", "said"),
    [
        (
            "from nowhere import rearrange\ndef causal_mask(n):\n    return rearrange(n)",
            "raised",
            "module named 'nowhere'",
        ),
        ("import nowhere\ndef causal_mask(n):\n    return nowhere.ones(n) + 1", "raised", "module named 'nowhere'"),
        ("from nowhere import *\ndef causal_mask(n):\n    return tril(n)", "raised", "module named 'nowhere'"),
        (
            "from transformer_lab.nn.masks import *\ndef causal_mask(n):\n    return future(n)",
            "policy",
            "transformer_lab",
        ),
        (
            "from transformer_lab.nn import masks\ndef causal_mask(n):\n    return masks.causal_mask(n)",
            "policy",
            "holds",
        ),
        ("from torch import *\ndef causal_mask(n):\n    return tri(n)", "raised", "name 'tri' is not defined"),
    ],
)
def test_what_an_answer_uses_and_grading_lacks_is_named(tmp_path, sandbox, monkeypatch, source, verdict, said):
    monkeypatch.setattr(course, "SANDBOX", [sandbox])
    write(tmp_path / "ann.ipynb", source)
    (submission,) = find_submissions(tmp_path, "hw1")
    (mark,) = grade_one(submission, Assignment("hw1", {"causal_mask": 1}, seconds=sandbox.seconds, seed="fixed")).marks
    assert (mark.verdict, mark.points) == (verdict, 0)
    assert said in mark.message


def test_a_cell_that_cannot_be_read_is_noted_and_lines_keep_their_numbers(tmp_path):
    write(
        tmp_path / "ann.ipynb", "!pip install \\\n    x\nimport torch\nx = (\n# %%\n%%time\n%%capture\n\ny = 1\nz = = 2"
    )
    read = read_notebook(tmp_path / "ann.ipynb")
    lines = [[(ast.unparse(one), one.lineno) for one in cell.body] for cell in read.cells]
    assert lines[0][1:] == [("import torch", 3)]
    assert lines[1] == [("y = 1", 4)]
    assert read.notes == [
        "ann.ipynb: code cell 1 can't be parsed: '(' was never closed (line 4)",
        "ann.ipynb: code cell 2 can't be parsed: invalid syntax (line 5)",
    ]


@pytest.mark.parametrize("line", ["!ls\n", "x = %pwd\n", "a?\n", "%%time\n", "x = (\n", "%run a.ipynb\n", ",a b %\n"])
def test_thousands_of_marks_take_no_time(tmp_path, line):
    write(tmp_path / "ann.ipynb", "\n# %%\n".join([line * (30_000 // len(line))] * 8))
    start = process_time()
    read_notebooks([tmp_path / "ann.ipynb"])
    assert process_time() - start < 20  # seconds; read anew for each mark, it would be an hour


@pytest.mark.parametrize("is_there", [True, False])
def test_what_is_handed_out_installs_the_package_only_where_it_is_missing(tmp_path, monkeypatch, is_there):
    assign(tmp_path / "hw1", {"causal_mask": 1}, policy=Policy(install="transformer-lab @ git+https://host.org/lab"))
    (path,) = (tmp_path / "hw1" / "release" / "hw1").iterdir()
    first = next(cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: "there" if is_there else None)
    told = []
    shell = SimpleNamespace(run_line_magic=lambda *words: told.append(words))
    exec(TransformerManager().transform_cell("".join(first["source"])), {"get_ipython": lambda: shell})
    assert told == ([] if is_there else [("pip", 'install --quiet "transformer-lab @ git+https://host.org/lab"')])


@pytest.mark.parametrize(
    ("address", "install"),
    [
        ("git@host.org:me/lab.git", "transformer-lab @ git+https://host.org/me/lab"),
        ("https://me:secret@host.org/me/lab", "transformer-lab @ git+https://host.org/me/lab"),
        ("/srv/lab.git", ""),
    ],
)
def test_the_address_that_is_handed_out_is_one_for_everybody(tmp_path, address, install):
    for words in (["init", "-q"], ["remote", "add", "origin", address]):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    assert where_the_package_is(tmp_path) == install
