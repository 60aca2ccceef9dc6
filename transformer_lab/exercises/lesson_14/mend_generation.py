"""Lesson 14: find the bug in `mend_generation`."""

from functools import partial

import torch
from torch import Generator
from torch.nn import functional as F

from transformer_lab.exercises.engine.case_drawing import Arguments, number, pick
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.kinds import FindTheBug


def broken_generation(model, prompts, pad_id, end_id, max_new):
    """Prompts, lists of ids, to what is written after each of them, (B, max_new)."""
    longest = max(len(prompt) for prompt in prompts)
    tokens = torch.tensor([[pad_id] * (longest - len(prompt)) + prompt for prompt in prompts])
    mask = tokens != pad_id
    positions = torch.arange(longest).expand_as(tokens)
    cache, written = None, []
    for _ in range(max_new):
        logits, cache = model(tokens, positions, mask, cache)
        tokens = logits.argmax(-1, keepdim=True)
        written.append(tokens)
        mask = F.pad(mask, (0, 1), value=True)
        positions = torch.full_like(tokens, mask.size(1) - 1)
    written = torch.cat(written, dim=1)
    return written.masked_fill((written == end_id).cumsum(1) > 0, end_id)


def cached_model(vocab: int, end_id: int, salt: int = 0):
    """A model without rhyme or reason: every token that it may see matters, with its position."""

    def model(tokens, positions, mask, cache):
        if cache is not None:
            tokens, positions = (torch.cat(pair, dim=1) for pair in zip(cache, (tokens, positions), strict=True))
        if not tokens.shape == positions.shape == mask.shape:
            raise ValueError(
                "positions must have the shape of the tokens, and the mask a column for each token so far "
                f"(got {[*tokens.shape]}, {[*positions.shape]} and {[*mask.shape]}, those of the cache included)"
            )
        if int(positions.min()) < 0:
            raise IndexError("the table of positions has no row below 0")
        if int(tokens.min()) < 0 or int(tokens.max()) >= vocab:
            raise IndexError(f"the table of tokens has a row for each id from 0 to {vocab - 1}, and for no other")
        rows = zip(tokens.tolist(), positions.tolist(), mask.tolist(), strict=True)
        return torch.stack([logits_of([seen for seen in zip(*row, strict=True) if seen[2]]) for row in rows]), (
            tokens,
            positions,
        )

    def logits_of(seen):
        seed = salt + sum((token + 1) * 31**position for token, position, _ in seen)
        logits = torch.randn(vocab, generator=torch.Generator("cpu").manual_seed(seed % 2**31), device="cpu")
        logits[end_id] += len(seen) / 3 - 3
        return logits

    return model


def chats_case(label: str, prompts: list[list[int]], pad_id: int, end_id: int, max_new: int = 5, salt: int = 0) -> Case:
    given = {"model": cached_model(8, end_id, salt), "prompts": prompts, "pad_id": pad_id, "end_id": end_id}
    return Case(label, given | {"max_new": max_new})


