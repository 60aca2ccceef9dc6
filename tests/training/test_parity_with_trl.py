"""The losses are those of trl 1.16, LoRA is that of peft 0.21, on the same tensors; skipped where one is missing."""

from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
import torch
from torch import nn

from tests.support import assert_close
from transformer_lab import answer_loss, clipped_objective, dpo_loss
from transformer_lab.training.after_pretraining import answer_log_probs, next_token_log_probs
from transformer_lab.training.after_pretraining.lora import LoRALinear
from transformer_lab.training.after_pretraining.reinforcement import divergence

pytestmark = pytest.mark.filterwarnings("ignore")


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def answers() -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens, and a mask of answers of several lengths behind a prompt of three."""
    tokens = torch.randint(11, (6, 9), generator=torch.Generator().manual_seed(0))
    place, ends = torch.arange(9), torch.tensor([4, 9, 6, 7, 5, 8])[:, None]
    return tokens, (place >= 3) & (place < ends)


def trainer(attributes: dict) -> MagicMock:
    """As much of a trainer as its `_compute_loss` asks for; what it logs goes nowhere."""
    fake = MagicMock()
    fake.accelerator.gather_for_metrics = fake.accelerator.gather = lambda x: x
    fake.aux_loss_enabled, fake.model.training = False, True
    for name, value in attributes.items():
        setattr(fake, name, value)
    return fake


def test_lora_is_peft_s():
    peft = pytest.importorskip("peft", reason="peft is not installed")
    base = nn.Sequential(nn.Linear(7, 5))
    config = peft.LoraConfig(r=3, lora_alpha=12, target_modules=["0"], init_lora_weights=False)
    theirs = peft.get_peft_model(nn.Sequential(nn.Linear(7, 5)), config)
    layer = theirs.base_model.model[0]
    layer.base_layer.load_state_dict(base[0].state_dict())
    ours = LoRALinear(base[0], rank=3, alpha=12.0)
    with torch.no_grad():
        ours.a.copy_(layer.lora_A["default"].weight)
        ours.b.copy_(layer.lora_B["default"].weight)
    x = drawn(4, 2, 7)
    assert_close(ours(x), theirs(x), within=1e-6)
    assert not torch.allclose(ours(x), base(x), atol=1e-3)


def test_the_loss_of_supervised_fine_tuning_is_trl_s():
    """trl makes labels of tokens and mask, -100 where nothing counts; the model of Hugging Face computes the loss."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("trl", reason="trl is not installed")
    from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

    tokens, mask = answers()
    labels = tokens.masked_fill(~mask, -100)
    rows = [{"input_ids": row.tolist(), "labels": label.tolist()} for row, label in zip(tokens, labels, strict=True)]
    batch = DataCollatorForLanguageModeling(pad_token_id=0)(rows)
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2, "num_hidden_layers": 1}
    config = transformers.LlamaConfig(vocab_size=11, hidden_size=8, intermediate_size=16, **heads)
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(config)
    theirs = model(input_ids=batch["input_ids"], labels=batch["labels"])
    assert_close(answer_loss(theirs.logits, tokens, mask), theirs.loss, within=1e-6)


def test_the_loss_of_dpo_is_trl_s():
    pytest.importorskip("trl", reason="trl is not installed")
    from trl import DPOTrainer

    tokens, mask = answers()
    policy, reference = drawn(6, 9, 11), drawn(6, 9, 11) + 0.5 * drawn(6, 9, 11).flip(0)
    said = [next_token_log_probs(logits, tokens) * mask[:, 1:] for logits in (policy, reference)]
    fake = trainer(
        {
            "ld_alpha": None, "precompute_ref_logps": False, "f_divergence_type": "reverse_kl", "beta": 0.3,
            "loss_types": ["sigmoid"], "loss_weights": [1.0], "use_weighting": False,
            "ref_model": lambda **_: SimpleNamespace(log_probs=said[1]),
        }
    )  # fmt: skip
    logged = {"entropy": said[0], "mean_logits": said[0], "is_top1": said[0] > -1}
    output = SimpleNamespace(log_probs=said[0], **logged)
    theirs = DPOTrainer._compute_loss(
        fake,
        lambda **_: output,
        {"input_ids": tokens, "attention_mask": torch.ones_like(tokens), "completion_mask": mask.long()},
        return_outputs=False,
    )
    (chosen, rejected), (of_chosen, of_rejected) = (
        answer_log_probs(logits, tokens, mask).chunk(2) for logits in (policy, reference)
    )
    assert_close(dpo_loss(chosen, rejected, of_chosen, of_rejected, 0.3), theirs, within=1e-6)


@pytest.mark.parametrize("kl", [0.0, 0.4])
def test_the_objective_of_grpo_is_trl_s(kl):
    """Its loss type "bnpo" is the mean over all tokens of a batch."""
    pytest.importorskip("trl", reason="trl is not installed")
    from trl import GRPOTrainer

    tokens, mask = answers()
    prompt, counted, advantages = tokens[:, :3], mask[:, 3:], drawn(6)
    new, old, reference = (
        next_token_log_probs(drawn(6, 9, 11) + i * 0.2 * drawn(6, 9, 12)[..., :11], tokens) for i in range(3)
    )
    fake = trainer(
        {
            "beta": kl, "epsilon_low": 0.2, "epsilon_high": 0.2, "loss_type": "bnpo", "top_entropy_quantile": 1.0,
            "off_policy_mask_threshold": None, "importance_sampling_level": "token", "use_vllm": False,
            "current_gradient_accumulation_steps": 1, "_entropy_bonus_enabled": False, "use_adaptive_entropy": False,
            "args": SimpleNamespace(delta=None, use_bias_correction_kl=False),
            "_get_per_token_logps_and_entropies": lambda *_, **__: (new[:, 2:], torch.zeros(6, 6), None),
        }
    )  # fmt: skip
    inputs = {
        "prompt_ids": prompt, "prompt_mask": torch.ones_like(prompt), "completion_ids": tokens[:, 3:],
        "completion_mask": counted.long(), "advantages": advantages, "old_per_token_logps": old[:, 2:],
        "ref_per_token_logps": reference[:, 2:],
    }  # fmt: skip
    theirs = GRPOTrainer._compute_loss(fake, MagicMock(), inputs)
    each = advantages[:, None].expand(counted.shape)[counted]
    chosen, before, first = (log_probs[:, 2:][counted] for log_probs in (new, old, reference))
    ours = kl * divergence(chosen, first).mean() - clipped_objective(chosen, before, each, 0.2)
    assert_close(ours, theirs, within=1e-6)
