"""Sentences through a small model that nobody has trained: its map is as true as any."""

import torch

SET_UP = r"""
import torch
from transformer_lab import Transformer, TransformerConfig, widgets
from transformer_lab.data.tasks import Vocabulary

torch.manual_seed(16)
vocabulary = Vocabulary(["ah", "b", "<i>", "d"])
size = dict(vocab_size=7, d_model=16, n_heads=2, d_ff=16, n_layers=2, max_len=8)
small = Transformer(TransformerConfig(**size, tie_weights=False)).eval()
"""
SHOW = {"own sentence": 'widgets.own_sentence(small, vocabulary, ["ah <i> d", "b b"])'}

data: dict = {}
exec(SET_UP, data)


def translation(text: str) -> list[int]:
    """The ids, without bos, that greedy decoding gives, by a loop of its own."""
    model, src = data["small"], source(text)
    ids = [1]
    while len(ids) < 8 and ids[-1] != 2:
        ids.append(int(model(src, torch.tensor([ids]))[0, -1].argmax()))
    return ids[1:]


def source(text: str) -> torch.Tensor:
    return torch.tensor([[*data["vocabulary"].encode(text), 2]])


def cross_map(text: str, layer: int = 1, head: int | None = None) -> list[list[float]]:
    """The weights of a layer's cross-attention, computed from its projections."""
    model, src = data["small"], source(text)
    seen = {}
    attention = model.decoder.layers[layer].cross_attention
    hook = attention.register_forward_hook(lambda _, args, out: seen.update(query=args[0], key=args[1]))
    with torch.no_grad():
        model(src, torch.tensor([[1, *translation(text)[:-1]]]))
        hook.remove()
        heads = attention(seen["query"], seen["key"], seen["key"], need_weights=True)[1][0]
    return (heads.mean(0) if head is None else heads[head]).tolist()


START = {"own sentence": lambda: cross_map("ah <i> d")}
