"""Sentences whose words are linked by arcs: from the word under the pointer to the words it attends to."""

from collections.abc import Sequence

from torch import Tensor

from transformer_lab.plots.checks import Tokens, Values, check_attention, label, to_tensor
from transformer_lab.widgets.shared.view import View
from transformer_lab.widgets.views.arcs.arcs_picture import picture

MOST_SENTENCES, MOST_TOKENS, MOST_FEATURES = 4, 24, 6


def arcs(
    sentences: Sequence[Tokens],
    weights: Sequence[Values],
    values: Sequence[Values] | None = None,
    features: Sequence[str] = (),
    word: str | int | None = None,
    names: Sequence[str] | None = None,
) -> View:
    """Point at a word, and arcs show where it looks: one weight matrix (T, T) for each sentence of T tokens.

    With `values` (T, d) for each sentence, and a name for each of their d `features`, the view shows what the word was
    alone, and what it becomes in the sentence. It begins with `word`, or else with the first one of each sentence.

    Raises:
        ValueError: there are more than 4 sentences, 24 tokens or 6 features; the weights are not what softmax returns
            for the tokens; values or names do not fit; the word is missing in a sentence.
    """
    check_numbers(sentences, weights, values, features, names)
    given = [check_one(tokens, matrix) for tokens, matrix in zip(sentences, weights, strict=True)]
    texts = [[label(token) for token in tokens] for tokens in sentences]
    chosen = [0 if word is None else place(str(word), tokens) for tokens in texts]
    carried = [check_values(x, tokens, features) for x, tokens in zip(values or (), texts, strict=values is not None)]
    state = {"sentences": texts, "weights": given, "values": carried, "features": list(map(str, features))}
    state |= {"names": None if names is None else list(map(str, names)), "chosen": chosen}
    drawn = [x.double().clone() for x in given], [x.double().clone() for x in carried]
    return View("arcs", state, summary(texts, given, chosen), lambda: picture(state, *drawn), colours=128)


def check_numbers(
    sentences: Sequence[Tokens],
    weights: Sequence[Values],
    values: Sequence[Values] | None,
    features: Sequence[str],
    names: Sequence[str] | None,
) -> None:
    """Raise a ValueError unless there is one of each for every sentence, and within the limits."""
    n = len(sentences)
    if not 1 <= n <= MOST_SENTENCES:
        raise ValueError(f"there must be 1 to {MOST_SENTENCES} sentences (got {n})")
    for name, given in (("weights", weights), ("values", values), ("names", names)):
        if given is not None and len(given) != n:
            raise ValueError(f"{name} must have one entry for each of the {n} sentences (it has {len(given)})")
    if (values is None) != (len(features) == 0):
        raise ValueError(f"values and the names of their features go together (got {len(features)} names)")
    if len(features) > MOST_FEATURES:
        raise ValueError(f"there must be at most {MOST_FEATURES} features (got {len(features)})")


def check_one(tokens: Tokens, weights: Values) -> Tensor:
    """Check the weights of one sentence; raises a ValueError unless softmax may have returned them for its tokens."""
    if not 1 <= len(tokens) <= MOST_TOKENS:
        raise ValueError(f"a sentence must have 1 to {MOST_TOKENS} tokens (got {len(tokens)})")
    check_attention(weights, tokens, tokens)
    return to_tensor(weights).detach().cpu()


def check_values(values: Values, tokens: Tokens, features: Sequence[str]) -> Tensor:
    x, wanted = to_tensor(values).detach().cpu(), (len(tokens), len(features))
    if tuple(x.shape) != wanted:
        raise ValueError(f"values must have the shape (tokens, features) = {wanted} (it has {tuple(x.shape)})")
    if not x.isfinite().all():
        raise ValueError("values must be finite")
    return x


def place(word: str, tokens: list[str]) -> int:
    if word not in tokens:
        raise ValueError(f"the word must be in each sentence ({word!r} is not in {label(' '.join(tokens))!r})")
    return tokens.index(word)


def summary(texts: list[list[str]], weights: list[Tensor], chosen: list[int]) -> str:
    """A one-line summary of where the words look at first."""
    said = []
    for tokens, matrix, at in zip(texts, weights, chosen, strict=True):
        row = [round(weight, 4) for weight in matrix[at].tolist()]
        most = row.index(max(row))
        where = "evenly" if len(set(row)) == 1 else f"most at {tokens[most]} ({row[most]:.2f})"
        said.append(f"{tokens[at]} looks {where} in “{label(' '.join(tokens))}”")
    return f"Arcs from a word to those it looks at: {', '.join(said)}."
