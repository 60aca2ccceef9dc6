"""Byte-pair encoding (§5.1): the most frequent pair of neighbours is merged into one symbol, again and again.

Sennrich et al., 2016, "Neural Machine Translation of Rare Words with Subword Units", section 3.2. There, a mark at the
end of a word says that a space follows. Here, a word takes the white space before it, so that the words, put together,
are the text again whatever white space it has. No merge reaches from one word into the next.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, pairwise
from pathlib import Path
from typing import Protocol, runtime_checkable

from tokenizers import Tokenizer as Library
from tokenizers import models, trainers

from transformer_lab.checks import check_least
from transformer_lab.data.bpe_merges import learn_merges, merge_pair

__all__ = ["Tokenizer", "TokenizerLike", "learn_merges", "merge_pair"]

WORD = re.compile(r"\s?\S+|\s")
CACHED_WORDS = 100_000


def learn_merges_fast(words: Mapping[str, int], n_merges: int) -> list[tuple[str, str]]:
    """Learn the same merges as `learn_merges`, with Hugging Face's trainer.

    Of equally frequent pairs the trainer takes the one with the smaller ids, left before right, as `learn_merges` does:
    its ids are the characters by code point, then the merges as they were learned. A word of 100 000 letters takes
    it seconds, because its time grows with the square of a word's length.
    """
    library = Library(models.BPE())
    n_characters = len(set().union(*(word for word, times in words.items() if times)))
    trainer = trainers.BpeTrainer(vocab_size=n_characters + n_merges, show_progress=False)
    library.train_from_iterator(Counter(words).elements(), trainer)  # there is no pre-tokenizer: each text is one word
    return [(left, right) for left, right in json.loads(library.to_str())["model"]["merges"]]


@runtime_checkable
class TokenizerLike(Protocol):
    """The tokenizer interface of the models: `Tokenizer` has it, and `tasks.Vocabulary`, whose tokens are words."""

    pad_id: int
    bos_id: int
    eos_id: int

    def encode(self, text: str) -> list[int]: ...

    def decode(self, ids: Sequence[int]) -> str: ...


class Tokenizer:
    """Converts texts to ids and back, with learned merges: `Tokenizer.train(texts, n_merges)`.

    `symbols[i]` is the symbol of id i: padding, begin and end of a sequence (0, 1, 2), the 256 bytes, the characters of
    the alphabet, then what the merges make of them. A character outside the alphabet becomes its bytes in UTF-8.

    Raises:
        ValueError: the alphabet or the merges repeat themselves; a merge joins what is no symbol before it; half a
            surrogate pair is in the alphabet.
    """

    pad_id, bos_id, eos_id = 0, 1, 2

    def __init__(self, alphabet: str, merges: Iterable[tuple[str, str]]):
        check_characters("the alphabet", alphabet)
        self.alphabet, self.merges = alphabet, list(merges)
        if len(set(alphabet)) < len(alphabet) or len(set(self.merges)) < len(self.merges):
            raise ValueError("no character of the alphabet and no merge may occur twice")
        self.symbols: list[str | bytes] = ["<pad>", "<bos>", "<eos>", *(bytes([i]) for i in range(256)), *alphabet]
        self.ids = {symbol: i for i, symbol in enumerate(self.symbols) if i > self.eos_id}  # no text is "<eos>"
        for pair in self.merges:
            if not self.ids.keys() >= set(pair):
                raise ValueError(f"a merge must join two symbols known before it (got {pair})")
            if "".join(pair) not in self.ids:  # two merges may make one symbol: a bc and ab c
                self.ids["".join(pair)] = len(self.symbols)
                self.symbols.append("".join(pair))
        self.bpe = models.BPE({text: i for text, i in self.ids.items() if isinstance(text, str)}, self.merges)
        self.bytes = [symbol.encode() if isinstance(symbol, str) else symbol for symbol in self.symbols]
        self.cache: dict[str, list[int]] = {}

    @classmethod
    def train(cls, texts: Iterable[str], n_merges: int) -> "Tokenizer":
        """Learn merges from texts, as `learn_merges` does.

        Raises:
            ValueError: n_merges is negative; `texts` is a single text, or holds half a surrogate pair.
        """
        check_least(0, n_merges=n_merges)
        if isinstance(texts, str):
            raise ValueError(f"texts must be several texts, such as a list of them (got one: {texts[:20]!r})")
        words = Counter(word for text in texts for word in WORD.findall(text))
        alphabet = "".join(sorted(set().union(*words)))
        check_characters("the alphabet", alphabet)
        return cls(alphabet, learn_merges_fast(words, n_merges))

    def __len__(self) -> int:
        return len(self.symbols)

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without begin and end tokens; words seen before are looked up.

        Raises:
            ValueError: half a surrogate pair, which is no character, is in the text.
        """
        check_characters("a text", text)
        ids: list[int] = []
        for word in WORD.findall(text):
            if word not in self.cache:
                if len(self.cache) == CACHED_WORDS:
                    self.cache.clear()
                self.cache[word] = self.merge(word)
            ids += self.cache[word]
        return ids

    def steps(self, word: str) -> Iterator[list[str | bytes]]:
        """The successive forms of a word: first its characters, then its symbols after each merge at one position."""
        symbols: list[str | bytes] = []
        for character in word:
            known = character in self.ids
            symbols += [character] if known else [bytes([byte]) for byte in character.encode()]
        yield symbols
        while pair := next(filter(set(pairwise(symbols)).__contains__, self.merges), None):
            i = [*pairwise(symbols)].index(pair)
            symbols = [*symbols[:i], "".join(pair), *symbols[i + 2 :]]
            yield symbols

    def merge(self, word: str) -> list[int]:
        """The ids of a word after all merges, by Hugging Face's library."""
        ids: list[int] = []
        for known, characters in groupby(word, self.ids.__contains__):
            part = "".join(characters)
            if known:
                ids += [token.id for token in self.bpe.tokenize(part)]
            else:
                ids += [self.ids[bytes([byte])] for byte in part.encode()]
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids, without padding, begin and end tokens; bytes that are not valid UTF-8 become U+FFFD.

        Raises:
            ValueError: an id is not in the vocabulary.
        """
        ids = list(ids)
        if ids and not 0 <= min(ids) <= max(ids) < len(self):
            raise ValueError(f"ids must be from 0 to {len(self) - 1} (got {min(ids)} to {max(ids)})")
        return b"".join(self.bytes[i] for i in ids if i > self.eos_id).decode(errors="replace")

    def to_json(self) -> str:
        """The alphabet and the merges as JSON, from which everything else follows."""
        return json.dumps({"alphabet": self.alphabet, "merges": self.merges}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "Tokenizer":
        """Read the tokenizer that `to_json` wrote.

        Raises:
            ValueError: the text is cut off, or no tokenizer.
        """
        try:
            values = json.loads(text)
            alphabet, merges = values["alphabet"], [(left, right) for left, right in values["merges"]]
            if not all(isinstance(part, str) for part in (alphabet, *chain(*merges))):
                raise TypeError("the alphabet and the parts of a merge must be texts")
            return cls(alphabet, merges)
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"a tokenizer must be JSON with its alphabet and merges ({error!r})") from error

    def save(self, path: str | Path) -> None:
        """Write `to_json` to a file."""
        Path(path).write_text(self.to_json(), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> "Tokenizer":
        """Load the tokenizer that `save` wrote.

        Raises:
            ValueError: the file is cut off, or no tokenizer's.
        """
        try:
            return cls.from_json(Path(path).read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error


def check_characters(name: str, text: str) -> None:
    """Raise a ValueError unless a text is a string that can be encoded in UTF-8."""
    try:
        text.encode()
    except AttributeError:
        raise ValueError(f"{name} must be a str (got {type(text).__name__})") from None
    except UnicodeEncodeError as error:
        half = f"{text[error.start]!r} at {error.start}"
        raise ValueError(f"{name} must consist of characters, not of half a surrogate pair (got {half})") from None
