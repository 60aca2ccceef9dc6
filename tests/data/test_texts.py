"""Texts: Python's own source, a file of one's own, and characters as tokens."""

import ast
import sysconfig
from pathlib import Path

import pytest
import torch

from tests.support import refuses
from transformer_lab.data import tasks, texts
from transformer_lab.data.texts import PRINTABLE, Characters, is_code, part_of, python_source, text_file


@pytest.fixture(scope="module")
def corpus() -> texts.Corpus:
    return python_source()


# Python's source


def test_which_files_belong_to_it():
    for name in ("abc.py", "email/__init__.py", "xml/sax/handler.py"):
        assert is_code(name)
    for name in (
        *("test/test_abc.py", "unittest/test/x.py", "ctypes/test/x.py", "encodings/cp1252.py", "pydoc_data/topics.py"),
        *("idlelib/run.py", "site-packages/numpy/x.py", "_sysconfigdata__linux.py", "sitecustomize.py"),
    ):
        assert not is_code(name)


def test_the_part_of_a_file_follows_from_its_name():
    names = {name: part_of(name) for name in ("abc.py", "html/parser.py", "trace.py", "argparse.py")}
    assert names == {"abc.py": "train", "html/parser.py": "test", "trace.py": "test", "argparse.py": "train"}


def test_every_file_is_in_one_part_and_is_python(corpus):
    parts = [corpus.train, corpus.validation, corpus.test]
    names = [name for part in parts for name in part]
    assert len(names) == len(set(names)) > 300
    for named, part in (("train", corpus.train), ("validation", corpus.validation), ("test", corpus.test)):
        assert {part_of(name) for name in part} == {named}
    for text in corpus.test.values():
        ast.parse(text)
    assert len(corpus.text("train")) > 4_000_000
    assert 0.02 < len(corpus.text("test")) / len(corpus.text("train")) < 0.12


def test_it_has_the_characters_of_its_alphabet_alone(corpus):
    characters = Characters(PRINTABLE)
    for part in ("train", "validation", "test"):
        assert (characters.encode(corpus.text(part)) > characters.other_id).all()


def test_the_texts_are_those_on_the_disk(corpus):
    assert corpus.train["abc.py"] == (Path(sysconfig.get_path("stdlib")) / "abc.py").read_text(encoding="ascii")
    assert corpus.text("test").startswith(next(iter(corpus.test.values())))


def test_tasks_has_it_too():
    assert tasks.python_source is python_source


def test_a_python_without_its_source_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    with refuses("Python must come with the source of its standard library (there is none in"):
        python_source()


# A file of one's own


def test_the_end_of_a_file_is_held_out(tmp_path):
    text = "".join(chr(256 + i % 5000) for i in range(16_000))
    path = tmp_path / "book.txt"
    path.write_text(text, encoding="utf-8")
    book = text_file(path)
    assert [len(book.text(part)) for part in ("train", "validation", "test")] == [14_000, 1_000, 1_000]
    assert book.text("train") + book.text("validation") + book.text("test") == text


def test_files_that_are_no_text_to_learn_from(tmp_path):
    path = tmp_path / "book.txt"
    path.write_text("too short")
    with refuses("a text to learn from must have at least 10 000 characters"):
        text_file(path)
    path.write_bytes(b"\xff" * 20_000)
    with refuses("a text must be in UTF-8"):
        text_file(path)


# Characters


def test_characters_worked_by_hand():
    characters = Characters("ab\n")
    ids = characters.encode("b\naé")
    assert ids.tolist() == [3, 4, 2, 1]
    assert ids.dtype == torch.int64
    assert characters.decode([0, *ids.tolist()]) == "b\na\ufffd"
    assert len(characters) == 5
    assert characters.encode("").tolist() == []


def test_the_most_frequent_characters_are_kept():
    characters = Characters.of("ccccbbbaad\U0001f600\ufffd\ufffd\ufffd\ufffd\ufffd", at_most=3)
    assert characters.alphabet == "abc"
    assert characters.decode(characters.encode("ad\U0001f600")) == "a\ufffd\ufffd"


def test_there_and_back():
    characters = Characters(PRINTABLE)
    assert characters.decode(characters.encode(PRINTABLE)) == PRINTABLE
    assert Characters.from_json(characters.to_json()).alphabet == PRINTABLE


def test_what_is_no_alphabet_is_refused():
    for alphabet in ("aba", "a\ufffd"):
        with refuses("each character of an alphabet must be another one"):
            Characters(alphabet)
    for text in ("", "[]", '{"alphabet": "ab"}', '{"characters": 3}'):
        with refuses("a vocabulary of characters must be JSON with its alphabet"):
            Characters.from_json(text)
    with refuses("ids must be from 0 to 3 (got 0 to 4)"):
        Characters("ab").decode([0, 4])
