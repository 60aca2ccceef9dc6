"""What a decoder need not compute again."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class KVCache:
    """What a decoder remembers: for each of its attentions the keys and values of all positions read so far.

    Handed to every call, it grows as `cached_attention` says, and each position is projected once. One more token then
    costs one token's work instead of a whole sentence's.
    """

    def __init__(self) -> None:
        self.tensors: dict[nn.Module, Tensor] = {}  # one (2, B, h, S, d_head) for each attention, keys first

    def length(self, attention: nn.Module) -> int:
        """How many positions an attention has read."""
        return self.tensors[attention].size(-2) if attention in self.tensors else 0

    def read(
        self, attention: nn.Module, key: Float[Tensor, "B h new d_head"], value: Float[Tensor, "B h new d_head"]
    ) -> tuple[Float[Tensor, "B h S d_head"], Float[Tensor, "B h S d_head"]]:
        """Let an attention's keys and values grow by those of new positions; all of them, the old and the new."""
        old, new = self.tensors.get(attention), torch.stack([key, value])  # (2, B, h, S or new, d_head)
        if old is None:
            self.tensors[attention] = new
        elif key.size(-2):
            self.tensors[attention] = torch.cat([old, new], dim=-2)
        keys, values = self.tensors[attention]
        return keys, values

    def keep(self, length: int) -> None:
        """Forget all positions but the first `length`."""
        self.tensors = {attention: tensor[..., :length, :] for attention, tensor in self.tensors.items()}

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Go on with these rows of the batch, in this order."""
        self.tensors = {attention: tensor[:, rows] for attention, tensor in self.tensors.items()}
