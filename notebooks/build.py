"""Build the notebooks: turn notebooks/source/NN_topic.py into notebooks/NN_topic.ipynb, executed, with its outputs.

    python notebooks/build.py            all of them
    python notebooks/build.py 01 02      those whose names begin so
    python notebooks/build.py --text     execute nothing: keep the outputs of notebooks whose code is unchanged, and
                                         give their views the scripts that `npm run build` has built
    python notebooks/build.py --check    change nothing; say where text and notebook differ, and exit with 1

Building twice gives the same file, except for what the cells themselves compute.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import time
from collections import Counter
from itertools import zip_longest
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal, DeadKernelError
from nbformat import NotebookNode

NOTEBOOKS = Path(__file__).resolve().parent
sys.path.insert(0, str(NOTEBOOKS.parent))

from notebooks import drawings, paragraphs, view_scripts  # noqa: E402

SOURCES = NOTEBOOKS / "source"
KERNEL = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
LAYOUT_OF_THE_TEXT = ("lines_to_next_cell", "lines_to_end_of_cell_marker", "cell_marker")
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def text_to_notebook(path: Path) -> NotebookNode:
    """The notebook that a text file in py:percent format describes, not executed."""
    notebook = jupytext.read(path, fmt="py:percent")
    notebook.metadata = NotebookNode(kernelspec=KERNEL)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    seen = Counter()
    for cell in notebook.cells:
        for key in LAYOUT_OF_THE_TEXT:
            cell.metadata.pop(key, None)
        cell.id = stable_id(cell, seen)
        if cell.cell_type == "markdown":
            cell.source = drawings.with_attachments_named(cell.source)
    return notebook


def stable_id(cell: NotebookNode, seen: Counter) -> str:
    """An id that depends on nothing but the cell's own text, so that it outlives changes elsewhere."""
    digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:12]
    seen[digest] += 1
    return digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"


def execute(notebook: NotebookNode, folder: Path = NOTEBOOKS, seconds_per_cell: float = 3000) -> NotebookNode:
    """Run every cell in a fresh kernel and store the outputs in `notebook`, which is returned.

    Raises:
        CellControlSignal: a cell raised an error, or took too long.
        DeadKernelError: a cell ended the kernel's process.
    """
    started = []
    client = NotebookClient(
        notebook,
        kernel_name=KERNEL["name"],
        resources={"metadata": {"path": str(folder)}},
        timeout=seconds_per_cell,
        iopub_timeout=60,  # on a busy machine outputs may come long after their cell is done
        record_timing=False,
        coalesce_streams=True,
        store_widget_state=False,
        on_cell_start=lambda cell, cell_index: started.append(cell),
    )
    try:
        client.execute(stderr=subprocess.DEVNULL)  # the kernel's own log; what cells write there is an output
    except DeadKernelError:
        raise DeadKernelError(f"The kernel died in this cell:\n{started[-1].source}") from None
    notebook.metadata.kernelspec = KERNEL
    notebook.metadata.language_info.pop("version")
    return without_widget_views(notebook)


