"""The command line: `python -m transformer_lab.training --help`. For a language model: `….training.text --help`."""

import sys

from transformer_lab.training.commands.number_names import begin, resume
from transformer_lab.training.commands.options import parser
from transformer_lab.training.commands.shared import run_command


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    return run_command(arguments, parser(), begin, resume)


if __name__ == "__main__":
    sys.exit(main())
