"""Lesson 15: predict `bytes_per_token`."""

from functools import partial

from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, number, pick
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.kinds import Predict

NAMES = ("kind", "n_layers", "n_heads", "n_kv_heads", "d_head", "d_latent", "d_rope", "window", "length")
KINDS = ("mha", "gqa", "mla", "window", "state")


def cache_of(label: str, *values: str | int) -> Case:
    return Case(label, dict(zip(NAMES, values, strict=True)))


@partial(
    Predict,
    lesson="15",
    minutes=10,
    difficulty=2,
    statement="""
    How many bytes does a cache hold for each token of a text, when the decoder has read `length` tokens of it?

    That is the size of the whole cache, divided by `length`. Every number takes 2 bytes. In each of `n_layers` layers
    the cache keeps what a later token needs of the past, according to `kind`:
    "mha": multi-head attention with `n_heads` heads of `d_head` features.
    "gqa": the same, but only `n_kv_heads` heads of keys and values, which all heads of queries share.
    "mla": latent attention. All heads make their keys and values from one latent vector of `d_latent` numbers a
    token, except for the `d_rope` features of a key that its position turns: those are one vector for all heads.
    "window": "gqa", whose cache holds the last `window` tokens, or all if there are fewer.
    "state": the delta rule. Each of `n_heads` heads writes keys and values of `d_head` features into its state.

    Return a number; it need not be a whole one. For Llama 3 with 8 billion weights, which is "gqa" with 32 layers and 8
    heads of 128 for keys and values, it is 131 072 after any number of tokens.
    """,
    returns=("bytes",),
    cases=(
        cache_of("multi-head, one of everything", "mha", 1, 1, 1, 1, 1, 1, 1, 1),
        cache_of("latent, one of everything", "mla", 1, 1, 1, 1, 1, 1, 1, 1),
        cache_of("a state of 3 × 3, one head, one token", "state", 1, 1, 1, 3, 1, 1, 1, 1),
        cache_of("multi-head", "mha", 3, 6, 2, 5, 7, 4, 8, 11),
        cache_of("grouped", "gqa", 3, 6, 2, 5, 7, 4, 8, 11),
        cache_of("latent", "mla", 3, 6, 2, 5, 7, 4, 8, 11),
        cache_of("a window that is not full yet", "window", 3, 6, 2, 5, 7, 4, 8, 5),
        cache_of("a window that has been full for long", "window", 3, 6, 2, 5, 7, 4, 8, 64),
        cache_of("a state", "state", 3, 6, 2, 5, 7, 4, 8, 10),
        cache_of("Llama 2, 7 billion weights", "mha", 32, 32, 32, 128, 512, 64, 4096, 4096),
        cache_of("Mistral 7B, after 32 768 tokens", "window", 32, 32, 8, 128, 512, 64, 4096, 32_768),
        cache_of("DeepSeek-V3", "mla", 61, 128, 128, 128, 512, 64, 4096, 131_072),
        cache_of("32 states, after a million tokens", "state", 48, 32, 2, 128, 512, 64, 4096, 1_000_000),
    ),
    hints=(
        "Begin with one layer and one token. Which vectors does a later token ask for, and how many numbers is that?",
        "Which caches grow with every token, which one stops growing, and which one has its full size from the first "
        "token on? Only then divide by `length`.",
        "How many numbers does a state hold that answers to a key of `d_head` features with a value of `d_head` "
        "features? And from how many vectors a token does latent attention make keys *and* values?",
    ),
)
def bytes_per_token(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    """The bytes that a cache holds after `length` tokens, in all layers, divided by their number."""
    in_a_layer = {
        "mha": length * 2 * n_heads * d_head,  # keys and values
        "gqa": length * 2 * n_kv_heads * d_head,
        "mla": length * (d_latent + d_rope),  # keys and values are made from the same vector
        "window": min(length, window) * 2 * n_kv_heads * d_head,
        "state": n_heads * d_head * d_head,  # however long the text is
    }[kind]
    return 2 * n_layers * in_a_layer / length


def formula(given, both=2, groups=None, latent=None, held=None, state=None, layers=None, n_bytes=2):
    """The bytes, with each place where one can go wrong as an argument; `given` are those of a case, by name."""
    _, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length = given
    groups = n_kv_heads if groups is None else groups
    held = min(length, window) if held is None else held
    numbers = {
        "mha": length * both * n_heads * d_head,
        "gqa": length * both * groups * d_head,
        "mla": length * (d_latent + d_rope if latent is None else latent),
        "window": held * both * groups * d_head,
        "state": n_heads * d_head**2 if state is None else state,
    }[given[0]]
    return n_bytes * (n_layers if layers is None else layers) * numbers / length


@bytes_per_token.mistake("Only one of keys and values is counted: a later token asks for *both*.")
def one_of_the_two(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    given = (kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length)
    return formula(given, both=1)


@bytes_per_token.mistake(
    "Queries are counted, too. A query is asked once, by its own token, and no later one needs it."
)
def with_queries(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    given = (kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length)
    return formula(given, both=3)


@bytes_per_token.mistake("These are numbers, not bytes: each takes 2 bytes.")
def numbers_not_bytes(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    given = (kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length)
    return formula(given, n_bytes=1)


@bytes_per_token.mistake("Each number takes four bytes in your answer, as in float32. Here it takes 2.")
def four_bytes(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    given = (kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length)
    return formula(given, n_bytes=4)


@bytes_per_token.mistake(
    "With grouped queries you count keys and values of *all* heads. Heads of one group share them, and the cache keeps "
    "them once."
)
def all_heads_of_groups(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    given = (kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length)
    return formula(given, groups=n_heads)


@bytes_per_token.mistake("That is for one layer. Each of the n_layers keeps its own.")
def one_layer(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    given = (kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length)
    return formula(given, layers=1)


@bytes_per_token.mistake(
    "In latent attention you count keys and values apart. Both are made from *one* latent vector, which is kept once."
)
def latent_twice(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    given = (kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length)
    return formula(given, latent=2 * (d_latent + d_rope))


@bytes_per_token.mistake(
    "Keys and values are counted apart in every kind. But in latent attention both are made from *one* vector, and a "
    "state is *one* matrix for both."
)
def apart_in_every_kind(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    given = (kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length)
    return formula(given, latent=2 * (d_latent + d_rope), state=2 * n_heads * d_head**2)


@bytes_per_token.mistake(
    "In latent attention you count a latent vector for each head. There is one for all: each head has its own matrix, "
    "and not its own vector."
)
def latent_by_head(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    given = (kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length)
    return formula(given, latent=n_heads * (d_latent + d_rope))


@bytes_per_token.mistake(
    "In latent attention you count the turned features for each head. They are one vector, which all heads share."
)
def turned_by_head(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    given = (kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length)
    return formula(given, latent=d_latent + n_heads * d_rope)


@bytes_per_token.mistake(
    "In latent attention the turned features are missing. They do not come from the latent vector, so they are kept "
    "beside it."
)
def turned_forgotten(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    given = (kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length)
    return formula(given, latent=d_latent)


@bytes_per_token.mistake(
    "In latent attention you count the keys and values that the heads make. They are never stored: each step makes "
    "them from the latent vectors, or does without them."
)
def latent_unfolded(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    given = (kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length)
    return formula(given, latent=2 * n_heads * d_head)


@bytes_per_token.mistake(
    "Your window costs as much for every token as full attention. But its cache stops growing after `window` tokens, "
    "so that in a longer text each token's share shrinks."
)
def window_that_grows(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    given = (kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length)
    return formula(given, held=length)


@bytes_per_token.mistake("Your window is full from the first token on. It holds at most what has been read.")
def window_always_full(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    given = (kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length)
    return formula(given, held=window)


@bytes_per_token.mistake(
    "Every token pays for a whole state. There is one, into which all tokens are written: divide its size by `length`."
)
def state_for_each_token(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    given = (kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length)
    return formula(given, state=length * n_heads * d_head**2)


@bytes_per_token.mistake(
    "Your state holds a key and a value for each head. It is a *matrix*, with a number for each pair of a key's and a "
    "value's features."
)
def state_of_vectors(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    given = (kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length)
    return formula(given, state=2 * n_heads * d_head)


@bytes_per_token.mistake("You count one state for all heads. Each head has its own.")
def one_state_for_all_heads(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    given = (kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length)
    return formula(given, state=d_head**2)


@bytes_per_token.mistake("That is the whole cache. What is asked for is its size divided by the number of tokens.")
def whole_cache(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    given = (kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length)
    return formula(given) * length


@bytes_per_token.mistake(
    "You give the size of a whole window. What is asked for is a token's share of it: divide by the number of tokens."
)
def window_not_divided(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    given = (kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length)
    return formula(given, held=length * min(length, window))


@bytes_per_token.mistake(
    "You count as many states as heads of keys and values. Each of the `n_heads` heads has its own."
)
def state_of_groups(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    given = (kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length)
    return formula(given, state=n_kv_heads * d_head**2)


@bytes_per_token.mistake(
    "Your number is rounded to a whole one. A token's share need not be whole: divide with `/`, and leave the "
    "quotient as it is."
)
def rounded(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    given = (kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length)
    return int(formula(given))


@bytes_per_token.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    n_kv_heads, length = number(generator, 2, 16), number(generator, 2, 10**6)
    n_heads, window = n_kv_heads * number(generator, 2, 8), number(generator, 2, 8192)
    sizes = (number(generator, 2, 96), n_heads, n_kv_heads, 8 * number(generator, 1, 32), 64 * number(generator, 1, 16))
    return dict(zip(NAMES, (pick(generator, *KINDS), *sizes, 32, window, length), strict=True))
