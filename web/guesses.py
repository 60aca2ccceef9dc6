"""A guess before each lesson: a question, answers to choose from, which of them is right, and what the lesson found.

It is kept in the browser and judged at the end of the lesson: see `static/guess.js`. A friend can be asked it, too.
"""

from html import escape

GUESSES: dict[str, tuple[str, tuple[str, ...], int, str]] = {
    "01": (
        "In a Transformer, what decides how much one word looks at another?",
        ("how close they stand", "how well their vectors match", "the grammar"),
        1,
        "the dot product of one word’s query with the other’s key does, and a softmax turns all scores into weights.",
    ),
    "02": (
        "Can one large head learn what several small ones do?",
        ("no", "yes, but more slowly", "yes, just as fast"),
        1,
        "one head did learn it here, only far more slowly, because it must find a trick to read a blend of two tokens.",
    ),
    "03": (
        "A sentence is twice as long as any in training. What still finds the word two places back?",
        ("added sines", "turned queries and keys", "neither"),
        1,
        "a model that turns queries and keys still finds it, and one with added sines mostly does not.",
    ),
    "04": (
        "What goes wrong in a deep stack of layers without residual connections?",
        ("its gradient vanishes", "its tokens become alike", "both"),
        2,
        "it has both troubles, and a norm cures only the first.",
    ),
    "05": (
        "The mask that hides the future was forgotten in training. How does the loss show it?",
        ("it is too high", "it is too good", "it does not"),
        1,
        "the loss is too good, because the answers were seen, and what the model writes is poor.",
    ),
    "06": (
        "Which part of the Transformer of 2017 holds the most parameters?",
        ("attention", "the feed-forward networks", "the table of tokens"),
        1,
        "25 of its 63 million lie in the feed-forward networks, 19 in attention and 19 in the table.",
    ),
    "07": (
        "21 is not among its training pairs. Can a small model say it in German all the same?",
        ("yes", "only a larger one can", "no"),
        0,
        "a small model has learned the words, their spelling and their order from the names of other numbers.",
    ),
    "08": (
        "You search harder for a language model’s most probable text. What do you find?",
        ("better text", "the same again and again", "longer words"),
        1,
        "what the search finds repeats itself. And a translator, with one right answer, gained nothing by it.",
    ),
    "09": (
        "What predicts new code best: counts of what follows eight characters, gzip, or a Transformer of 2 MB?",
        ("the counts", "gzip", "the Transformer"),
        2,
        "gzip has a loss of 1.46 nats a character, the table of counts 1.14, and the Transformer 0.87.",
    ),
    "10": (
        "How many layers make it easy to continue a pattern that was seen only once?",
        ("one", "two", "ten or more"),
        1,
        "two do, since a head in the first notes which token stood before, and one in the second looks for that note.",
    ),
    "11": (
        "Which change since 2017 lowered a small model’s loss from early on?",
        ("a simpler norm", "positions by rotation", "fewer keys"),
        1,
        "RoPE, the rotation, lowered it by a fifth of a nat. What the other two save is time, memory and parameters.",
    ),
    "12": (
        "In a real model the vectors of “bank” differ by its sense, with p = 0.001. Does the model know the senses?",
        ("yes", "that does not follow"),
        1,
        "the vectors of “thing” or “it” in the same place tell the senses apart about as often.",
    ),
    "13": (
        "How much arithmetic does fast attention do, compared with plain attention?",
        ("less", "as much", "more"),
        2,
        "it does more, though it never makes the large matrices of scores and weights.",
    ),
    "14": (
        "A model learns a batch by heart, and its loss is 0. Can its code still have bugs?",
        ("hardly", "yes, many"),
        1,
        "bugs that make the task easier pass this test, and so do those that damage only the writing.",
    ),
    "15": (
        "Each of 24 layers sees the last 512 tokens. Can the last token depend on one 20,000 tokens back?",
        ("yes", "no"),
        1,
        "together the layers reach 24 · 511 = 12,264 tokens back, and no further.",
    ),
    "16": (
        "Our model is told only whether its answers are right. What does it learn from that?",
        ("a new skill", "to choose among what it could do already", "nothing"),
        1,
        "it learned to choose. Most sums, on lines of their own, it already got right before any reward.",
    ),
    "17": (
        "Four machines add up their gradients in a ring. With eight instead, how much does each send?",
        ("a sixth more", "twice as much", "four times as much"),
        0,
        "each sends 2 · 7/8 of its numbers where it sent 2 · 3/4, which is a sixth more.",
    ),
}


def guess(number: str) -> str:
    """The guess of a lesson as HTML, or nothing if it has none."""
    if number not in GUESSES:
        return ""
    question, answers, right, found = GUESSES[number]
    buttons = "".join(f'<button class="button" type="button" aria-pressed="false">{one}</button>' for one in answers)
    asks = escape(f"{question} {' · '.join(answers)}")
    return (
        f'<div class="guess" data-right="{right}" data-found="{escape(found)}"><p>{question}</p>'
        f'<div class="guess-answers" role="group" aria-label="Your guess">{buttons}</div>'
        f'<p class="label"><span role="status">Your guess, before you read.</span> '
        f'<button type="button" data-send="" data-asks="{asks}">Ask a friend</button></p></div>'
    )
