"""A progress bar for training."""

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from transformer_lab.training.loop import Report


def progress(reports: Iterable[Report], until: int) -> Iterator[Report]:
    """Yield the same reports, showing a progress bar: `for report in progress(training.run(400), until=400): …`

    It is drawn in the terminal or under the cell, and is gone at the end: a stored notebook has no trace of it. Where
    the output goes to a file, there is none.
    """
    from tqdm import tqdm  # imported late: the package alone does not need it

    with tqdm(total=until, unit="step", leave=False, file=screen(), disable=None) as bar:
        for report in reports:
            bar.n = report.step
            bar.set_postfix_str(f"loss {report.loss:.3f}", refresh=False)
            bar.update(0)
            yield report


class Cell:
    """The output of a notebook cell, as a file of one line that is overwritten again and again."""

    def __init__(self) -> None:
        from IPython.display import display

        self.line = display({"text/plain": ""}, raw=True, display_id=True)

    def write(self, text: str) -> None:
        self.line.update({"text/plain": text.strip()}, raw=True)

    def flush(self) -> None:
        """Do nothing, because everything is shown at once."""

    def isatty(self) -> bool:
        return True


def screen() -> Any:  # a file, of what class is the front-end's choice
    """The file to which the bar is drawn."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return Cell() if hasattr(shell, "kernel") else sys.stdout
