"""The command line for training after pretraining: `python -m transformer_lab.training.answers --help`."""

import sys

from transformer_lab.training.commands.answers import begin, parser, resume
from transformer_lab.training.commands.shared import run_command


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    return run_command(arguments, parser(), begin, resume)


if __name__ == "__main__":
    sys.exit(main())
