"""Stands in for podman: takes its command line apart, and runs the command here, in a bubblewrap of that shape.

What it was told is appended to the file that FAKE_RUNTIME names, a line of JSON each. So the command line, the socket
in a folder and the end of a container are tested where no runtime is.
"""

import json
import os
import subprocess
import sys

ONE_WORD = {"--rm", "--interactive", "--read-only", "--read-only-tmpfs=false"}


def main() -> int:
    with open(os.environ["FAKE_RUNTIME"], "a", encoding="utf-8") as log:
        log.write(json.dumps(sys.argv[1:]) + "\n")
    if sys.argv[1] == "image":
        return 1  # it has no image yet
    if sys.argv[1] == "import":
        return 0 if len(sys.stdin.buffer.read()) >= 512 else 1
    if sys.argv[1] != "run":
        return 0
    options, words = [], sys.argv[2:]
    while words[0].startswith("--"):
        name = words.pop(0)
        options.append((name, "" if name in ONE_WORD else words.pop(0)))
    return subprocess.run([*sandbox(options), *words[1:]]).returncode  # the first is the image


def sandbox(options: list[tuple[str, str]]) -> list[str]:
    made = [
        "bwrap",
        "--unshare-pid",
        "--unshare-net",
        "--unshare-ipc",
        "--unshare-uts",
        "--cap-drop",
        "ALL",
        "--clearenv",
    ]
    for name, value in options:
        if name == "--cap-add":
            made += ["--cap-add", f"CAP_{value}"]
        if name == "--env":
            made += ["--setenv", *value.split("=", 1)]
        if name == "--volume":
            source, place, mode = value.split(":")
            assert mode == "ro"
            made += ["--ro-bind", source, place]
    return [*made, "--proc", "/proc", "--dev", "/dev", "--dir", "/scratch", "--dir", "/tmp", "--remount-ro", "/", "--"]


if __name__ == "__main__":
    sys.exit(main())
