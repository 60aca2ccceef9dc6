"""Sinusoidal encodings, the rotation between them, and learned positions."""

import pickle
from copy import deepcopy
from math import cos, pi, sin
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from tests.support import DEVICE, assert_close, each_dtype, each_half, each_precision, gradients, randn, refuses
from transformer_lab import (
    LearnedPositions,
    SinusoidalPositions,
    alibi_bias,
    rotate,
    shift_matrix,
    sinusoidal_encoding,
)
from transformer_lab.nn.positions import RotaryPositions, frequencies, fused_rotate

EITHER = pytest.mark.parametrize("kind", [SinusoidalPositions, LearnedPositions])


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


# Numbers worked by hand


def test_four_dimensions_worked_by_hand():
    # sin p, cos p, sin p/100, cos p/100: the second pair turns 10000^(2/4) = 100 times more slowly
    expected = [
        [0, 1, 0, 1],
        [0.84147, 0.54030, 0.01000, 0.99995],
        [0.90930, -0.41615, 0.02000, 0.99980],
    ]
    assert_close(sinusoidal_encoding(3, 4), expected, within=5e-6)


def test_frequencies_worked_by_hand():
    assert_close(frequencies(8), [1, 0.1, 0.01, 0.001], within=1e-15)


def test_a_shift_by_one_worked_by_hand():
    expected = [
        [0.54030, 0.84147, 0, 0],
        [-0.84147, 0.54030, 0, 0],
        [0, 0, 0.99995, 0.01000],
        [0, 0, -0.01000, 0.99995],
    ]
    assert_close(shift_matrix(1, 4), expected, within=5e-6)


def test_the_encoding_is_added_to_each_sentence():
    output = SinusoidalPositions(max_len=5, d_model=4).to(DEVICE)(torch.full((2, 2, 4), 10.0, device=DEVICE))
    assert_close(output, [[[10, 11, 10, 11], [10.84147, 10.54030, 10.01000, 10.99995]]] * 2, within=6e-6)


def test_a_rotation_worked_by_hand():
    x = torch.tensor([[1.0, 0.0, 0.0, 10.0]] * 2, device=DEVICE)  # by 0, then by 1 and 0.01 radians, to the left
    assert_close(rotate(x), [[1, 0, 0, 10], [0.54030, 0.84147, -0.10000, 9.99950]], within=6e-6)


def test_the_bias_of_alibi_worked_by_hand():
    bias = alibi_bias(2, 3).to(DEVICE)  # slopes 2^-4 and 2^-8
    assert_close(bias[0], [[0, -0.0625, -0.125], [-0.0625, 0, -0.0625], [-0.125, -0.0625, 0]], within=0)
    assert_close(bias[1], bias[0] / 16, within=0)
    assert_close(alibi_bias(8, 2)[:, 0, 1], -(0.5 ** torch.arange(1.0, 9.0)), within=1e-7)


# Properties of the encoding


def test_every_column_is_different():
    encoding = sinusoidal_encoding(1000, 10, dtype=torch.float64)
    assert encoding.round(decimals=6).unique(dim=1).size(1) == 10
    assert torch.linalg.matrix_rank(encoding) == 10


def test_no_two_positions_are_alike():
    encoding = sinusoidal_encoding(512, 64)
    distances = torch.cdist(encoding, encoding) + 99 * torch.eye(512)
    assert distances.min() > 1


def test_a_sine_and_a_cosine_share_each_frequency():
    encoding = sinusoidal_encoding(101, 64, dtype=torch.float64)
    sines, cosines = encoding[:, 0::2], encoding[:, 1::2]
    assert_close(sines**2 + cosines**2, torch.ones(101, 32, dtype=torch.float64), within=1e-12)


