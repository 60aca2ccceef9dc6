"""The figures of lesson 01: a word in two sentences, the soft dictionary, attention in matrices, path lengths."""

import math

from drawing import (
    AMBER,
    BODY,
    DOT,
    EDGE_OF,
    GREY,
    HEAD,
    INK,
    KEY,
    LINE,
    PANEL,
    QUERY,
    ROOT,
    SMALL,
    TIMES,
    VALUE,
    WHITE,
    Drawing,
    blend,
    dot,
    mix,
    number,
    plain,
    short,
    softmax,
)

# --- one word, two sentences ---

WORDS = {"money": (4.5, 0), "river": (0, 4.5), "bank": (1, 1), "took": (1, 0)}  # features: money, water
SENTENCES = "I took my money to the bank", "We sat on the bank of the river"


def attend_from(word, tokens):
    """Return the weights that a word gives to a sentence's tokens, and its context vector."""
    vectors = [WORDS.get(token, (0, 0)) for token in tokens]
    weights = softmax([dot(WORDS[word], vector) / math.sqrt(2) for vector in vectors])
    return weights, blend(weights, vectors)


def two_cells(vector):
    return f"({vector[0]:.2f}, {vector[1]:.2f})"


def word_vector(d, x, y, vector, name):
    """Draw a vector of two named features as two cells under a name."""
    d.text(x + 60, y - 14, name, SMALL, bold=True)
    d.matrix(x, y, [vector], VALUE, (60, 30), lambda value: 0.75 * value / 4.5, lambda value: f"{value:.2f}")
    for i, feature in enumerate(("money", "water")):
        d.text(x + 30 + 60 * i, y + 42, feature, SMALL, GREY)


def arc(d, start, end, y, weight):
    """Draw an arc whose thickness is a weight; a word's arc to itself is a loop."""
    lift, lean = 30 + 0.24 * abs(end - start), 0
    if start == end:
        start, end, lift, lean = start - 9, end + 9, 46, 12
    points = (start, y, start - lean, y - lift, end + lean, y - lift, end, y)
    d.path("M{} {}C{} {} {} {} {} {}".format(*map(number, points)), EDGE_OF[AMBER], 1 + 18 * weight)


def chips(tokens):
    """Return the left edge and the width of each token's chip."""
    places, left = [], 73
    for token in tokens:
        places.append((left, 16 + 10 * len(token)))
        left += places[-1][1] + 5
    return places


def sentence(d, top, tokens, weights, context):
    """One sentence: arcs from *bank* to each word, as thick as its weight; right, what goes in and what comes out."""
    places = chips(tokens)
    home, width = places[tokens.index("bank")]
    for (x, wide), token, weight in zip(places, tokens, weights, strict=True):
        middle, here = x + wide / 2, token == "bank"
        arc(d, home + width / 2, middle, top + 100, weight)
        d.rect(x, top + 102, wide, 36, mix(QUERY, 0.16) if here else WHITE, QUERY if here else LINE)
        d.text(middle, top + 120, token, 18, bold=here)
        d.text(middle, top + 156, short(weight), SMALL, INK if weight > 0.1 else GREY, bold=weight > 0.1)
    word_vector(d, 607, top + 22, WORDS["bank"], "in: bank alone")
    d.route([(667, top + 76), (667, top + 94)])
    word_vector(d, 607, top + 122, context, "out: bank in context")


def bank():
    first, second = (words.split() for words in SENTENCES)
    (weights_1, context_1), (weights_2, context_2) = attend_from("bank", first), attend_from("bank", second)
    d = Drawing(
        476,
        "One word, two sentences, two context vectors",
        f"Two sentences, '{SENTENCES[0]}' and '{SENTENCES[1]}'. In each, arcs lead from bank to every word, as "
        f"thick as the attention weight. In the first, money gets {max(weights_1):.2f} and the vector of bank, "
        f"{two_cells(WORDS['bank'])} in the features money and water, becomes {two_cells(context_1)}; in the second, "
        f"river gets {max(weights_2):.2f} and the same vector becomes {two_cells(context_2)}.",
    )
    sentence(d, 28, first, weights_1, context_1)
    d.path("M36 214H764", LINE, 1)
    sentence(d, 234, second, weights_2, context_2)
    d.text(73, 432, "Arcs are as thick as the weight that *bank* gives to a word;", SMALL, GREY, "start")
    d.text(73, 452, "the weights of a sentence sum to 1.", SMALL, GREY, "start")
    return d


# --- a hard and a soft dictionary ---


