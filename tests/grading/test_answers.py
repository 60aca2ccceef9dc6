"""Finding answers in notebooks that were moved, split, copied, emptied, or made to break the one who reads them."""

import ast
import json
import re
import time

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from transformer_lab.grading.submissions.answers import digest, find_answer
from transformer_lab.grading.submissions.notebooks import MOST_BYTES, read_notebook, read_notebooks

STUB = "def softmax(scores, dim):\n    return ..."
FILLED = "def softmax(scores, dim):\n    return helper(scores).softmax(dim)"
HELPER = "def helper(x):\n    return x * SCALE"


def cell(source: str, exercise: str | None = None, id_: str | None = None):
    made = new_code_cell(source, metadata={"exercise": exercise} if exercise else {})
    made.id = id_ or made.id
    return made


@pytest.fixture
def answer_in(tmp_path):
    """A function that writes cells into a notebook and looks for `softmax` in it."""

    def find(*cells, handed_out=None):
        path = tmp_path / "ann.ipynb"
        nbformat.write(new_notebook(cells=list(cells)), path)
        return find_answer(read_notebook(path), "softmax", handed_out or {})

    return find


def test_an_answer_takes_along_what_it_needs_and_nothing_else(answer_in):
    found = answer_in(
        cell("import torch\nimport os\nos.remove('x')"),
        cell("SCALE = 2\nOTHER = 3"),
        cell(HELPER),
        cell(FILLED, "softmax"),
        cell("softmax(torch.ones(3), 0)"),
    )
    assert found.program == f"SCALE = 2\n\n{HELPER}\n\n{FILLED}"
    assert found.notes == ()


def test_a_name_means_what_it_meant_as_the_cell_had_run_and_else_what_it_means_at_the_end(answer_in):
    found = answer_in(cell("SCALE = 1"), cell("SCALE = 2"), cell(HELPER), cell(FILLED, "softmax"), cell("SCALE = 5"))
    assert [line for line in found.program.split("\n") if "SCALE =" in line] == ["SCALE = 2"]
    assert [line for line in found.at_the_end.split("\n") if "SCALE =" in line] == ["SCALE = 5"]
    below = answer_in(cell(FILLED, "softmax"), cell(HELPER), cell("SCALE = 5"))
    assert "SCALE = 5" in below.program
    assert below.at_the_end is None


@pytest.mark.parametrize("known", [("softmax", "softmax-answer"), (None, None)], ids=["as it was", "metadata lost"])
def test_a_broken_function_that_nobody_mended_is_no_answer(answer_in, known):
    broken = FILLED.replace("helper(scores)", "scores.exp()")
    given = {"softmax-answer": digest(broken)}
    found = answer_in(cell(broken, *known), handed_out=given)
    assert found.program is None
    assert "`softmax` is left as it was handed out" in " ".join(found.notes)
    mended = answer_in(cell(broken.replace(".exp()", ""), *known), handed_out=given)
    assert mended.program == broken.replace(".exp()", "")
    below = answer_in(cell(broken, *known), cell(broken.replace(".exp()", "")), handed_out=given)
    assert below.program == mended.program


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        ([cell(STUB, "softmax"), cell(FILLED)], "defined outside its cell|defined in 2 cells"),
        ([cell(FILLED)], "the cell of `softmax` is gone; found the function elsewhere"),
        ([cell(STUB, "softmax"), cell(FILLED, "softmax")], "defined in 2 cells; the last that is filled in counts"),
        ([cell(FILLED, "softmax"), cell(STUB, "softmax")], "defined in 2 cells; the last that is filled in counts"),
        ([cell("# a note", "softmax"), cell(FILLED)], "`softmax` is defined outside its cell"),
    ],
    ids=["in a new cell", "its cell was deleted", "copied", "copied, filled in above", "split"],
)
def test_cells_may_be_moved_split_copied_and_deleted(answer_in, cells, note):
    found = answer_in(*cells)
    assert found.program == FILLED
    assert any(re.search(note, text) for text in found.notes)


