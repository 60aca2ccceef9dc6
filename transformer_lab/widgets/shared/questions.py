"""The questions that lessons ask beside their views: a question, a few choices, and a function for the answer.

A lesson names its question and no more, as in `view.ask("01 cold")`, so that a reader who looks at the code finds no
answer there. Here it is computed from the view's own state, never written down: the function returns the choice, and
the number that shows it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from transformer_lab.analysis import tile_bytes
from transformer_lab.analysis.rank_tasks import Stack, Step
from transformer_lab.analysis.ranks import schedule
from transformer_lab.distributed.costs import WAYS, Cluster
from transformer_lab.nn.attention import masked_softmax
from transformer_lab.nn.masks import causal_mask
from transformer_lab.nn.positions import rotate

State = dict[str, Any]
Answer = Callable[[State], tuple[str, str]]
QUESTIONS: dict[str, "Question"] = {}


@dataclass(frozen=True)
class Question:
    """A question with its choices; `shown` means that the view does not give the answer away, and stays uncovered."""

    question: str
    choices: tuple[str, ...]
    shown: bool
    answer: Answer


def named(name: str, question: str, *choices: str, shown: bool = False) -> Callable[[Answer], Answer]:
    """Decorator that registers a function as the answer to the question of that name."""

    def add(answer: Answer) -> Answer:
        QUESTIONS[name] = Question(question, choices, shown, answer)
        return answer

    return add


@named("01 cold", "At temperature 0.1, where does the word 'the' look?", "money", "the", "all words alike", shown=True)
def cold(state: State) -> tuple[str, str]:
    scores = state["logits"][0, 0, state["queries"].index("the")]  # (S,)
    weights = (scores / math.sqrt(state["d_k"]) / 0.1).softmax(0)
    low, high = weights.min(), weights.max()
    where = "all words alike" if high - low < 0.01 else state["keys"][weights.argmax()]
    return where, f"its largest weight is {high:.2f}, and its smallest {low:.2f}"


@named(
    "01 wide",
    "At d_k = 1024, without the scale: how large is the largest of the eight weights?",
    *("about 0.2", "about 0.5", "about 1"),
)
def wide(state: State) -> tuple[str, str]:
    largest = state["scores"][-1].softmax(0).max().item()
    choices = {"about 0.2": 0.2, "about 0.5": 0.5, "about 1": 1.0}
    return nearest(choices, largest), f"here it is {largest:.2f}, and of 200 queries this one is the median"


@named("02 cats", "Where does the last cat look in head 0?", "at itself", "at both cats alike", "at all words")
def cats(state: State) -> tuple[str, str]:
    first, last = (i for i, word in enumerate(state["keys"]) if word == "cat")
    row = state["logits"][0, 0, last].exp()  # (S,)
    even = (row.max() - row.min()).abs() < 0.01
    where = "at all words" if even else "at both cats alike" if (row[first] - row[last]).abs() < 0.01 else "at itself"
    return where, f"the first cat has {row[first]:.2f} of the weight, the last {row[last]:.2f}"


FOUR_HEADS = "head 0 (same word)", "head 1 (before)", "head 2 (itself)", "head 3 (evenly)"


@named("02 least", "Which head adds least to the outputs?", *FOUR_HEADS)
def least(state: State) -> tuple[str, str]:
    lengths = state["lost"][0].mean(-1)  # (heads,): how long each head's part is, on average
    return FOUR_HEADS[lengths.argmin()], f"its part has length {lengths.min():.2f}"


@named(
    "03 wave",
    "d_model is 32. How long is the wave of pair 8, features 16 and 17?",
    *("about 63 positions", "about 628 positions", "about 6283 positions"),
    shown=True,
)
def wave(state: State) -> tuple[str, str]:
    length = 2 * math.pi * 10000 ** (16 / state["shape"][1])
    seen = f"In a table of {state['shape'][0]} positions you see a part of it."
    return f"about {length:.0f} positions", f"2π · 10000^(16/32) = {length:.1f}. {seen}"


@named(
    "03 turn",
    "From position 3, go 5 positions on. How far does the arrow with the frequency 0.1 turn?",
    *("by 0.3 rad", "by 0.5 rad", "by 0.8 rad"),
)
def turn(state: State) -> tuple[str, str]:
    angle = 5 * 10000 ** (-2 / len(state["query"]))  # of its second pair
    return f"by {angle:.1f} rad", f"k · ω = {angle:.1f}, from wherever it starts."


@named(
    "03 both",
    "The query moves from position 12 to 20, the key from 5 to 13. What does their dot product do?",
    *("it grows", "it stays", "it falls"),
    shown=True,
)
def both(state: State) -> tuple[str, str]:
    query, key = state["query"][None], state["key"][None]  # (1, d_head)
    old, new = ((rotate(query, start=p) @ rotate(key, start=s).T).item() for p, s in ((12, 5), (20, 13)))
    what = "it stays" if abs(new - old) < 1e-4 else "it grows" if new > old else "it falls"
    return what, f"{old:.2f} becomes {new:.2f}."


@named(
    "04 twice",
    "In the stack “alone”, a share g of the gradient gets through 24 layers. How much gets through 48?",
    *("about g / 2", "about g / 24", "about g · g"),
)
def twice(state: State) -> tuple[str, str]:
    alone = state["norms"][state["kinds"].index("alone")]
    g, through = (alone[state["depths"].index(depth)][1][0].item() for depth in (24, 48))
    choices = {"about g / 2": g / 2, "about g / 24": g / 24, "about g · g": g**2}
    ratios = {choice: abs(math.log(value / through)) for choice, value in choices.items()}
    return nearest(ratios, 0), "each layer passes on about the same share, which makes a straight line on this axis."


@named(
    "05 lost",
    "How much of its weight does étudiant, the last row, lose by the mask?",
    *("none", "a quarter", "a half"),
    shown=True,
)
def lost(state: State) -> tuple[str, str]:
    weights = (state["logits"][0, 0] / math.sqrt(state["d_k"])).softmax(-1)  # (T, S), without the mask
    gone = weights.masked_fill(causal_mask(len(weights), weights.device), 0).sum(-1)
    share = nearest({"none": 0.0, "a quarter": 0.25, "a half": 0.5}, gone[-1].item())
    return share, f"it loses {gone[-1]:.2f}, and Je, the first row, loses {gone[0]:.2f}"


@named("05 leak", "You let Je see suis. How many rows of weights change?", "1", "2", "all 4", shown=True)
def leak(state: State) -> tuple[str, str]:
    painted = causal_mask(len(state["scores"]), "cpu")
    old = masked_softmax(state["scores"], painted)
    painted[0, 1] = True
    new = masked_softmax(state["scores"], painted)
    changed = int((old != new).any(-1).sum())
    because = f"Je gives {new[0, 1]:.2f} of its weight to suis; each row is a softmax of its own"
    return {1: "1", 2: "2", 4: "all 4"}[changed], because


@named(
    "13 memory",
    "How much fast memory does a tile need if the text is twice as long?",
    *("as much as before", "twice as much", "four times as much"),
)
def memory(state: State) -> tuple[str, str]:
    size = tile_bytes(state["tile"], state["d_head"])  # of the sizes of a tile and of a head, and of nothing else
    return "as much as before", f"a tile takes {size:,} bytes, however many of them there are"


@named(
    "13 stands",
    "A drafted character has q = 0.4 and p = 0.2. What becomes of it?",
    *("it stands half of the time", "it is always rejected", "it always stands"),
)
def stands(state: State) -> tuple[str, str]:
    stays = min(1.0, 0.2 / 0.4)
    choices = {"it stands half of the time": 0.5, "it is always rejected": 0.0, "it always stands": 1.0}
    return nearest(choices, stays), f"min(1, 0.2 / 0.4) is {stays:g}"


@named(
    "17 overlap",
    "If the ranks may send while they compute, which way gains nothing by it?",
    *("data", "sharded", "tensor", "pipeline"),
)
def overlap(state: State) -> tuple[str, str]:
    sizes, first = state["sizes"], state["first"]
    stack = Stack(**sizes, n_tokens=state["tokens"][first["tokens"]])
    cluster = Cluster(state["speed"], state["links"][first["link"]], reached=1)
    steps = [Step(stack, first["n"], cluster, overlap=on) for on in (False, True)]
    took = {way: [max(task.end for task in schedule(way, step)) for step in steps] for way in WAYS}
    least = min(("data", "sharded", "tensor", "pipeline"), key=lambda way: took[way][0] - took[way][1])
    plain, overlapped = (1000 * seconds for seconds in took["data"])
    alike = f"its step takes {1000 * took[least][1]:.0f} ms either way, because whatever comes next needs the sum"
    return least, f"{alike}, while that of data falls from {plain:.0f} to {overlapped:.0f} ms"


@named(
    "16 moved",
    "Of the answers that are worth more than the mean of their group, how many become likelier in their step?",
    *("all", "most", "about half"),
)
def moved(state: State) -> tuple[str, str]:
    better = [
        after > before
        for step in state["runs"][state["run"]]["steps"]
        for reward, before, after in zip(step["rewards"], step["before"], step["after"], strict=True)
        if reward > sum(step["rewards"]) / len(step["rewards"])
    ]
    how_many = nearest({"all": 1.0, "most": 0.75, "about half": 0.5}, sum(better) / len(better))
    return how_many, f"{sum(better)} of {len(better)}. A step learns from all its answers at once"


def nearest(choices: dict[str, float], value: float) -> str:
    return min(choices, key=lambda choice: abs(choices[choice] - value))
