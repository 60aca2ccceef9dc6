"""A small encoder, and the same as it comes out of loadings that went right or wrong."""

from collections.abc import Callable

import torch
from torch import Tensor

N_TOKENS, LONGEST, WIDTH = 10, 40, 4
Model = Callable[[Tensor, Tensor], Tensor]  # (B, T) tokens and types → (B, T, WIDTH)


def table(*shape: int) -> Tensor:
    generator = torch.Generator("cpu").manual_seed(shape[0])
    return torch.randn(shape, generator=generator, dtype=torch.float64, device="cpu")


WORD, TYPE, PLACE, MIX, OUT = table(N_TOKENS, WIDTH), table(2, WIDTH), table(LONGEST, WIDTH), *table(2, WIDTH, WIDTH)


def states(x: Tensor, real: Tensor, out: Tensor = OUT, eps: float = 1e-12) -> Tensor:
    """One post-norm layer: (B, T, WIDTH), and which positions hold tokens. In float64, to be equal everywhere."""
    weights = (x @ MIX @ x.mT / 2).masked_fill(~real[:, None], float("-inf")).softmax(-1)
    x = x + weights @ x @ out
    x = x - x.mean(-1, keepdim=True)
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt()


def embedded(tokens: Tensor, types: Tensor) -> Tensor:
    return WORD[tokens] + TYPE[types] + PLACE[: tokens.size(1)]


def original(tokens: Tensor, types: Tensor) -> Tensor:
    """The model as it was published."""
    return states(embedded(tokens, types), tokens != 0).float()


# ── loaded rightly ──


def text_by_text(tokens: Tensor, types: Tensor) -> Tensor:
    """Without padding: zeros stand there instead."""
    output = torch.zeros(*tokens.shape, WIDTH)
    for row, (one, kinds) in enumerate(zip(tokens, types, strict=True)):
        real = one != 0
        output[row, real] = original(one[real][None], kinds[real][None])[0]
    return output


def rounded_otherwise(tokens: Tensor, types: Tensor) -> Tensor:
    wobble = torch.arange(tokens.numel() * WIDTH).reshape(*tokens.shape, WIDTH) % 3 - 1
    return original(tokens, types) + 2e-6 * wobble


def other_at_padding(tokens: Tensor, types: Tensor) -> Tensor:
    return original(tokens, types) + 7.0 * (tokens == 0)[..., None]


# ── loaded wrongly ──


def without_types(tokens: Tensor, types: Tensor) -> Tensor:
    return original(tokens, torch.zeros_like(types))


def padding_seen(tokens: Tensor, types: Tensor) -> Tensor:
    return states(embedded(tokens, types), torch.ones_like(tokens, dtype=torch.bool)).float()


def first_mask_for_all(tokens: Tensor, types: Tensor) -> Tensor:
    real = (tokens != 0)[:1].expand(len(tokens), -1)
    return states(embedded(tokens, types), real).float()


def positions_again(after: int) -> Model:
    """The table of positions is cut short, and begins anew."""

    def model(tokens: Tensor, types: Tensor) -> Tensor:
        place = PLACE[torch.arange(tokens.size(1)) % after]
        return states(WORD[tokens] + TYPE[types] + place, tokens != 0).float()

    return model


def transposed(tokens: Tensor, types: Tensor) -> Tensor:
    return states(embedded(tokens, types), tokens != 0, OUT.T).float()


def another_eps(tokens: Tensor, types: Tensor) -> Tensor:
    return states(embedded(tokens, types), tokens != 0, eps=0.003).float()


def last_token_lost(tokens: Tensor, types: Tensor) -> Tensor:
    """One row of the table has been left as it began."""
    word = WORD * (torch.arange(N_TOKENS) != N_TOKENS - 1)[:, None]
    return states(word[tokens] + TYPE[types] + PLACE[: tokens.size(1)], tokens != 0).float()


def first_token_lost(tokens: Tensor, types: Tensor) -> Tensor:
    word = WORD * (torch.arange(N_TOKENS) != 1)[:, None]
    return states(word[tokens] + TYPE[types] + PLACE[: tokens.size(1)], tokens != 0).float()


def cancelling(tokens: Tensor, types: Tensor) -> Tensor:
    """What one token has too much the next has too little: their mean is right, if there are two."""
    given, real = original(tokens, types), tokens != 0
    even = real.sum(1, keepdim=True) // 2 * 2
    at = torch.arange(tokens.size(1))
    return given + (0.3 * (1 - 2 * (at % 2)) * (at < even))[..., None]


def first_token_right(tokens: Tensor, types: Tensor) -> Tensor:
    given = original(tokens, types)
    return torch.where((torch.arange(tokens.size(1)) == 0)[:, None], given, given + 0.05 * given.roll(1, -1))


def one_feature_off(tokens: Tensor, types: Tensor) -> Tensor:
    return original(tokens, types) - 0.01 * (torch.arange(WIDTH) == 2)


def last_position_off(tokens: Tensor, types: Tensor) -> Tensor:
    return original(tokens, types) + 0.5 * (torch.arange(tokens.size(1)) == LONGEST - 1)[:, None]


RIGHT: dict[str, Model] = {
    "the original itself": original,
    "each text alone, with zeros where padding was": text_by_text,
    "rounded in another way, by 0.000002": rounded_otherwise,
    "other numbers at padding, which mean nothing": other_at_padding,
}
WRONG: dict[str, Model] = {
    "all tokens are taken for type 0": without_types,
    "padding is attended to": padding_seen,
    "the mask of the first text is used for all": first_mask_for_all,
    "positions begin anew after 32": positions_again(32),
    "a square projection is transposed": transposed,
    "another eps in the norm": another_eps,
    "the last row of the vocabulary was not loaded": last_token_lost,
    "the row of token 1 was not loaded": first_token_lost,
    "what one token has too much, the next has too little": cancelling,
    "the first token is right, the others are not": first_token_right,
    "one feature is off by 0.01": one_feature_off,
    "only position 39 is off": last_position_off,
    "positions begin anew after 5": positions_again(5),
}
