"""Bugs of the model."""

from transformer_lab.training.experiments.clinic.bugs.bug import Bug

OF_MODEL = (
    Bug(
        "softmax_over_queries",
        "model",
        "attention",
        ".softmax(dim=-1)",
        ".softmax(dim=-2)",
        "The queries compete for each key, where the keys should compete for each query (patient 01).",
    ),
    Bug(
        "scale_lost",
        "model",
        "attention",
        "    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))\n",
        "    scores = query @ key.transpose(-2, -1)\n    scores.div(math.sqrt(query.size(-1)))\n",
        "`div` returns new scores, and they are thrown away: the scores are not scaled (patient 03).",
    ),
    Bug(
        "future_seen",
        "model",
        "may_attend",
        ".tril()",
        ".tril(1)",
        "The mask lets each token see the next one, which it is supposed to predict.",
    ),
    Bug(
        "chats_mixed",
        "model",
        "may_attend",
        "same = documents[:, :, None] == documents[:, None, :]",
        "same = (documents > 0)[:, :, None] == (documents > 0)[:, None, :]",
        "A chat sees the chats before it in its row: the mask tells words from padding, and nothing more.",
    ),
    Bug(
        "two_layouts",
        "model",
        "angles",
        "torch.cat([half, half], dim=-1)",
        "half.repeat_interleave(2, dim=-1)",
        "The angles lie as for neighbouring pairs, and `rotate` turns feature i together with feature i + d_head / 2.",
    ),
    Bug(
        "positions_by_row",
        "model",
        "Decoder.forward",
        "torch.arange(tokens.size(1), device=tokens.device).expand_as(tokens)",
        "torch.arange(tokens.size(0), device=tokens.device)[:, None].expand_as(tokens)",
        "The rows of the batch are counted, not the tokens of a row (patient 04).",
    ),
    Bug(
        "gain_shared",
        "model",
        "Block.forward",
        "self.up(self.norm_2(x))",
        "self.up(self.norm_1(x))",
        "The first norm is used twice, and the second one never learns (patient 06).",
    ),
    Bug(
        "large_table",
        "model",
        "Decoder.__init__",
        "std=0.02",
        "std=1.0",
        "The table is the output layer as well, so its size makes the first logits far too large.",
    ),
)
