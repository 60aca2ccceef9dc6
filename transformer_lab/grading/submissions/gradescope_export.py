"""What Gradescope exports: a folder for each submission, and a file that says whose each is and when it came.

`submission_123` there has `:submitters`, a list of people with `:name`, `:sid` and `:email`, and `:created_at`.
Gradescope writes that file, beside the folders of what students handed in, so the times in it are to be trusted.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from transformer_lab.grading.submissions.file_owners import Owner

METADATA = "submission_metadata.yml"
NAMELESS = "nobody is named in Gradescope's submission_metadata.yml"


@dataclass(frozen=True)
class Told:
    """Who handed in together, such as `Ann Doe_12345`, and when, in ISO; no time where the file has none.

    `addresses` has everybody's e-mail address, for a roster that knows no student ids.
    """

    students: tuple[str, ...]
    came: str = ""
    addresses: dict[str, str] = field(default_factory=dict)

    def owner(self, folder: str) -> Owner:
        return Owner(self.students[0] if self.students else folder, "", system="Gradescope" if self.came else "")


def read_export(place: Path) -> dict[str, Told]:
    """What is told of each folder of an export; nothing for a folder that is none.

    Raises:
        ValueError: the file can't be read; says why.
    """
    path = place / METADATA
    if not path.is_file() or path.is_symlink():
        return {}
    import yaml  # not needed elsewhere

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C takes a tenth of the time
    try:
        told = yaml.load(path.read_bytes(), loader)
    except (yaml.YAMLError, ValueError) as error:
        raise ValueError(f"{path} must be as Gradescope exports it ({error}): export the submissions again") from None
    if not isinstance(told, dict):
        raise ValueError(f"{path} must be as Gradescope exports it (it names no submission)")
    return {str(folder): told_of(str(folder), one if isinstance(one, dict) else {}) for folder, one in told.items()}


def told_of(folder: str, one: dict[str, Any]) -> Told:
    listed = one.get(":submitters")
    people = [person for person in listed if isinstance(person, dict)] if isinstance(listed, list) else []
    known = {name: str(person.get(":email") or "").strip() for person in people if (name := student(person))}
    return Told(tuple(known), moment(one.get(":created_at")), known)


def student(person: dict[str, Any]) -> str:
    """The name and the number, or where there is none the address, by which a roster knows the student."""
    name, number, email = (str(person.get(key) or "").strip() for key in (":name", ":sid", ":email"))
    return "_".join(filter(None, (name.replace("_", " "), (number or email).replace("_", "-"))))


def moment(came: Any) -> str:
    """In ISO and UTC, which YAML means where a time has no zone."""
    if not isinstance(came, datetime):
        return ""
    return (came if came.tzinfo else came.replace(tzinfo=UTC)).astimezone(UTC).isoformat(timespec="seconds")
