"""The families of open models since Llama: from their configs and tensors to an `OpenModel` and its own.

In reading order: `angles` and `reading` say what the configs have in common, `dense` has the families with one
feed-forward network in each layer, `mixtures` those with experts, `hybrid` that whose layers differ in kind.
"""

from transformer_lab.weights.families import Family
from transformer_lab.weights.open_families import dense, hybrid, mixtures

OPEN_FAMILIES: dict[str, Family] = {
    "llama": dense.llama,
    "mistral": dense.mistral,
    "qwen2": dense.qwen2,
    "qwen3": dense.qwen3,
    "olmo2": dense.olmo2,
    "gemma3_text": dense.gemma3,
    "mixtral": mixtures.mixtral,
    "gpt_oss": mixtures.gpt_oss,
    "deepseek_v3": mixtures.deepseek_v3,
    "qwen3_next": hybrid.qwen3_next,
}