@partial(
    FindTheBug,
    broken=broken_generation,
    lesson="14",
    minutes=20,
    difficulty=3,
    statement="""
    Mend greedy generation for a batch of prompts, padded on the left and with a cache. It has three defects.

    prompts is a list of lists of ids, of different lengths. `model(tokens, positions, mask, cache)` takes new tokens
    (B, T) with their positions (B, T), the first token of a text being at position 0; a mask (B, S), which is True
    where the S tokens so far, the new ones included, belong to the text; and the cache, None in the first call. It
    returns the logits of the next token (B, vocab), and the new cache. No position may be below 0, not even a pad's.

    What is written is returned, (B, max_new) ids; after the first end_id of a row all ids are end_id. Each row must be
    what its prompt would give alone. pad_id may be an id that the prompts hold as well, because some models have none
    of their own for padding: there it is often end_id.

    What was observed:
      A prompt alone is answered well. In a batch with a longer prompt, its first word is another one.
      A model with rotary positions, which sees nothing but distances, writes well even in such a batch. But as soon as
      only the positions of the prompts are mended, its second word is wrong.
      Where pad_id is end_id, prompts of several turns are answered wrong, even alone. Each turn ends with end_id.
    """,
    returns=("ids",),
    cases=(
        chats_case("one prompt", [[3, 1, 4]], 0, 7),
        chats_case("two prompts of one length", [[3, 1, 4], [1, 5, 2]], 0, 7),
        chats_case("one new token, two lengths", [[3, 1, 4, 1], [2, 6]], 0, 7, 1),
        chats_case("two lengths", [[3, 1, 4, 1], [2, 6]], 0, 7, salt=1),
        chats_case("one prompt of two turns, pad is end", [[3, 1, 7, 4, 7, 2]], 7, 7, 4),
        chats_case("two turns and one, pad is end", [[3, 1, 7, 4, 7, 2], [5, 1]], 7, 7, 6, salt=2),
        chats_case("a prompt begins with the end", [[7, 1, 2], [7, 2, 7, 1, 3]], 7, 7, 5, salt=3),
        chats_case("four prompts", [[1], [2, 3, 4, 5, 6], [3, 2], [6, 5, 4]], 0, 7, 6, salt=4),
        chats_case("other ids", [[1, 2, 3], [4], [5, 6]], 3, 0, 7, salt=5),
    ),
    hints=(
        "Print the positions of the first call for two prompts of different lengths. Where does each text begin?",
        "Now print the positions of the second call. By how much may each of them differ from the last one of its row?",
        "Can the ids say what is padding, where an id means two things? What else tells how much padding there is?",
    ),
)
def mend_generation(model, prompts, pad_id, end_id, max_new):
    """The most probable continuation of each prompt, as a batch that is padded on the left, with a cache."""
    lengths = torch.tensor([len(prompt) for prompt in prompts])
    longest = max(len(prompt) for prompt in prompts)
    tokens = torch.tensor([[pad_id] * (longest - len(prompt)) + prompt for prompt in prompts])
    mask = torch.arange(longest) >= longest - lengths[:, None]
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    cache, written = None, []
    for _ in range(max_new):
        logits, cache = model(tokens, positions, mask, cache)
        tokens = logits.argmax(-1, keepdim=True)
        written.append(tokens)
        mask = F.pad(mask, (0, 1), value=True)
        positions = positions[:, -1:] + 1
    written = torch.cat(written, dim=1)
    return written.masked_fill((written == end_id).cumsum(1) > 0, end_id)


def padded(prompts, pad_id):
    longest = max(map(len, prompts))
    tokens = torch.tensor([[pad_id] * (longest - len(prompt)) + prompt for prompt in prompts])
    mask = torch.tensor([[False] * (longest - len(prompt)) + [True] * len(prompt) for prompt in prompts])
    return tokens, mask


def from_0(mask):
    """The positions of texts that each begin at 0."""
    return (mask.cumsum(1) - 1).clamp(min=0)


def one_more(positions, mask):
    return positions[:, -1:] + 1


def by_the_cache(positions, mask):
    return torch.full_like(positions[:, -1:], mask.size(1) - 1)


def write(model, tokens, mask, positions, max_new, after=one_more, new=True):
    """What is written, with any positions for the prompts and for the new tokens."""
    cache, written = None, []
    for _ in range(max_new):
        logits, cache = model(tokens, positions, mask, cache)
        tokens = logits.argmax(-1, keepdim=True)
        written.append(tokens)
        mask = F.pad(mask, (0, 1), value=new)
        positions = after(positions, mask)
    return torch.cat(written, dim=1)


def ended(written, end_id):
    return written.masked_fill((written == end_id).cumsum(1) > 0, end_id)


START = "The prompts' positions are still counted from the padding: a short text does not begin at position 0."
STEPS = "The position of a new token is still the length of the cache, and the padding is in there, too."
ENDS = "The mask is still made of the ids: where pad_id is end_id, it hides the end of every turn."


@mend_generation.mistake(f"One of three is mended. {STEPS} {ENDS}")
def only_the_start(model, prompts, pad_id, end_id, max_new):
    tokens, _ = padded(prompts, pad_id)
    mask = tokens != pad_id
    return ended(write(model, tokens, mask, from_0(mask), max_new, by_the_cache), end_id)