def dictionary(d, left, title, rule, query, entries, answer):
    """Draw a look-up: the query, lines to the keys as thick as the weights, and the values."""
    d.rect(left, 24, 368, 330, PANEL, "none", radius=12)
    d.text(left + 184, 50, title, 18, bold=True)
    for x, name, colour in ((50, "query", QUERY), (166, "key", KEY), (246, "weight", AMBER), (322, "value", VALUE)):
        d.text(left + x, 86, name, SMALL, colour, bold=True)
    for i, (key, weight, value) in enumerate(entries):
        y = 126 + 54 * i
        d.path(f"M{left + 88} 180L{left + 128} {y}", QUERY, 1 + 7 * weight, "" if weight else "2 6")
        d.box(left + 128, y - 19, 76, 38, key, mix(KEY, 0.14), KEY)
        d.rect(left + 216, y - 13, 60, 26, WHITE, LINE, 4)
        d.rect(left + 216, y - 13, 60 * weight, 26, mix(AMBER, 0.45), AMBER, 4)
        d.text(left + 246, y, short(weight) if 0 < weight < 1 else f"{weight:g}", bold=True)
        d.box(left + 292, y - 19, 60, 38, f"{value}", mix(VALUE, 0.14), VALUE)
    d.box(left + 12, 161, 76, 38, query, mix(QUERY, 0.14), QUERY)
    d.text(left + 184, 294, rule, SMALL, GREY)
    d.text(left + 184, 326, answer, bold=True)


def lookup():
    query, keys, values = (1, 0.5), [(2, 0), (2, 2), (0, 2)], [10, 40, 30]
    weights = softmax([dot(query, key) for key in keys])
    answer, shares = f"{dot(weights, values):.1f}", [short(weight) for weight in weights]
    d = Drawing(
        378,
        "A hard dictionary and a soft one",
        "Left: a dictionary with the keys apple, pear and lemon and the values 10, 40 and 30. The query pear equals "
        "one key, so the weights are 0, 1 and 0 and the answer is 40. Right: query and keys are vectors. The query "
        f"(1, .5) is similar to every key; softmax of the dot products gives the weights {', '.join(shares)}, and "
        f"the answer is the blend of the values, {answer}.",
    )
    hard = zip(("apple", "pear", "lemon"), (0, 1, 0), values, strict=True)
    soft = zip((f"({a}, {b})" for a, b in keys), weights, values, strict=True)
    rule = "weight = 1 where query equals key, else 0", f"weights = softmax(query {DOT} key), they sum to 1"
    dictionary(d, 24, "Hard dictionary", rule[0], "pear", hard, f"{terms('010', values)} = 40")
    dictionary(d, 408, "Soft dictionary", rule[1], "(1, .5)", soft, f"{terms(shares, values)} = {answer}")
    return d


def terms(weights, values):
    return " + ".join(f"{weight}{DOT}{value}" for weight, value in zip(weights, values, strict=True))


# --- scaled dot-product attention ---

Q = [(2, 0, 1, 0), (0, 2, 0, 1), (2, 0, -1, 2)]
K = [(2, 0, 1, 0), (0, 2, 1, 0), (1, 0, 0, 2), (0, 1, 2, 1), (-1, 1, 0, 2)]
V = [(4, 0), (0, 2), (1, 1), (2, 3), (0, 4)]
CELL = (30, 28)


def named_matrix(d, x, middle, values, colour, name, axes, write=plain, strength=None):
    """Draw a matrix around a middle height, with its axes' names outside and its own name below; return its box."""
    width, height = CELL[0] * len(values[0]), CELL[1] * len(values)
    low, high = min(map(min, values)), max(map(max, values))
    strength = strength or (lambda value: 0.75 * (value - low) / (high - low))
    d.matrix(x, middle - height / 2, values, colour, CELL, strength, write)
    d.text(x - 9, middle, axes[0], SMALL, GREY, "end")
    d.text(x + width / 2, middle - height / 2 - 13, axes[1], SMALL, GREY)
    d.text(x + width / 2, middle + height / 2 + 18, name, colour=colour, bold=True)
    return x, middle - height / 2, width, height


def follow(d, box, row=1):
    """Outline the row of the query that the reader follows."""
    x, y, width, _ = box
    d.rect(x - 2, y + CELL[1] * row - 1, width + 4, CELL[1] + 2, "none", INK, 4, thick=2.6)


