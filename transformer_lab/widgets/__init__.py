"""Interactive views of the lessons: live wherever scripts run, a true picture everywhere else."""

from transformer_lab.widgets.arcs_view import arcs
from transformer_lab.widgets.attention_view import attention, attention_steps
from transformer_lab.widgets.cache_view import cache_cost
from transformer_lab.widgets.completer_view import completer
from transformer_lab.widgets.decoding_view import decoding
from transformer_lab.widgets.depth_view import depth
from transformer_lab.widgets.encoding_view import encoding
from transformer_lab.widgets.heads_view import heads
from transformer_lab.widgets.induction_view import induction
from transformer_lab.widgets.lens_view import lens
from transformer_lab.widgets.machine_view import machine
from transformer_lab.widgets.masks_view import mask_playground
from transformer_lab.widgets.own_sentence_view import own_sentence
from transformer_lab.widgets.saturation_view import saturation
from transformer_lab.widgets.shift_view import shift
from transformer_lab.widgets.speculation_view import speculation
from transformer_lab.widgets.swaps_view import swaps
from transformer_lab.widgets.tiles_view import tiles
from transformer_lab.widgets.training_monitor_view import text_training_monitor, training_monitor
from transformer_lab.widgets.view import View

__all__ = [
    "View",
    "arcs",
    "attention",
    "attention_steps",
    "cache_cost",
    "completer",
    "decoding",
    "depth",
    "encoding",
    "heads",
    "induction",
    "lens",
    "machine",
    "mask_playground",
    "own_sentence",
    "saturation",
    "shift",
    "speculation",
    "swaps",
    "text_training_monitor",
    "tiles",
    "training_monitor",
]
