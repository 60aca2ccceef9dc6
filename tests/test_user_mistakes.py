"""What people get wrong in calls, and what they are told: the rule, then the fact."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import transformer_lab as lab
from tests.support import without_signature_checks
from transformer_lab import analysis, training
from transformer_lab.data import tasks
from transformer_lab.data.tasks import Vocabulary, random_sequences, reverse_alignment
from transformer_lab.data.tokenizer import Tokenizer
from transformer_lab.nn import masks
from transformer_lab.weights import torch_nn

B, T, S, H, D, VOCAB = 2, 5, 7, 3, 12, 13
CONFIG = lab.TransformerConfig(vocab_size=VOCAB, d_model=D, n_heads=H, d_ff=11, n_layers=2, max_len=17, dropout=0.0)
IDS = {"bos_id": 1, "eos_id": 2, "max_length": 9}
NAN = float("nan")


def floats(*shape: int) -> Tensor:
    return torch.ones(shape)


def ids(*shape: int) -> Tensor:
    return torch.full(shape, 3)


def yes(*shape: int) -> Tensor:
    return torch.ones(shape, dtype=torch.bool)


def attend(**changes: Any) -> Any:
    """One right call of a MultiHeadAttention, but for the changes."""
    arguments = {"query": floats(B, T, D), "key": floats(B, S, D), "value": floats(B, S, D)}
    return lab.MultiHeadAttention(D, H)(**arguments | changes)


def model(**changes: Any) -> lab.Transformer:
    return lab.Transformer(replace(CONFIG, **changes)).eval()


def broken_model() -> lab.Transformer:
    """As after a training that diverged."""
    broken = model()
    nn.init.constant_(broken.to_logits.weight, NAN)
    return broken


def generate(write: Callable[..., Tensor], **changes: Any) -> Tensor:
    return write(**{"model": model(), "src": ids(B, S)} | IDS | changes)


def speculate(n_tokens: int) -> Any:
    small = lab.LanguageModel(lab.LanguageModelConfig(11, D, H, 11, 1, max_len=9))
    return lab.speculative(small, small, torch.arange(5), n_tokens)


def next_logits(ids: list[int]) -> Tensor:
    return floats(VOCAB)


def copy(theirs: nn.Module) -> None:
    kind = lab.EncoderLayer if isinstance(theirs, nn.TransformerEncoderLayer) else None
    torch_nn.copy_to_torch(kind(CONFIG) if kind else lab.MultiHeadAttention(D, H), theirs)


def torchs_layer(**changes: Any) -> nn.Module:
    return nn.TransformerEncoderLayer(D, H, 11, batch_first=True, **changes)


# For each rule, what was given in its place, and the call.
MISTAKES: dict[str, list[tuple[str, Callable[[], Any]]]] = {
    "a mask must be torch.bool, True = may attend": [
        ("torch.float32 of shape (5, 7)", lambda: lab.masked_softmax(floats(T, S), floats(T, S))),
        ("torch.int64 of shape (5, 7)", lambda: attend(mask=ids(T, S))),
        ("torch.float32 of shape (5, 7)", lambda: attend(mask=torch.zeros(T, S), need_weights=True)),  # to be added
        ("list", lambda: attend(mask=[[True] * S] * T)),
        ("ndarray", lambda: attend(mask=np.ones((T, S), dtype=bool))),
        ("bool", lambda: lab.MultiHeadAttention(D, H)(*[floats(B, T, D)] * 3, True)),  # meant is need_weights
        ("torch.float32 of shape (2, 1, 1, 7)", lambda: model().encode(ids(B, S), floats(B, 1, 1, S))),
        ("torch.int64 of shape (2, 7)", lambda: model().encode(ids(B, S), ids(B, S))),
        ("torch.int64 of shape (2, 1, 5, 7)", lambda: masks.to_torch_attn_mask(ids(B, 1, T, S), B, H)),
        ("torch.int64 of shape (2, 1, 1, 7)", lambda: masks.to_torch_key_padding_mask(ids(B, 1, 1, S))),
        ("torch.float32 of shape (5, 7)", lambda: masks.to_additive_mask(floats(T, S))),
    ],
    "a mask must broadcast to": [
        ("(2, 3, 5, 7) (got (7, 5))", lambda: attend(mask=yes(S, T))),
        ("(2, 3, 5, 7) (got (2, 7))", lambda: attend(mask=yes(B, S))),  # for each sentence, without its two axes
        ("(2, 3, 5, 7) (got (2, 5, 7))", lambda: attend(mask=yes(B, T, S))),  # without the axis of the heads
        ("(5, 5) (got (7, 7))", lambda: lab.scaled_dot_product_attention(*[floats(T, D)] * 3, lab.causal_mask(S))),
        ("(2, 3, 5, 7) (got (1, 1, 1, 5))", lambda: model().decode(ids(B, T), floats(B, S, D), None, yes(1, 1, 1, T))),
        ("(2, 3, 5, 7) (got (2, 5, 7))", lambda: masks.to_torch_attn_mask(yes(B, T, S), B, H)),
    ],
    "causal attention needs as many queries as keys": [
        ("got 1, 7", lambda: lab.tiled_attention(floats(1, D), floats(S, D), floats(S, D), causal=True)),  # a cache
    ],
    "a text may have at most max_len": [
        ("(9) positions (got 12)", lambda: speculate(7)),
    ],
    "a mask must have 2, 3 or 4 axes": [("got 1", lambda: masks.to_torch_attn_mask(yes(S), B, H))],
    "a padding mask must have the shape (B, 1, 1, S)": [
        ("got (2, 1, 7, 7)", lambda: masks.to_torch_key_padding_mask(lab.decoder_mask(ids(B, S), 0))),
        ("got (2, 7)", lambda: masks.to_torch_key_padding_mask(yes(B, S))),
    ],
    "must be divisible by": [
        ("d_model (12) must be divisible by n_heads (5)", lambda: lab.split_heads(floats(B, T, D), 5)),
        ("d_model (12) must be divisible by n_heads (5)", lambda: lab.MultiHeadAttention(D, 5)),
        ("d_model (8) must be divisible by n_heads (512)", lambda: lab.MultiHeadAttention(8, 512)),  # swapped
        ("d_model (12) must be divisible by n_heads (8)", lambda: model(n_heads=8)),
        ("n_heads (12) must be divisible by n_kv_heads (5)", lambda: analysis.DecoderSize(2, 12, 5, 64, 256)),
    ],
    "must be even: a sine and a cosine share each frequency": [
        ("d_model (7)", lambda: lab.sinusoidal_encoding(5, 7)),
        ("d_model (7)", lambda: lab.shift_matrix(1, 7)),
        ("d_model (7)", lambda: lab.rotate(floats(T, 7))),
        ("d_model (9)", lambda: model(d_model=9)),
    ],
    "must be at least": [
        ("n_heads (0)", lambda: lab.MultiHeadAttention(D, 0)),
        ("n_heads (-3)", lambda: lab.MultiHeadAttention(D, -3)),
        ("d_model (0)", lambda: lab.MultiHeadAttention(0, 1)),
        ("d_ff (0)", lambda: lab.FeedForward(D, 0)),
        ("vocab_size (0)", lambda: replace(CONFIG, vocab_size=0)),
        ("d_model (-12)", lambda: replace(CONFIG, d_model=-12)),
        ("n_heads (0)", lambda: replace(CONFIG, n_heads=0)),
        ("d_ff (0)", lambda: replace(CONFIG, d_ff=0)),
        ("n_layers (-1)", lambda: replace(CONFIG, n_layers=-1)),
        ("max_len (0)", lambda: replace(CONFIG, max_len=0)),
        ("pad_id (-100)", lambda: replace(CONFIG, pad_id=-100)),  # torch's ignore_index
        ("length (-1)", lambda: lab.sinusoidal_encoding(-1, D)),
        ("length (-1)", lambda: lab.causal_mask(-1)),
        ("n_heads (0)", lambda: lab.split_heads(floats(B, T, D), 0)),
        ("copies (-1)", lambda: lab.start_decoder(model(), ids(B, S), -1)),
        ("batch (-1)", lambda: masks.to_torch_attn_mask(yes(T, S), -1, H)),
        ("n_heads (-1)", lambda: masks.to_torch_attn_mask(yes(T, S), B, -1)),  # torch: as many as there are
        ("n_heads (0)", lambda: masks.to_torch_attn_mask(yes(T, S), B, 0)),
        ("max_len (0)", lambda: lab.LearnedPositions(0, D)),
        ("n_heads (0)", lambda: lab.alibi_bias(0, T)),
        ("length (-1)", lambda: lab.alibi_bias(H, -1)),
        ("top_k (0)", lambda: lab.top_k_filter(floats(VOCAB), 0)),
        ("max_length (0)", lambda: generate(lab.greedy, max_length=0)),
        ("beam_size (0)", lambda: generate(lab.beam, beam_size=0)),
        ("length_penalty (-1)", lambda: generate(lab.beam, length_penalty=-1)),
        ("length_penalty (nan)", lambda: generate(lab.beam, length_penalty=NAN)),
        ("top_k (-1)", lambda: generate(lab.sample, top_k=-1)),
        ("max_length (0)", lambda: lab.greedy_decode(next_logits, 1, 2, max_length=0)),
        ("beam_size (0)", lambda: lab.beam_search(next_logits, 1, 2, beam_size=0, max_length=9)),
        ("length (-1)", lambda: random_sequences(reverse_alignment, 2, -1, 5)),
        ("below (0)", lambda: tasks.number_names(n_train=1, n_test=0, below=0)),
        ("step (0)", lambda: training.warmup_rate(0, D, 100)),
        ("n_merges (-1)", lambda: Tokenizer.train(["a b"], -1)),
    ],
    "must be a whole number": [
        ("n_heads (1.5)", lambda: lab.MultiHeadAttention(D, 1.5)),
        ("n_heads (4.0)", lambda: lab.MultiHeadAttention(D, D / 3)),  # as in d_model / d_head
        ("n_heads (True)", lambda: lab.MultiHeadAttention(D, True)),
        ("length (2.5)", lambda: lab.causal_mask(2.5)),
        ("n_heads (4.0)", lambda: lab.split_heads(floats(B, T, D), D / 3)),
        ("copies (2.0)", lambda: lab.start_decoder(model(), ids(B, S), 2.0)),
        ("top_k (True)", lambda: lab.route(floats(T, H), True)),
        ("top_k (2.0)", lambda: lab.MixtureOfExperts(D, 11, 4, 2.0)),
        ("length (True)", lambda: lab.causal_mask(True)),
        ("pad_id (None)", lambda: lab.padding_mask(ids(B, S), None)),
        ("pad_id (None)", lambda: lab.next_token_loss(floats(B, T, VOCAB), ids(B, T), None)),
        ("pad_id ('<pad>')", lambda: lab.decoder_mask(ids(B, S), "<pad>")),
        ("n_tokens (3.0)", lambda: lab.bits_per_byte(1.0, 3.0, 3)),
        ("n_merges (0.5)", lambda: Tokenizer.train(["a b"], 0.5)),
        ("top_k (True)", lambda: lab.top_k_filter(floats(VOCAB), True)),
        ("length (2.5)", lambda: lab.sinusoidal_encoding(2.5, D)),
        ("top_k (0.9)", lambda: generate(lab.sample, top_k=0.9)),  # meant is top_p
        ("beam_size (2.0)", lambda: generate(lab.beam, beam_size=2.0)),
        ("max_length (8.5)", lambda: generate(lab.greedy, max_length=8.5)),
    ],
    "must be from 0 to 1": [
        ("dropout (10)", lambda: lab.MultiHeadAttention(D, H, dropout=10)),  # per cent
        ("dropout (-0.1)", lambda: lab.AttentionHead(D, 4, dropout=-0.1)),
        ("dropout (nan)", lambda: lab.MultiHeadAttention(D, H, dropout=NAN)),
        ("dropout (1.5)", lambda: replace(CONFIG, dropout=1.5)),
        ("attention_dropout (-0.5)", lambda: replace(CONFIG, attention_dropout=-0.5)),
    ],
    "must be above 0": [
        ("temperature (0.0)", lambda: generate(lab.sample, temperature=0.0)),
        ("temperature (-1.0)", lambda: generate(lab.sample, temperature=-1.0)),
        ("temperature (nan)", lambda: generate(lab.sample, temperature=NAN)),
        ("top_p (0.0)", lambda: generate(lab.sample, top_p=0.0)),
        ("top_p (90)", lambda: generate(lab.sample, top_p=90)),
        ("top_p (nan)", lambda: lab.top_p_filter(floats(VOCAB), NAN)),
    ],
    "must be above 0, a number from 1.2e-38 to 3.4e+38": [
        ("temperature (1e-45)", lambda: generate(lab.sample, temperature=1e-45)),
        ("temperature (inf)", lambda: generate(lab.sample, temperature=float("inf"))),
        ("temperature ('0.7')", lambda: generate(lab.sample, temperature="0.7")),
    ],
    "dtype must be one of floating-point numbers": [
        ("got torch.int64", lambda: masks.to_additive_mask(yes(T, S), torch.int64))
    ],
    "token_log_probs must be floating-point numbers": [("torch.int64 of shape (5,)", lambda: lab.perplexity(ids(T)))],
    "logits must have the shape (B, T, vocab), and": [
        ("tokens (B, T) (got (2, 5, 13), (2, 7))", lambda: lab.next_token_loss(floats(B, T, VOCAB), ids(B, S), 0)),
        (
            "targets (B, T) (got (2, 5, 13), (2, 7))",
            lambda: training.label_smoothing_loss(floats(B, T, VOCAB), ids(B, S), 0.1, 0),
        ),
    ],
    "logits must be floating-point numbers of 3 axes or more": [
        ("torch.float32 of shape (10, 13)", lambda: lab.next_token_loss(floats(B * T, VOCAB), ids(B, T), 0)),
    ],
    "of a TransformerConfig must be": [
        ("n_layers of a TransformerConfig must be int (got 2.0)", lambda: replace(CONFIG, n_layers=2.0)),
        ("norm_first of a TransformerConfig must be bool (got 'False')", lambda: replace(CONFIG, norm_first="False")),
        ("tie_weights of a TransformerConfig must be bool (got None)", lambda: replace(CONFIG, tie_weights=None)),
        ("dropout of a TransformerConfig must be float (got '0.1')", lambda: replace(CONFIG, dropout="0.1")),
        ("pad_id of a TransformerConfig must be int (got None)", lambda: replace(CONFIG, pad_id=None)),
        ("activation of a TransformerConfig must be str", lambda: replace(CONFIG, activation=F.relu)),
    ],
    "activation must be one of relu, gelu, gelu_tanh, silu": [
        ("got 'swish'", lambda: replace(CONFIG, activation="swish"))
    ],
    "pad_id (13) must be below vocab_size (13)": [("13", lambda: replace(CONFIG, pad_id=VOCAB))],
    "query must be floating-point numbers of shape (B, T, 12)": [
        ("torch.float32 of shape (5, 12)", lambda: attend(query=floats(T, D))),  # a sentence without its batch
        ("torch.float32 of shape (2, 3, 5, 12)", lambda: attend(query=floats(B, H, T, D))),  # split already
        ("torch.float32 of shape (2, 5, 8)", lambda: attend(query=floats(B, T, 8))),
        ("torch.int64 of shape (2, 5)", lambda: attend(query=ids(B, T))),  # not embedded
        ("ndarray", lambda: attend(query=np.ones((B, T, D)))),
        ("torch.float32 of shape (5, 12)", lambda: lab.EncoderLayer(CONFIG)(floats(T, D))),
        ("torch.float32 of shape (2, 3, 5, 12)", lambda: lab.Encoder(CONFIG)(floats(B, H, T, D))),
        ("torch.float32 of shape (2, 5, 8)", lambda: lab.DecoderLayer(CONFIG)(floats(B, T, 8), floats(B, S, D))),
    ],
    "key must be floating-point numbers of shape (B, S, 12)": [
        ("torch.float32 of shape (7, 12)", lambda: attend(key=floats(S, D))),
        ("torch.int64 of shape (2, 7)", lambda: model().decode(ids(B, T), ids(B, S))),  # sources, not their memory
        ("torch.float32 of shape (2, 7, 8)", lambda: lab.Decoder(CONFIG)(floats(B, T, D), floats(B, S, 8))),
    ],
    "value must be floating-point numbers of shape (B, S, 12)": [
        ("torch.int64 of shape (2, 7, 12)", lambda: attend(value=ids(B, S, D))),
        ("NoneType", lambda: attend(value=None)),
    ],
    "key and value must have the same batch and length": [
        ("(2, 7), (2, 5)", lambda: attend(value=floats(B, T, D))),
        ("(2, 7), (2, 9)", lambda: attend(value=floats(B, 9, D), need_weights=True)),
        ("(2, 7), (3, 7)", lambda: attend(value=floats(3, S, D))),
    ],
    "query and key must have the same batch": [
        ("3, 2", lambda: attend(query=floats(3, T, D))),
        ("2, 1", lambda: attend(key=floats(1, S, D), value=floats(1, S, D))),
        ("2, 3", lambda: model()(ids(3, S), ids(B, T))),
        ("3, 2", lambda: model().decode(ids(3, T), floats(B, S, D))),
    ],
    "x must be floating-point numbers": [
        ("torch.int64 of shape (5, 12)", lambda: lab.rotate(ids(T, D))),
        ("torch.float32 of shape (12,)", lambda: lab.rotate(floats(D))),
        ("torch.float32 of shape (5, 12)", lambda: lab.SinusoidalPositions(9, D)(floats(T, D))),
        ("torch.int64 of shape (2, 5)", lambda: lab.SinusoidalPositions(9, D)(ids(B, T))),
        ("torch.float32 of shape (2, 5, 1)", lambda: lab.LearnedPositions(9, D)(floats(B, T, 1))),
    ],
    "must be token ids, torch.int64 or int32, of shape (B, T)": [
        ("torch.int64 of shape (7,)", lambda: lab.padding_mask(ids(S), 0)),
        ("torch.float32 of shape (2, 7, 13)", lambda: lab.padding_mask(floats(B, S, VOCAB), 0)),
        ("torch.int64 of shape (7,)", lambda: lab.decoder_mask(ids(S), 0)),
        ("torch.bool of shape (2, 7)", lambda: lab.decoder_mask(yes(B, S), 0)),
        ("torch.float32 of shape (2, 7)", lambda: model()(floats(B, S), ids(B, T))),
        ("torch.int64 of shape (5,)", lambda: model()(ids(B, S), ids(T))),
        ("torch.int64 of shape (2, 7, 13)", lambda: model()(ids(B, S, VOCAB), ids(B, T))),  # one-hot
        ("torch.float32 of shape (2, 5, 13)", lambda: model()(ids(B, S), floats(B, T, VOCAB))),  # logits
        ("list", lambda: model()([[3, 4]], ids(1, T))),
        ("ndarray", lambda: model().encode(np.array([[3, 4]]))),
        ("str", lambda: model().encode("three")),
        ("torch.int64 of shape ()", lambda: lab.Embedding(CONFIG)(torch.tensor(3))),
        ("torch.int64 of shape (7,)", lambda: generate(lab.greedy, src=ids(S))),
        ("list", lambda: generate(lab.beam, src=["three", "four"])),
        ("torch.float32 of shape (2, 7)", lambda: generate(lab.sample, src=floats(B, S))),
    ],
    "token ids must be from 0 to 12": [
        ("got 3 to 13", lambda: model()(torch.tensor([[3, VOCAB]]), ids(1, T))),
        ("got -1 to 3", lambda: model()(torch.tensor([[3, -1]]), ids(1, T))),
        ("got -100 to 3", lambda: model()(ids(1, S), torch.tensor([[3, -100]]))),  # torch's ignore_index
        ("got 3 to 500", lambda: generate(lab.greedy, src=torch.tensor([[3, 500]]))),
    ],
    "must be one of the model's tokens, from 0 to 12": [
        ("bos_id (13)", lambda: generate(lab.greedy, bos_id=VOCAB)),
        ("bos_id (-1)", lambda: generate(lab.beam, bos_id=-1)),
        ("bos_id (None)", lambda: generate(lab.greedy, bos_id=None)),
        ("eos_id ('</s>')", lambda: generate(lab.greedy, eos_id="</s>")),
        ("eos_id (99)", lambda: generate(lab.greedy, eos_id=99)),
        ("eos_id (-1)", lambda: generate(lab.sample, eos_id=-1)),
    ],
    "a sequence may have at most max_len": [
        ("(17) positions (got 18)", lambda: model()(ids(B, 18), ids(B, T))),
        ("(17) positions (got 30)", lambda: model()(ids(B, S), ids(B, 30))),
        ("(9) positions (got 10)", lambda: lab.LearnedPositions(9, D)(floats(B, 10, D))),
        ("(17) positions (got 99)", lambda: generate(lab.greedy, src=ids(B, 99))),
    ],
    "at most max_len (17)": [("max_length (18)", lambda: generate(lab.greedy, max_length=18))],
    "the first position of a sequence must be at least 0": [
        ("got -3", lambda: lab.SinusoidalPositions(9, D)(floats(B, T, D), start=-3)),
        ("got -1", lambda: lab.Embedding(CONFIG)(ids(B, T), start=-1)),
    ],
    "bos_id (0) must differ from pad_id": [("to padding", lambda: generate(lab.greedy, bos_id=0))],
    "logits must be numbers, not all of them -inf": [
        ("the model's logits hold NaN", lambda: generate(lab.greedy, model=broken_model())),
        ("the model's logits hold NaN", lambda: generate(lab.sample, model=broken_model())),
        ("the model's logits hold NaN", lambda: generate(lab.sample, model=broken_model(), top_k=1)),
        ("the model's logits hold NaN", lambda: generate(lab.beam, model=broken_model())),
        ("the model's logits hold NaN", lambda: lab.greedy_decode(lambda ids: NAN * next_logits(ids), 1, 2, 9)),
        (
            "the model's logits hold -inf alone",
            lambda: lab.greedy_decode(lambda ids: next_logits(ids).log().log(), 1, 2, 9),
        ),
        ("log probabilities hold NaN", lambda: lab.beam_search(lambda ids: NAN * next_logits(ids), 1, 2, 2, 9)),
    ],
    "both modules must have the same": [
        ("number of heads to be copied (3, 4)", lambda: copy(nn.MultiheadAttention(D, 4))),
        ("norm_first to be copied (False, True)", lambda: copy(torchs_layer(norm_first=True))),
        ("activation to be copied (relu, gelu)", lambda: copy(torchs_layer(activation="gelu"))),
        ("eps to be copied (1e-05, 1e-06)", lambda: copy(torchs_layer(layer_norm_eps=1e-6))),
    ],
    "torch.nn must have a counterpart": [
        ("got Linear", lambda: torch_nn.copy_to_torch(nn.Linear(2, 2), nn.Linear(2, 2)))
    ],
    "the counterpart of MultiHeadAttention must be": [("got Linear", lambda: copy(nn.Linear(2, 2)))],
    "weights must have equal shapes": [("(24, 24)", lambda: copy(nn.MultiheadAttention(24, H)))],
    "a text must consist of the symbols a b": [("got 'c'", lambda: Vocabulary(["a", "b"]).encode("a c"))],
    "ids must be from 0 to 4": [
        ("got -1", lambda: Vocabulary(["a", "b"]).decode([-1])),
        ("got 5", lambda: Vocabulary(["a", "b"]).decode([5])),
        ("got [3, 4]", lambda: Vocabulary(["a", "b"]).decode([[3, 4]])),  # a batch
    ],
    "a symbol must be a text without white space": [
        ("got 7", lambda: Vocabulary([7])),
        ("got 'a b'", lambda: Vocabulary(["a b"])),
    ],
    "num2words does not know the language": [("'deutsch'", lambda: tasks.number_names("en", "deutsch"))],
    "texts must be several texts": [("got one: 'a b'", lambda: Tokenizer.train("a b", 1))],
    "no symbol occurs twice": [("length (9)", lambda: random_sequences(reverse_alignment, 2, 9, 5))],
}


@pytest.mark.parametrize(
    ("rule", "fact", "call"),
    [(rule, fact, call) for rule, mistakes in MISTAKES.items() for fact, call in mistakes],
    ids=[f"{rule} | {fact}" for rule, mistakes in MISTAKES.items() for fact, _ in mistakes],
)
def test_a_mistake_is_answered_with_the_rule_and_the_fact(rule, fact, call):
    """As in users' hands: no signature is checked."""
    with without_signature_checks(), pytest.raises(ValueError, match=re.escape(rule)) as error:
        call()
    assert fact in str(error.value)


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8])
def test_a_size_may_be_a_number_of_numpy_s(kind):
    with without_signature_checks():
        assert torch.equal(lab.sinusoidal_encoding(kind(S), kind(D)), lab.sinusoidal_encoding(S, D))
        assert lab.top_k_filter(torch.arange(3.0), kind(1)).isfinite().tolist() == [False, False, True]
        assert lab.MultiHeadAttention(kind(D), kind(H))(*[floats(B, T, D)] * 3)[0].shape == (B, T, D)


def test_a_length_may_be_one_that_torch_export_keeps_open():
    class Encoding(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return lab.rotate(x)

    with without_signature_checks():
        exported = torch.export.export(Encoding(), (floats(T, D),), dynamic_shapes=({0: torch.export.Dim("T")},))
        torch.testing.assert_close(exported.module()(floats(S, D)), lab.rotate(floats(S, D)))
