"""The gallery shows every view."""

import re
from inspect import isfunction

from tests.notebook_rules import ROOT
from transformer_lab import widgets


def test_every_view_is_in_the_gallery():
    source = (ROOT / "notebooks" / "source" / "gallery.py").read_text("utf-8")
    shown = set(re.findall(r"^widgets\.(\w+)\(", source, re.MULTILINE))
    assert shown == {name for name in widgets.__all__ if isfunction(getattr(widgets, name))}
