"""The site, built once for those who look at it, or the reason why it is not."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NEEDED = ("sphinx", "myst_nb", "math_core", "ziamath")
LESSONS = sorted(path.stem for path in (ROOT / "notebooks").glob("[0-9]*.ipynb"))
SITE = "https://lab.example.org/lab"  # where it is told that it will stand
ADDRESSES = ("href", "src", "action", "poster", "data")


def built_site(out: Path) -> Path:
    """Build the site in a folder, as README says, and return the folder; without what it needs, skip."""
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        pytest.skip(f'the site needs `pip install -e ".[site]"` (not installed: {", ".join(missing)})')
    environment = os.environ | {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "lab/lab"}
    environment |= {"SITE_ADDRESS": SITE}
    command = [sys.executable, str(ROOT / "web" / "build.py"), str(out)]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stderr == "", "Sphinx warns of nothing"
    return out


@dataclass
class PageOfTheSite(HTMLParser):
    """What a page holds: the addresses that it names, as (element, relation, address), its ids and its text."""

    path: Path
    addresses: list[tuple[str, str, str]] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    told: dict[str, str] = field(default_factory=dict)  # what its meta elements say

    def __post_init__(self):
        super().__init__()
        self.html = self.path.read_text("utf-8")
        self.feed(self.html)

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.ids |= {named["id"]} if named.get("id") else set()
        relation = named.get("rel") or named.get("class") or ""
        if tag == "meta" and (what := named.get("name") or named.get("property")):
            self.told[what] = named.get("content") or ""
        for name in ADDRESSES:
            if name in named:
                self.addresses.append((tag, relation, named[name] or ""))

    def target(self, address: str) -> tuple[Path, str]:
        """The file that a relative address names, and the place in it."""
        path, _, place = address.partition("#")
        path = path.partition("?")[0]
        return (self.path.parent / path).resolve() if path else self.path, place

    def assets(self) -> set[Path]:
        """The files that a browser loads with the page: pictures, styles, scripts, and the fonts that styles name."""
        loaded = {self.target(a)[0] for tag, rel, a in self.addresses if is_loaded(tag, rel) and is_relative(a)}
        styles = [path for path in loaded if path.suffix == ".css"]
        return loaded | {file for style in styles for file in named_in(style)}

    def weight(self) -> float:
        """The megabytes that a browser loads with the page, itself counted."""
        return sum(path.stat().st_size for path in (self.path, *self.assets())) / 1e6


def is_loaded(tag: str, relation: str) -> bool:
    return tag in ("img", "script") or (tag == "link" and relation in ("stylesheet", "icon", "preload"))


def is_relative(address: str) -> bool:
    return not re.match(r"[a-z]+:|/", address)


def named_in(style: Path) -> set[Path]:
    """The files that a style sheet names."""
    names = re.findall(r"url\(\s*[\"']?([^\"')]+)", style.read_text("utf-8"))
    return {(style.parent / name.partition("?")[0]).resolve() for name in names if is_relative(name)}
