"""Sixty students of all kinds, and what they hand in to three assignments: right, wrong, late, pasted, copied, gone.

The second asks a question in words, the third a prediction of everybody's own numbers.
"""

import json
import zipfile
from pathlib import Path

import nbformat

from tests.answers import RIGHT_ANSWERS
from tests.grading.support import OWN_WAY, renamed
from tests.grading.term import solved
from transformer_lab.exercises import catalogue
from transformer_lab.exercises.lesson_11.kv_cache_bytes import kv_cache_bytes
from transformer_lab.grading.handout.variants import own_case

TERM = {
    "hw1": {"softmax": 2, "scaled_dot_product_attention": 3},
    "hw2": {"causal_mask": 1, "padding_mask": 1, "decoder_mask": 2},
    "hw3": {"rotate": 2, "merge_pair": 1, "kv_cache_bytes": 1},
}
VARIANT, QUESTION = "kv_cache_bytes", "why_masked"
ASKED = f"## {QUESTION} (1)\n\nWhy must a decoder not see what comes next?\n\n### For the marker\n\nIt would copy it.\n"
UNDERSTOOD = "It would copy the next token, and learn nothing. <b>{name}</b> says so."
MISTAKES = {
    "softmax": "overflow", "scaled_dot_product_attention": "softmax_over_queries", "causal_mask": "future_is_true",
    "padding_mask": "padding_is_true", "decoder_mask": "forbidden_is_true", "rotate": "positions_on_the_first_axis",
    "merge_pair": "used_twice", "kv_cache_bytes": "one_of_the_two",
}  # fmt: skip
KINDS = {
    "right": 23, "borrowing": 1, "mistaken": 12, "turning": 6, "half": 6, "late": 3, "pasted": 2, "copied": 2,
    "crashing": 1, "broken": 1, "misspelt": 1, "gone": 2,
}  # fmt: skip


def students() -> list[tuple[int, str, str]]:
    """Number, name and kind of each; half of the names come with an accent."""
    kinds = [kind for kind, count in KINDS.items() for _ in range(count)]
    return [
        (1000 + n, f"{'Zoë' if n % 2 else 'Ann'} Doe{chr(65 + n // 26)}{chr(97 + n % 26)}", k)
        for n, k in enumerate(kinds)
    ]


def worksheet(at: str) -> str:
    """Moodle's grading worksheet of the class, all with one time of submission but the late."""
    lines = [
        "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Last modified (submission),Feedback comments"
    ]
    for number, name, kind in students():
        came = {"late": '"Saturday, 3 October 2026, 9:00 AM"', "gone": "-"}.get(kind, at)
        lines.append(f"Participant {number},{name},{number}@example.org,Submitted,,10.00,{came},")
    return "\n".join(lines) + "\n"


def answer(name: str, kind: str, homework: int, place: int) -> str | None:
    """What a student of a kind answers to an exercise; None leaves it as it was handed out."""
    sources = [source for one in RIGHT_ANSWERS[name] if (source := renamed(one, name))]
    right = f"import torch\n{sources[0]}" if sources else f"import torch\n{catalogue[name].solution_source()}"
    wrong = renamed(catalogue[name].mistakes[MISTAKES[name]].function, name)
    if kind == "mistaken" or (kind == "turning" and homework == 2):
        return wrong
    if kind == "half":
        return right if place == 0 else None
    if kind == "pasted":
        return catalogue[name].solution_source()
    if kind == "copied" and name == "softmax":
        return OWN_WAY
    return {
        "crashing": f"import os\ndef {name}(*given):\n    os._exit(1)",
        "broken": f"def {name}(:",
        "misspelt": right.replace(f"def {name}(", f"def {name}s("),
    }.get(kind, right)


def own_answer(kind: str, id_: str, key: str) -> str | None:
    """What a student of a kind answers to the prediction of their own numbers."""
    if kind in ("half", "crashing", "broken", "pasted"):
        return answer(VARIANT, kind, 3, 1)
    case = own_case(VARIANT, id_, key)
    function = (
        catalogue[VARIANT].mistakes[MISTAKES[VARIANT]].function if kind == "mistaken" else kv_cache_bytes.reference
    )
    return f"{VARIANT} = {function(**case.arguments)}"


def words(kind: str, name: str) -> str:
    """What a student of a kind writes to the question; `half` and those of whom nothing is right write nothing."""
    if kind in ("half", "broken", "crashing"):
        return ""
    return "I don't know." if kind in ("mistaken", "turning") else UNDERSTOOD.format(name=name)


def fill_in_own(notebook: nbformat.NotebookNode, number: int, name: str, kind: str, key: str) -> None:
    """The id, the prediction of one's own numbers, and the words, wherever a notebook asks for them."""
    id_ = f"{students()[0][0] if kind == 'borrowing' else number}@example.org"
    for cell in notebook.cells:
        if cell.id.startswith("student-"):
            cell.source = f'STUDENT = "{id_}"'
        elif cell.metadata.get("exercise") == VARIANT and (own := own_answer(kind, id_, key)) is not None:
            cell.source = own
        elif cell.id == f"{QUESTION}-words" and (text := words(kind, name)):
            cell.source = text


def mark_by_hand(page: Path, out: Path) -> Path:
    """What an instructor saves who gives a point to whoever has understood; read from the page, as a browser does."""
    data = json.loads(page.read_text(encoding="utf-8").partition('id="data">')[2].partition("</script>")[0])
    given = [
        {"student": one["student"], "question": QUESTION, "points": float(one["text"] != "I don't know.")}
        | {"comment": "<i>So</i> it is.", "at": "2026-10-05T08:00:00.000Z", "text": one["print"]}
        for one in data["answers"]
    ]
    out.write_text(json.dumps({"format": 1, "assignment": data["assignment"], "marks": given}), encoding="utf-8")
    return out


def hand_in(release: Path, out: Path, homework: int, key: str) -> Path:
    """The class's work as Moodle hands it back, zipped."""
    releases = sorted(release.glob("*.ipynb"))
    with zipfile.ZipFile(out, "w") as archive:
        for number, name, kind in students():
            if kind == "gone":
                continue
            exercises = [e for e in TERM[f"hw{homework}"] if e != VARIANT]
            answers = {e: a for i, e in enumerate(exercises) if (a := answer(e, kind, homework, i)) is not None}
            for path in releases:
                notebook: nbformat.NotebookNode = solved(path, answers)
                fill_in_own(notebook, number, name, kind, key)
                folder = f"{name}_{number}_assignsubmission_file_"
                archive.writestr(f"{folder}/{path.name}", json.dumps(notebook))
    return out
