"""A reader's own sentence in a trained model: its translation, and where the decoder looked for each token."""

from collections.abc import Sequence

import torch
from matplotlib.figure import Figure

from transformer_lab.analysis import cross_attention, token_names
from transformer_lab.data.tokenizer import TokenizerLike
from transformer_lab.decoding.batched import greedy
from transformer_lab.nn.transformer import Transformer
from transformer_lab.widgets.shared.link import connect
from transformer_lab.widgets.shared.view import View, to_bytes
from transformer_lab.widgets.views.own_sentence.own_sentence_picture import draw_weave


def own_sentence(model: Transformer, tokenizer: TokenizerLike, examples: Sequence[str]) -> View:
    """Type a sentence, and see its greedy translation with the cross-attention of each layer and head.

    Without a kernel the view shows the examples; the first is in its picture.

    Raises:
        ValueError: there is no example, or one is longer than the model's max_len.
    """
    if not examples:
        raise ValueError("there must be an example, to be seen where no kernel runs (got none)")
    return OwnSentence(model, tokenizer, examples)


class OwnSentence(View):
    """The view, with the kernel side that handles its requests."""

    def __init__(self, model: Transformer, tokenizer: TokenizerLike, examples: Sequence[str]):
        self.model, self.tokenizer = model, tokenizer
        worked = [self.work(text) for text in examples]
        super().__init__("own_sentence", {"examples": worked}, summary(worked[0]), lambda: fallback(worked[0]))
        self.link = connect(self.answer)
        if self.link:
            self.state["kernel"] = self.link.key

    def work(self, text: str) -> dict:
        """The translation of a text, with the tokens on both sides and the weights (layers, heads, T, S)."""
        device = next(self.model.parameters()).device
        src = [*self.tokenizer.encode(text), self.tokenizer.eos_id]
        source = torch.tensor([src], device=device)
        special = {"bos_id": self.tokenizer.bos_id, "eos_id": self.tokenizer.eos_id}
        check_length(len(src), self.model.config.max_len)
        target = greedy(self.model, source, **special, max_length=self.model.config.max_len)
        weights = cross_attention(self.model, source, target[:, :-1])
        said = target[0, 1:].tolist()
        names = {"source": token_names(self.tokenizer, src), "target": token_names(self.tokenizer, said)}
        return {"text": text, "translation": self.tokenizer.decode(said), "weights": weights} | names

    def answer(self, message: dict) -> None:
        """Reply to a message {request, text}: the result with the weights as bytes, or the reason why there is none."""
        try:
            worked = self.work(message["text"])
        except Exception as error:  # whatever it is, the page waits for an answer
            self.link.send({"request": message["request"], "error": str(error)})
            return
        weights = worked.pop("weights")
        content = worked | {"request": message["request"], "shape": list(weights.shape)}
        self.link.send(content, [to_bytes(weights)])


def check_length(length: int, most: int) -> None:
    if length > most:
        raise ValueError(f"a sentence may have at most {most} tokens, its end counted (this one has {length})")


def summary(example: dict) -> str:
    """A one-line summary with a translation."""
    layers, heads, *_ = example["weights"].shape
    said = f"“{example['text']}” is translated as “{example['translation']}”"
    return f"{said}; cross-attention of {layers} × {heads} heads."


def fallback(example: dict) -> Figure:
    """Draw the mean over the last layer's heads as a weave."""
    return draw_weave(example["weights"][-1].mean(0).tolist(), example["source"], example["target"])
