"""A small translator that has learned three words in eighty steps; torch says the same."""

from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from functools import cache, partial

import torch

from transformer_lab import Transformer, record_attention
from transformer_lab.analysis import swapped, switched_off, token_names
from transformer_lab.data.tokenizer import Tokenizer
from transformer_lab.widgets.machine.machine_picture import resting
from transformer_lab.widgets.machine.machine_view import kept_tokens, sent_translator

SET_UP = r"""
from itertools import permutations
import torch
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
from transformer_lab import Transformer, TransformerConfig, widgets
from transformer_lab.data.tokenizer import Tokenizer

machine_words = {"one": "eins", "two": "zwei", "ten": "zehn"}
machine_texts = [names for n in (1, 2) for names in permutations(machine_words, n)]
machine_pairs = [(" ".join(names), " ".join(map(machine_words.get, names))) for names in machine_texts]
machine_tokenizer = Tokenizer.train([text for pair in machine_pairs for text in pair], 9)

def machine_ids(texts, start):
    rows = [torch.tensor([*start, *machine_tokenizer.encode(text), 2]) for text in texts]
    return pad_sequence(rows, batch_first=True)

def machine_cost(logits, tokens):
    return F.cross_entropy(logits.flatten(0, 1), tokens.flatten(), ignore_index=0)

torch.manual_seed(0)
machine_model = Transformer(TransformerConfig(len(machine_tokenizer), 16, 2, 24, 2, max_len=12, dropout=0.0))
machine_steps = torch.optim.Adam(machine_model.parameters(), lr=0.01)
machine_src = machine_ids([a for a, b in machine_pairs], [])
machine_tgt = machine_ids([b for a, b in machine_pairs], [1])
for _ in range(80):
    machine_loss = machine_cost(machine_model(machine_src, machine_tgt[:, :-1]), machine_tgt[:, 1:])
    machine_steps.zero_grad()
    machine_loss.backward()
    machine_steps.step()
machine_model.eval()
"""
SHOW = {"machine": 'widgets.machine(machine_model, machine_tokenizer, "ten two")'}

FIRST = "decoder.layers.1.cross_attention.weights.0"


@cache
def data() -> dict:
    names: dict = {}
    exec(SET_UP, names)
    return names


@cache
def sent() -> tuple[Transformer, Tokenizer]:
    """The model with its weights as they are sent, and its tokenizer."""
    model, tokenizer = data()["machine_model"], data()["machine_tokenizer"]
    return sent_translator(model, tokenizer).double(), tokenizer


def source_of(text: str) -> torch.Tensor:
    tokenizer = data()["machine_tokenizer"]
    return torch.tensor([[*tokenizer.encode(text), tokenizer.eos_id]])


def written(model: Transformer, tokenizer: Tokenizer, src: torch.Tensor, longest: int = 12) -> tuple[list[int], list]:
    """Greedy choice among the tokens that travel, with no cache: the ids, and the probabilities of each step."""
    kept, ids, steps = torch.tensor(kept_tokens(tokenizer)), [tokenizer.bos_id], []
    with torch.no_grad():
        while len(ids) < longest and (len(ids) == 1 or ids[-1] != tokenizer.eos_id):
            logits = model(src, torch.tensor([ids]))[0, -1, kept]
            steps.append(logits.softmax(-1).tolist())
            ids.append(int(kept[logits.argmax()]))
    return ids, steps


@cache
def rest(text: str) -> int:
    """The output token that the view shows first."""
    model, tokenizer = sent()
    src = source_of(text)
    ids, _ = written(model, tokenizer, src)
    maps = recorded(model, src, torch.tensor([ids[:-1]]))
    heads = [maps[f"decoder.layers.1.cross_attention.weights.{head}"] for head in (0, 1)]
    return resting((sum(heads) / 2).tolist())


def shown(
    text: str = "ten two", off: Sequence[str] = (), at: int | None = None, swap: dict | None = None, matrix: str = FIRST
) -> dict:
    """What the view shows of a translation with parts switched off, or one vector swapped, and of the open matrix.

    Where nothing else is said it follows the token at which it rests.
    """
    model, tokenizer = sent()
    src = source_of(text)
    with switched_off(model, *off), swapped(model, **swap) if swap else nullcontext():
        ids, steps = written(model, tokenizer, src)
        map_ = recorded(model, src, torch.tensor([ids[:-1]]))[matrix]
    at = min(rest(text), len(steps) - 1) if at is None else at
    return {
        "text": text,
        "tokens": token_names(tokenizer, ids[1:]),
        "translation": tokenizer.decode(ids[1:]),
        "at": at,
        "probabilities": steps[at],
        "open": matrix,
        "map": map_.tolist(),
    }


def recorded(model: Transformer, src: torch.Tensor, tgt: torch.Tensor) -> dict[str, torch.Tensor]:
    """The weights of each head, and what the modules write that write one tensor."""
    kept: dict[str, torch.Tensor] = {}
    with record_attention(model) as maps, ExitStack() as stack, torch.no_grad():
        for name, module in model.named_modules():
            keep = partial(kept.__setitem__, name)
            hook = module.register_forward_hook(lambda module, args, out, keep=keep: keep(out))
            stack.callback(hook.remove)
        model(src, tgt)
    written = {name: x[0] for name, x in kept.items() if isinstance(x, torch.Tensor)}
    heads = {f"{name}.weights.{i}": map_ for name, stack in maps.items() for i, map_ in enumerate(stack[0])}
    return written | heads


START = {"machine": shown}
