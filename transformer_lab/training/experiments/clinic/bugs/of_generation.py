"""Bugs of the generation and of the evaluation by it."""

from transformer_lab.training.experiments.clinic.bugs.bug import Bug

OF_GENERATION = (
    Bug(
        "left_padding",
        "generation",
        "generate",
        "documents, positions = documents[:, -1:], positions[:, -1:] + 1",
        "documents, positions = documents[:, -1:], torch.full_like(tokens, cache.documents.size(1))",
        "The position of a new token is the length of the cache, which holds the padding, too.",
    ),
    Bug(
        "position_zero",
        "generation",
        "generate",
        "documents, positions = documents[:, -1:], positions[:, -1:] + 1",
        "documents, positions = documents[:, -1:], torch.zeros_like(tokens)",
        "A new token comes alone, so it is counted as the first of its text (patient 09).",
    ),
    Bug(
        "padding_seen",
        "generation",
        "pad_left",
        "return tokens, (tokens != data.PAD).long()",
        "return tokens, torch.ones_like(tokens)",
        "The padding is taken for part of the chat, and attended to (patient 02).",
    ),
    Bug(
        "dropout_on",
        "generation",
        "generate",
        "    model.eval()\n",
        "    model.train()\n",
        "The model is not switched to evaluation: dropout goes on (patient 05).",
    ),
    Bug(
        "two_bos",
        "generation",
        "answers",
        "prompts = [tokenizer.encode(",
        "prompts = [[data.BOS] + tokenizer.encode(",
        "The template has a `<bos>` of its own, and a second one is put in front of it.",
    ),
)