def test_an_untouched_cell_of_the_lesson_is_no_answer(answer_in):
    shown = cell("def softmax(scores, dim):\n    return scores.softmax(dim)", id_="shown")
    handed_out = {"shown": digest(shown.source)}
    assert answer_in(shown, cell(STUB, "softmax"), handed_out=handed_out).program is None
    shown.source += "  # mine now"
    assert answer_in(shown, cell(STUB, "softmax"), handed_out=handed_out).program is not None


@pytest.mark.parametrize(
    "body", ["...", "pass", "return ...", "return None", "raise NotImplementedError", '"""Doc."""']
)
def test_a_stub_is_no_answer(answer_in, body):
    found = answer_in(cell(f"def softmax(scores, dim):\n    {body}", "softmax"))
    assert (found.program, found.notes) == (None, ("`softmax` is left as it was handed out",))


def test_magics_and_cells_that_cannot_be_parsed_cost_only_themselves(answer_in):
    magics = cell("%matplotlib inline\n!pip list\ntorch.softmax?\nSCALE = 2")
    assert "SCALE = 2" in answer_in(magics, cell("def broken(:"), cell(HELPER), cell(FILLED)).program


def test_a_cell_that_cannot_be_parsed_is_noted(tmp_path):
    nbformat.write(new_notebook(cells=[cell("x = 1"), cell("def broken(:")]), tmp_path / "ann.ipynb")
    (note,) = read_notebook(tmp_path / "ann.ipynb").notes
    assert note == "ann.ipynb: code cell 2 can't be parsed: invalid syntax (line 1)"


def test_without_metadata_the_id_of_a_cell_tells_its_exercise(answer_in):
    found = answer_in(
        cell(FILLED, id_="softmax-answer"), cell(FILLED.replace("helper(scores)", "scores"), id_="a-copy")
    )
    assert (found.program, len(found.notes)) == (FILLED, 1)


def turned(source: str, exercise: str | None = None, type_: str = "markdown"):
    """A cell that is no code any more."""
    return NotebookNode(
        cell_type=type_, source=source, metadata={"exercise": exercise} if exercise else {}, id="turned"
    )


@pytest.fixture
def read(tmp_path):
    """A function that reads a notebook of cells."""

    def read(*cells):
        (tmp_path / "ann.ipynb").write_text(json.dumps({"cells": [dict(cell) for cell in cells]}))
        return read_notebook(tmp_path / "ann.ipynb")

    return read


@pytest.mark.parametrize(("type_", "words"), [("markdown", "Markdown"), ("raw", "raw text")])
def test_an_answer_whose_cell_was_turned_into_text_is_read_as_code_and_the_notes_say_so(read, type_, words):
    notebook = read(turned("import math\nSCALE = 2", type_=type_), cell(HELPER), turned(FILLED, "softmax", type_))
    found = find_answer(notebook, "softmax", {})
    assert found.program == f"SCALE = 2\n\n{HELPER}\n\n{FILLED}"
    assert found.notes == ()
    assert notebook.notes == [
        f"ann.ipynb: a cell that defines `SCALE`, `math` is {words}; it was read as code",
        f"ann.ipynb: the cell of `softmax` is {words}; it was read as code",
    ]


@pytest.mark.parametrize("before", ["", "# mine\n", "import torch\n"])
def test_a_first_line_of_which_a_key_has_made_a_heading_is_read_as_it_was(read, before):
    was = f"{before}{FILLED}"
    (one,) = read(turned(f"# {was.removeprefix('# ')}", "softmax")).cells
    assert [*map(ast.unparse, one.body)] == [*map(ast.unparse, ast.parse(was).body)]


