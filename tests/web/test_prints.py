"""What code prints, set as rows: no letter is lost, numbers are marked, and shares are drawn as long as they are."""

import importlib
import re
from html import unescape

import pytest

from tests.built_site import LESSONS, ROOT
from tests.web.test_site import squeezed, stored


@pytest.fixture
def typeset(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "web"))
    return importlib.import_module("prints").typeset


def bars(html: str) -> list[tuple[float, float]]:
    return [(float(low), float(high)) for low, high in re.findall(r"--from:([\d.]+);--to:([\d.]+)", html)]


@pytest.mark.parametrize("name", LESSONS)
def test_no_letter_of_a_print_is_lost(typeset, name):
    for cell in stored(name).cells:
        for output in cell.get("outputs", []):
            text = output.get("text", "").rstrip("\n")
            set_ = typeset(text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))
            assert not set_ or squeezed(unescape(re.sub(r"<[^>]+>", "", set_))) == squeezed(text)


def test_shares_are_as_long_as_they_are_and_runs_reach_from_the_lowest_to_the_highest(typeset):
    assert bars(typeset("all heads: 1.00\nwithout one: 0.41")) == [(0, 1), (0, 0.41)]
    assert bars(typeset("right: 0.21 to 0.45\nwrong: 0.80 to 0.98")) == [(0.21, 0.45), (0.8, 0.98)]
    assert bars(typeset("told: 53 %\nalone: 0 %")) == [(0, 0.53), (0, 0)]


@pytest.mark.parametrize(
    "text",
    [
        "loss: 0.9\nloss later: 1.1",  # no share
        "first: 0.9 right\nsecond: 0.9 nats",  # of different things
        "heads: 1\nlayers: 0",  # counted
        "one number: 0.5",
    ],
)
def test_what_is_no_share_is_not_drawn(typeset, text):
    assert "printed" in typeset(text)
    assert bars(typeset(text)) == []


def test_a_list_of_amounts_is_as_dark_as_they_are_large(typeset):
    assert re.findall(r"--a:([\d.]+)", typeset("layer 0: [0.88, 0.45, 0.0]")) == ["0.88", "0.45", "0"]
    assert "--a:" not in typeset("vector: [2.0, -0.5]")


def test_one_number_stands_large_and_a_verdict_does_not(typeset):
    assert "single" in typeset("it names 1.00 of the symbols")
    assert "single" not in typeset("max difference &lt; 1e-6: True")
    assert "single" not in typeset("it looks at position 1"), "a digit that only counts"


def test_a_column_is_no_wider_than_what_stands_in_it(typeset):
    told = re.sub(r"<[^>]+>", "", typeset("in training   told\nwith mask            53 %\nwithout             100 %"))
    assert told.replace("\u2007", "_").split("\n")[:3] == ["in trainingtold", "with mask_53 %", "without100 %"]


@pytest.mark.parametrize(
    "text",
    [
        "target:  ein  zig  end\ninput:   begin  ein  zig",  # what stands below each other
        "width         32    64\nwithout scale 0.70  0.49",  # columns that cannot be told apart
        "Je    → suis\nsuis  → un",  # a text
        "[[1.0, 0.0],\n [0.0, 1.0]]",
    ],
)
def test_what_must_stand_below_each_other_keeps_the_letters_of_code(typeset, text):
    assert typeset(text) == ""


def test_what_a_line_is_about_stands_above_its_numbers_where_it_is_long(typeset):
    assert "long" in typeset("period 12, 19 of 31 next symbols can be known: 0.97\nperiod 5: 0.99")
    assert "long" not in typeset("period 12: 0.97\nperiod 5: 0.99")


def test_labels_of_one_width_stand_before_what_is_said_of_them(typeset):
    set_ = typeset("sinusoid      rows 1.5 apart, read 0.51\nevery seventh rows 4.2 apart, read 0.94")
    assert re.findall('class="about">([^<]*)<', set_) == ["sinusoid", "every seventh"]


def test_a_print_with_room_in_the_margin_is_slim_and_its_bars_take_some(typeset):
    assert "slim" in typeset("all heads: 1.5\nwithout one: 0.4")
    assert "slim" not in typeset(f"{'w' * 45}: 1.5\nwithout one: 1.4")
    assert "slim" not in typeset(f"{'w' * 30}: 0.90\nwithout one: 0.40")
