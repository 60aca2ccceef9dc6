"""Merges of byte-pair encoding, fast: all those learned from words, all those applied to a word.

A **row** is a list of ids in which symbols lie side by side. Each takes as many positions as it has characters (or
bytes): its id stands at the first and at the last of them, and NONE between, as it does before and behind each word. So
the neighbours of a symbol are found in one step, nothing moves when two symbols become one, and a merge costs the same
in a word of any length.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise

Pair = tuple[int, int]
NONE = -1  # no symbol


def learn_merges_fast(words: Mapping[str, int], n_merges: int) -> list[tuple[str, str]]:
    """What `merges.learn_merges` returns; after each merge it counts again only what that has changed."""
    pairs = PairCounts(words)
    merges: list[tuple[str, str]] = []
    while len(merges) < n_merges and (pair := pairs.most_frequent()):
        left, right = pair
        merges.append((pairs.symbols[left], pairs.symbols[right]))
        pairs.merge(left, right)
    return merges


class PairCounts:
    """How often each pair of symbols occurs in words, and where: what a merge changes is all that is counted again.

    A merge is applied wherever it can be, so the same letters always become one symbol by the same merges: no symbol is
    made twice, and once a pair is there, it becomes rarer only.
    """

    def __init__(self, words: Mapping[str, int]):
        self.symbols = sorted(set().union(*words))
        self.length = [1] * len(self.symbols)
        ids = {symbol: i for i, symbol in enumerate(self.symbols)}
        self.row, self.times = [NONE], [0]  # all words, and at each position how often its word occurs
        for word, times in words.items():
            self.row += [*map(ids.__getitem__, word), NONE]
            self.times += [times] * (len(word) + 1)
        self.count: dict[Pair, int] = defaultdict(int)
        self.positions: dict[Pair, list[int]] = defaultdict(list)  # from left to right; some are gone
        for i, pair in enumerate(pairwise(self.row)):
            if NONE not in pair:
                self.positions[pair].append(i)
        for pair, positions in self.positions.items():
            self.count[pair] = self.occurrences(positions)
        self.heap = [(-count, pair) for pair, count in self.count.items()]  # counts as they are, or once were
        heapify(self.heap)

    def occurrences(self, positions: Iterable[int]) -> int:
        """How often something occurs that stands at these positions."""
        return sum(map(self.times.__getitem__, positions))

    def most_frequent(self) -> Pair | None:
        """The pair to merge next; None if there is none."""
        while self.heap:
            negated, pair = heappop(self.heap)
            count = self.count[pair]
            if count and count == -negated:
                return pair
            if count:  # it has become rarer since
                heappush(self.heap, (-count, pair))
        return None

    def merge(self, left: int, right: int) -> None:
        """Make a symbol of two, wherever they are neighbours."""
        merged = len(self.symbols)
        self.symbols.append(self.symbols[left] + self.symbols[right])
        self.length.append(self.length[left] + self.length[right])
        before, after = self.merge_in_row(left, right, merged)
        for x, positions in before.items():
            self.replace((x, left), (x, merged), positions)
        for y, positions in after.items():
            self.replace((right, y), (merged, y), positions)
        for new in {(x, merged) for x in before} | {(merged, y) for y in after}:
            heappush(self.heap, (-self.count[new], new))

    def merge_in_row(self, left: int, right: int, merged: int) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
        """The symbols on the left of the new one, with their positions; those on its right, with the new one's."""
        row, length, to_right, to_end = self.row, self.length, self.length[left], self.length[merged]
        before: dict[int, list[int]] = defaultdict(list)
        after: dict[int, list[int]] = defaultdict(list)
        for i in self.positions.pop((left, right)):
            j = i + to_right
            if row[i] != left or row[j] != right:
                continue  # another merge has used one of them
            row[j - 1] = row[j] = NONE
            row[i] = row[i + to_end - 1] = merged
            if (x := row[i - 1]) != NONE:
                before[x].append(i - length[x])
            if (y := row[i + to_end]) != NONE:
                after[y].append(i)
        return before, after

    def replace(self, old: Pair, new: Pair, positions: list[int]) -> None:
        """Count a pair that has taken the place of another at these positions."""
        times = self.occurrences(positions)
        self.count[old] -= times
        self.count[new] += times
        self.positions[new] += positions


class MergeTable:
    """What pairs become in a word: always the one learned first, and of equal ones the leftmost."""

    def __init__(self, merges: Mapping[Pair, int], length: Sequence[int]):
        """`merges` says which symbol a pair becomes, in the order in which they were learned: a pair's rank."""
        self.rank = {pair: rank for rank, pair in enumerate(merges)}
        self.length = length
        left_of: dict[int, dict[int, int]] = defaultdict(dict)  # for each symbol: who may stand there, and their rank
        right_of: dict[int, dict[int, int]] = defaultdict(dict)
        for (left, right), rank in self.rank.items():
            right_of[left][right] = left_of[right][left] = rank
        self.rules = [(*pair, merged, left_of[merged], right_of[merged]) for pair, merged in merges.items()]

    def apply(self, row: list[int]) -> Iterator[None]:
        """Merge in a row that holds one word, and stop after each merge for who wants to look."""
        length, due = self.length, self.positions_by_rank(row)
        interrupted: dict[int, list[int]] = {}
        ranks = sorted(due)  # a heap
        while ranks:
            rank = heappop(ranks)
            left, right, merged, left_ranks, right_ranks = self.rules[rank]
            to_right, to_end = length[left], length[merged]
            positions = interrupted.pop(rank, [])
            if rank in due:
                positions += due.pop(rank)
                positions.sort(reverse=True)
            while positions:
                i = positions.pop()
                j = i + to_right
                if row[i] != left or row[j] != right:
                    continue  # another merge has used one of them
                row[j - 1] = row[j] = NONE
                row[i] = row[i + to_end - 1] = merged
                if (x := row[i - 1]) in left_ranks:
                    if (new := left_ranks[x]) not in due:
                        due[new] = []
                        heappush(ranks, new)
                    due[new].append(i - length[x])
                if (y := row[i + to_end]) in right_ranks:
                    if (new := right_ranks[y]) not in due:
                        due[new] = []
                        heappush(ranks, new)
                    due[new].append(i)
                yield
                if ranks and ranks[0] < rank:  # a symbol made a second time, whose merges were learned before this one
                    interrupted[rank] = positions
                    heappush(ranks, rank)
                    break

    def positions_by_rank(self, row: list[int]) -> dict[int, list[int]]:
        """Where there are pairs to merge."""
        found: dict[int, list[int]] = {}
        for i, pair in enumerate(pairwise(row)):
            if pair in self.rank:
                found.setdefault(self.rank[pair], []).append(i)
        return found

    def symbols(self, row: list[int]) -> Iterator[int]:
        """The ids in a row, each once."""
        i = 1
        while row[i] != NONE:
            yield row[i]
            i += self.length[row[i]]