def test_what_is_kept_as_text_counts_for_nothing_that_a_code_cell_defines(read):
    older = FILLED.replace("return ", "return -")
    notebook = read(cell(HELPER), turned(HELPER.replace("SCALE", "0"), type_="raw"), cell("SCALE = 1"), cell(FILLED))
    kept = read(*[cell(one) for one in (HELPER, "SCALE = 1", FILLED)], turned(older, "softmax", "raw"))
    for one in (notebook, kept):
        assert find_answer(one, "softmax", {}).program.endswith(FILLED)
        assert "SCALE" in find_answer(one, "softmax", {}).program
        assert one.notes == []
    stub = read(cell("SCALE = 1"), cell(HELPER), cell(STUB, "softmax"), turned(FILLED))
    assert find_answer(stub, "softmax", {}).program.endswith(FILLED)


def test_prose_is_no_code(read):
    texts = ["# Softmax", "Softmax", "*Softmax*: it sums to 1.", "![a picture](x.png)", "    indented", "x" * 300_000]
    notebook = read(cell("x = 1"), *map(turned, texts))
    assert (len(notebook.cells), notebook.notes) == (1, [])


def test_a_cell_that_was_turned_into_text_and_cannot_be_parsed_is_said_of_its_exercise(read):
    found = find_answer(read(turned("def softmax(scores, dim):\n    return (scores", "softmax")), "softmax", {})
    assert found.program is None
    assert any("the cell of `softmax` can't be parsed: '(' was never closed (line 2)" in note for note in found.notes)


@pytest.mark.parametrize(
    ("first", "second", "line"),
    [
        ("softmax", "softmax", 1),
        ("softmax", "softmax", 2),
        (None, "softmax", 1),
        (None, "softmax", 2),
        ("softmax", None, 1),
    ],
)
def test_an_answer_s_cell_that_was_split_is_one_again(read, first, second, line):
    lines = ["def softmax(scores, dim):", "    powers = scores.exp()", "    return powers / powers.sum(dim, True)"]
    cells = cell("\n".join(lines[:line]), first), cell("\n".join(lines[line:]), second)
    notebook = read(*cells, cell("    return 1"))
    assert find_answer(notebook, "softmax", {}).program == "\n".join(lines)
    assert notebook.notes == [
        "ann.ipynb: the cell of `softmax` was split; it was read as one",
        "ann.ipynb: code cell 2 can't be parsed: unexpected indent (line 1)",
    ]


@pytest.mark.parametrize(
    "metadata", [{"id": "softmax-answer"}, {"nbgrader": {"grade_id": "softmax-answer"}}, {"exercise": None}, None]
)
def test_where_the_mark_of_a_cell_is_lost_any_of_its_ids_tells_its_exercise(read, metadata):
    one = cell(FILLED, id_="softmax-answer" if not metadata or "exercise" in metadata else "new") | {
        "metadata": metadata
    }
    assert [c.exercise for c in read(one, cell("x = 1")).cells] == ["softmax", None]


def test_what_a_function_calls_its_own_it_does_not_take_from_other_cells(answer_in):
    answer = "def softmax(scores, dim):\n    masks = scores\n    return masks.softmax(dim)"
    demonstration = cell("from transformer_lab import masks\nscores = softmax(1 / 0)")
    assert answer_in(demonstration, cell(answer, "softmax")).program == answer


def test_a_variable_may_come_of_a_loop_or_of_an_attempt(answer_in):
    loop, attempt = "SCALE = 1\nfor i in range(3):\n    SCALE = SCALE + i", "try:\n    import x\nexcept E:\n    x = 1"
    answer = "def softmax(scores, dim):\n    return scores * SCALE * x"
    program = answer_in(
        cell(loop), cell(attempt), cell("for i in 1, 2:\n    print(i)"), cell(answer, "softmax")
    ).program
    assert program == f"SCALE = 1\n\n{loop[10:]}\n\n{attempt}\n\n{answer}"


