"""A text that a small model and a draft have written, and one whose draft is always right."""

import torch

SET_UP = r"""
import torch
from transformer_lab import LanguageModel, LanguageModelConfig, speculative, widgets

torch.manual_seed(4)
judge_sizes = {"vocab_size": 5, "d_model": 12, "n_heads": 3, "d_ff": 20, "n_layers": 1, "max_len": 40}
judges = [LanguageModel(LanguageModelConfig(**judge_sizes, positions="rotary")) for _ in range(2)]
for parameter in [one for judge in judges for one in judge.parameters()]:
    torch.nn.init.normal_(parameter, std=0.35)
few_letters = ["a", "<b>", " ", "\n", "d"]
of_letters = torch.tensor([0, 1, 4])
speculated = speculative(*judges, of_letters, 24, generator=torch.Generator().manual_seed(3))
always = speculative(judges[0], judges[0], of_letters, 26, n_draft=5, generator=torch.Generator().manual_seed(1))
"""
SHOW = {
    "speculation": "widgets.speculation(speculated, few_letters)",
    "a draft that is right": "widgets.speculation(always, few_letters)",
}

data: dict = {}
exec(SET_UP, data)


def shown(name: str = "speculation", step: int = 0) -> dict:
    """What the view shows, from the tokens that were written and the distributions of the round."""
    written = data["speculated" if name == "speculation" else "always"]
    one = written.rounds[step]
    length = sum(each.n_accepted + 1 for each in written.rounds[: step + 1])
    p, q = (torch.stack([table[i, x] for i, x in enumerate(one.drafted)]).double() for table in (one.p, one.q))
    return {
        "round": step,
        "text": "".join(data["few_letters"][i] for i in written.tokens[3 : 3 + length].tolist()),
        "drafted": [data["few_letters"][i] for i in one.drafted],
        "accepted": one.n_accepted,
        "p": p.tolist(),
        "q": q.tolist(),
        "chances": (p / q).clamp(max=1).tolist(),
        "aPass": length / (step + 1),
    }


START = {"speculation": shown, "a draft that is right": lambda: shown("a draft that is right")}
