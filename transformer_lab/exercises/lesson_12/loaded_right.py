"""Lesson 12: write the test `loaded_right`."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Generator, Tensor

from transformer_lab.exercises.engine.candidates import MOST, MOST_ROWS, need_few, need_tensor
from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.kinds import WriteTheTest

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


def without_types(tokens: Tensor, types: Tensor) -> Tensor:
    return original(tokens, torch.zeros_like(types))


def without_type_0(tokens: Tensor, types: Tensor) -> Tensor:
    return original(tokens, torch.ones_like(types))


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
    return original(tokens, types) - 0.0005 * (torch.arange(WIDTH) == 2)


def one_feature_above(tokens: Tensor, types: Tensor) -> Tensor:
    return original(tokens, types) + 0.0005 * (torch.arange(WIDTH) == 1)


def first_token_off(tokens: Tensor, types: Tensor) -> Tensor:
    first = (torch.arange(tokens.size(1)) == 0)[:, None] & (torch.arange(WIDTH) == 3)
    return original(tokens, types) + 0.002 * first


def last_position_off(tokens: Tensor, types: Tensor) -> Tensor:
    return original(tokens, types) + 0.002 * (torch.arange(tokens.size(1)) == LONGEST - 1)[:, None]


RIGHT: dict[str, Model] = {
    "the original itself": original,
    "each text alone, with zeros where padding was": text_by_text,
    "rounded in another way, by 0.000002": rounded_otherwise,
    "other numbers at padding, which mean nothing": other_at_padding,
}


WRONG: dict[str, Model] = {
    "all tokens are taken for type 0": without_types,
    "all tokens are taken for type 1": without_type_0,
    "padding is attended to": padding_seen,
    "the mask of the first text is used for all": first_mask_for_all,
    "positions begin anew after 32": positions_again(32),
    "a square projection is transposed": transposed,
    "another eps in the norm": another_eps,
    "the last row of the vocabulary was not loaded": last_token_lost,
    "the row of token 1 was not loaded": first_token_lost,
    "one token has too much, the next too little by the same amount": cancelling,
    "the first token is right, the others are not": first_token_right,
    "one feature is too small by 0.0005": one_feature_off,
    "one feature is too large by 0.0005": one_feature_above,
    "one feature of the first token is off by 0.002": first_token_off,
    "only position 39 is off": last_position_off,
    "positions begin anew after 5": positions_again(5),
}


def loading_takes(tokens: Tensor, types: Tensor) -> tuple:
    for name, x, most in (("tokens", tokens, N_TOKENS - 1), ("types", types, 1)):
        need_tensor(name, x, "(B, T)", lambda x: x.ndim == 2 and x.numel() > 0, floats=False)
        if x.min() < 0 or x.max() > most:
            raise ValueError(f"{name} must be from 0 to {most} (got {x.min()} to {x.max()})")
    if tokens.shape != types.shape or tokens.size(1) > LONGEST:
        shapes = f"{tuple(tokens.shape)}, {tuple(types.shape)}"
        raise ValueError(f"tokens and types must have one shape, at most {LONGEST} long (got {shapes})")
    if not (tokens[:, 0] != 0).all() or ((tokens[:, :-1] == 0) & (tokens[:, 1:] != 0)).any():
        raise ValueError("a text must have a token, and 0 must stand behind all of its tokens alone")
    need_few(len(tokens) * MOST // MOST_ROWS)
    return tokens.long(), types.long()


@partial(
    WriteTheTest,
    lesson="12",
    minutes=20,
    difficulty=2,
    statement="""
    Somebody loaded an encoder. Write a test: True if it computes what the original computes.

    `ours(tokens, types)` and `theirs(tokens, types)` take tokens (B, T) and types (B, T), and return a vector for each
    token, (B, T, 4). Tokens are whole numbers from 1 to 9; 0 is padding, and stands after a text. Types are 0 or 1. A
    text has 1 to 40 tokens.

    The loading is right if for every batch the vector of every token differs by at most 0.0001. Your test is tried on
    right loadings and on wrong ones. It scores the share of wrong ones that it catches, less the share of right ones
    that it refuses.
    """,
    returns=("right",),
    cases=tuple(Case(label, {"ours": ours, "theirs": original}) for label, ours in (RIGHT | WRONG).items()),
    says_of_right=True,
    candidate="loading",
    takes=loading_takes,
    hints=(
        "A defect shows only on texts that reach it. What may one text have that another lacks? Name five.",
        "Two programs may compute the same thing and yet round in different ways. How closely will you compare?",
        "What does a model promise about the vectors at padding?",
        "Means hide what cancels. At which positions, and in which features, do you compare?",
    ),
)
def loaded_right(ours, theirs):
    """Whether a model gives the tokens of every text the vectors of the original: short and long, padded and not.

    Random texts of both types. What stands at padding means nothing, and is not compared.
    """
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(1, 10, (60, 40), generator=generator)
    types = torch.randint(2, (60, 40), generator=generator)
    lengths = torch.randint(1, 41, (60, 1), generator=generator)
    lengths[0] = 40  # one text without padding, that all positions are tried
    tokens[torch.arange(40) >= lengths] = 0
    difference = (ours(tokens, types) - theirs(tokens, types)).abs()  # (60, 40, 4)
    return bool(difference[tokens != 0].max() <= 1e-4)


def batch(n_texts=30, length=40, highest=9, padded=True, n_types=2):
    """Random texts: (tokens, types), some of them shorter, with padding behind."""
    generator = torch.Generator().manual_seed(3)
    tokens = torch.randint(1, highest + 1, (n_texts, length), generator=generator)
    types = torch.randint(n_types, (n_texts, length), generator=generator)
    if padded:
        lengths = torch.randint(1, length + 1, (n_texts, 1), generator=generator)
        lengths[0] = length
        tokens[torch.arange(length) >= lengths] = 0
    return tokens, types


def largest(ours, theirs, tokens, types):
    """The largest difference at a token."""
    return (ours(tokens, types) - theirs(tokens, types)).abs()[tokens != 0].max()


@loaded_right.mistake("Your test says of every loading that it is right.")
def every_loading_is_right(ours, theirs):
    return True


@loaded_right.mistake("Your test says of every loading that it is wrong.")
def every_loading_is_wrong(ours, theirs):
    return False


@loaded_right.mistake("None of your texts has padding behind it: whether the mask is right stays unseen.")
def without_padding(ours, theirs):
    return bool(largest(ours, theirs, *batch(padded=False)) <= 1e-4)


@loaded_right.mistake("All your tokens are of type 0. What becomes of the others stays unseen.")
def one_type(ours, theirs):
    return bool(largest(ours, theirs, *batch(n_types=1)) <= 1e-4)


@loaded_right.mistake("You try short texts only. The table of positions has 40 rows; try its last one.")
def short_texts(ours, theirs):
    return bool(largest(ours, theirs, *batch(length=12)) <= 1e-4)


@loaded_right.mistake("You hand over one text at a time, so that no text can be given the mask of another.")
def one_text_at_a_time(ours, theirs):
    tokens, types = batch()
    pairs = zip(tokens.split(1), types.split(1), strict=True)
    return all(bool(largest(ours, theirs, *pair) <= 1e-4) for pair in pairs)


@loaded_right.mistake("Your texts leave a token of the vocabulary out. Each has a row of its own in the table.")
def without_the_last_token(ours, theirs):
    return bool(largest(ours, theirs, *batch(highest=8)) <= 1e-4)


@loaded_right.mistake(
    "You compare too closely: two programs round in different ways, so that right ones differ by a few millionths. "
    "Each number may be off by 0.0001."
)
def compared_exactly(ours, theirs):
    return bool(largest(ours, theirs, *batch()) == 0)


@loaded_right.mistake("You compare too loosely: a wrong eps, or a feature that is a little off, passes.")
def compared_loosely(ours, theirs):
    return bool(largest(ours, theirs, *batch()) <= 0.1)


@loaded_right.mistake("You compare padding, too. What stands there means nothing, and right programs differ.")
def padding_compared(ours, theirs):
    tokens, types = batch()
    return bool((ours(tokens, types) - theirs(tokens, types)).abs().max() <= 1e-4)


@loaded_right.mistake(
    "You compare the mean vectors of texts. Where one token has too much, another has too little, and the mean hides "
    "both."
)
def means_compared(ours, theirs):
    tokens, types = batch()
    kept = (tokens != 0)[..., None]
    means = [(model(tokens, types) * kept).sum(1) / kept.sum(1) for model in (ours, theirs)]
    return bool((means[0] - means[1]).abs().max() <= 1e-4)


@loaded_right.mistake("You compare the first token of each text only.")
def first_token_compared(ours, theirs):
    tokens, types = batch()
    return bool((ours(tokens, types) - theirs(tokens, types))[:, 0].abs().max() <= 1e-4)


@loaded_right.mistake(
    "You compare directions: the cosine of two vectors says nothing about their lengths, and hardly moves where one "
    "feature is off by a little. Compare the numbers."
)
def compared_by_cosine(ours, theirs):
    tokens, types = batch()
    cosine = torch.cosine_similarity(ours(tokens, types), theirs(tokens, types), dim=-1)
    return bool((cosine[tokens != 0] > 0.999).all())


@loaded_right.mistake("All your tokens are of type 1. What becomes of the others stays unseen.")
def the_other_type(ours, theirs):
    tokens, types = batch()
    return bool(largest(ours, theirs, tokens, torch.ones_like(types)) <= 1e-4)


@loaded_right.mistake(
    "You take the largest difference with its sign: a number that is too small differs by less than 0, however far it "
    "is off."
)
def differences_with_signs(ours, theirs):
    tokens, types = batch()
    return bool((ours(tokens, types) - theirs(tokens, types))[tokens != 0].max() <= 1e-4)


@loaded_right.mistake(
    "You take the mean of all differences. What is off at one token alone hardly moves it: take the largest."
)
def mean_difference(ours, theirs):
    tokens, types = batch()
    return bool((ours(tokens, types) - theirs(tokens, types)).abs()[tokens != 0].mean() <= 1e-4)


@loaded_right.hidden_case
def hidden_right(generator: Generator) -> Arguments:
    size = number(generator, 1, 9) / 1e6

    def drawn_right(tokens: Tensor, types: Tensor) -> Tensor:
        """Rounded in another way, and other numbers at padding."""
        return original(tokens, types) + torch.where(tokens == 0, 3.0, size)[..., None]

    return {"ours": drawn_right, "theirs": original}


@loaded_right.hidden_case
def hidden_row(generator: Generator) -> Arguments:
    token, kind = number(generator, 1, 9), number(generator, 0, 1)

    def drawn_row(tokens: Tensor, types: Tensor) -> Tensor:
        """One token is wrong where it is of one type."""
        x = embedded(tokens, types)
        x = x + ((tokens == token) & (types == kind))[..., None] * WORD[0]
        return states(x, tokens != 0).float()

    return {"ours": drawn_row, "theirs": original}


@loaded_right.hidden_case
def hidden_late(generator: Generator) -> Arguments:
    start, feature = number(generator, 12, 36), number(generator, 0, WIDTH - 1)

    def drawn_late(tokens: Tensor, types: Tensor) -> Tensor:
        """From some position on a feature is off."""
        late = (torch.arange(tokens.size(1)) >= start)[:, None] & (torch.arange(WIDTH) == feature)
        return original(tokens, types) + 0.002 * late

    return {"ours": drawn_late, "theirs": original}


@loaded_right.hidden_case
def hidden_mask(generator: Generator) -> Arguments:
    most = number(generator, 1, 3)

    def drawn_mask(tokens: Tensor, types: Tensor) -> Tensor:
        """The first positions of padding are attended to."""
        real = tokens != 0
        seen = torch.arange(tokens.size(1)) < real.sum(1, keepdim=True) + most
        return states(embedded(tokens, types), seen).float()

    return {"ours": drawn_mask, "theirs": original}
