"""Supervised fine-tuning: a language model learns from demonstrations, with a loss on the answers alone."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from safetensors.torch import save
from torch import Tensor

from transformer_lab.checks import check_tokens, described
from transformer_lab.data.tasks import pad
from transformer_lab.data.texts import Characters
from transformer_lab.nn.losses import next_token_loss
from transformer_lab.training.examples import derive_seed
from transformer_lab.training.text_training import TextTraining
from transformer_lab.training.torchrun import n_processes, rank

IGNORED = -1  # no token has this id


def answer_loss(
    logits: Float[Tensor, "B T vocab"], tokens: Int[Tensor, "B T"], answer_mask: Bool[Tensor, "B T"]
) -> Float[Tensor, ""]:
    """The mean cross-entropy over the tokens of the answers, in nats.

    loss = -mean ln p(token_t | token_0 … token_t-1), over the positions t > 0 where `answer_mask` is True

    The mask marks the tokens that count as targets; position t - 1 has their logits. NaN if none counts.
    """
    check_answer_mask(tokens, answer_mask)
    return next_token_loss(logits, tokens.masked_fill(~answer_mask, IGNORED), IGNORED)


def next_token_log_probs(logits: Float[Tensor, "B T vocab"], tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B T-1"]:
    """ln p of each token but the first, given those before it."""
    log_probs = logits[:, :-1].float().log_softmax(-1)  # (B, T-1, vocab)
    return log_probs.gather(-1, tokens[:, 1:, None].long())[..., 0]


def answer_log_probs(
    logits: Float[Tensor, "B T vocab"], tokens: Int[Tensor, "B T"], answer_mask: Bool[Tensor, "B T"]
) -> Float[Tensor, " B"]:
    """ln p of each whole answer, as the sum over its tokens."""
    check_answer_mask(tokens, answer_mask)
    return (next_token_log_probs(logits, tokens) * answer_mask[:, 1:]).sum(1)


@dataclass(frozen=True)
class AnswerExamples:
    """Prompts with their answers, one pair per row, padded on the right; the mask is True on the answers' tokens."""

    tokens: Int[Tensor, "N T"]
    answer_mask: Bool[Tensor, "N T"]

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[str, str]], characters: Characters) -> "AnswerExamples":
        """Build the tables from pairs of texts.

        Raises:
            ValueError: there is no pair.
        """
        pairs = list(pairs)
        if not pairs:
            raise ValueError("examples must be made from one pair of texts or more (got none)")
        tokens = pad([characters.encode(prompt + answer).tolist() for prompt, answer in pairs], characters.pad_id)
        begins, ends = (torch.tensor([len(text) for text in texts]) for texts in zip(*pairs, strict=True))
        place = torch.arange(tokens.size(1))
        return cls(tokens, (place >= begins[:, None]) & (place < (begins + ends)[:, None]))

    def __len__(self) -> int:
        return len(self.tokens)

    def rows(self, indices: Tensor) -> "AnswerExamples":
        """Select some of the pairs, by their numbers or by a mask."""
        return AnswerExamples(self.tokens[indices], self.answer_mask[indices])

    def to(self, device: torch.device | str) -> "AnswerExamples":
        return AnswerExamples(self.tokens.to(device), self.answer_mask.to(device))

    def with_prompts(self, pad_id: int) -> "AnswerExamples":
        """The same pairs, with every token of the prompts in the mask as well."""
        return replace(self, answer_mask=self.tokens != pad_id)

    def fingerprint(self) -> str:
        """A checksum, which is equal for equal tables."""
        return hashlib.sha256(save({"tokens": self.tokens, "answer_mask": self.answer_mask})).hexdigest()

    def batches(self, batch_size: int, seed: int, epoch: int) -> tuple[Tensor, ...]:
        """Batches of row numbers in a random order; what does not fill a batch is left for the next epoch."""
        return shuffled(len(self), batch_size, seed, epoch)


def shuffled(count: int, batch_size: int, seed: int, epoch: int) -> tuple[Int[Tensor, " B"], ...]:
    """The numbers below `count` in whole batches, in an order that seed and epoch determine."""
    generator = torch.Generator("cpu").manual_seed(derive_seed(seed, "order", epoch))
    order = torch.randperm(count, generator=generator, device="cpu")
    return order[: count // batch_size * batch_size].split(batch_size)


class FineTuning(TextTraining):
    """A language model that learns from demonstrations; interrupts are handled as in `Training`."""

    examples: AnswerExamples

    def loss(self, batch: Int[Tensor, " B"]) -> Float[Tensor, ""]:
        """The loss of a batch; with several processes, each takes a share, and the mean over them is the loss."""
        mine = self.examples.rows(batch[rank() :: n_processes()]).to(self.device)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.recipe.bf16):
            logits = self.forward(mine.tokens)
        share = mine.answer_mask[:, 1:].sum() / self.examples.rows(batch).answer_mask[:, 1:].sum().to(self.device)
        return answer_loss(logits.float(), mine.tokens, mine.answer_mask) * share * n_processes()


def check_answer_mask(tokens: Tensor, answer_mask: Tensor) -> None:
    """Raise a ValueError unless the mask is boolean and has the tokens' shape."""
    check_tokens("tokens", tokens)
    if not isinstance(answer_mask, Tensor) or answer_mask.dtype != torch.bool or answer_mask.shape != tokens.shape:
        rule = f"answer_mask must be torch.bool of the tokens' shape {tuple(tokens.shape)}, True = a target"
        raise ValueError(f"{rule} (got {described(answer_mask)})")
