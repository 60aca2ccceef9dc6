"""After pretraining: a model that continues texts learns to answer, and to answer correctly.

In reading order: `digit_sums`, the task, and its verifier; `fine_tuning`, on demonstrations; `lora`, the same with few
parameters; `sampling`, many answers and what to make of them; `preferences`, from pairs of answers; `reinforcement`,
from rewards alone.
"""

from transformer_lab.training.after_pretraining.digit_sums import verifies
from transformer_lab.training.after_pretraining.fine_tuning import (
    AnswerExamples,
    FineTuning,
    answer_log_probs,
    answer_loss,
    next_token_log_probs,
)
from transformer_lab.training.after_pretraining.lora import add_lora, load_lora, lora_forward, merge_lora, save_lora
from transformer_lab.training.after_pretraining.preferences import Preferences, PreferenceTraining, dpo_loss, pairs_of
from transformer_lab.training.after_pretraining.reinforcement import (
    Problems,
    RewardRecipe,
    RewardTraining,
    clipped_objective,
    group_advantages,
)
from transformer_lab.training.after_pretraining.sampling import (
    Samples,
    best_of,
    final_digit,
    majority,
    pass_at_k,
    rewards_of,
    sample_answers,
    score,
    score_as_pretrained,
)

__all__ = [
    "AnswerExamples",
    "FineTuning",
    "PreferenceTraining",
    "Preferences",
    "Problems",
    "RewardRecipe",
    "RewardTraining",
    "Samples",
    "add_lora",
    "answer_log_probs",
    "answer_loss",
    "best_of",
    "clipped_objective",
    "dpo_loss",
    "final_digit",
    "group_advantages",
    "load_lora",
    "lora_forward",
    "majority",
    "merge_lora",
    "next_token_log_probs",
    "pairs_of",
    "pass_at_k",
    "rewards_of",
    "sample_answers",
    "save_lora",
    "score",
    "score_as_pretrained",
    "verifies",
]