@mend_generation.mistake(
    f"The mask is mended. {START} So the positions of the new tokens count the padding as well, whether each is one "
    "more than the last or the length of the cache."
)
def only_the_mask(model, prompts, pad_id, end_id, max_new):
    tokens, mask = padded(prompts, pad_id)
    positions = torch.arange(tokens.size(1)).expand_as(tokens)
    return ended(write(model, tokens, mask, positions, max_new, by_the_cache), end_id)


@mend_generation.mistake(f"Two of three are mended. {STEPS}")
def all_but_the_steps(model, prompts, pad_id, end_id, max_new):
    tokens, mask = padded(prompts, pad_id)
    return ended(write(model, tokens, mask, from_0(mask), max_new, by_the_cache), end_id)


@mend_generation.mistake(f"Two of three are mended. {ENDS}")
def all_but_the_mask(model, prompts, pad_id, end_id, max_new):
    tokens, _ = padded(prompts, pad_id)
    mask = tokens != pad_id
    return ended(write(model, tokens, mask, from_0(mask), max_new), end_id)


@mend_generation.mistake(
    "All positions are right in relation to the first token, but the first token's own is not: it should be at 0. With "
    "rotary positions nothing is wrong any more; with a table of positions even a prompt alone is read one place off."
)
def mask_counted_from_1(model, prompts, pad_id, end_id, max_new):
    tokens, mask = padded(prompts, pad_id)
    return ended(write(model, tokens, mask, mask.cumsum(1), max_new), end_id)


@mend_generation.mistake(
    "Each prompt is cut to the length of the shortest, so that nothing needs padding. That hides the symptoms, and the "
    "model never reads how the longer texts begin."
)
def cut_to_the_shortest(model, prompts, pad_id, end_id, max_new):
    shortest = min(map(len, prompts))
    tokens, mask = padded([prompt[-shortest:] for prompt in prompts], pad_id)
    return ended(write(model, tokens, mask, from_0(mask), max_new), end_id)


@mend_generation.mistake("The mask lets the padding through: every short prompt is read with pads before it.")
def padding_seen(model, prompts, pad_id, end_id, max_new):
    tokens, mask = padded(prompts, pad_id)
    return ended(write(model, tokens, torch.ones_like(mask), from_0(mask), max_new), end_id)


@mend_generation.mistake("The mask hides what has been written: each new token reads nothing but the prompt.")
def new_tokens_hidden(model, prompts, pad_id, end_id, max_new):
    tokens, mask = padded(prompts, pad_id)
    return ended(write(model, tokens, mask, from_0(mask), max_new, new=False), end_id)


@mend_generation.mistake("All new tokens of a row get one position. Each must be one further than the token before it.")
def one_position_for_all(model, prompts, pad_id, end_id, max_new):
    tokens, mask = padded(prompts, pad_id)
    first = from_0(mask)[:, -1:] + 1
    return ended(write(model, tokens, mask, from_0(mask), max_new, lambda positions, mask: first), end_id)


@mend_generation.mistake("The first new token gets the position of the prompt's last one: two tokens share a place.")
def position_shared(model, prompts, pad_id, end_id, max_new):
    tokens, mask = padded(prompts, pad_id)

    def after(positions, mask):
        return positions[:, -1:] + (positions.size(1) == 1 and mask.size(1) > tokens.size(1) + 1)

    return ended(write(model, tokens, mask, from_0(mask), max_new, after), end_id)


@mend_generation.mistake(
    "What follows the first end_id is returned as well: the model goes on writing in rows that have ended."
)
def not_ended(model, prompts, pad_id, end_id, max_new):
    tokens, mask = padded(prompts, pad_id)
    return write(model, tokens, mask, from_0(mask), max_new)


@mend_generation.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    end_id, shortest = number(generator, 0, 7), number(generator, 1, 3)
    pad_id = pick(generator, end_id, number(generator, 0, 7))
    lengths = [shortest, shortest + number(generator, 1, 4), number(generator, 1, 7)]
    draw = partial(torch.randint, 8, generator=generator, device="cpu")
    prompts = [[*draw((length,)).tolist(), end_id, *draw((2,)).tolist()] for length in lengths]
    given = {"model": cached_model(8, end_id, number(generator, 10, 10**6)), "prompts": prompts, "pad_id": pad_id}
    return given | {"end_id": end_id, "max_new": number(generator, 3, 6)}