def attention():
    d = Drawing(
        508,
        "Scaled dot-product attention, step by step, with the size of every matrix",
        "Step 1: Q (T by d_k) times K transposed (d_k by S) gives the scores (T by S). Step 2: divide by the square "
        "root of d_k. Step 3: softmax of each row gives the weights (T by S), whose rows sum to 1. Step 4: the weights "
        "times V (S by d_v) give the output (T by d_v). In the drawing T is 3, S is 5, d_k is 4 and d_v is 2; the "
        "second query is outlined all the way.",
    )
    scores = [[dot(q, k) for k in K] for q in Q]
    scaled = [[score / math.sqrt(len(K[0])) for score in row] for row in scores]
    weights = [softmax(row) for row in scaled]
    compare(d, 148, scores, scaled)
    d.route([(697, 222), (697, 256), (127, 256), (127, 326)])
    mix_values(d, 398, weights, [blend(row, V) for row in weights])
    formula(d, 490, 398)
    return d


def compare(d, y, scores, scaled):
    """Steps 1 and 2, from query and key to the scaled scores."""
    d.step(52, 40, 1, "compare every query with every key")
    follow(d, named_matrix(d, 52, y, Q, QUERY, "Q", ("*T*", "*d*_{k}")))
    d.text(190, y, TIMES, HEAD)
    named_matrix(d, 240, y, list(zip(*K, strict=True)), KEY, "K^{T}", ("*d*_{k}", "*S*"))
    d.text(408, y, "=", HEAD)
    follow(d, named_matrix(d, 440, y, scores, GREY, "scores", ("*T*", "*S*")))
    d.step(622, 40, 2, f"divide by {ROOT}*d*_{{k}}")
    d.route([(595, y), (617, y)])
    follow(d, named_matrix(d, 622, y, scaled, GREY, "scaled scores", ("", "*S*")))


def mix_values(d, y, weights, output):
    """Steps 3 and 4, from the weights to the output."""
    d.step(145, 288, 3, "softmax of every row")
    follow(d, named_matrix(d, 52, y, weights, AMBER, "weights", ("*T*", "*S*"), short, lambda weight: weight))
    d.text(127, y + 82, "every row sums to 1", SMALL, GREY)
    d.text(222, y, TIMES, HEAD)
    named_matrix(d, 268, y, V, VALUE, "V", ("*S*", "*d*_{v}"))
    d.text(350, y, "=", HEAD)
    d.step(384, 288, 4, "blend the values")
    follow(d, named_matrix(d, 384, y, output, VALUE, "output", ("*T*", "*d*_{v}"), lambda value: f"{value:.1f}"))


def formula(d, x, middle):
    d.rect(x, middle - 70, 286, 140, PANEL, "none", radius=12)
    d.text(x + 143, middle - 34, f"output = softmax(Q K^{{T}} / {ROOT}*d*_{{k}}) V", bold=True)
    for i, words in enumerate(("The outlined row is one query:", "its scores, its weights, its output.")):
        d.text(x + 143, middle + 10 + 26 * i, words, BODY, GREY)


# --- path lengths ---


def paths():
    d = Drawing(
        238,
        "How far information travels: a recurrent net against self-attention",
        "Left: six positions of a recurrent net in a chain; what the first knows reaches the last after 5 steps. "
        "Right: self-attention joins every position to every other directly; the first reaches the last in 1 step.",
    )
    at = [64 + 58 * i for i in range(6)]
    chain(d, at)
    mesh(d, [x + 384 for x in at])
    return d


def station(d, x, y, words, colour=LINE):
    d.disc(x, y, 18, WHITE, colour)
    d.text(x, y, words, SMALL)


def chain(d, at):
    d.text(209, 40, "Recurrent net: 5 steps from first to last", bold=True)
    for i, x in enumerate(at):
        d.route([(x, 182), (x, 120)])
        station(d, x, 202, f"*x*_{{{i + 1}}}")
        if i:
            d.route([(at[i - 1] + 18, 100), (x - 18, 100)], INK, thick=3.4)
            d.text(x - 29, 80, f"{i}", SMALL, bold=True)
        station(d, x, 100, f"*h*_{{{i + 1}}}", INK if i in (0, 5) else LINE)


def mesh(d, at):
    d.text(593, 40, "Self-attention: 1 step between any two", bold=True)
    for start in at:
        for end in at:
            d.path(f"M{start} 184L{end} 118", LINE, 1)
    d.route([(at[0] + 17, 194), (at[5] - 17, 108)], INK, thick=3.4)
    d.disc((at[0] + at[5]) / 2, 151, 12, WHITE, INK)
    d.text((at[0] + at[5]) / 2, 151, "1", SMALL, bold=True)
    for i, x in enumerate(at):
        station(d, x, 202, f"*x*_{{{i + 1}}}", INK if i == 0 else LINE)
        station(d, x, 100, f"*z*_{{{i + 1}}}", INK if i == 5 else LINE)
