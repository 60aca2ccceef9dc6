"""The delta rule in chunks: by hand, as the rule itself step by step, and as transformers computes it."""

import pytest
import torch
from torch import Tensor

from tests.support import DEVICE, assert_close, randn, refuses, tensor
from transformer_lab import chunked_delta_rule, delta_rule
from transformer_lab.models.since_llama.delta_chunks import delta_chunks, what_is_left
from transformer_lab.models.since_llama.delta_rule import delta_steps

B, T, D_K, D_V = 2, 11, 3, 5
NAMES = ("query", "key", "value", "beta", "decay")


def arguments(length: int = T, dtype: torch.dtype = torch.float32, strong: bool = False) -> list[Tensor]:
    """Keys of length 1, as models have them; a strong decay leaves a hundredth at every step."""
    torch.manual_seed(0)
    query, key, value = randn(B, length, D_K), randn(B, length, D_K), randn(B, length, D_V)
    beta, decay = torch.rand(2, B, length, device=DEVICE)
    decay = 0.01 + 0.01 * decay if strong else 1 - decay / 4
    rows = query, key / key.norm(dim=-1, keepdim=True), value, beta, decay
    return [x.to(dtype).requires_grad_() for x in rows]


def all_gradients(out: Tensor, given: list[Tensor]) -> tuple[Tensor, ...]:
    torch.manual_seed(1)
    return torch.autograd.grad((out * torch.randn_like(out)).sum(), given)


# Numbers worked by hand


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_a_value_takes_the_place_of_the_one_before_it(size):
    """A key (1, 0) is taught 10, then 20, and nothing in the third step, where half of it fades."""
    key = tensor([[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]])
    query, value = tensor([[[1.0, 0.0]] * 3]), tensor([[[10.0], [20.0], [99.0]]])
    beta, decay = tensor([[1.0, 0.5, 0.0]]), tensor([[1.0, 1.0, 0.5]])
    assert_close(chunked_delta_rule(query, key, value, beta, decay, size).flatten(), tensor([10.0, 15.0, 7.5]))


def test_what_is_left_of_a_position_is_the_product_of_the_decays_behind_it():
    expected = tensor([[1.0, 0.0, 0.0], [0.5, 1.0, 0.0], [0.125, 0.25, 1.0]])
    assert_close(what_is_left(tensor([[[0.1, 0.5, 0.25]]]))[0, 0], expected)


# The rule, step by step


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 11, 64])
@pytest.mark.parametrize("strong", [False, True], ids=["", "strong decay"])
def test_outputs_and_gradients_are_those_of_the_rule(size, strong):
    given = arguments(strong=strong)
    ours, rule = chunked_delta_rule(*given, size), delta_rule(*given)
    assert_close(ours, rule, within=1e-5)
    for name, mine, right in zip(NAMES, all_gradients(ours, given), all_gradients(rule, given), strict=True):
        assert right.abs().max() > 0.1, name
        assert_close(mine, right, within=1e-5)


@pytest.mark.parametrize(("length", "size"), [(200, 64), (256, 64), (300, 17)])
def test_long_texts(length, size):
    given = arguments(length)
    assert_close(chunked_delta_rule(*given, size), delta_rule(*given), within=1e-5)


def test_a_text_may_be_read_in_parts_and_go_on_step_by_step():
    given = arguments()
    state = randn(B, D_K, D_V)
    expected, end = delta_steps(state, *given)
    first, state = delta_chunks(state, *(x[:, :7] for x in given), size=3)
    second, state = delta_chunks(state, *(x[:, 7:9] for x in given), size=3)
    third, state = delta_steps(state, *(x[:, 9:] for x in given))
    assert_close(torch.cat([first, second, third], 1), expected, within=1e-5)
    assert_close(state, end, within=1e-5)


def test_no_position_sees_a_later_one():
    given = [x.detach() for x in arguments()]
    before = chunked_delta_rule(*given, 4)
    changed = [torch.cat([x[:, :6], x[:, 6:] / 2], 1) for x in given]
    after = chunked_delta_rule(*changed, 4)
    assert torch.equal(before[:, :6], after[:, :6])
    assert ((before - after)[:, 6:].abs().amax(-1) > 1e-3).all()


def test_a_decay_of_zero_forgets_everything():
    *rows, decay = arguments()
    decay = decay.detach().index_fill(1, tensor([4]), 0.0).requires_grad_()
    ours, rule = chunked_delta_rule(*rows, decay, 3), delta_rule(*rows, decay)
    assert_close(ours, rule, within=1e-5)
    others = torch.arange(T, device=DEVICE) != 4
    mine, right = all_gradients(ours, [decay])[0], all_gradients(rule, [decay])[0]
    assert_close(mine[:, others], right[:, others], within=1e-5)
    assert mine[:, 4].tolist() == [0, 0]


def test_half_precision_is_widened_inside():
    given = arguments(dtype=torch.bfloat16)
    ours = chunked_delta_rule(*given, 4)
    wide = chunked_delta_rule(*(x.float() for x in given), 4)
    assert ours.dtype == torch.bfloat16
    assert_close(ours, wide.bfloat16(), within=0)


def test_a_text_without_positions():
    assert chunked_delta_rule(*arguments(0)).shape == (B, 0, D_V)


# transformers


@pytest.mark.parametrize(("length", "size"), [(11, 4), (130, 64)])
def test_outputs_and_state_are_those_of_transformers(length, size):
    """Theirs takes heads, the logarithm of the decay, and divides the queries by √d_k."""
    from transformers.models.qwen3_next import modeling_qwen3_next

    query, key, value, beta, decay = (x.detach() for x in arguments(length))
    theirs, end = modeling_qwen3_next.torch_chunk_gated_delta_rule(
        *(x[:, :, None] for x in (query, key, value, decay.log(), beta)), chunk_size=size, output_final_state=True
    )
    start = torch.zeros(B, D_K, D_V, device=DEVICE)
    ours, state = delta_chunks(start, query * D_K**-0.5, key, value, beta, decay, size)
    assert_close(ours, theirs[:, :, 0], within=1e-5)
    assert_close(state, end[:, 0], within=1e-5)


# What is refused


def test_a_chunk_has_at_least_one_position():
    with refuses("size (0) must be at least 1"):
        chunked_delta_rule(*arguments(), 0)
