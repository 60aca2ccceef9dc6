"""Speculative decoding: a cheap draft proposes tokens, and one pass of the model judges them all (one text at a time).

What is written has exactly the model's distribution, whatever the draft (Leviathan et al., 2023, arXiv:2211.17192; Chen
et al., 2023, arXiv:2302.01318). The draft decides only how many passes of the model that takes.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_lab.checks import check_least, check_temperature, check_text
from transformer_lab.decoding.inference import inference
from transformer_lab.decoding.single import check_logits, tempered
from transformer_lab.models.language_model import LanguageModel
from transformer_lab.nn.kv_cache import KVCache


def residual_distribution(p: Float[Tensor, "*axes vocab"], q: Float[Tensor, "*axes vocab"]) -> Float[Tensor, "..."]:
    """The distribution to draw from after a rejected token: max(p - q, 0), divided by its sum; p if q equals p.

    p is the model's distribution, q the draft's. It is drawn from, not learned through: no gradient flows back.
    """
    p, q = p.detach(), q.detach()
    missing = (p - q).clamp(min=0)  # (…, vocab): what the draft proposes too seldom
    total = missing.sum(-1, keepdim=True)
    return torch.where(total > 0, missing / total, p)


@runtime_checkable
class Table(Protocol):
    """A draft that is not a LanguageModel, such as an n-gram table."""

    def next_probabilities(self, tokens: Int[Tensor, " n"]) -> Float[Tensor, " vocab"]: ...


@dataclass(frozen=True)
class Round:
    """One pass of the model: the drafted tokens, how many of them were accepted, and the token written after those.

    `p` are the model's distributions at each drafted token and behind the last, `q` the draft's.
    """

    drafted: list[int]
    n_accepted: int
    written: int
    p: Float[Tensor, "judged vocab"]
    q: Float[Tensor, "drafted vocab"]


@dataclass(frozen=True)
class Speculation:
    """A generated text, including its prompt, and the rounds in which it was written."""

    tokens: Int[Tensor, " n"]
    rounds: list[Round]


def speculative(
    model: LanguageModel,
    draft: LanguageModel | Table,
    prompt: Int[Tensor, " n"],
    n_tokens: int,
    *,
    n_draft: int = 4,
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
) -> Speculation:
    """The prompt and `n_tokens` more, each distributed as in the model's own softmax(logits / temperature).

    In each round the draft writes `n_draft` tokens, and the model reads them in one pass. Token x stands with
    probability min(1, p(x) / q(x)). Behind the last that stands one more is written: from `residual_distribution` if
    the next was rejected, from p if none was. A generator on the CPU draws there.

    Raises:
        ValueError: the prompt is empty or no (n,) of token ids; prompt and new tokens are more than a model's max_len;
            the draft has another vocabulary than the model; n_tokens is below 0 or n_draft below 1; temperature is not
            above 0, or float32 cannot divide by it; the generator is not on the CPU; the model's logits, or what the
            draft says, are no numbers.
    """
    check_least(0, n_tokens=n_tokens)
    check_least(1, n_draft=n_draft)
    check_temperature(temperature)
    check_text("a prompt", prompt, least=1)
    check_pair(model, draft, prompt, len(prompt) + n_tokens)
    if generator is not None and generator.device.type != "cpu":
        raise ValueError(f"a generator must be on the CPU, where tokens are judged (got {generator.device})")
    judge, proposer = readers = reader(model, "the model", temperature), reader(draft, "the draft", temperature)
    text, rounds = prompt.tolist(), []
    while (left := len(prompt) + n_tokens - len(text)) > 0:
        rounds.append(one_round(judge, proposer, text, min(n_draft, left - 1), generator))
        text = [*text, *rounds[-1].drafted[: rounds[-1].n_accepted], rounds[-1].written]
        for each in readers:
            each.forget(len(text) - 1)
    return Speculation(torch.tensor(text, dtype=prompt.dtype, device=prompt.device), rounds)


def check_pair(model: LanguageModel, draft: LanguageModel | Table, prompt: Int[Tensor, " n"], length: int) -> None:
    """Raise a ValueError unless model and draft share their tokens, and can read the prompt and the new tokens."""
    if not isinstance(draft, (LanguageModel, Table)):
        raise ValueError(f"a draft must be a LanguageModel or have next_probabilities (got {type(draft).__name__})")
    for one in (model, draft):
        if isinstance(one, LanguageModel) and length > one.config.max_len:
            raise ValueError(f"a text may have at most max_len ({one.config.max_len}) positions (got {length})")
    size = draft.config.vocab_size if isinstance(draft, LanguageModel) else len(draft.next_probabilities(prompt.cpu()))
    if size != model.config.vocab_size:
        rule = f"a draft must have the model's vocabulary of {model.config.vocab_size} tokens"
        raise ValueError(f"{rule} (its own has {size})")


def one_round(
    judge: "Reader", proposer: "Reader", text: list[int], n_draft: int, generator: torch.Generator | None
) -> Round:
    """Run one round: the draft proposes tokens, and the model judges them."""
    drafted: list[int] = []
    q = []
    for _ in range(n_draft):
        q.append(proposer.read([*text, *drafted])[-1])
        drafted.append(drawn(q[-1], generator))
    p = judge.read([*text, *drafted])[-n_draft - 1 :]  # (k + 1, vocab): one pass
    proposals = torch.stack(q) if q else p[:0]
    n_accepted, written = judged(p, proposals, drafted, generator)
    return Round(drafted, n_accepted, written, p, proposals)


def judged(
    p: Float[Tensor, "judged vocab"],
    q: Float[Tensor, "drafted vocab"],
    drafted: list[int],
    generator: torch.Generator | None,
) -> tuple[int, int]:
    """The number of drafted tokens that are accepted, and the token that is written after them."""
    for i, token in enumerate(drafted):
        chance = torch.rand((), generator=generator, device=p.device)
        if not chance * q[i, token] < p[i, token]:  # with probability 1 - min(1, p / q)
            return i, drawn(residual_distribution(p[i], q[i]), generator)
    return len(drafted), drawn(p[-1], generator)


def drawn(distribution: Float[Tensor, " vocab"], generator: torch.Generator | None) -> int:
    return int(distribution.multinomial(1, generator=generator))


class Reader:
    """`read(text)` gives the distribution after each token that is new since the last call; `forget` goes back."""

    def __init__(self, name: str, temperature: float):
        self.name, self.temperature, self.n_read = name, temperature, 0

    def distribution(self, logits: Float[Tensor, "new vocab"]) -> Float[Tensor, "new vocab"]:
        check_logits(logits, f"{self.name}'s logits")
        return tempered(logits, self.temperature).softmax(-1)

    def read(self, text: list[int]) -> Float[Tensor, "new vocab"]:
        raise NotImplementedError

    def forget(self, length: int) -> None:
        """Keep at most the first `length` tokens."""
        self.n_read = min(self.n_read, length)


class ModelReader(Reader):
    """Reads with a language model and a cache, which is cut back where tokens were rejected."""

    def __init__(self, model: LanguageModel, name: str, temperature: float):
        super().__init__(name, temperature)
        self.model, self.cache = model, KVCache()

    def read(self, text: list[int]) -> Float[Tensor, "new vocab"]:
        device = self.model.tokens.weight.device
        with inference(self.model):
            logits = self.model(torch.tensor([text[self.n_read :]], device=device), self.cache)[0]
        self.n_read = len(text)
        return self.distribution(logits).cpu()

    def forget(self, length: int) -> None:
        super().forget(length)
        self.cache.keep(self.n_read)


class TableReader(Reader):
    """Reads from a table, which has no state to keep."""

    def __init__(self, table: Table, name: str, temperature: float):
        super().__init__(name, temperature)
        self.table = table

    def read(self, text: list[int]) -> Float[Tensor, "new vocab"]:
        """The distribution after the last token alone, because a draft is asked for no other."""
        p = self.table.next_probabilities(torch.tensor(text))[None]  # (1, vocab)
        return self.distribution(p.log())


def reader(source: LanguageModel | Table, name: str, temperature: float) -> Reader:
    if isinstance(source, LanguageModel):
        return ModelReader(source, name, temperature)
    return TableReader(source, name, temperature)
