"""A guess before each lesson: a question, answers to choose from, which of them is right, and what the lesson found.

It is kept in the browser and judged at the end of the lesson: see `static/guess.js`. A friend can be asked it, too.
"""

from html import escape

GUESSES: dict[str, tuple[str, tuple[str, ...], int, str]] = {
    "01": (
        "What decides how much one word looks at another?",
        ("how near it stands", "how well their vectors fit", "the grammar"),
        1,
        "the dot product of its query with the other’s key decides, and a softmax makes weights of all such scores.",
    ),
    "02": (
        "Can one large head learn what several small ones do?",
        ("no", "yes, but slowly", "yes, as fast"),
        1,
        "one head can learn it, only more slowly, because it has to read a blend of all that it fetched.",
    ),
    "03": (
        "A sentence is twice as long as any before. What still finds the word two back?",
        ("sines that are added", "queries and keys that are turned", "neither"),
        1,
        "a model whose queries and keys are turned still finds it; with added sines it loses many answers.",
    ),
    "04": (
        "What is wrong with a deep stack without residuals?",
        ("its gradient vanishes", "its tokens become alike", "both"),
        2,
        "it has both troubles, and a norm cures only the first.",
    ),
    "05": (
        "A mask was forgotten in the training. How does its loss show it?",
        ("it is too high", "it is too good", "it does not"),
        1,
        "the loss is too good, because the answers were seen, and what the model writes is poor.",
    ),
    "06": (
        "Where do most of the parameters lie?",
        ("in the attentions", "in the feed-forward networks", "in the table of tokens"),
        1,
        "25 million lie in the feed-forward networks, 19 in the attentions, 19 in the table.",
    ),
    "07": (
        "21 is not among the training pairs. Will the model write it?",
        ("yes", "only a larger one", "no"),
        0,
        "a small model has found the words, their spelling and their order from the names of other numbers.",
    ),
    "08": (
        "You search harder for the most probable text. What does a writer of stories write?",
        ("better stories", "the same again and again", "longer words"),
        1,
        "the most probable texts of a writer repeat themselves. With one right answer, a search helps.",
    ),
    "09": (
        "A table counts which letter follows eight others. Which has the lower loss on code that is new?",
        ("such a table", "gzip", "a small Transformer"),
        2,
        "gzip has 1.46 nats, a 9-gram table 1.14, and the model of the package 0.87.",
    ),
    "10": (
        "How many layers go on easily with a pattern that was seen once?",
        ("one", "two", "ten or more"),
        1,
        "two do: one head notes which token stood before, and a head above it looks for that note.",
    ),
    "11": (
        "Which change since 2017 lowered the loss of a small model at once?",
        ("a simpler norm", "positions by rotation", "fewer keys"),
        1,
        "RoPE, the rotation, lowered it. The others save time, memory or parameters.",
    ),
    "12": (
        "The vectors of bank differ by its sense, with p = 0.001. Does the model know the senses?",
        ("yes", "that does not follow"),
        1,
        "it does not follow, for another word in the place of bank takes up the company, too.",
    ),
    "13": (
        "Does the fast attention do less arithmetic than the plain one?",
        ("less", "as much", "more"),
        2,
        "it does more, and never makes the large matrices.",
    ),
    "14": (
        "A model learns a batch by heart, and its loss is 0. Can it still have a bug?",
        ("hardly", "yes, many"),
        1,
        "all bugs that make the task easier pass this test, and those that damage only the writing.",
    ),
    "15": (
        "24 layers, each sees 512 tokens. Can the last word depend on one 20 000 tokens back?",
        ("yes", "no"),
        1,
        "it reaches 24 · 511 = 12 264 tokens back, and no further.",
    ),
    "16": (
        "A model is only told right or wrong. What did it learn here?",
        ("a new skill", "to choose among what it could do", "nothing"),
        1,
        "it chose among what it could do already.",
    ),
    "17": (
        "Eight machines add up in a ring, where four did. How much more does each of them send?",
        ("a sixth more", "twice as much", "four times as much"),
        0,
        "each sends 2 · 7/8 of its numbers and not 2 · 3/4, which is a sixth more.",
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
