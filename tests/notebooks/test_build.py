"""`notebooks/build.py`: what it builds is reproducible, and a cell that fails leaves the old notebook alone."""

import base64
import io
import re

import nbformat
import pytest
from PIL import Image, ImageChops, ImageStat

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


def test_text_is_rewritten_and_outputs_stay(paths, capsys):
    source, target = paths
    assert build.build(source, target)
    before = nbformat.read(target, as_version=4)
    source.write_text(TEXT.replace("Title", "Another title\n#\n# and more"))
    assert build.rewrite(source, target)
    after = nbformat.read(target, as_version=4)
    assert (after.cells[1], after.metadata) == (before.cells[1], before.metadata)
    assert build.check(source, target)


def test_no_output_is_kept_for_another_code(paths, capsys):
    source, target = paths
    assert build.build(source, target)
    before = target.read_bytes()
    source.write_text(TEXT.replace("one", "1"))
    assert not build.rewrite(source, target)
    assert "where no code has changed" in capsys.readouterr().out
    assert target.read_bytes() == before


STUB = (
    '\n# %% exercise="softmax"\ndef softmax(scores, dim):\n    return ...\n\n# %%\nexercises.softmax.check(softmax)\n'
)


def test_an_exercise_may_move_and_keeps_its_outputs(paths):
    source, target = paths
    imported = "# %%\nfrom transformer_lab import exercises\n"
    source.write_text(f"{imported}\n# %%\nprint(1)\n{STUB}")
    assert build.build(source, target)
    source.write_text(f"{imported}{STUB}\n# %%\nprint(1)\n")
    assert build.rewrite(source, target)
    code = nbformat.read(target, as_version=4).cells
    assert [cell.execution_count for cell in code] == [1, 2, 3, 4]
    assert "not attempted" in code[2].outputs[0].data["text/plain"]
    assert code[2].outputs[0].get("execution_count", 3) == 3
    assert code[3].outputs[0].text == "1\n"
    assert build.check(source, target)
    source.write_text(f"# %%\nprint(1)\n\n{imported}{STUB}")
    assert not build.rewrite(source, target)


def test_nothing_is_kept_of_a_notebook_that_is_not_there(paths, capsys):
    source, target = paths
    assert not build.rewrite(source, target)
    assert "No such file" in capsys.readouterr().out
    assert not target.exists()


DRAWN = "# %% [markdown]\n# Look:\n#\n# ![a map](../img/00_map.svg)\n"


def test_a_drawing_is_attached_under_the_name_of_its_svg(paths):
    source, target = paths
    source.write_text(DRAWN)
    assert build.build(source, target)
    (cell,) = nbformat.read(target, as_version=4).cells
    assert "![a map](attachment:00_map.png)" in cell.source
    assert list(cell.attachments) == ["00_map.png"]
    assert build.drawings.with_paths_named(cell.source) == "Look:\n\n![a map](../img/00_map.svg)"
    assert build.check(source, target)


def test_check_names_a_drawing_that_was_drawn_anew(paths, monkeypatch, tmp_path, capsys):
    source, target = paths
    source.write_text(DRAWN)
    assert build.build(source, target)
    svg = (build.drawings.IMG / "00_map.svg").read_text("utf-8")
    (tmp_path / "00_map.svg").write_text(svg.replace("training", "learning"), "utf-8")
    monkeypatch.setattr(build.drawings, "IMG", tmp_path)
    assert not build.check(source, target)
    assert "cell 1 does not hold its drawings as they are now: Look:" in capsys.readouterr().out
    assert build.rewrite(source, target)
    assert build.check(source, target)


SVGS = sorted(build.drawings.IMG.glob("*.svg"))


@pytest.mark.parametrize("svg", SVGS, ids=lambda svg: svg.stem)
def test_what_is_attached_is_the_picture_of_its_svg(svg):
    """By its pixels: another version of Pillow packs the same ones into other bytes."""
    (data,) = {data for data in attachments() if build.drawings.made_from(data) == build.drawings.digest(svg)}
    image = Image.open(io.BytesIO(data)).convert("RGBA")
    differs = ImageStat.Stat(ImageChops.difference(image, build.drawings.picture(svg)))
    assert image.width == 1600
    assert max(differs.mean) < 2
    assert len(data) < 85_000


def attachments() -> list[bytes]:
    """All PNGs that are attached to a cell of a lesson."""
    notebooks = [nbformat.read(path, as_version=4) for path in build.NOTEBOOKS.glob("*.ipynb")]
    held = [data for notebook in notebooks for cell in notebook.cells for data in cell.get("attachments", {}).values()]
    return [base64.b64decode(data["image/png"]) for data in held]


def test_views_get_the_present_scripts_without_being_run(tmp_path, capsys):
    source, target = tmp_path / "99_view.py", tmp_path / "99_view.ipynb"
    source.write_text("# %%\nfrom transformer_lab import widgets\n\nwidgets.cache_cost()\n")
    assert build.build(source, target)
    now = target.read_text("utf-8")
    tag = re.search(r"tl-cache-[0-9a-f]{8}", now)[0]
    notebook = nbformat.read(target, as_version=4)
    (output,) = notebook.cells[0].outputs
    script = output.data["text/html"].partition(f'const TAG="{tag}";')[2].partition("</script>")[0]
    output.data["text/html"] = output.data["text/html"].replace(script, "old()").replace(tag, "tl-cache-01234567")
    nbformat.write(notebook, target)
    assert not build.check(source, target)
    assert "holds a view with a script of before" in capsys.readouterr().out
    assert build.rewrite(source, target)
    assert target.read_text("utf-8") == now
    assert build.check(source, target)
