"""The key-value cache, which stores what a decoder need not compute again."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_lab.checks import check_least, described

TEXT, MEMORY = "text", "memory"  # read by self-attention, read by cross-attention


class KVCache:
    """The memory of a decoder: for each layer, by its number, the keys and values of all positions read so far.

    Handed to every call of a model, it grows as `cached_attention` says, and each position is projected once. One more
    token then costs one token's work instead of a whole sentence's. It holds nothing but tensors and counts, so that it
    can be copied and pickled, with its model or without; a deep copy stays in the graph of gradients, if there is one.

    Since Llama, some layers remember less: the last positions only, or a state that all positions have been written
    into. Of these a cache counts the positions that were read and are `gone`.
    """

    def __init__(self) -> None:
        self.tensors: dict[tuple[int, str], Tensor] = {}  # a (2, B, h, S, d_head) each, keys first
        self.gone: dict[int, int] = {}  # by layer: how many positions it has read and holds no more

    @property
    def length(self) -> int:
        """The number of positions of the text that have been read."""
        return self.layer(0).length

    def layer(self, number: int) -> "LayerCache":
        """The part of layer `number`, counted from 0, which is passed to its attention.

        Raises:
            ValueError: the number is not whole, or below 0.
        """
        check_least(0, number=number)
        return LayerCache(self, number)

    def keep(self, length: int) -> None:
        """Keep the first `length` positions of the text, and forget all others.

        Raises:
            ValueError: the length is not whole, or below 0; a layer has let go of positions and can't go back.
        """
        check_least(0, length=length)
        for number, gone in self.gone.items():
            if length < (read := self.layer(number).length):
                rule = "a cache must hold every position to forget the last ones"
                raise ValueError(f"{rule} (of {read} positions layer {number} holds {read - gone})")
        for (number, kind), tensor in self.tensors.items():
            if kind == TEXT:
                self.tensors[number, kind] = tensor[..., :length, :]

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Continue with these rows of the batch, in this order.

        Raises:
            ValueError: rows are not whole numbers on one axis; on a CPU also where the batch has no such row.
        """
        if not isinstance(rows, Tensor) or rows.ndim != 1 or rows.dtype not in (torch.int64, torch.int32):
            raise ValueError(f"rows must be whole numbers, torch.int64 or int32, of shape (n,) (got {described(rows)})")
        for place, tensor in self.tensors.items():
            try:
                self.tensors[place] = tensor[:, rows]
            except IndexError:
                batch = tensor.size(1)
                raise ValueError(f"rows must be from {-batch} to {batch - 1} (got {rows.tolist()})") from None

    def __deepcopy__(self, memo: dict) -> "KVCache":
        copy = type(self)()  # torch copies no tensor that has a gradient behind it; a clone has the same
        copy.tensors = {place: tensor.clone() for place, tensor in self.tensors.items()}
        copy.gone = dict(self.gone)
        return copy


@dataclass(frozen=True)
class LayerCache:
    """One layer's part of a cache: what its self-attention has read or, in `memory`, what its cross-attention has."""

    cache: KVCache
    number: int
    kind: str = TEXT

    @property
    def memory(self) -> "LayerCache":
        return replace(self, kind=MEMORY)

    @property
    def length(self) -> int:
        """The number of positions that an attention has read."""
        return self.held + (self.cache.gone.get(self.number, 0) if self.kind == TEXT else 0)

    @property
    def held(self) -> int:
        """The number of positions that it can still read: all of them, unless some were dropped."""
        tensor = self.cache.tensors.get((self.number, self.kind))
        return 0 if tensor is None else tensor.size(-2)

    def read(
        self, key: Float[Tensor, "B h new d_head"], value: Float[Tensor, "B h new d_head"]
    ) -> tuple[Float[Tensor, "B h S d_head"], Float[Tensor, "B h S d_head"]]:
        """Append the keys and values of new positions, and return all of them, old and new.

        Raises:
            ValueError: the cache has read for another batch, or in a layer of other sizes.
        """
        keys, values = self.grow(torch.stack([key, value]))
        return keys, values

    def grow(self, new: Float[Tensor, "n B h new d"]) -> Float[Tensor, "n B h S d"]:
        """Append what is kept of new positions, and return all of it, old and new.

        Raises:
            ValueError: as `read`.
        """
        tensors, place = self.cache.tensors, (self.number, self.kind)
        old = tensors.get(place)
        if old is None:
            tensors[place] = new
        elif new.size(-2):
            check_goes_on(old, new)
            tensors[place] = torch.cat([old, new], dim=-2)
        return tensors[place]

    def let_go(self, keep: int) -> None:
        """Drop all but the last `keep` positions; the dropped ones still count as read."""
        tensor = self.cache.tensors[self.number, TEXT]
        if (n := tensor.size(-2) - keep) > 0:
            self.cache.tensors[self.number, TEXT] = tensor[..., n:, :]
            self.pass_by(n)

    def pass_by(self, n: int) -> None:
        """Count `n` more positions as read, of which only their effect on a state is kept."""
        self.cache.gone[self.number] = self.cache.gone.get(self.number, 0) + n

    def state(self, name: str, batch: int) -> Float[Tensor, "B ..."] | None:
        """The state stored under a name, whose size doesn't grow; None before the first position.

        Raises:
            ValueError: the cache has read for another batch.
        """
        kept = self.cache.tensors.get((self.number, name))
        if kept is not None and kept.size(1) != batch:
            raise ValueError(f"a cache must go on with its own batch, which is {kept.size(1)} (got {batch})")
        return None if kept is None else kept[0]

    def keep_state(self, name: str, state: Float[Tensor, "B ..."]) -> None:
        self.cache.tensors[self.number, name] = state[None]  # the batch on the second axis, as of keys and values


def check_goes_on(old: Float[Tensor, "n ..."], new: Float[Tensor, "n ..."]) -> None:
    """Raise a ValueError unless the new tensor differs from the cached one in its length alone."""
    held, got = ((*tensor.shape[1:-2], tensor.size(-1)) for tensor in (old, new))
    if held != got:
        raise ValueError(f"a cache must go on with its own (B, h, d_head), which are {held} (got {got})")
