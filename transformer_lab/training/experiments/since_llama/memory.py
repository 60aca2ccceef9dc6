"""How many pairs does a layer remember, and what becomes of those that are written anew, or no longer count?

A row shows pairs of a key and a value, one pair at each position, and then asks for some of the keys. What a pair says
holds until its key is written again with another value, or until a mark says that all pairs so far are void.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_lab.models.since_llama.delta_chunks import chunked_delta_rule
from transformer_lab.models.since_llama.delta_rule import unit
from transformer_lab.models.since_llama.linear_attention import linear_attention
from transformer_lab.nn.blocks import RMSNorm
from transformer_lab.nn.positions import RotaryPositions
from transformer_lab.training.experiments.since_llama.parts import NOT_ASKED, train_on_task

N_KEYS, N_VALUES, ASKED = 64, 16, 16  # so many questions at the end of a row
VOID, QUESTION = N_VALUES, N_VALUES + 1  # in place of a value: the mark, and a question
D_MODEL, D_STATE = 32, 16  # a state has D_STATE² numbers
STEPS, RATE = 400, 1e-2


class Task(NamedTuple):
    """So many pairs, each written so many times, after others that are void."""

    pairs: int
    times: int = 1
    void: int = 0

    def draw(self, size: int, generator: torch.Generator) -> tuple[Int[Tensor, "B T 2"], Int[Tensor, "B T"]]:
        """Rows of keys and values, and the right value where one is asked for."""
        keys = torch.rand(size, N_KEYS, generator=generator).argsort(1)  # all keys, in an order of each row's own
        old, own = keys.split([self.void, N_KEYS - self.void], dim=1)
        place = torch.rand(size, self.pairs * self.times, generator=generator).argsort(1) % self.pairs
        values = torch.randint(N_VALUES, (size, self.void + place.size(1)), generator=generator)
        asked = torch.randint(self.pairs, (size, ASKED), generator=generator)
        written = torch.stack([torch.cat([old, own.gather(1, place)], 1), values], -1)  # (B, pairs written, 2)
        question = torch.stack([own.gather(1, asked), torch.full_like(asked, QUESTION)], -1)
        mark = torch.tensor([0, VOID]).expand(size, min(self.void, 1), 2)
        last = (place[:, None] == asked[..., None]).long() * torch.arange(1, place.size(1) + 1)  # (B, ASKED, pairs)
        answer = values[:, self.void :].gather(1, last.argmax(-1))
        rows = torch.cat([written[:, : self.void], mark, written[:, self.void :], question], 1)
        return rows, F.pad(answer, (rows.size(1) - ASKED, 0), value=NOT_ASKED)


class Mixer(nn.Module):
    """One head, of an attention or of a state; `rule` says how it remembers. What does not write has no value."""

    def __init__(self, rule: str):
        super().__init__()
        self.rule = rule
        self.w_query, self.w_key, self.w_value = (nn.Linear(D_MODEL, D_STATE, bias=False) for _ in range(3))
        self.w_beta, self.w_decay = nn.Linear(D_MODEL, 1), nn.Linear(D_MODEL, 1)
        nn.init.constant_(self.w_decay.bias, 4.0)  # nearly nothing is forgotten at first
        self.w_o, self.positions = nn.Linear(D_STATE, D_MODEL, bias=False), RotaryPositions(128, D_STATE)

    def forward(self, x: Float[Tensor, "B T d_model"], writes: Float[Tensor, "B T"]) -> Float[Tensor, "B T d_model"]:
        query, key, value = self.w_query(x), self.w_key(x), self.w_value(x) * writes[..., None]  # (B, T, d_state)
        if self.rule == "attention":
            query, key = (part[:, 0] for part in self.positions(query[:, None], key[:, None]))
            return self.w_o(F.scaled_dot_product_attention(query, key, value, is_causal=True))
        query, key, beta = unit(query), unit(key), torch.sigmoid(self.w_beta(x))[..., 0] * writes
        decay = torch.sigmoid(self.w_decay(x))[..., 0] if "gated" in self.rule else torch.ones_like(beta)
        if "delta" in self.rule:
            return self.w_o(chunked_delta_rule(query, key, value, beta, decay))
        return self.w_o(linear_attention(query, key, value, decay))


class Recall(nn.Module):
    """Layers that do nothing but remember, each beside a residual connection."""

    def __init__(self, rules: tuple[str, ...]):
        super().__init__()
        self.keys, self.values = nn.Embedding(N_KEYS, D_MODEL), nn.Embedding(N_VALUES + 2, D_MODEL)
        self.mixers = nn.ModuleList(Mixer(rule) for rule in rules)
        self.norms = nn.ModuleList(RMSNorm(D_MODEL) for _ in (*rules, "the last"))
        self.to_logits = nn.Linear(D_MODEL, N_VALUES)

    def forward(self, rows: Int[Tensor, "B T 2"]) -> Float[Tensor, "B T values"]:
        x = self.keys(rows[..., 0]) + self.values(rows[..., 1])  # (B, T, d_model)
        writes = (rows[..., 1] != QUESTION).float()  # (B, T)
        for norm, mixer in zip(self.norms, self.mixers, strict=False):
            x = x + mixer(norm(x), writes)
        return self.to_logits(self.norms[-1](x))


ALONE = ("linear", "gated linear", "delta", "gated delta", "attention")
RULES: dict[str, tuple[str, ...]] = {name: (name,) for name in ALONE}
RULES |= {"two delta": ("delta", "delta"), "hybrid": ("delta", "attention")}
TASKS = {f"{n} pairs": Task(n) for n in (8, 16, 32)}
TASKS |= {"8 pairs, written 3 times": Task(8, 3), "8 pairs after 40 void ones": Task(8, 1, 40)}
SHORT, MIXED = ("linear", "delta", "attention"), ("two delta", "hybrid")
COMPARED: dict[str, tuple[str, ...]] = dict.fromkeys(TASKS, SHORT) | {"32 pairs": (*SHORT, *MIXED)}
COMPARED |= {"8 pairs, written 3 times": (*SHORT, "gated linear")}
COMPARED |= {"8 pairs after 40 void ones": (*SHORT, "gated linear", "gated delta")}
ARMS = {f"{rule}, {task}": (RULES[rule], TASKS[task]) for task, rules in COMPARED.items() for rule in rules}


def measure(arm: str, seed: int, n_steps: int = STEPS) -> dict[str, float]:
    """The share of right answers after a training; guessing gives one in N_VALUES."""
    rules, task = ARMS[arm]
    torch.manual_seed(seed)
    model = train_on_task(Recall(rules), task.draw, seed, n_steps, RATE)
    return {"right": round(share_right(model, task, 10_000 + seed), 3)}


@torch.no_grad()
def share_right(model: nn.Module, task: Task, seed: int) -> float:
    """The share of right answers to 500 rows that are drawn from a seed."""
    rows, classes = task.draw(500, torch.Generator("cpu").manual_seed(seed))
    right = model(rows).argmax(-1) == classes
    return right[classes != NOT_ASKED].float().mean().item()
