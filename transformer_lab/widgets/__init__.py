"""Interactive views of the lessons: live wherever scripts run, a true picture everywhere else."""

from transformer_lab.widgets.attention import attention, attention_steps
from transformer_lab.widgets.cache import cache_cost
from transformer_lab.widgets.decoding import decoding
from transformer_lab.widgets.depth import depth
from transformer_lab.widgets.encoding import encoding
from transformer_lab.widgets.heads import heads
from transformer_lab.widgets.kit import View
from transformer_lab.widgets.masks import mask_playground
from transformer_lab.widgets.own_sentence import own_sentence
from transformer_lab.widgets.saturation import saturation
from transformer_lab.widgets.shift import shift
from transformer_lab.widgets.training_monitor import training_monitor

__all__ = [
    "View",
    "attention",
    "attention_steps",
    "cache_cost",
    "decoding",
    "depth",
    "encoding",
    "heads",
    "mask_playground",
    "own_sentence",
    "saturation",
    "shift",
    "training_monitor",
]