def test_wavelengths_grow_geometrically_from_2_pi_to_nearly_10000_times_2_pi():
    sines, cosines = sinusoidal_encoding(2, 512, dtype=torch.float64)[1].view(256, 2).unbind(dim=1)
    wavelengths = 2 * pi / torch.atan2(sines, cosines)
    assert wavelengths[0].item() == pytest.approx(2 * pi)
    assert wavelengths[-1].item() == pytest.approx(2 * pi * 10000 ** (510 / 512))
    assert_close(wavelengths[1:] / wavelengths[:-1], torch.full((255,), 10000 ** (2 / 512)).double(), within=1e-6)


def test_the_first_rows_do_not_depend_on_the_length():
    assert_close(sinusoidal_encoding(3, 6), sinusoidal_encoding(50, 6)[:3], within=0)


def test_position_5000_is_as_exact_as_position_0():
    far = [[sin(5000), cos(5000), sin(50), cos(50)]]
    assert_close(sinusoidal_encoding(5001, 4)[5000:], far, within=1e-7)
    assert_close(sinusoidal_encoding(5001, 4, dtype=torch.float64)[5000:], far, within=1e-12)


@each_dtype
def test_the_encoding_has_the_type_and_the_device_asked_for(dtype):
    encoding = sinusoidal_encoding(3, 4, DEVICE, dtype)
    assert encoding.dtype == dtype
    assert encoding.device.type == DEVICE.type
    assert_close(encoding.float().cpu(), sinusoidal_encoding(3, 4), within=4e-3)
    assert sinusoidal_encoding(3, 4, "meta").device.type == "meta"


def test_a_shift_and_a_bias_have_the_type_and_the_device_asked_for():
    assert shift_matrix(3, 4, "meta", torch.float64).device.type == "meta"
    assert shift_matrix(3, 4, DEVICE, torch.float16).dtype == torch.float16
    assert alibi_bias(3, 4, "meta").device.type == "meta"


# Properties of the shift


def shift(offset: int) -> torch.Tensor:
    return shift_matrix(offset, 6, dtype=torch.float64)


@pytest.mark.parametrize("offset", [1, 5, 7, 100])
def test_one_matrix_shifts_every_position(offset):
    encoding = sinusoidal_encoding(300, 6, dtype=torch.float64)
    assert_close(encoding[:-offset] @ shift(offset).T, encoding[offset:], within=1e-12)


def test_shifts_add_up():
    assert_close(shift(7) @ shift(5), shift(12), within=1e-12)


def test_a_shift_by_nothing_changes_nothing():
    assert_close(shift(0), torch.eye(6).double(), within=0)


def test_a_shift_is_a_rotation_and_the_shift_back_its_inverse():
    assert_close(shift(7) @ shift(7).T, torch.eye(6).double(), within=1e-12)
    assert_close(shift(-7), shift(7).T, within=1e-12)
    assert torch.det(shift(7)).item() == pytest.approx(1)


# Properties of rotary positions


def test_a_rotated_row_is_the_row_times_the_shift_matrix():
    x = randn(5, 6)
    rows = [x[p].cpu() @ shift_matrix(p, 6) for p in range(5)]
    assert_close(rotate(x).cpu(), torch.stack(rows))


def test_rotated_scores_depend_on_the_distance_only():
    query, key = randn(2, 3, 5, 6), randn(2, 3, 5, 6)
    here = rotate(query) @ rotate(key).mT
    there = rotate(query, start=40) @ rotate(key, start=40).mT
    assert_close(here, there, within=1e-5)
    elsewhere = rotate(query, start=1) @ rotate(key).mT
    assert (here - elsewhere).abs().max() > 0.1


def test_rotating_keeps_lengths_and_leaves_its_input_alone():
    x = randn(2, 3, 5, 6)
    before = x.clone()
    assert_close(rotate(x).norm(dim=-1), x.norm(dim=-1))
    assert x.equal(before)


def test_the_rows_of_a_cache_are_rotated_from_its_length_on():
    x = randn(5, 6)
    assert_close(rotate(x)[3:], rotate(x[3:], start=3), within=0)


@each_half
def test_rotating_keeps_the_type(dtype):
    x = randn(2, 5, 6, dtype=dtype)
    assert rotate(x).dtype == dtype
    assert fused_rotate(x, randn(5, 3, 2)).dtype == dtype


