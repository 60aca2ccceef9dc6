"""Training: section 5 of "Attention Is All You Need" on pairs of texts; language models on one text; and fine-tuning.

In reading order: `recipe`, `examples`, `loop`, `evaluation`; `shipped` and `checkpoint`; `text_examples` and
`text_training`; `after_pretraining`, how a language model learns to answer; `progress_bar`, `interrupts`; `torchrun`,
several processes that train one model.
The `commands` are `python -m transformer_lab.training`, `….training.text` and `….training.answers`, which lie in `text`
and `answers`; `experiments` train many small models.
"""

from transformer_lab.training.checkpoint import (
    load_checkpoint,
    load_language_model,
    load_training,
    save_checkpoint,
    save_training,
)
from transformer_lab.training.evaluation import average_weights, exact_match, translate
from transformer_lab.training.examples import Examples
from transformer_lab.training.loop import Report, Training
from transformer_lab.training.progress_bar import progress
from transformer_lab.training.recipe import Recipe, label_smoothing_loss, paper_adam, shift_right, warmup_rate
from transformer_lab.training.shipped import checkpoint_path, load_table
from transformer_lab.training.text_examples import TextExamples
from transformer_lab.training.text_training import TextRecipe, TextTraining

__all__ = [
    "Examples",
    "Recipe",
    "Report",
    "TextExamples",
    "TextRecipe",
    "TextTraining",
    "Training",
    "average_weights",
    "checkpoint_path",
    "exact_match",
    "label_smoothing_loss",
    "load_checkpoint",
    "load_language_model",
    "load_table",
    "load_training",
    "paper_adam",
    "progress",
    "save_checkpoint",
    "save_training",
    "shift_right",
    "translate",
    "warmup_rate",
]
