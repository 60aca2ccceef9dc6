"""Which device the lessons run on."""

import pytest
import torch

from tests.support import refuses
from transformer_lab import default_device


@pytest.fixture(autouse=True)
def without_override(monkeypatch):
    monkeypatch.delenv("TRANSFORMER_LAB_DEVICE", raising=False)


@pytest.mark.parametrize(
    ("cuda", "mps", "expected"),
    [(False, False, "cpu"), (False, True, "mps"), (True, False, "cuda"), (True, True, "cuda")],
)
def test_an_accelerator_is_preferred(cuda, mps, expected, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert default_device() == torch.device(expected)


def test_the_environment_variable_overrides_the_choice(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setenv("TRANSFORMER_LAB_DEVICE", "cpu")
    assert default_device() == torch.device("cpu")


def test_an_empty_environment_variable_overrides_nothing(monkeypatch):
    expected = default_device()
    monkeypatch.setenv("TRANSFORMER_LAB_DEVICE", "")
    assert default_device() == expected


@pytest.mark.parametrize("name", ["the-fast-one", "cuda:99"])
def test_the_environment_variable_must_name_a_device_of_this_machine(name, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_LAB_DEVICE", name)
    with refuses(f"TRANSFORMER_LAB_DEVICE must name a device of this machine, such as cpu or cuda ('{name}': "):
        default_device()
