"""What a token in the cache costs in each design, beside transformers' own models of the same numbers.

    pytest -s tests/benchmarks/test_cached_token.py

That the logits are the same is asserted, and how many bytes are held; the times are printed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import pytest
import torch
from torch import Tensor, nn

from tests.benchmarks.timing import ratio_of, seconds
from tests.support import DEVICE, assert_close, randn
from transformer_lab import KVCache, LanguageModel, chunked_delta_rule, delta_rule
from transformer_lab.weights import published

pytest.importorskip("transformers")
LAYERS, HEADS, GROUPS, D_HEAD, D_LATENT, D_ROPE, WINDOW, WIDTH, FLOAT = 4, 8, 2, 32, 64, 16, 128, 4, 4
READ, DECODED, ROUNDS = 512, 32, 7  # tokens read at first, tokens of a round, rounds

SIZES = {"vocab_size": 100, "hidden_size": HEADS * D_HEAD, "intermediate_size": 512, "num_hidden_layers": LAYERS}
SIZES |= {"num_attention_heads": HEADS, "num_key_value_heads": GROUPS, "max_position_embeddings": 4096}
SIZES |= dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"))
LATENT = {"qk_nope_head_dim": D_HEAD, "qk_rope_head_dim": D_ROPE, "v_head_dim": D_HEAD, "kv_lora_rank": D_LATENT}
LATENT |= {"q_lora_rank": None, "first_k_dense_replace": LAYERS, "num_key_value_heads": HEADS}
STATE = {
    "layer_types": ["linear_attention"] * 3 + ["full_attention"],
    "mlp_only_layers": [*range(LAYERS)],
    "head_dim": D_HEAD,
}
STATE |= dict.fromkeys(("linear_num_key_heads", "linear_num_value_heads"), HEADS)
STATE |= dict.fromkeys(("linear_key_head_dim", "linear_value_head_dim"), D_HEAD)

KEYS_VALUES = 2 * GROUPS * D_HEAD  # numbers, of one token in one layer
A_STATE = HEADS * D_HEAD**2 + (WIDTH - 1) * 3 * HEADS * D_HEAD  # of a layer, with the inputs of its convolution
NUMBERS = {  # of all layers: after READ tokens, and of one token more
    "MHA": (LAYERS * READ * 2 * HEADS * D_HEAD, LAYERS * 2 * HEADS * D_HEAD),
    "GQA": (LAYERS * READ * KEYS_VALUES, LAYERS * KEYS_VALUES),
    "MLA": (LAYERS * READ * (D_LATENT + D_ROPE), LAYERS * (D_LATENT + D_ROPE)),
    "window": (LAYERS * (WINDOW - 1) * KEYS_VALUES, 0),  # the next token brings its own
    "states": (3 * A_STATE + READ * KEYS_VALUES, KEYS_VALUES),  # in three layers of four; the last one attends
}
DESIGNS = {
    "MHA": ("Llama", {"num_key_value_heads": HEADS}),
    "GQA": ("Llama", {}),
    "MLA": ("DeepseekV3", LATENT),
    "window": ("Mistral", {"sliding_window": WINDOW, "head_dim": D_HEAD}),
    "states": ("Qwen3Next", STATE),
}


def tensors_in(cache: object) -> Iterable[Tensor]:
    """The tensors that a cache holds, wherever it keeps them."""
    parts = cache.values() if isinstance(cache, dict) else cache if isinstance(cache, (list, tuple)) else ()
    parts = vars(cache).values() if hasattr(cache, "__dict__") and not isinstance(cache, Tensor) else parts
    return [cache] if isinstance(cache, Tensor) else [x for part in parts for x in tensors_in(part)]


def bytes_of(cache: object) -> int:
    return sum(x.numel() * x.element_size() for x in tensors_in(cache) if x.is_floating_point())


@dataclass
class Ours:
    model: LanguageModel

    def __post_init__(self) -> None:
        self.cache = KVCache()

    def read(self, tokens: Tensor) -> Tensor:
        return self.model(tokens, self.cache)


@dataclass
class Theirs:
    model: nn.Module
    cache: object = None

    def read(self, tokens: Tensor) -> Tensor:
        answer = self.model(tokens, past_key_values=self.cache, use_cache=True)
        self.cache = answer.past_key_values
        return answer.logits


def both(name: str, folder: Path) -> tuple[Ours, Theirs]:
    """Readers of equal weights."""
    import transformers

    kind, sizes = DESIGNS[name]
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(**(SIZES | sizes))
    theirs = getattr(transformers, f"{kind}ForCausalLM")(config).eval()
    theirs.save_pretrained(folder)
    return Ours(published.load(folder).model.to(DEVICE).eval()), Theirs(theirs.to(DEVICE))


@torch.no_grad()
def decode(reader: Ours | Theirs, tokens: Tensor) -> Tensor:
    """The logits of each token, one by one."""
    return torch.cat([reader.read(token) for token in tokens.split(1, dim=1)], dim=1)


@pytest.mark.parametrize("batch", [1, 8], ids=["one text", "eight texts"])
@pytest.mark.parametrize("name", DESIGNS)
def test_a_cached_token_beside_transformers(name, batch, tmp_path, capsys):
    readers = both(name, tmp_path)
    tokens = torch.randint(100, (batch, READ + DECODED), device=DEVICE)
    with torch.no_grad():
        first = [reader.read(tokens[:, :READ]) for reader in readers]
    assert_close(*first, within=1e-4)
    held = [bytes_of(reader.cache) for reader in readers]
    assert_close(*(decode(reader, tokens[:, READ:]) for reader in readers), within=1e-4)
    grown = [(bytes_of(reader.cache) - before) / DECODED for reader, before in zip(readers, held, strict=True)]
    whole, more = (batch * FLOAT * n for n in NUMBERS[name])
    assert (held[0], grown[0]) == (whole, more)
    assert (held[0], grown[0]) <= (held[1], grown[1])
    with capsys.disabled():
        each = [(round(x / batch / READ), round(y / batch)) for x, y in zip(held, grown, strict=True)]
        print(f"\n{name}, a batch of {batch}: bytes a token (and for one more) {each[0]}, transformers {each[1]}")
    work = (partial(decode, reader, tokens[:, READ:]) for reader in readers)
    ratio_of((f"{name}: {DECODED} tokens", "transformers'"), *work, ROUNDS, capsys)


@pytest.mark.parametrize("batch", [1, 8], ids=["one text", "eight texts"])
def test_the_designs_beside_one_another(batch, tmp_path, capsys):
    tokens = torch.randint(100, (batch, READ + DECODED), device=DEVICE)
    readers, times = {name: both(name, tmp_path / name)[0] for name in DESIGNS}, {name: [] for name in DESIGNS}
    with torch.no_grad():
        for reader in readers.values():
            reader.read(tokens[:, :READ])
    for _ in range(ROUNDS):  # in turns, so that noise hits all alike; each cache grows on
        for name, reader in readers.items():
            times[name].append(seconds(partial(decode, reader, tokens[:, READ:])))
    with capsys.disabled():
        each = ", ".join(f"{name} {1000 * median(taken) / DECODED:.2f}" for name, taken in times.items())
        print(f"\n{DEVICE}, {torch.get_num_threads()} threads, a batch of {batch}: ms a step {each}")


@pytest.mark.parametrize("length", [256, 2048])
def test_the_delta_rule_in_chunks_beside_the_rule_and_transformers(length, capsys):
    from transformers.models.qwen3_next.modeling_qwen3_next import torch_chunk_gated_delta_rule

    query, key, value = (randn(HEADS, length, D_HEAD) for _ in range(3))
    key, beta, decay = key / key.norm(dim=-1, keepdim=True), *torch.rand(2, HEADS, length, device=DEVICE)
    chunks = partial(chunked_delta_rule, query * D_HEAD**-0.5, key, value, beta, decay)
    steps = partial(delta_rule, query * D_HEAD**-0.5, key, value, beta, decay)
    heads = (x.transpose(0, 1)[None] for x in (query, key, value, decay.log(), beta))
    theirs = partial(torch_chunk_gated_delta_rule, *heads)
    assert_close(chunks(), steps(), within=1e-5)
    assert_close(chunks(), theirs()[0][0].transpose(0, 1), within=1e-5)
    ratio_of((f"{length} tokens step by step", "in chunks"), steps, chunks, 5, capsys)
    ratio_of((f"{length} tokens in chunks", "transformers'"), chunks, theirs, ROUNDS, capsys)
