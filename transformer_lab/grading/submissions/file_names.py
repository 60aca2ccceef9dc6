"""Names of files: which are read, and the name of a student, or of whatever else people write, as one."""

import hashlib
import unicodedata

NOTEBOOKS = (".ipynb.txt", ".ipynb.json", ".ipynb")  # the first two are what some browsers make of the third
READ = (*NOTEBOOKS, ".py")


def file_name(student: str) -> str:
    """A student's name as the name of a file, another for each: letters, digits, - and _ as they are."""
    name = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else f"%{ord(c):x}." for c in student)
    return name if len(name) < 200 else f"{name[:150]}{hashlib.sha256(name.encode()).hexdigest()[:32]}"


def page_name(student: str) -> str:
    """The same for a page that people handle: letters and digits of any script, and spaces, as they are."""
    name = "".join(c if is_plain(c) else f"%{ord(c):x}." for c in student)
    return name if len(name.encode()) < 200 and name == name.strip() else file_name(student)


def is_plain(c: str) -> bool:
    return c in "-_ " or (c.isalnum() and unicodedata.normalize("NFC", c) == c)
