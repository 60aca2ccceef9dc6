"""The built scripts in transformer_lab/widgets/static: made of what stands there, by the version that is pinned."""

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.view_examples import MODULES, SHOW, make
from transformer_lab import widgets

SOURCES = Path(widgets.__file__).parent
STATIC = SOURCES / "static"
MANIFEST = json.loads((STATIC / "manifest.json").read_text())
PACKAGE = SOURCES.parents[1] / "package.json"
OF_THE_KERNEL = "kernel"  # a key that only a view with a kernel behind it has


SCRIPTS = sorted(path for path in SOURCES.rglob("*.*js") if path.parent != STATIC)


def hashes(paths: Iterable[Path]) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def test_no_script_is_stale():
    now = hashes(SCRIPTS)
    changed = sorted(
        name for name in now.keys() | MANIFEST["sources"].keys() if now.get(name) != MANIFEST["sources"].get(name)
    )
    assert changed == [], "changed since the scripts were built: run `npm run build`"
    assert json.loads(PACKAGE.read_text())["devDependencies"]["esbuild"] == MANIFEST["esbuild"], "run `npm run build`"


def test_no_script_was_edited_by_hand():
    assert hashes(STATIC.glob("*.js")) == MANIFEST["scripts"]
    assert MANIFEST["scripts"].keys() == {f"{kind}_view.js" for kind in MODULES}


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_no_line_is_long(path):
    assert [i for i, line in enumerate(path.read_text("utf-8").split("\n"), start=1) if len(line) > 120] == []


@pytest.fixture(scope="module")
def sent() -> dict[str, set[str]]:
    """By kind of view: the keys of all that its examples send."""
    keys: dict[str, set[str]] = {}
    for view in map(make, SHOW):
        keys.setdefault(view.kind, set()).update(view.state)
    return keys


@pytest.mark.parametrize("kind", MODULES)
def test_a_script_reads_all_that_it_is_sent_and_nothing_else(kind, sent):
    read = set(
        re.findall(
            r'model\.get\("(\w+)"\)',
            next(path for path in SCRIPTS if path.name == f"{kind}_view.js").read_text("utf-8"),
        )
    )
    assert read - {OF_THE_KERNEL} | {"summary"} == sent[kind] | {"summary"}
