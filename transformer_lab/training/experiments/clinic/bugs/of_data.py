"""Bugs of the data: the tokens, the split, and the template."""

from transformer_lab.training.experiments.clinic.bugs.bug import Bug

OF_DATA = (
    Bug(
        "tokenizer_trims",
        "data",
        "Tokenizer.encode",
        "self.ids[piece] for piece in PIECE.findall(text)",
        "self.ids[piece.strip()] for piece in PIECE.findall(text)",
        "Each piece loses its space, so that the text cannot be put together again from its tokens.",
    ),
    Bug(
        "test_in_training",
        "data",
        "split_numbers",
        "return numbers[n_test:], numbers[:n_test]",
        "return numbers, numbers[:n_test]",
        "The numbers of the test are among those of the training, so the test measures memory.",
    ),
    Bug(
        "other_template",
        "data",
        "prompt_text",
        'f"<user>{asked}<end><assistant>"',
        'f"<user>{asked}<assistant>"',
        "The prompt lacks a token that every chat of the training has at this place.",
    ),
    Bug(
        "mask_behind_the_end",
        "data",
        "mark_answers",
        """        marks.append(speaking)
        if token in (ASSISTANT, END):
            speaking = token == ASSISTANT
""",
        """        if token in (ASSISTANT, END):
            speaking = token == ASSISTANT
        marks.append(speaking and token != ASSISTANT)
""",
        "The `<end>` of an answer is no target, so nothing teaches the model to stop.",
    ),
)
