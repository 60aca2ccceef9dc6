"""Notebooks, and files that are none, that want undeserved points or want to do harm, and what each deserves.

Each is what one student hands in: `write` puts it into the folder of submissions, beside the folder `others`, where
a right answer of somebody else lies. They answer `softmax` (2 points).
"""

import base64
import json
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from transformer_lab.grading.handout.assignment import Assignment
from transformer_lab.grading.marking.course import grade_one
from transformer_lab.grading.marking.records import Graded
from transformer_lab.grading.sandbox.launching import KINDS
from transformer_lab.grading.submissions.submissions import find_submissions

POINTS = 2.0
SECONDS = 3  # for an answer
ASSIGNMENT = Assignment("hw1", {"softmax": POINTS}, SECONDS, seed="fixed")
RIGHT = """
import torch
def softmax(scores, dim):
    powers = (scores - scores.amax(dim, keepdim=True)).exp()
    return powers / powers.sum(dim, keepdim=True)
"""
WRONG = RIGHT.replace("return powers / ", "return powers * 0 + ")


@dataclass(frozen=True)
class HandedIn:
    """What one student hands in, what is to be said of it, and the points that it deserves."""

    write: Callable[[Path], None]
    verdict: str
    points: float = 0.0
    note: str = ""

    def grade(self, folder: Path, kind: str = KINDS[0]) -> Graded:
        """The student's marks, in an empty folder."""
        for name in ("others", "submitted"):
            (folder / name).mkdir()
        (folder / "others" / "ann.ipynb").write_text(notebook(RIGHT))
        self.write(folder / "submitted")
        (submission,) = find_submissions(folder / "submitted", "hw1", folder / "submitted" / ".unpacked")
        return grade_one(submission, ASSIGNMENT, kind=kind)


def notebook(*sources: str, outputs: tuple = ()) -> str:
    return json.dumps({"cells": [{"cell_type": "code", "source": source, "outputs": outputs} for source in sources]})


def text(content: str | bytes, name: str = "eve.ipynb") -> Callable[[Path], None]:
    content = content.encode() if isinstance(content, str) else content
    return lambda folder: (folder / name).write_bytes(content)


def of_200_megabytes(folder: Path) -> None:
    with (folder / "eve.ipynb").open("wb") as file:
        file.write(notebook(RIGHT).encode())
        file.truncate(200 << 20)


def a_linked_assignment(folder: Path) -> None:
    (folder / "eve").mkdir()
    (folder / "eve" / "hw1").symlink_to(folder.parent / "others")


def a_zip_bomb(folder: Path) -> None:
    """A right answer with a small output that would be 64 MiB if somebody unpacked it, twice."""
    bomb = base64.b64encode(zlib.compress(zlib.compress(bytes(64 << 20)))).decode()
    output = {"output_type": "display_data", "data": {"application/zip": bomb, "image/png": bomb}, "metadata": {}}
    (folder / "eve.ipynb").write_text(notebook(RIGHT, outputs=(output,)))


def zipped(name: str, content: str, mode: int = 0) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        member = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
        member.external_attr, member.compress_type = mode << 16, zipfile.ZIP_DEFLATED
        with zipfile.ZipFile(folder / "eve.zip", "w") as archive:
            archive.writestr(member, content)

    return write


def beside(name: str, source: str, notebook_source: str) -> Callable[[Path], None]:
    """A Python file, and a notebook, in a student's folder."""

    def write(folder: Path) -> None:
        (folder / "eve").mkdir()
        (folder / "eve" / name).write_text(source)
        (folder / "eve" / "01.ipynb").write_text(notebook(notebook_source))

    return write


IPYTHON = """
get_ipython().input_transformers_post.append(lambda lines: [])
get_ipython().run_cell_async = None
"""
LONG_CHAIN = "\n".join(f"a{i} = a{i + 1}" for i in range(12_000)) + RIGHT.replace("return", "a0\n    return")
HOSTILE = {
    "transforms what IPython runs, in a cell": HandedIn(text(notebook(IPYTHON, WRONG)), "wrong"),
    "a link to another's notebook": HandedIn(
        lambda folder: (folder / "eve.ipynb").symlink_to(folder.parent / "others" / "ann.ipynb"), "missing"
    ),
    "a link to another's folder": HandedIn(
        lambda folder: (folder / "eve").symlink_to(folder.parent / "others"), "missing"
    ),
    "a link to another's assignment": HandedIn(a_linked_assignment, "missing"),
    "a name that leads out of the folder": HandedIn(text(notebook(RIGHT), "..\\..\\..%2f..%2fetc.ipynb"), "ok", POINTS),
    "a notebook of 200 MB": HandedIn(of_200_megabytes, "missing", note="may have 20 MiB"),
    "malformed JSON": HandedIn(text(notebook(RIGHT)[:-1]), "missing", note="is no notebook that can be read"),
    "JSON nested without end": HandedIn(text("[" * 1_000_000), "missing", note="is no notebook that can be read"),
    "JSON that is no notebook": HandedIn(text('{"cells": {"a": 1}}'), "missing", note="is no notebook"),
    "a zip bomb in the outputs": HandedIn(a_zip_bomb, "ok", POINTS),
    "a name that only looks alike": HandedIn(
        text(notebook(RIGHT.replace("softmax", "ѕoftmax"))), "missing", note="must be named `softmax`"
    ),
    "code nested without end": HandedIn(
        text(notebook(RIGHT.replace("return", "nested = 0" + " + 1" * 3000 + "\n    return"))),
        "missing",
    ),
    "a number too long to write": HandedIn(
        text(notebook(f"K = 0x{'f' * 5000}", RIGHT.replace("return", "K\n    return"))),
        "missing",
        note="the code of `softmax` can't be read (ValueError",
    ),
    "thousands of definitions in a chain": HandedIn(text(notebook(LONG_CHAIN)), "raised"),
    "a zip that climbs out of its folder": HandedIn(zipped("../../others/ann.ipynb", notebook(RIGHT)), "ok", POINTS),
    "a zip bomb": HandedIn(zipped("eve.ipynb", " " * (60 << 20)), "missing", note="a file may have 20 MiB"),
    "a link in a zip": HandedIn(zipped("eve.ipynb", "../others/ann.ipynb", 0o120777), "missing"),
    "a file that stands for torch": HandedIn(
        beside("torch.py", "def softmax(*given):\n    return given", f"import torch\n{WRONG}"), "wrong"
    ),
    "a file that says yes to comparisons": HandedIn(
        beside("yes.py", "import torch\ntorch.allclose = torch.equal = lambda *a, **k: True", f"import yes\n{WRONG}"),
        "wrong",
    ),
    "half of a pair of code units in an error": HandedIn(
        text(notebook("def softmax(scores, dim):\n    raise ValueError(chr(0xD800))")), "raised"
    ),
}