def test_a_function_may_be_wrapped_in_its_cell(answer_in):
    wrapped = f"{FILLED}\n\nsoftmax = torch.compile(softmax)"
    assert answer_in(cell(HELPER), cell("SCALE = 1"), cell(wrapped, "softmax")).program.endswith(wrapped)


def test_what_runs_at_once_uses_a_name_as_it_was_bound_before(answer_in):
    cells = [cell("def mine(x):\n    return x"), cell("softmax = mine", "softmax"), cell("mine = None")]
    scope = {}
    exec(answer_in(*cells).program, scope)
    assert scope["softmax"](1) == 1
    wrapped = [
        cell("def f(x):\n    return 1"),
        cell("one = f\ndef f(x):\n    return 2"),
        cell("def softmax(x):\n    return one(x)"),
    ]
    exec(answer_in(*wrapped).program, scope)
    assert scope["softmax"](1) == 1


@pytest.mark.parametrize("line", ["x += 1", "x = x + 1", "x = lambda: x"])
def test_a_name_that_is_bound_thousands_of_times_takes_no_time(answer_in, line):
    start = time.process_time()
    answer_in(cell("x = 0\n" + f"{line}\n" * 4_000), cell("def softmax(scores, dim):\n    return x", "softmax"))
    assert time.process_time() - start < 10  # seconds; quadratic, it would be minutes


def test_thousands_of_definitions_take_no_time(answer_in):
    chain = "\n".join(f"a{i} = a{i + 1}" for i in range(5000))
    start = time.process_time()
    found = answer_in(cell(chain), cell("def softmax(scores, dim):\n    return a0", "softmax"))
    assert found.program.count("\n\n") == 5000
    assert time.process_time() - start < 20  # seconds; one look at all for each would take minutes


def test_all_notebooks_of_a_student_share_the_room_for_code(tmp_path):
    for name in ("a", "b", "c"):
        nbformat.write(new_notebook(cells=[cell(f"{name} = '{'x' * 100_000}'")]), tmp_path / f"{name}.ipynb")
    both = read_notebooks(sorted(tmp_path.iterdir()))
    assert [found.defines(name) for found, name in zip(both.cells, "bc", strict=True)] == [True, True]
    assert both.notes == ["a.ipynb is left out: all notebooks may have 262144 characters of code"]  # the oldest


def answers_in(folder, notebooks: dict[str, list], *names: str) -> list[str | None]:
    """The programs of these exercises, of a student with several notebooks."""
    for name, cells in notebooks.items():
        nbformat.write(new_notebook(cells=cells), folder / f"{name}.ipynb")
    whole = read_notebooks(sorted(folder.iterdir()))
    return [find_answer(whole, name, {}).program for name in names]


def test_each_notebook_has_names_of_its_own(tmp_path):
    softmax = "def softmax(scores, dim):\n    return helper(scores) / helper(scores).sum(dim, keepdim=True)"
    helper, other = "def helper(x):\n    return x.exp()", "def helper(x):\n    return x + 1"
    masked = "def masked_softmax(scores, mask):\n    return softmax(helper(scores))"
    of_one_row = "def softmax(x):\n    return x.softmax(-1)"
    notebooks = {
        "01": [cell(helper), cell(softmax, "softmax")],
        "05": [cell(other), cell(of_one_row), cell(masked, "masked_softmax")],
    }
    one, two = answers_in(tmp_path, notebooks, "softmax", "masked_softmax")
    assert one == f"{helper}\n\n{softmax}"
    assert two == f"{other}\n\n{of_one_row}\n\n{masked}"


def test_a_function_of_another_notebook_does_not_count_where_the_exercise_has_a_cell(tmp_path):
    notebooks = {"01": [cell(STUB, "softmax"), cell(FILLED)], "05": [cell(FILLED.replace("helper(scores)", "scores"))]}
    assert answers_in(tmp_path, notebooks, "softmax") == [FILLED]