@each_precision
def test_as_complex_numbers_pairs_turn_as_they_do(dtype, within):
    x = randn(2, 5, 3, 6, dtype=dtype).transpose(1, 2).requires_grad_()  # as heads lie in memory
    positions = RotaryPositions(length=9, d_head=6, base=500.0).to(DEVICE)  # too short for what is asked of it
    ways = [rotate(x, start=7, base=500.0), positions(x, x[:, :2], start=7)[0]]
    assert_close(*ways, within=5 * within)
    pulled = [torch.autograd.grad(turned.square().sum(), x)[0] for turned in ways]
    assert_close(*pulled, within=20 * within)
    assert positions(x[:, :, :0], x)[0].shape == x[:, :, :0].shape


def test_a_compiler_is_given_the_pairs_as_they_are(monkeypatch):
    x, positions = randn(2, 3, 5, 6), RotaryPositions(length=4, d_head=6).to(DEVICE)
    before = positions.table
    with monkeypatch.context() as compiling:
        compiling.setattr("torch.compiler.is_compiling", lambda: True)
        compiling.setattr("torch.view_as_complex", None)
        query, key = positions(x, x[:, :1, :2], start=3)
    assert_close(query, rotate(x, start=3), within=0)
    assert_close(key, rotate(x[:, :1, :2], start=3), within=0)
    assert positions.table is before  # a tensor of the compiler's is no table for later


