"""Two sentences with one word in common and a vector for each word; and one sentence, by the heads that read it."""

# Names that HTML or a script could trip over are among the tokens.
SET_UP = r"""
import torch
from transformer_lab import widgets

torch.manual_seed(5)
took = ["I", "took", "money", "to", "the", "bank"]
sat = ["the", "bank", "</script>", "& \"the\"", "<b>river</b>"]
arc_weights = [(2 * torch.randn(len(tokens), len(tokens))).softmax(-1) for tokens in (took, sat)]
arc_values = [torch.randn(len(tokens), 3) for tokens in (took, sat)]
arc_weights[1][3] = torch.tensor([0.0, 0.25, 0.0, 0.75, 0.0])
meanings = ["money", "water", "$x$"]
"""
SHOW = {
    "arcs": "widgets.arcs([took, sat], arc_weights, arc_values, meanings, word='bank')",
    "arcs alone": "widgets.arcs([took, took], [arc_weights[0]] * 2, names=['head 0', 'head 1'])",
}

data: dict = {}
exec(SET_UP, data)


def looks(name="arcs", words=None, sharpness=1.0) -> list[dict]:
    """Where a word of each sentence looks, and what it becomes."""
    both = name == "arcs"
    weights = data["arc_weights"] if both else [data["arc_weights"][0]] * 2
    found = []
    for i, word in enumerate(words or ((5, 1) if both else (0, 0))):
        row = weights[i][word].double()
        powers = row.pow(sharpness).where(row > 0, 0)  # what may not be seen stays so, even at sharpness 0
        row = powers / powers.sum()
        after = (row @ data["arc_values"][i].double()).tolist() if both else []
        found.append({"word": word, "weights": row.tolist(), "after": after})
    return found


START = {name: lambda name=name: looks(name) for name in SHOW}
