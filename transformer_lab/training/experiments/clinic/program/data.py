"""Chats about numbers: their text, their tokens, and rows in which several chats lie one behind another."""

import random
import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from transformer_lab.data.number_names import number_name

SPECIAL = ("<pad>", "<bos>", "<user>", "<assistant>", "<end>")
PAD, BOS, USER, ASSISTANT, END = range(len(SPECIAL))
PIECE = re.compile(r"<\w+>| ?[a-z]+|-|\d")  # a word is a token, and so is the same word with a space before it
Turn = tuple[str, str]  # what the user asks, and what the assistant answers


class Tokenizer:
    """Texts as lists of ids, and back."""

    def __init__(self, texts: Sequence[str]):
        found = {piece for text in texts for piece in PIECE.findall(text)}
        words = {piece.strip() for piece in found}  # each of them may also begin an answer
        self.pieces = [*SPECIAL, *sorted((found | words) - {*SPECIAL})]
        self.ids = {piece: i for i, piece in enumerate(self.pieces)}

    def encode(self, text: str) -> list[int]:
        """The ids of a text's pieces."""
        return [self.ids[piece] for piece in PIECE.findall(text)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of some ids."""
        return "".join(self.pieces[i] for i in ids)


class Rows(NamedTuple):
    """Chats packed into rows: `documents` numbers the chats of a row from 1, and is 0 on padding."""

    tokens: Int[Tensor, "B T"]
    documents: Int[Tensor, "B T"]
    answers: Bool[Tensor, "B T"]  # the tokens that the assistant has to write


@cache
def turn(number: int) -> Turn:
    """A question and its answer: the digits of a number, and its name."""
    return str(number), number_name(number, "en")


def all_names() -> Tokenizer:
    """A tokenizer that knows every chat about numbers below 1000."""
    return Tokenizer([chat_text([turn(number) for number in range(1000)])])


def split_numbers(n_test: int, seed: int) -> tuple[list[int], list[int]]:
    """The numbers below 1000 that are for training, and those for the test."""
    numbers = random.Random(seed).sample(range(1000), 1000)
    return numbers[n_test:], numbers[:n_test]


def draw_chats(numbers: Sequence[int], count: int, seed: int) -> list[list[Turn]]:
    """Chats of one to three turns about these numbers."""
    draw = random.Random(seed)
    return [[turn(draw.choice(numbers)) for _ in range(draw.randint(1, 3))] for _ in range(count)]


def chat_text(chat: Sequence[Turn]) -> str:
    """A chat in the template that the model learns."""
    return "<bos>" + "".join(f"<user>{asked}<end><assistant>{said}<end>" for asked, said in chat)


def prompt_text(chat: Sequence[Turn], asked: str) -> str:
    """The same template, up to the place where the assistant has to go on."""
    return chat_text(chat) + f"<user>{asked}<end><assistant>"


def mark_answers(ids: Sequence[int]) -> list[bool]:
    """Which tokens of a chat the assistant writes: its words, and the `<end>` behind them."""
    marks, speaking = [], False
    for token in ids:
        marks.append(speaking)
        if token in (ASSISTANT, END):
            speaking = token == ASSISTANT
    return marks


def pack(chats: Sequence[Sequence[int]], length: int) -> Rows:
    """Put chats into rows of this length, each into the first row that still has room for it."""
    rows: list[list[Sequence[int]]] = []
    for chat in chats:
        has_room = [row for row in rows if sum(len(other) for other in row) + len(chat) <= length]
        if not has_room:
            rows.append([])
        (has_room or rows[-1:])[0].append(chat)
    packed = Rows(*torch.zeros(3, len(rows), length, dtype=torch.long))
    for i, row in enumerate(rows):
        columns = [
            column
            for number, chat in enumerate(row, start=1)
            for column in zip(chat, [number] * len(chat), mark_answers(chat), strict=True)
        ]
        for part, values in zip(packed, torch.tensor(columns).T, strict=True):
            part[i, : len(columns)] = values
    return packed._replace(answers=packed.answers.bool())
