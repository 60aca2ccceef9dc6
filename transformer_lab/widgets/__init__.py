"""Interactive views for the lessons, live wherever scripts run and a faithful picture everywhere else.

`views` has a folder for each, `machine` the largest of them, `shared` what they have in common.
"""

from transformer_lab.widgets.machine.machine_view import machine
from transformer_lab.widgets.shared.view import View
from transformer_lab.widgets.views.arcs.arcs_view import arcs
from transformer_lab.widgets.views.attention.attention_view import attention, attention_steps
from transformer_lab.widgets.views.cache.cache_view import cache_cost
from transformer_lab.widgets.views.completer.completer_view import completer
from transformer_lab.widgets.views.decoding.decoding_view import decoding
from transformer_lab.widgets.views.depth.depth_view import depth
from transformer_lab.widgets.views.designs.designs_view import designs
from transformer_lab.widgets.views.encoding.encoding_view import encoding
from transformer_lab.widgets.views.heads.heads_view import heads
from transformer_lab.widgets.views.induction.induction_view import induction
from transformer_lab.widgets.views.lens.lens_view import lens
from transformer_lab.widgets.views.masks.masks_view import mask_playground
from transformer_lab.widgets.views.own_sentence.own_sentence_view import own_sentence
from transformer_lab.widgets.views.ranks.ranks_view import ranks
from transformer_lab.widgets.views.rewards.rewards_view import rewards
from transformer_lab.widgets.views.saturation.saturation_view import saturation
from transformer_lab.widgets.views.shift.shift_view import shift
from transformer_lab.widgets.views.speculation.speculation_view import speculation
from transformer_lab.widgets.views.swaps.swaps_view import swaps
from transformer_lab.widgets.views.tiles.tiles_view import tiles
from transformer_lab.widgets.views.training_monitor.training_monitor_view import text_training_monitor, training_monitor

__all__ = [
    "View",
    "arcs",
    "attention",
    "attention_steps",
    "cache_cost",
    "completer",
    "decoding",
    "depth",
    "designs",
    "encoding",
    "heads",
    "induction",
    "lens",
    "machine",
    "mask_playground",
    "own_sentence",
    "ranks",
    "rewards",
    "saturation",
    "shift",
    "speculation",
    "swaps",
    "text_training_monitor",
    "tiles",
    "training_monitor",
]
