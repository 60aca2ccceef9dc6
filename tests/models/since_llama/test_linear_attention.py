"""Linear attention for all positions at once: equal to its loop."""

import torch

from tests.models.since_llama.test_delta_rule import arguments
from tests.support import DEVICE, assert_close, tensor
from transformer_lab import linear_attention


def test_what_two_pairs_say_is_added_up_by_hand():
    """Two keys at an angle of 60 degrees: the answer to one of them is its own value, and half of the other's."""
    key = tensor([[[1.0, 0.0], [0.5, 0.75**0.5]]])
    value, whole = tensor([[[10.0], [4.0]]]), torch.ones(1, 2, device=DEVICE)
    assert_close(linear_attention(key, key, value, whole), tensor([[[10.0], [9.0]]]))
    assert_close(linear_attention(key, key, value, whole / 2), tensor([[[10.0], [6.5]]]))


def test_a_state_that_is_added_to_gives_the_same():
    query, key, value, _, decay = arguments()
    state, outputs = torch.zeros(len(key), key.size(-1), value.size(-1), device=DEVICE), []
    for t in range(key.size(1)):
        state = decay[:, t, None, None] * state + key[:, t, :, None] * value[:, t, None]
        outputs.append((query[:, t, None] @ state)[:, 0])
    assert_close(linear_attention(query, key, value, decay), torch.stack(outputs, 1), within=1e-5)
