"""What a bug is: a function of the program, some of its lines, and what stands there instead."""

import difflib
from dataclasses import dataclass


@dataclass(frozen=True)
class Bug:
    """A change of one function of the program that raises no error.

    `healthy` and `broken` are the lines before and after; `says` tells what is wrong, once it has been found.
    """

    name: str
    file: str
    function: str
    healthy: str
    broken: str
    says: str

    def put_into(self, source: str) -> str:
        """The source of the file with this bug in it.

        Raises:
            ValueError: the healthy lines do not stand there exactly once.
        """
        if (count := source.count(self.healthy)) != 1:
            raise ValueError(f"the lines that a bug replaces must stand in {self.file} once (got {count})")
        return source.replace(self.healthy, self.broken)

    def difference(self) -> str:
        """The lines that the bug takes away and those that it puts in, as `diff` shows them."""
        lines = difflib.ndiff(self.healthy.splitlines(), self.broken.splitlines())
        return "\n".join(line for line in lines if not line.startswith("?"))
