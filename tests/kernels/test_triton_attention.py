"""The Triton kernel of the tiles, by Triton's interpreter where there is no GPU; skipped where Triton is missing."""

import importlib.util
from pathlib import Path

import pytest
import torch

import transformer_lab
from tests.support import assert_close
from transformer_lab import causal_mask, scaled_dot_product_attention

pytest.importorskip("triton", reason="Triton is optional: pip install triton (Linux)")

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.fixture(scope="module")
def triton_attention():
    """Not by its own name: pytest's checks of signatures would hide the source, which Triton compiles."""
    path = Path(transformer_lab.__file__).parent / "kernels" / "triton_attention.py"
    spec = importlib.util.spec_from_file_location("triton_tiles_alone", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.triton_attention


@pytest.fixture
def given():
    torch.manual_seed(0)
    return [torch.randn(2, 3, n, 16, device=DEVICE) for n in (21, 37, 37)]


@pytest.mark.parametrize("tile", [16, 32, 64])
def test_the_kernel_equals_the_plain_one(triton_attention, given, tile):
    expected, _ = scaled_dot_product_attention(*given)
    assert_close(triton_attention(*given, tile=tile), expected, 1e-5)


def test_the_kernel_equals_a_causal_mask(triton_attention, given):
    _, key, value = given
    expected, _ = scaled_dot_product_attention(key, key, value, causal_mask(37, DEVICE))
    assert_close(triton_attention(key, key, value, causal=True), expected, 1e-5)


def test_large_scores_do_not_overflow(triton_attention, given):
    query, key, value = (40 * given[0], 40 * given[1], given[2])
    expected, _ = scaled_dot_product_attention(query, key, value)
    assert_close(triton_attention(query, key, value), expected, 1e-4)


def test_what_does_not_fit_is_refused(triton_attention, given):
    query, key, value = given
    with pytest.raises(ValueError, match=r"tile \(24\) must be a power of 2, 16 at least"):
        triton_attention(query, key, value, tile=24)
    with pytest.raises(ValueError, match=r"d \(8\) must be a power of 2, 16 at least"):
        triton_attention(*(x[..., :8] for x in given))
    with pytest.raises(ValueError, match=r"causal attention needs as many queries as keys \(got 21, 37\)"):
        triton_attention(query, key, value, causal=True)
    with pytest.raises(ValueError, match=r"key must be float32 of width 16 \(got torch.float64 of 16\)"):
        triton_attention(query, key.double(), value)
