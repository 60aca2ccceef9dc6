"""Lesson 17: implement `all_reduce_ring`."""

import torch
from torch import Generator

from transformer_lab.distributed import collectives
from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.exercise import Exercise


def drawn(n: int, seed: int) -> list[list[int]]:
    generator = torch.Generator("cpu").manual_seed(seed)
    return torch.randint(-9, 10, (n, n), generator=generator, device="cpu").tolist()


all_reduce_ring = Exercise(
    collectives.all_reduce_ring,
    lesson="17",
    minutes=20,
    difficulty=2,
    statement="""
    What each rank of a ring holds after each step of an all-reduce.

    `chunks[r][c]` is chunk c of rank r, a whole number here; n ranks have n chunks each. All ranks send at the same
    time, each one chunk, to the rank after it (rank n - 1 sends to rank 0).
    In step s = 0 … n - 2, rank r sends its chunk (r - s) mod n, and the rank that receives it *adds* it to its own.
    In step s = 0 … n - 2 of the second round, rank r sends its chunk (r - s + 1) mod n, and the rank that receives it
    *puts* it in the place of its own.

    Return a list of 2 (n - 1) entries: after each step, the chunks of all ranks, as lists in lists. A single rank has
    nobody to send to, and the list is empty.
    """,
    returns=("steps",),
    cases=(
        Case("two ranks", {"chunks": [[1, 2], [10, 20]]}),
        Case("three ranks", {"chunks": [[1, 2, 3], [10, 20, 30], [100, 200, 300]]}),
        Case("one rank", {"chunks": [[7]]}),
        Case("four ranks", {"chunks": [[10**r * (c + 1) for c in range(4)] for r in range(4)]}),
        Case("five ranks, some numbers below zero", {"chunks": drawn(5, 0)}),
    ),
    hints=(
        "Write down three ranks with three chunks on paper. Which chunk does rank 0 send in step 0, and in step 1?",
        "Which chunk does a rank pass on: one of its own that nobody has touched yet, or the one that it received in"
        " the step before?",
        "From the side of the rank that receives: rank r hears from the rank before it. Which chunk did that one send? "
        "In Python, (-1) % 4 is 3.",
        "Each entry of the list must be a copy: a list that you go on changing changes in all the entries that hold "
        "it.",
    ),
)


def ring(chunks, adds=None, sent_of=None, copies=True, rounds=2, to=1):
    """The reference, with a way to go wrong in each place."""
    n, held, steps = len(chunks), [list(row) for row in chunks], []
    for step in range(rounds * (n - 1)):
        first, turn = step < n - 1, step % (n - 1)
        for rank in range(n):
            sender = (rank - to) % n
            chunk = (sender - turn + (not first)) % n if sent_of is None else sent_of(sender, turn, first, n)
            own = held[rank][chunk] if (first if adds is None else adds) else 0
            held[rank][chunk] = held[sender][chunk] + own
        steps.append([list(row) for row in held] if copies else held)
    return steps


@all_reduce_ring.mistake(
    "All entries of your list show the last step. A list that is appended goes on changing, and so do the rows in a "
    "copy of the outer list alone: copy each row."
)
def no_copies(chunks):
    return ring(chunks, copies=False)


@all_reduce_ring.mistake(
    "You add in the second round, too. There a chunk that arrives is the whole sum already, and takes the place of "
    "what was there."
)
def adds_twice(chunks):
    return ring(chunks, adds=True)


@all_reduce_ring.mistake("That is the first round alone: each rank has the whole sum of one chunk, and not yet of all.")
def first_round_alone(chunks):
    return ring(chunks, rounds=1)


@all_reduce_ring.mistake(
    "In the second round the ranks begin with chunk r, as in the first. But the whole sum that rank r has is that of "
    "chunk r + 1."
)
def second_round_begins_at_its_own(chunks):
    return ring(chunks, sent_of=lambda sender, turn, first, n: (sender - turn) % n)


@all_reduce_ring.mistake(
    "The index of the chunk goes up from step to step. What a rank passes on is what it has received in the step "
    "before: the chunk of the rank before it, so the index goes down."
)
def index_goes_up(chunks):
    return ring(chunks, sent_of=lambda sender, turn, first, n: (sender + turn + (not first)) % n)


@all_reduce_ring.mistake("Your ranks send to the rank *before* them: rank r sends to rank r + 1.")
def other_way_round(chunks):
    return ring(chunks, to=-1)


@all_reduce_ring.mistake(
    "Every rank sends all that it has, n - 1 times. The sum comes out right, and n / 2 times as many numbers are sent."
)
def everything_at_once(chunks):
    n, steps = len(chunks), []
    total, passing = [list(row) for row in chunks], [list(row) for row in chunks]
    for _ in range(n - 1):
        passing = [passing[rank - 1] for rank in range(n)]
        total = [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(total, passing, strict=True)]
        steps.append(total)
    return steps


@all_reduce_ring.mistake(
    "The second round goes on counting the steps where the first ended, and so sends other chunks: there s begins with "
    "0 again."
)
def counted_on(chunks):
    return ring(chunks, sent_of=lambda sender, turn, first, n: (sender - turn + 2 * (not first)) % n)


@all_reduce_ring.mistake(
    "You put the rank that *receives* into the formula for the chunk: r is the rank that sends, the one before it."
)
def chunk_of_the_receiver(chunks):
    return ring(chunks, sent_of=lambda sender, turn, first, n: (sender + 1 - turn + (not first)) % n)


@all_reduce_ring.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    n = number(generator, 2, 7)
    return {"chunks": torch.randint(-50, 50, (n, n), generator=generator, device="cpu").tolist()}