def test_a_look_alike_name_is_named(answer_in):
    found = answer_in(cell(FILLED.replace("softmax(s", "ѕoftmax(s")))  # a Cyrillic first letter
    assert found.program is None
    assert any("must be named `softmax` (found '\\u0455oftmax')" in note for note in found.notes)


@pytest.mark.parametrize("wrote", ["sofmax", "soft_max", "Softmax", "my_softmax"])
def test_a_misspelt_name_counts_in_the_exercise_s_own_cell_and_is_named_elsewhere(answer_in, wrote):
    misspelt = "def helped(x):\n    return x\n\n" + FILLED.replace("softmax(", f"{wrote}(", 1).replace(
        "helper", "helped"
    )
    found = answer_in(cell(misspelt, "softmax"))
    assert found.program.endswith(f"\n\nsoftmax = {wrote}")
    assert any(f"the function must be named `softmax` (you wrote `{wrote}`)" in note for note in found.notes)
    found = answer_in(cell(STUB, "softmax"), cell(misspelt))
    assert found.program is None
    assert any(f"the function must be named `softmax` (found '{wrote}')" in note for note in found.notes)


def test_a_cell_that_cannot_be_parsed_is_said_of_its_exercise(answer_in):
    found = answer_in(cell("def softmax(scores, dim):\n    return (scores", "softmax"))
    assert found.program is None
    assert any("the cell of `softmax` can't be parsed: '(' was never closed (line 2)" in note for note in found.notes)


def test_a_notebook_of_a_newer_python_is_said_to_be_one(tmp_path):
    made = new_notebook(
        cells=[cell("def broken(:")], metadata={"language_info": {"name": "python", "version": "3.99.1"}}
    )
    nbformat.write(made, tmp_path / "ann.ipynb")
    assert "it was written with Python 3.99.1, and read with 3." in read_notebook(tmp_path / "ann.ipynb").notes[0]


def test_lines_are_those_that_the_student_counts(answer_in):
    found = answer_in(
        cell("import torch"),
        cell(f"# a comment\n\n{HELPER}"),
        cell("SCALE = 2; OTHER = 3"),
        cell(f"%time\n# mine\n{FILLED}", "softmax"),
    )
    lines = found.program.split("\n")
    places = [found.in_words(f"line {number}: `{line}`") for number, line in enumerate(lines, 1)]
    assert places[lines.index("    return x * SCALE")] == "line 4 of code cell 2: `    return x * SCALE`"
    assert places[-1].startswith("line 4 of its cell: `    return helper(scores)")
    assert found.in_words("nowhere") == "nowhere"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no notebook that can be read"),
        (b"{", "is no notebook that can be read"),
        (b"[" * 100_000, "is no notebook that can be read"),
        (b'{"cells": 3}', "is no notebook that can be read"),
        (b'{"cells": [{"cell_type": "code", "source": 3}]}', "is no notebook that can be read"),
        (b"\xff\xfe", "is no notebook that can be read"),
        (json.dumps({"cells": [{"cell_type": "code", "source": "x" * 300_000}]}).encode(), "262144 characters of code"),
    ],
)
def test_a_broken_notebook_is_said_to_be_broken(tmp_path, content, message):
    path = tmp_path / "ann.ipynb"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_notebook(path)


def test_a_notebook_of_200_megabytes_is_not_even_read(tmp_path):
    path = tmp_path / "ann.ipynb"
    with path.open("wb") as file:
        file.truncate(10 * MOST_BYTES)
    with pytest.raises(ValueError, match=r"ann.ipynb may have 20 MiB \(it has 200\): clear its outputs"):
        read_notebook(path)


def test_links_are_not_followed(tmp_path):
    secret = tmp_path / "assignment.json"
    secret.write_text("{}")
    (tmp_path / "ann.ipynb").symlink_to(secret)
    with pytest.raises(ValueError, match=r"must be a file \(it is a link, or no file\)"):
        read_notebook(tmp_path / "ann.ipynb")