def turns(length: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """The first rows of the table for four features, in float64 on the CPU: 1 and 0.01 radians a position."""
    angle = torch.arange(length, dtype=torch.float64)[:, None] * torch.tensor([1, 0.01], dtype=torch.float64)
    return torch.stack([angle.cos(), angle.sin()], dim=-1).to(dtype)


def test_the_table_of_rotary_positions_is_exact_far_out_and_is_no_state():
    positions = RotaryPositions(length=20_000, d_head=4)
    assert_close(positions.table.cpu()[-9:], turns(20_000)[-9:], within=1e-7)
    assert (positions.state_dict(), [*positions.parameters()], [*positions.buffers()]) == ({}, [], [])


@pytest.mark.parametrize(
    "change",
    [
        deepcopy,
        lambda positions: pickle.loads(pickle.dumps(positions)),
        lambda positions: positions.to(torch.bfloat16).to(torch.float32),
        lambda positions: positions.half(),
        lambda positions: positions.double().float(),
        lambda positions: positions.to("meta").to_empty(device=DEVICE),
        lambda positions: positions.to(DEVICE).share_memory() if DEVICE.type == "cpu" else positions,
    ],
    ids=["deepcopy", "pickle", "there and back", "half", "double", "without memory", "shared"],
)
def test_the_table_of_rotary_positions_comes_through(change):
    positions, x = change(RotaryPositions(length=50, d_head=4).to(DEVICE)), randn(1, 1, 50, 4)
    assert_close(positions.table.cpu(), turns(50), within=1e-7)
    before = positions.table
    assert_close(positions(x, x)[0], rotate(x), within=1e-6)
    assert positions.table is before  # made once, not at a call


@pytest.mark.parametrize("how", [torch.no_grad, torch.inference_mode])
def test_a_table_that_was_made_to_be_read_serves_a_training_too(how):
    positions, query = RotaryPositions(length=2, d_head=4).to(DEVICE), randn(1, 1, 5, 4, requires_grad=True)
    with how():
        positions(query, query)  # longer than the table
    assert len(positions.table) == 5
    positions(query, query)[0].sum().backward()
    assert query.grad.abs().max() > 0


def test_a_table_too_short_is_made_twice_as_long():
    positions, x, lengths = RotaryPositions(length=4, d_head=4).to(DEVICE), randn(1, 1, 1, 4), set()
    for start in range(20):
        assert_close(positions(x, x, start)[1], rotate(x, start), within=1e-6)
        lengths.add(len(positions.table))
    assert lengths == {4, 8, 16, 32}


def test_double_precision_has_a_table_of_its_own():
    positions, x = RotaryPositions(length=50, d_head=4).to(DEVICE), randn(1, 1, 50, 4, dtype=torch.float64)
    for _ in range(2):
        assert_close(positions(x, x)[0], rotate(x), within=1e-14)
    assert positions.table.dtype == torch.float64


# Properties of the modules


@EITHER
def test_positions_leave_their_input_alone(kind):
    x = randn(2, 3, 6)
    before = x.clone()
    positions = kind(max_len=5, d_model=6).to(DEVICE)
    first, second = positions(x), positions(x)
    assert x.equal(before)
    assert_close(first, second, within=0)


@EITHER
def test_the_gradient_passes_positions_unchanged(kind):
    x = randn(2, 3, 6, requires_grad=True)
    output = kind(max_len=5, d_model=6).to(DEVICE)(x)
    (gradient,) = gradients(output, x)
    (of_identity,) = gradients(x * 1, x)
    assert_close(gradient, of_identity, within=0)


def test_sinusoidal_positions_learn_nothing_and_stay_out_of_checkpoints():
    positions = SinusoidalPositions(max_len=5, d_model=6)
    assert list(positions.parameters()) == []
    assert positions.state_dict() == {}
    assert_close(positions.encoding, sinusoidal_encoding(5, 6), within=0)


@EITHER
@each_half
def test_positions_follow_the_model_to_its_type(kind, dtype):
    positions = kind(max_len=5, d_model=6).to(DEVICE, dtype)
    x = randn(2, 3, 6, dtype=dtype)
    assert_close(positions(x), x + positions.encoding[:3].to(dtype), within=0)


@pytest.mark.parametrize("assign", [False, True])
def test_positions_built_without_memory_are_right_once_the_weights_are_loaded(assign):
    x, original = randn(2, 3, 6), nn.Sequential(SinusoidalPositions(5, 6), nn.Linear(6, 6)).to(DEVICE)
    with torch.device("meta"):
        positions = nn.Sequential(SinusoidalPositions(5, 6), nn.Linear(6, 6))
    if not assign:
        positions.to_empty(device=DEVICE)
    positions.load_state_dict(original.state_dict(), assign=assign)
    assert_close(positions(x), original(x), within=0)


def test_a_table_that_was_changed_by_hand_moves_with_the_model():
    positions, x = SinusoidalPositions(5, 6), randn(2, 3, 6)
    positions.encoding.zero_()
    assert torch.equal(positions.to(DEVICE)(x), x)


def test_a_module_that_moves_takes_its_table_along():
    class Elsewhere(torch.Tensor):
        """What a move to another device gives, on a machine that has none."""

        def to(self, device):
            return (self, device)

    positions, gpu = SinusoidalPositions(5, 6), torch.device("cuda")
    positions.encoding = changed = positions.encoding.as_subclass(Elsewhere)
    positions._apply(lambda tensor: SimpleNamespace(device=gpu))
    assert positions.encoding == (changed, gpu)


@EITHER
def test_positions_follow_the_model_to_its_device(kind):
    positions = kind(max_len=5, d_model=6).to("meta")
    assert positions(torch.empty(2, 3, 6, device="meta")).device.type == "meta"


@each_half
def test_sinusoidal_positions_keep_the_type_of_their_input(dtype):
    positions = SinusoidalPositions(max_len=5, d_model=6).to(DEVICE)
    assert positions(randn(2, 3, 6, dtype=dtype)).dtype == dtype


def test_learned_positions_are_one_trained_vector_for_each_position():
    positions = LearnedPositions(max_len=5, d_model=6).to(DEVICE)
    x = randn(2, 3, 6)
    output = positions(x)
    assert_close(output - x, positions.encoding[:3].expand(2, 3, 6))
    positions.encoding.grad = gradients(output, positions.encoding)[0]
    before = positions.encoding.detach().clone()
    torch.optim.SGD(positions.parameters(), lr=1).step()
    moved = (positions.encoding != before).any(dim=1)
    assert moved.tolist() == [True, True, True, False, False]  # positions never seen are never trained
    assert list(positions.state_dict()) == ["encoding"]


@EITHER
def test_positions_may_start_later(kind):
    positions, x = kind(max_len=7, d_model=6).to(DEVICE), randn(2, 7, 6)
    assert_close(positions(x[:, 3:5], start=3), positions(x)[:, 3:5], within=0)
    assert_close(positions(x[:, 6:], start=6), positions(x)[:, 6:], within=0)
    with refuses("a sequence may have at most max_len (7) positions (got 8)"):
        positions(x[:, :2], start=6)


def test_learned_positions_start_as_small_as_word_embeddings():
    assert LearnedPositions(max_len=200, d_model=64).encoding.std().item() == pytest.approx(64**-0.5, rel=0.03)


# Errors


def test_the_width_must_be_even():
    for make in (
        lambda: frequencies(7),
        lambda: sinusoidal_encoding(3, 7),
        lambda: shift_matrix(1, 7),
        lambda: SinusoidalPositions(5, 7),
        lambda: rotate(randn(2, 7)),
    ):
        with refuses("d_model (7) must be even: a sine and a cosine share each frequency"):
            make()


@EITHER
def test_a_sequence_must_not_be_longer_than_the_table(kind):
    positions = kind(max_len=5, d_model=6).to(DEVICE)
    positions(randn(2, 5, 6))
    with refuses("a sequence may have at most max_len (5) positions (got 7)"):
        positions(randn(2, 7, 6))


@EITHER
def test_no_position_is_negative(kind):
    positions = kind(max_len=5, d_model=6).to(DEVICE)
    with refuses("the first position of a sequence must be at least 0 (got -3)"):  # a slice would begin at position 2
        positions(randn(2, 2, 6), start=-3)


@EITHER
@pytest.mark.parametrize(
    ("shape", "dtype"), [((3, 6), torch.float32), ((2, 3, 1), torch.float32), ((2, 3, 6), torch.int64)], ids=str
)
def test_positions_are_added_to_vectors_of_the_right_width(kind, shape, dtype):
    positions = kind(max_len=5, d_model=6).to(DEVICE)
    fact = f"(got {dtype} of shape {shape})"
    with refuses(f"x must be floating-point numbers of shape (B, T, 6) {fact}"):
        positions(torch.ones(shape, dtype=dtype, device=DEVICE))


def test_only_floating_point_numbers_are_rotated():
    rule = "x must be floating-point numbers of 2 axes or more"
    with refuses(f"{rule} (got torch.int64 of shape (3, 4))"):  # their sines and cosines would be 0 and 1
        rotate(torch.ones(3, 4, dtype=torch.int64))
    with refuses(f"{rule} (got torch.float32 of shape (4,))"):
        rotate(torch.ones(4))


def test_lengths_and_sizes_are_whole_and_not_too_small():
    for make in (lambda: sinusoidal_encoding(-1, 6), lambda: alibi_bias(2, -1)):
        with refuses("length (-1) must be at least 0"):
            make()
    with refuses("length (2.5) must be a whole number"):
        sinusoidal_encoding(2.5, 6)
    with refuses("d_model (0) must be at least 2"):
        sinusoidal_encoding(3, 0)
    with refuses("n_heads (0) must be at least 1"):
        alibi_bias(0, 3)
    for kind in (SinusoidalPositions, LearnedPositions):
        with refuses("max_len (0) must be at least 1"):
            kind(0, 6)


def test_rotary_positions_turn_pairs_from_position_0_on():
    for message, sizes in (("d_head (5) must be even", (4, 5)), ("length (0) must be at least 1", (0, 4))):
        with refuses(message):
            RotaryPositions(*sizes)
    with refuses("the first position of a sequence must be at least 0 (got -1)"):
        RotaryPositions(4, 4).to(DEVICE)(*[randn(1, 1, 2, 4)] * 2, start=-1)
