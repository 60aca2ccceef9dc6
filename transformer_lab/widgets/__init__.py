"""Interactive views of the lessons: live wherever scripts run, a true picture everywhere else."""

from transformer_lab.widgets.attention import attention, attention_steps
from transformer_lab.widgets.kit import View
from transformer_lab.widgets.saturation import saturation

__all__ = ["View", "attention", "attention_steps", "saturation"]
