"""Recipes for long texts: frequencies worked by hand, and what stays as it is."""

from dataclasses import replace
from math import log, pi

import pytest
import torch

from tests.support import DEVICE, assert_close, randn, refuses
from transformer_lab.models.since_llama.rope_scaling import (
    LinearScaling,
    Llama3Scaling,
    PartialRotaryPositions,
    ScaledRotaryPositions,
    YarnScaling,
    yarn_magnitude,
)
from transformer_lab.nn.positions import RotaryPositions, rotate

BY_TURNS = torch.tensor([8.0, 4.0, 2.5, 1.0, 0.5], dtype=torch.float64) * 2 * pi / 32  # turns in 32 positions


# Numbers worked by hand


def test_all_pairs_turn_more_slowly():
    assert_close(LinearScaling(4.0).slowed(BY_TURNS, 10.0), BY_TURNS / 4)


def test_llama_3_slows_down_the_slow_pairs_only():
    """2.5 turns lie half-way from 1 to 4: half of ω / 8 and half of ω."""
    slowed = Llama3Scaling(8.0, low=1.0, high=4.0, original_length=32).slowed(BY_TURNS, 10.0)
    assert_close(slowed / BY_TURNS, torch.tensor([1, 1, 0.5 + 0.5 / 8, 1 / 8, 1 / 8], dtype=torch.float64))


def test_yarn_slows_down_from_pair_to_pair():
    """With base 4 and d_head 8, pair i turns by 4^(-i / 4) = 2^(-i / 2): the pair of r turns is 2 log2(64 / 2πr)."""
    plain = 2.0 ** (-torch.arange(4, dtype=torch.float64) / 2)
    recipe = YarnScaling(4.0, 64, magnitude=1.0, fast=32 / pi / 2**0.25, slow=32 / pi / 2**1.25)  # pairs 0.5 and 2.5
    assert_close(recipe.slowed(plain, 4.0) / plain, torch.tensor([1, 0.75, 0.5, 0.25], dtype=torch.float64), 1e-5)
    between = replace(recipe, whole=False).slowed(plain, 4.0) / plain  # a quarter and three quarters of the way
    assert_close(between, torch.tensor([1, 1 - 0.75 / 4, 1 - 0.75 * 3 / 4, 0.25], dtype=torch.float64), 1e-5)
    assert yarn_magnitude(4.0) == pytest.approx(1 + 0.1 * log(4))
    assert yarn_magnitude(0.5) == 1


# Properties


def test_a_recipe_that_changes_nothing_gives_the_rotation_of_the_paper():
    x, y = randn(2, 3, 5, 6), randn(2, 1, 5, 6)
    positions = ScaledRotaryPositions(4, 6, 500.0, LinearScaling()).to(DEVICE)
    assert_close(positions(x, y, 2), (rotate(x, 2, 500.0), rotate(y, 2, 500.0)), within=1e-5)


def test_pressed_together_position_6_is_position_3_and_a_magnitude_makes_vectors_longer():
    x = randn(1, 1, 1, 6)
    positions = ScaledRotaryPositions(4, 6, 500.0, LinearScaling(2.0, magnitude=3.0)).to(DEVICE)
    assert_close(positions(x, x, 6)[0], 3 * rotate(x, 3, 500.0), within=1e-5)


def test_only_the_first_features_turn():
    x, y = randn(2, 3, 5, 8), randn(2, 1, 5, 8)
    positions = PartialRotaryPositions(RotaryPositions(5, 4, 50.0), 8).to(DEVICE)
    for before, after in zip((x, y), positions(x, y, 1), strict=True):
        assert_close(after[..., :4], rotate(before[..., :4], 1, 50.0), within=1e-5)
        assert_close(after[..., 4:], before[..., 4:], within=0)


def test_a_head_has_the_features_that_are_to_turn():
    with refuses("d_head (6) must be at least 8"):
        PartialRotaryPositions(RotaryPositions(5, 8), 6)