def without_widget_views(notebook: NotebookNode) -> NotebookNode:
    """Leave out what only a running kernel can show: a reader sees the picture beside it, and no "model not found"."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(WIDGET_VIEW, None)
    return notebook


def keep_outputs(notebook: NotebookNode, stored: NotebookNode) -> None:
    """Give `notebook` the outputs of a stored one whose code is the same; an exercise may have moved within it.

    Raises:
        ValueError: the code differs.
    """
    new, old = ([cell for cell in one.cells if cell.cell_type == "code"] for one in (notebook, stored))
    if order_of_code(new) != order_of_code(old):
        raise ValueError("outputs can only be kept where no code has changed: build it without --text")
    known = {cell.id: cell for cell in old}
    for count, cell in enumerate(new, start=1):
        cell.outputs, cell.execution_count = known[cell.id].outputs, count
        view_scripts.refresh(cell)
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = count
    notebook.metadata = stored.metadata


def order_of_code(code: list[NotebookNode]) -> tuple[list[tuple], set[str]]:
    """The cells of a lesson in their order, and those of its exercises, on which no other leans, in any."""
    cells = [(cell.id, cell.source, dict(cell.metadata)) for cell in code]
    exercise = [
        cell for cell in cells if "exercise" in cell[2] or (cell[1].startswith("exercises.") and ".check(" in cell[1])
    ]
    return [cell for cell in cells if cell not in exercise], {str(cell) for cell in exercise}


def differences(source: NotebookNode, notebook: NotebookNode) -> list[str]:
    """Where text and notebook disagree: in a cell, in its drawings or in the scripts of its views. No output counts."""
    found = []
    for number, (wanted, stored) in enumerate(zip_longest(source.cells, notebook.cells), start=1):
        if wanted is None or stored is None:
            missing = "text" if wanted is None else "notebook"
            found.append(f"cell {number} is missing in the {missing}: {first_line(wanted or stored)}")
            continue
        for part in ("cell_type", "source", "metadata"):
            if wanted[part] != stored[part]:
                found.append(f"cell {number} differs in its {part}: {first_line(wanted)}")
        if not drawings.are_attached(stored):
            found.append(f"cell {number} does not hold its drawings as they are now: {first_line(wanted)}")
        if not view_scripts.are_present(stored):
            found.append(f"cell {number} holds a view with a script of before: {first_line(wanted)}")
    return found


def first_line(cell: NotebookNode) -> str:
    return cell.source.partition("\n")[0]


def check(source: Path, target: Path) -> bool:
    """Print where text and notebook differ; True if they do not."""
    if not target.exists():
        print(f"{target.name}: not built yet")
        return False
    found = differences(text_to_notebook(source), nbformat.read(target, as_version=4))
    for difference in found:
        print(f"{target.name}: {difference}")
    return not found


def rewrite(source: Path, target: Path) -> bool:
    """Write the notebook with its new text and the outputs that it has; print the error if its code has changed."""
    notebook = text_to_notebook(source)
    try:
        keep_outputs(notebook, nbformat.read(target, as_version=4))
    except (FileNotFoundError, ValueError) as error:
        print(f"{target.name}: {error}")
        return False
    write(notebook, target)
    return True


def build(source: Path, target: Path) -> bool:
    """Execute the text and write the notebook; print the error and leave the old notebook alone if a cell fails."""
    print(f"{source.stem} ...", end=" ", flush=True)
    start = time.perf_counter()
    try:
        notebook = execute(text_to_notebook(source))
    except (CellControlSignal, DeadKernelError) as error:  # its text shows the cell
        print(f"failed\n{error}")
        return False
    write(notebook, target)
    print(f"{time.perf_counter() - start:.1f} s")
    return True


def write(notebook: NotebookNode, target: Path) -> None:
    drawings.attach(notebook)
    nbformat.write(notebook, target)


def texts_of_lessons() -> str:
    """What the package should hold of the lessons' text."""
    return paragraphs.as_json({path.name[:2]: text_to_notebook(path) for path in sorted(SOURCES.glob("[01]*.py"))})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="beginnings of names, such as 01 (default: all)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--text", action="store_const", dest="act", const=rewrite, help="keep the outputs, execute nothing"
    )
    how.add_argument("--check", action="store_const", dest="act", const=check, help="compare only")
    parser.set_defaults(act=build)
    options = parser.parse_args()
    os.environ.setdefault("TRANSFORMER_LAB_DEVICE", "cpu")
    os.environ["TRANSFORMER_LAB_PROGRESS"] = "off"  # what a lesson tries is not its builder's progress
    sources = [s for s in sorted(SOURCES.glob("*.py")) if not options.names or s.name.startswith(tuple(options.names))]
    if not sources:
        parser.error(f"no text in {SOURCES.name}/ has a name that begins with {' or '.join(options.names)}")
    if options.act is not check:
        paragraphs.FILE.write_text(texts_of_lessons(), "utf-8")  # lesson 12 reads it
    done = [options.act(source, NOTEBOOKS / f"{source.stem}.ipynb") for source in sources]
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
