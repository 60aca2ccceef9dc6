"""Files that are put in the place of others, and configs as a file can hold them."""

import errno
import json
import os
import re
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.support import refuses, without_signature_checks
from transformer_lab import LanguageModelConfig, TextEncoderConfig, TransformerConfig
from transformer_lab.files import check_writable, replace_file
from transformer_lab.training import Recipe, TextExamples, TextRecipe

CONFIGS = [TransformerConfig(), LanguageModelConfig(), TextEncoderConfig(), Recipe(), TextRecipe(n_steps=5)]


@pytest.mark.parametrize("name", ["none/model", "file/model", ".", "x" * 250, "full"])
def test_who_cannot_write_is_told_the_name_that_was_asked_for(name, tmp_path, monkeypatch):
    """And not that of the unfinished file, which nobody has heard of."""

    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "file").touch()
    path = tmp_path / name
    message = {
        "none/model": f"there is no folder {tmp_path / 'none'}",
        "file/model": f"there is no folder {tmp_path / 'file'}",
        ".": f"[Errno {errno.EISDIR}] Is a directory: '{tmp_path}'",
        "full": f"[Errno {errno.ENOSPC}] No space left on device: '{path}'",
    }.get(name, f"[Errno {errno.ENAMETOOLONG}] File name too long: '{path}'")
    if name == "full":
        monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=f"^{re.escape(message)}$"):
        replace_file(path, b"new")
    assert [*tmp_path.iterdir()] == [tmp_path / "file"]


def test_trying_to_write_leaves_nothing_behind_and_what_is_there_as_it_is(tmp_path):
    path = tmp_path / ("x" * 210)  # with the ending of an unfinished file, a name may just be so long
    check_writable(path)
    assert [*tmp_path.iterdir()] == []
    replace_file(path, b"here")
    check_writable(path)
    assert (path.read_bytes(), [*tmp_path.iterdir()]) == (b"here", [path])


def of_type(config: Any, kind: type) -> list[str]:
    return [field.name for field in fields(config) if field.type is kind]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: type(config).__name__)
def test_true_is_no_number_and_a_number_is_no_truth(config):
    for kind, wrong in ((int, True), (float, True), (bool, 1), (int, 2.0), (float, 2j), (int, np.bool_(True))):
        for name in of_type(config, kind):
            with refuses(f"{name} of a {type(config).__name__} must be {kind.__name__} (got {wrong!r})"):
                replace(config, **{name: wrong})


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: type(config).__name__)
def test_numbers_of_numpy_are_as_good_as_pythons_and_become_them(config):
    """So that a checkpoint can hold them."""
    of_numpy = {int: np.int64, float: np.float64, bool: np.bool_, str: np.str_}
    given = {field.name: of_numpy[field.type](getattr(config, field.name)) for field in fields(config)}
    with without_signature_checks():
        same = type(config)(**given)
    assert same == config
    assert json.dumps(asdict(same)) == json.dumps(asdict(config))
    for name in of_type(config, float):
        with without_signature_checks():
            assert type(getattr(replace(config, **{name: np.float32(0.5)}), name)) is float


def test_a_text_has_one_checksum_whatever_type_its_length_has():
    ids = torch.arange(30)
    with without_signature_checks():
        one, other = TextExamples(ids, 5), TextExamples(ids, np.int64(5))
    assert one.fingerprint() == other.fingerprint()
