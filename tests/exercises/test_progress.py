"""Progress is kept in one file: what was solved stays solved, nothing is lost, nothing is written where it is off."""

import json
import os
import subprocess
import sys
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from transformer_lab import exercises
from transformer_lab.exercises.progress import progress_store
from transformer_lab.exercises.progress.progress_store import progress_file, read_progress, record


@pytest.fixture
def path(tmp_path, monkeypatch) -> Path:
    path = tmp_path / "data" / "progress.json"
    monkeypatch.setenv("TRANSFORMER_LAB_PROGRESS", str(path))
    return path


def right(a, b):
    return (a * b).sum()


def test_a_check_is_kept_and_what_was_solved_stays_so(path):
    exercises.dot_product.check(lambda a, b: a)
    assert read_progress() == {"dot_product": "tried"}
    exercises.dot_product.check(right)
    exercises.dot_product.check(lambda a, b: a)
    assert read_progress() == {"dot_product": "solved"}
    assert json.loads(path.read_text())["exercises"] == {"dot_product": "solved"}
    assert [one.name for one in path.parent.iterdir() if not one.name.endswith(".lock")] == ["progress.json"]


def test_a_stub_and_the_package_s_own_function_are_not_kept(path):
    exercises.dot_product.check(lambda a, b: ...)
    exercises.dot_product.check(exercises.dot_product.reference)
    assert read_progress() == {}


def test_off_keeps_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("TRANSFORMER_LAB_PROGRESS", "off")
    monkeypatch.setattr(progress_store, "user_data_path", lambda *_, **__: pytest.fail("asked for the user's folder"))
    assert exercises.dot_product.check(right).passed
    assert progress_file() is None
    assert "Progress is not kept." in repr(exercises.progress())


def test_without_a_word_it_lies_in_the_user_s_data_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("TRANSFORMER_LAB_PROGRESS")
    monkeypatch.setattr(progress_store, "user_data_path", lambda name, appauthor: tmp_path / name)
    assert progress_file() == tmp_path / "transformer_lab" / "progress.json"


@pytest.mark.parametrize("text", ["{", "[]", '{"exercises": {"softmax": "perhaps"}}', '{"exercises": 3}', "\0"])
def test_a_damaged_file_is_put_aside_with_a_message(path, text):
    path.parent.mkdir()
    for n in (1, 2):
        path.write_text(text)
        with pytest.warns(UserWarning, match=f"could not be read; the file is kept as .*damaged-{n}"):
            record("softmax", True)
        assert path.with_name(f"progress.json.damaged-{n}").read_text() == text
        assert read_progress() == {"softmax": "solved"}


def test_where_nothing_can_be_written_a_check_still_judges(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRANSFORMER_LAB_PROGRESS", str(tmp_path / "file" / "progress.json"))
    assert exercises.dot_product.check(right).passed


def test_a_write_that_breaks_off_leaves_the_old_file(path, monkeypatch):
    record("softmax", True)
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    record("embed", True)
    assert read_progress() == {"softmax": "solved"}
    assert not [one for one in path.parent.iterdir() if one.name not in ("progress.json", "progress.json.lock")]


PROGRAM = """
import sys
from transformer_lab.exercises.progress import progress_store
progress_store.PATIENCE = 600.0  # a machine may be as busy as it likes
for i in range(20):
    progress_store.record(f"{sys.argv[1]}-{i}", i % 2 == 0)
"""


def test_notebooks_that_write_at_once_lose_nothing(path):
    def notebook(name: str) -> None:
        subprocess.run([sys.executable, "-c", PROGRAM, name], check=True, env=os.environ)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(notebook, "ab"))
    assert set(read_progress()) == {f"{name}-{i}" for name in "ab" for i in range(20)}


def test_the_map_has_a_line_for_each_exercise(path):
    exercises.dot_product.check(right)
    exercises.embed.check(lambda tokens, table, encoding: torch.zeros(1))
    shown = exercises.progress()
    n = len(exercises.catalogue)
    assert shown.title == f"1 of {n} exercises solved, 1 tried, {n - 2} open"
    lines = repr(shown).splitlines()
    assert len(lines) == n + 4
    assert next(line for line in lines if "dot_product" in line and line.startswith("00")).endswith("✓ solved")
    assert sum(line.endswith("✗ tried") for line in lines) == 1
    html = shown._repr_html_()
    lessons = Counter(exercise.lesson for exercise in exercises.catalogue.values())
    assert html.count("<li ") == len(lessons)
    assert html.count("width:.7em") == n, "a dot for each"
    assert html.count("linear-gradient") == 1, "one is half full"
    assert 'aria-label="lesson 00: 1 of 1 solved, 0 tried"' in html
    assert f'aria-label="lesson 06: 0 of {lessons["06"]} solved, 1 tried"' in html
    for exercise in exercises.catalogue.values():
        assert f"<code>{exercise.name}</code>" in html


def test_names_that_are_not_known_any_more_are_kept_and_not_shown(path):
    record("an_old_exercise", True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "an_old_exercise" not in repr(exercises.progress())
    assert read_progress() == {"an_old_exercise": "solved"}
