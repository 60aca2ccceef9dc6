"""A generated class: what twenty students hand in, and what each answer deserves."""

import json
from pathlib import Path

import nbformat

from tests.answers import lesson_01
from tests.grading.support import renamed
from transformer_lab.exercises import catalogue

HONEST = {
    "ann": ("softmax_by_powers", "attention_of_torch"),
    "ben": ("softmax_by_logarithm", "attention_by_einsum"),
    "cem": ("softmax_by_loop", "attention_by_loop"),
    "dai": ("softmax_in_float64", "attention_in_float64"),
}
MISTAKEN = {
    "eva": ("overflow", "unscaled"),
    "fay": ("overflow", "unscaled"),
    "gus": ("overflow", "softmax_over_queries"),
    "hal": ("sum_over_everything", "unscaled"),
}
IN_A_FUNCTION = {
    "ida": ("os._exit(1)", "crashed"),
    "jan": ("while True: pass", "timeout"),
    "kim": ("raise ValueError('a word of kim')", "raised"),
    "lea": ("from transformer_lab import masked_softmax", "policy"),
}
VERDICTS = {student: verdict for student, (_, verdict) in IN_A_FUNCTION.items()}


def solved(release: Path, answers: dict[str, str]) -> nbformat.NotebookNode:
    """The notebook that was handed out, with these sources in the cells of the exercises."""
    notebook = nbformat.read(release, as_version=4)
    for cell in notebook.cells:
        if cell.metadata.get("exercise") in answers:
            cell.source = answers[cell.metadata.exercise]
    return notebook


def hand_in(release: Path, out: Path) -> None:
    """Write the class's notebooks: softmax and attention of lesson 01, each one point."""
    out.mkdir()

    def write(student: str, softmax: str | None = None, attention: str | None = None, change=lambda notebook: None):
        answers = {"softmax": softmax, "scaled_dot_product_attention": attention}
        notebook = solved(release, {name: source for name, source in answers.items() if source is not None})
        change(notebook)
        (out / f"{student}.ipynb").write_text(json.dumps(notebook))

    for student, (one, two) in HONEST.items():
        names = ("softmax", "scaled_dot_product_attention")
        write(student, *(renamed(getattr(lesson_01, f), name) for f, name in zip((one, two), names, strict=True)))
    for student, (one, two) in MISTAKEN.items():
        first = catalogue["softmax"].mistakes[one].function
        second = catalogue["scaled_dot_product_attention"].mistakes[two].function
        write(student, renamed(first, "softmax"), renamed(second, "scaled_dot_product_attention"))
    right = renamed(lesson_01.attention_of_torch, "scaled_dot_product_attention")
    for student, (line, _) in IN_A_FUNCTION.items():
        write(student, f"import os\ndef softmax(scores, dim):\n    {line}\n    return scores", right)
    softmax = renamed(lesson_01.softmax_by_powers, "softmax")
    write("mia")  # as it was handed out
    write("nat", softmax, right, delete_checks_and_metadata)
    write("oda", softmax, right, put_the_last_first)
    write("pia", softmax, right, copy_every_cell)
    (out / "quin.ipynb").write_text("{broken")
    (out / "rex.ipynb").symlink_to(release)
    write("..%2f..%2f<b>sam", softmax, right)
    (out / "tom" / "hw1").mkdir(parents=True)
    nbformat.write(solved(release, {"softmax": softmax}), out / "tom" / "hw1" / release.name)


def delete_checks_and_metadata(notebook: nbformat.NotebookNode) -> None:
    notebook.cells = [cell for cell in notebook.cells if ".check(" not in cell.source]
    for number, cell in enumerate(notebook.cells):
        cell.metadata, cell.id = {}, str(number)


def put_the_last_first(notebook: nbformat.NotebookNode) -> None:
    notebook.cells.reverse()


def copy_every_cell(notebook: nbformat.NotebookNode) -> None:
    notebook.cells += json.loads(json.dumps(notebook.cells), object_hook=nbformat.NotebookNode)


POINTS = (
    dict.fromkeys((*HONEST, "nat", "oda", "pia", "..%2f..%2f<b>sam"), 2)
    | dict.fromkeys((*IN_A_FUNCTION, "tom"), 1)
    | dict.fromkeys((*MISTAKEN, "mia", "quin", "rex"), 0)
)
