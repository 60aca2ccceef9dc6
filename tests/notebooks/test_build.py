"""`notebooks/build.py`: what it builds is reproducible, and a cell that fails leaves the old notebook alone."""

import nbformat
import pytest

from notebooks import build

TEXT = """\
# %% [markdown]
# # Title

# %%
import ipywidgets

print("one"); print("two", flush=True)
ipywidgets.IntSlider(3)
"""


@pytest.fixture
def paths(tmp_path):
    """A text and the notebook to build from it."""
    source, target = tmp_path / "99_synthetic.py", tmp_path / "99_synthetic.ipynb"
    source.write_text(TEXT)
    return source, target


def test_the_same_text_gives_the_same_file(paths):
    source, target = paths
    assert build.build(source, target)
    first = target.read_bytes()
    assert build.build(source, target)
    assert target.read_bytes() == first
    assert b'"text/plain"' in first
    assert b"widget-view" not in first  # gone with its kernel; and its random model_id with it
    assert build.check(source, target)


def test_check_says_where_text_and_notebook_differ(paths, capsys):
    source, target = paths
    assert not build.check(source, target)
    nbformat.write(build.text_to_notebook(source), target)
    assert build.check(source, target)
    source.write_text(TEXT.replace("Title", "Another title"))
    assert not build.check(source, target)
    assert capsys.readouterr().out.splitlines() == [
        "99_synthetic.ipynb: not built yet",
        "99_synthetic.ipynb: cell 1 differs in its source: # Another title",
    ]


@pytest.mark.parametrize("line", ["1 / 0", "import os; os._exit(1)"])
def test_a_cell_that_fails_is_shown_and_the_old_notebook_stays(paths, capsys, line):
    source, target = paths
    target.write_text("old")
    source.write_text(f"{TEXT}\n# %%\n{line}\n")
    assert not build.build(source, target)
    assert line in capsys.readouterr().out
    assert target.read_text() == "old"
