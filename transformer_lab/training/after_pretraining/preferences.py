"""Direct preference optimisation, from pairs of answers of which one is better, without computing a reward."""

import hashlib
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from transformer_lab.checks import check_floats
from transformer_lab.decoding.inference import inference
from transformer_lab.models.language_model import LanguageModel
from transformer_lab.training.after_pretraining.fine_tuning import AnswerExamples, answer_log_probs, shuffled
from transformer_lab.training.text_training import TextRecipe, TextTraining


def dpo_loss(
    chosen: Float[Tensor, " B"],
    rejected: Float[Tensor, " B"],
    reference_chosen: Float[Tensor, " B"],
    reference_rejected: Float[Tensor, " B"],
    beta: float,
) -> Float[Tensor, ""]:
    """The DPO loss, which is low if a model prefers the chosen answers more strongly than its reference does.

    -mean ln σ(β [(chosen - reference_chosen) - (rejected - reference_rejected)])

    Each is ln p of a whole answer (Rafailov et al., 2023, arXiv:2305.18290, equation 7).
    """
    check_floats("chosen", chosen, 1)
    check_floats("rejected", rejected, 1)
    margin = (chosen - reference_chosen) - (rejected - reference_rejected)  # (B,)
    return -F.logsigmoid(beta * margin).mean()


@dataclass(frozen=True)
class Preferences:
    """Pairs of answers to the same prompts, one pair per row: a better one and a worse one."""

    chosen: AnswerExamples
    rejected: AnswerExamples

    def __post_init__(self) -> None:
        if len(self.chosen) != len(self.rejected):
            counts = f"{len(self.chosen)}, {len(self.rejected)}"
            raise ValueError(f"chosen and rejected must be equally many (got {counts})")

    def __len__(self) -> int:
        return len(self.chosen)

    def fingerprint(self) -> str:
        """A checksum, which is equal for equal tables."""
        return hashlib.sha256((self.chosen.fingerprint() + self.rejected.fingerprint()).encode()).hexdigest()

    def batches(self, batch_size: int, seed: int, epoch: int) -> tuple[Tensor, ...]:
        """Batches of row numbers in a random order."""
        return shuffled(len(self), batch_size, seed, epoch)


class PreferenceTraining(TextTraining):
    """A language model that learns from pairs of answers; the reference is the model at the start of the training."""

    examples: Preferences

    def __init__(self, model: LanguageModel, examples: Preferences, recipe: TextRecipe, beta: float = 0.1):
        super().__init__(model, examples, recipe)
        self.beta = beta
        with inference(model):
            self.reference = [self.log_probs(side) for side in (examples.chosen, examples.rejected)]

    def log_probs(self, answers: AnswerExamples) -> Float[Tensor, " B"]:
        """ln p of each whole answer under the model."""
        answers = answers.to(self.device)
        return answer_log_probs(self.forward(answers.tokens), answers.tokens, answers.answer_mask)

    def loss(self, batch: Int[Tensor, " B"]) -> Float[Tensor, ""]:
        """The loss of a batch of pairs."""
        chosen, rejected = (self.log_probs(side.rows(batch)) for side in (self.examples.chosen, self.examples.rejected))
        of_chosen, of_rejected = (log_probs[batch.to(self.device)] for log_probs in self.reference)
        return dpo_loss(chosen, rejected, of_chosen, of_rejected, self.beta)


def pairs_of(samples: AnswerExamples, rewards: Float[Tensor, "problems samples"]) -> Preferences:
    """Pair each right sample of a problem with a wrong one, as far as they go, using none twice."""
    better, worse = [], []
    for row, values in enumerate(rewards.tolist()):
        first = row * len(values)
        right = [first + i for i, value in enumerate(values) if value > 0]
        wrong = [first + i for i, value in enumerate(values) if value <= 0]
        for one, other in zip(right, wrong, strict=False):
            better.append(one)
            worse.append(other)
    chosen, rejected = (samples.rows(torch.tensor(rows, dtype=torch.long)) for rows in (better, worse))
    return Preferences(chosen, rejected)
