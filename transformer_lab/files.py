"""Files that are replaced as a whole: whatever happens meanwhile, either the old one or the new one can be read."""

import os
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

WAITS = (0.01, 0.03, 0.1, 0.3, 0.6)  # seconds


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file atomically, so that at any moment either the old or the new one can be read there.

    Raises:
        OSError: nothing can be written there.
    """
    with unfinished(path) as part:
        with part.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # else a power cut might leave the new name without its bytes
        put_in_place(part, path)


@contextmanager
def unfinished(path: Path) -> Iterator[Path]:
    """A unique temporary name beside `path` for its future contents; the file is gone at the end of the block.

    An OSError names `path`, the name that the user knows.
    """
    try:
        if not path.parent.is_dir():
            raise NotADirectoryError(f"there is no folder {path.parent}")
        part = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
        try:
            yield part
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def put_in_place(old: Path, new: Path) -> None:
    """Rename a file. On Windows this fails while another program reads one of the two, so try again for a second."""
    for seconds in WAITS if sys.platform == "win32" else ():
        with suppress(PermissionError):
            os.replace(old, new)
            return
        time.sleep(seconds)
    os.replace(old, new)


def check_writable(path: Path) -> None:
    """Raise an OSError unless a file can be written there; an existing file is left alone."""
    if path.is_dir():
        raise IsADirectoryError(f"a file must have a name of its own ({path} is a folder)")
    with unfinished(path) as part:
        part.touch(exist_ok=False)
