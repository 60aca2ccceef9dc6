"""Printing that works on any console, even one whose character set lacks some of the characters."""

import io
import sys


def print_anything() -> None:
    """Make `print` write, say, `\u0434` where the console, or the file that stands in for it, has no д.

    On Windows what goes to a file or a pipe is in the code page of the country, and a translation into Russian, or a
    student's name, would end the command.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
