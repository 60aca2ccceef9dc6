"""The command line for training a language model: `python -m transformer_lab.training.text --help`."""

import sys

from transformer_lab.training.commands.language_model import begin, parser, resume
from transformer_lab.training.commands.shared import run_command


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    return run_command(arguments, parser(), begin, resume)


if __name__ == "__main__":
    sys.exit(main())
