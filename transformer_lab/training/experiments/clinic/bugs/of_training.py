"""Bugs of the training: the loss, the gradients, and the optimiser."""

from transformer_lab.training.experiments.clinic.bugs.bug import Bug

LOSSES = """\
    losses = F.cross_entropy(logits[:, :-1].transpose(1, 2), rows.tokens[:, 1:], reduction="none")
    return losses[rows.answers[:, 1:]]
"""

OF_TRAINING = (
    Bug(
        "not_shifted",
        "training",
        "token_losses",
        LOSSES,
        """\
    losses = F.cross_entropy(logits.transpose(1, 2), rows.tokens, reduction="none")
    return losses[rows.answers]
""",
        "Each position is asked for the token that it has just read (patient 07).",
    ),
    Bug(
        "shifted_twice",
        "training",
        "token_losses",
        LOSSES,
        """\
    losses = F.cross_entropy(logits[:, :-2].transpose(1, 2), rows.tokens[:, 2:], reduction="none")
    return losses[rows.answers[:, 2:]]
""",
        "Each position is asked for the token after the next one, as if the data had not been shifted yet.",
    ),
    Bug(
        "labels_across_chats",
        "training",
        "token_losses",
        "return losses[rows.answers[:, 1:]]",
        "return losses[rows.answers[:, :-1]]",
        "The mask is not shifted with the labels: the first word of an answer does not count, and what follows its"
        " `<end>` does, be it the beginning of another chat.",
    ),
    Bug(
        "two_softmaxes",
        "training",
        "token_losses",
        "logits[:, :-1].transpose(1, 2)",
        "logits[:, :-1].softmax(dim=-1).transpose(1, 2)",
        "The cross-entropy contains a softmax, and here it gets probabilities for logits.",
    ),
    Bug(
        "padding_counted",
        "training",
        "add_gradients",
        "count = sum(int(rows.answers[:, 1:].sum()) for rows in batches)",
        "count = sum(rows.answers[:, 1:].numel() for rows in batches)",
        "The mean is taken over all places, padding and questions too, so more padding makes a smaller loss"
        " (patient 08).",
    ),
    Bug(
        "means_of_means",
        "training",
        "add_gradients",
        ".sum() / count",
        ".mean() / len(batches)",
        "The mean of the portions' means counts a token of a short portion for more than one of a long portion.",
    ),
    Bug(
        "gradients_kept",
        "training",
        "train_step",
        "    optimizer.zero_grad()\n    loss = add_gradients(model, batches)\n",
        "    loss = add_gradients(model, batches)\n",
        "The gradients of all the steps before are added to those of this step.",
    ),
    Bug(
        "gradients_erased",
        "training",
        "train_step",
        "    optimizer.zero_grad()\n    loss = add_gradients(model, batches)\n",
        "    loss = add_gradients(model, batches)\n    optimizer.zero_grad()\n",
        "The gradients are erased after they have been computed, and before they are used.",
    ),
    Bug(
        "gains_decay",
        "training",
        "make_optimizer",
        """\
    matrices = [p for p in model.parameters() if p.ndim > 1]
    gains = [p for p in model.parameters() if p.ndim == 1]
""",
        """\
    matrices = [p for p in model.parameters() if p.ndim >= 1]
    gains = [p for p in model.parameters() if p.ndim < 1]
""",
        "The gains of the norms decay like matrices, so each step pulls them from 1 towards 0.",
    ),
    Bug(
        "rate_by_portions",
        "training",
        "rate_at",
        "    climbing, falling =",
        "    step = step * recipe.micro_batches\n    climbing, falling =",
        "The schedule counts portions, not steps: the warm-up is too short, and the rate is 0 long before the end.",
    ),
)
