"""Every public name at work on another device than the CPU, though this machine may have none.

Under torch's FakeTensorMode a tensor has a type, a shape and a device, and no numbers; where two devices meet it raises
FakeTensorDeviceMismatchError, as a GPU would. The other device is "meta", since a CPU build of torch refuses "cuda".
torch's default device stays the CPU: so a tensor that the code makes without saying where is found.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorDeviceMismatchError, FakeTensorMode, unset_fake_temporarily
from torch.utils._python_dispatch import TorchDispatchMode

import transformer_lab as lab
from transformer_lab import analysis, training
from transformer_lab.data.texts import Characters
from transformer_lab.data.tokenizer import Tokenizer
from transformer_lab.models.since_llama.feed_forwards import GeGLU
from transformer_lab.models.since_llama.latent_attention import LowRankLinear
from transformer_lab.models.since_llama.layers import OpenAttention
from transformer_lab.models.since_llama.residuals import SandwichResidual
from transformer_lab.models.since_llama.rope_scaling import LinearScaling, PartialRotaryPositions, ScaledRotaryPositions
from transformer_lab.nn import masks
from transformer_lab.nn.positions import RotaryPositions
from transformer_lab.weights import torch_nn

TOKENIZER = Tokenizer.train(["a b"], n_merges=0)
B, T, S, H, D, VOCAB, PAD, BOS, EOS = 2, 5, 7, 3, 12, len(TOKENIZER), 0, 1, 2
CONFIG = lab.TransformerConfig(vocab_size=VOCAB, d_model=D, n_heads=H, d_ff=11, n_layers=1, max_len=9)
TEXT_CONFIG = lab.LanguageModelConfig(VOCAB, D, H, 11, 1, max_len=9, positions="rotary")
ENCODER_CONFIG = lab.TextEncoderConfig(VOCAB, D, H, 11, 1, max_len=9)
IDS = {"bos_id": BOS, "eos_id": EOS, "max_length": 4}


class AnyNumber(TorchDispatchMode):
    """Code that asks a fake tensor for its number is told 1, or False, and goes on: most do so to know when to stop."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        match function:
            case torch.ops.aten._local_scalar_dense.default:
                return False if args[0].dtype == torch.bool else 1.0 if args[0].is_floating_point() else 1
            case torch.ops.aten.equal.default:
                return True
            case torch.ops.aten.nonzero.default:
                return torch.ones(1, args[0].ndim, dtype=torch.int64, device=args[0].device)
        return function(*args, **(kwargs or {}))


class Maker:
    """Makes what the entries below work on, all of it on one device but, if asked, for one tensor or module."""

    def __init__(self, path: Path, planted: int | None = None):
        self.path, self.planted, self.made = path, planted, 0  # the path is that of a stored training

    def device(self) -> str:
        self.made += 1
        return "cpu" if self.made - 1 == self.planted else "meta"

    def floats(self, *shape: int) -> Tensor:
        return torch.ones(shape, device=self.device()).requires_grad_()

    def ids(self, *shape: int) -> Tensor:
        return torch.full(shape, 3, device=self.device())

    def mask(self, *shape: int) -> Tensor:
        return torch.ones(shape, dtype=torch.bool, device=self.device())

    def module(self, kind: Callable[..., nn.Module], *sizes: Any) -> nn.Module:
        with unset_fake_temporarily():  # `Module.to` cannot move fake tensors; the mode takes real ones for fake
            return kind(*sizes).to(self.device())

    def transformer(self) -> lab.Transformer:
        return self.module(lab.Transformer, CONFIG)

    def language_model(self, **changes: Any) -> lab.LanguageModel:
        return self.module(lab.LanguageModel, replace(TEXT_CONFIG, **changes))

    def attention(self) -> lab.MultiHeadAttention:
        return self.module(lab.MultiHeadAttention, D, H)


def by_any_mask(attend: Callable[..., Any], make: Maker, *arguments: Any) -> list[Any]:
    """The same call with no mask and with one of each shape."""
    shapes = ((T, S), (B, 1, 1, S), (B, H, T, S))
    return [attend(*arguments, None), *(attend(*arguments, make.mask(*shape)) for shape in shapes)]


def recorded(make: Maker) -> list[Tensor]:
    model, src, tgt = make.transformer(), make.ids(B, S), make.ids(B, T)
    with lab.record_attention(model) as maps:
        model(src, tgt)
    return [*maps.values()]


def cached(make: Maker) -> Tensor:
    attention, cache = make.attention(), lab.KVCache()
    x = make.floats(B, 1, D)
    attention(x, x, x, cache=cache.layer(0))
    cache.select(make.ids(B) * 0)
    return attention(x, x, x, cache=cache.layer(0))[0]


def written_step_by_step(make: Maker) -> Tensor:
    decoder = lab.CachedDecoder(make.transformer(), make.floats(B, S, D), make.mask(B, 1, 1, S))
    decoder(make.ids(B, 3))
    decoder.select(make.ids(B) * 0)
    return decoder(make.ids(B, 1))


def next_logits(logits: Tensor, ids: list[int]) -> Tensor:
    return logits * len(ids)


def copied(copy: Callable[[nn.Module, nn.Module], None], make: Maker) -> list[nn.Module]:
    pair = [make.module(nn.MultiheadAttention, D, H), make.attention()]
    copy(*(pair if copy is torch_nn.copy_from_torch else reversed(pair)))
    return pair


def examples() -> training.Examples:
    return training.Examples(torch.full((9, S), 3), torch.full((9, T), 3), BOS, PAD)


def trained(make: Maker) -> nn.Module:
    run = training.Training(make.transformer(), examples(), training.Recipe(batch_size=4))
    assert len(list(run.run(until=2))) == 2
    return run.model


def text_training(model: nn.Module) -> training.TextTraining:
    return training.TextTraining(
        model, training.TextExamples(torch.full((99,), 3), 9), training.TextRecipe(3, batch_size=4)
    )


def trained_on_text(make: Maker) -> nn.Module:
    run = text_training(make.language_model())
    assert len(list(run.run(until=2))) == 2
    return run.model


def loaded_language_model(make: Maker) -> Tensor:
    with unset_fake_temporarily():
        path = make.path.with_name("text.safetensors")
        model = lab.LanguageModel(replace(TEXT_CONFIG, vocab_size=3))
        training.save_checkpoint(path, model, Characters("a"), {})
        model, _, _ = training.load_language_model(path)
        model.to(make.device())
    return model(make.ids(B, S))


def read_in_two_parts(make: Maker) -> list[Tensor]:
    """With positions of each kind."""
    logits = []
    for positions in ("learned", "rotary", "sinusoidal"):
        model, cache = make.language_model(positions=positions), lab.KVCache()
        logits += [model(make.ids(B, T), cache), model(make.ids(B, 2), cache)]
    return logits


def open_model() -> lab.OpenModel:
    """A layer with a window, whose attention has norms and angles for long texts."""
    positions = ScaledRotaryPositions(9, 4, 10.0, LinearScaling(2.0))
    residuals = lab.PreNormResidual(D), SandwichResidual(D)
    layer = lab.SlidingWindowLayer(
        OpenAttention(D, H, 1, 4, positions, lab.QKNorm(4)), GeGLU(D, 11), *residuals, window=3
    )
    config = lab.OpenModelConfig(VOCAB, D, H, 11, 1, max_len=9, positions="rotary")
    return lab.OpenModel(config, [layer], lab.RMSNorm(D))


def read_by_an_open_model(make: Maker) -> list[Tensor]:
    model, cache = make.module(open_model), lab.KVCache()
    return [model(make.ids(B, T), cache), model(make.ids(B, 2), cache)]


def latent() -> lab.LatentAttention:
    return lab.LatentAttention(D, H, 6, 10, 8, RotaryPositions(9, 4), LowRankLinear(D, 5, H * 10))


def experts() -> lab.SigmoidExperts:
    return lab.SigmoidExperts(D, 11, 8, 3, nn.Linear(D, D), 2.0, 4, 2)


def read_twice(attention: nn.Module, make: Maker) -> list[Tensor]:
    cache = lab.KVCache()
    return [attention(x, x, x, cache=cache.layer(0))[0] for x in (make.floats(B, T, D), make.floats(B, 1, D))]


def loaded(make: Maker) -> Tensor:
    with unset_fake_temporarily():  # a file is read where tensors have numbers
        model, _, _ = training.load_checkpoint(make.path)
        model.to(make.device())
    return model(make.ids(B, S), make.ids(B, T))


def gone_on(make: Maker) -> nn.Module:
    with unset_fake_temporarily():
        run = training.load_training(make.path, examples(), make.device())
    assert len(list(run.run(until=3))) == 2
    return run.model


def stepped(make: Maker) -> nn.Module:
    model = make.transformer()
    optimizer = training.paper_adam(model)
    model(make.ids(B, S), make.ids(B, T)).sum().backward()
    optimizer.step()
    return model


def norms(make: Maker) -> tuple[Tensor, Tensor]:
    layers, states = [make.module(nn.Linear, D, D) for _ in range(2)], [make.floats(B, D)]
    for layer in layers:
        states.append(layer(states[-1]))
    return analysis.norms_by_layer(states, states[-1])


def intervened(make: Maker) -> Tensor:
    """Everything that can be put in a model's place, at once."""
    model, layer = make.language_model(), "layers.0.self_attention"
    x, outputs = make.floats(B, T, D), make.floats(B, H, T, D // H)
    with (
        analysis.ablate(model, layer, 1, mean=True),
        analysis.patch_heads(model, layer, outputs, heads=[0], positions=[1, 2]),
        analysis.patch_input(model, layer, "key", x, positions=[1]),
    ):
        return model(make.ids(B, T))


def switched(make: Maker) -> Tensor:
    """A translator with a part of every kind switched off, and a vector of a head swapped."""
    model, layer = make.transformer(), "encoder.layers.0.self_attention"
    parts = ("src_embedding.positions", f"{layer}.head.0", "encoder.layers.0.residual_1.skip")
    more = ("encoder.layers.0.residual_2.norm", "decoder.layers.0.self_attention.mask")
    with (
        analysis.switched_off(model, *parts, *more, "decoder.layers.0.feed_forward"),
        analysis.swapped(model, layer, 1, make.floats(D // H), head=1),
    ):
        return model(make.ids(B, T), make.ids(B, T))


def recorded_parts(make: Maker) -> list[Tensor]:
    model, tokens = make.module(lab.AttentionOnly, VOCAB, D, H, 2), make.ids(B, T)
    with analysis.record_heads(model) as heads, analysis.record_states(model) as states:
        model(tokens)
    return [*heads.values(), *states]


def mixed(make: Maker) -> list[Tensor]:
    mixture = make.module(lab.MixtureOfExperts, D, 11, 4)
    with lab.record_routing(mixture) as said:
        out = mixture(make.floats(B, T, D))
    return [out, *said]


ENTRIES: dict[str, Callable[[Maker], Any]] = {
    # attention
    "softmax": lambda make: lab.softmax(make.floats(B, T, S), -1),
    "masked_softmax": lambda make: lab.masked_softmax(make.floats(B, H, T, S), make.mask(B, 1, 1, S)),
    "scaled_dot_product_attention": lambda make: by_any_mask(
        lab.scaled_dot_product_attention,
        make,
        make.floats(B, H, T, D),
        make.floats(B, H, S, D),
        make.floats(B, H, S, D),
    ),
    "split_heads": lambda make: lab.split_heads(make.floats(B, T, D), H),
    "merge_heads": lambda make: lab.merge_heads(make.floats(B, H, T, D)),
    "multi_head_attention": lambda make: lab.multi_head_attention(
        make.floats(B, T, D), make.floats(B, S, D), make.floats(B, S, D), *(make.floats(D, D) for _ in range(4)), H
    ),
    "grouped_query_attention": lambda make: lab.grouped_query_attention(
        make.floats(B, 6, T, D), make.floats(B, 3, S, D), make.floats(B, 3, S, D), make.mask(T, S)
    ),
    "GroupedQueryAttention": lambda make: make.module(lab.GroupedQueryAttention, D, H, 1)(
        make.floats(B, T, D), make.floats(B, S, D), make.floats(B, S, D), make.mask(T, S)
    ),
    "cached_attention": lambda make: lab.cached_attention(
        *(make.floats(B, H, 1, D) for _ in range(3)), make.floats(2, B, H, T, D)
    ),
    "KVCache": cached,
    "AttentionHead": lambda make: make.module(lab.AttentionHead, D, 5)(
        make.floats(B, T, D), make.floats(B, S, D), make.floats(B, S, D), make.mask(T, S)
    ),
    "MultiHeadAttention": lambda make: by_any_mask(
        make.attention(), make, make.floats(B, T, D), make.floats(B, S, D), make.floats(B, S, D)
    ),
    "record_attention": recorded,
    # fast
    "online_softmax": lambda make: lab.online_softmax([make.floats(B, T, S), make.floats(B, T, 2)]),
    "merge_partial": lambda make: lab.merge_partial(*(make.floats(*n) for n in ((B, T, D), (B, T)) * 2)),
    "attention_backward": lambda make: lab.attention_backward(
        make.floats(B, T, D), make.floats(B, S, D), make.floats(B, S, D), make.floats(B, T, D)
    ),
    "tiled_attention": lambda make: by_any_mask(
        lambda query, key, value, mask: lab.tiled_attention(query, key, value, mask, tile=3),
        make,
        make.floats(B, H, T, D),
        make.floats(B, H, S, D),
        make.floats(B, H, S, D),
    ),
    # masks
    "causal_mask": lambda make: lab.causal_mask(T, make.device()),
    "padding_mask": lambda make: lab.padding_mask(make.ids(B, S), PAD),
    "decoder_mask": lambda make: lab.decoder_mask(make.ids(B, S), PAD),
    "to_torch_attn_mask": lambda make: masks.to_torch_attn_mask(make.mask(B, 1, T, S), B, H),
    "to_torch_key_padding_mask": lambda make: masks.to_torch_key_padding_mask(make.mask(B, 1, 1, S)),
    "to_additive_mask": lambda make: masks.to_additive_mask(make.mask(T, S)),
    # positions
    "sinusoidal_encoding": lambda make: lab.sinusoidal_encoding(T, D, make.device()),
    "shift_matrix": lambda make: lab.shift_matrix(3, D, make.device()),
    "alibi_bias": lambda make: lab.alibi_bias(H, T, make.device()),
    "rotate": lambda make: lab.rotate(make.floats(B, H, T, D)),
    "SinusoidalPositions": lambda make: lab.SinusoidalPositions(T, D)(make.floats(B, T, D)),
    "LearnedPositions": lambda make: make.module(lab.LearnedPositions, T, D)(make.floats(B, T, D)),
    # blocks
    "FeedForward": lambda make: make.module(lab.FeedForward, D, 11)(make.floats(B, T, D)),
    "layer_norm": lambda make: lab.layer_norm(make.floats(B, T, D), make.floats(D), make.floats(D), 1e-5),
    "rms_norm": lambda make: lab.rms_norm(make.floats(B, T, D), make.floats(D), 1e-5),
    "RMSNorm": lambda make: make.module(lab.RMSNorm, D)(make.floats(B, T, D)),
    "swiglu": lambda make: lab.swiglu(make.floats(B, T, D), make.floats(D, 11), make.floats(D, 11), make.floats(11, D)),
    "SwiGLU": lambda make: make.module(lab.SwiGLU, D, 11)(make.floats(B, T, D)),
    "route": lambda make: lab.route(make.floats(B, T, 4), 2),
    "balance_loss": lambda make: lab.balance_loss(make.floats(B, T, 4), 2),
    **dict.fromkeys(("MixtureOfExperts", "record_routing"), mixed),
    "LayerNorm": lambda make: make.module(lab.LayerNorm, D)(make.floats(B, T, D)),
    "residual_block": lambda make: lab.residual_block(
        make.floats(B, T, D), make.module(nn.Linear, D, D), make.module(lab.LayerNorm, D), True
    ),
    "Residual": lambda make: make.module(lab.Residual, D)(make.floats(B, T, D), torch.sin),
    "PreNormResidual": lambda make: make.module(lab.PreNormResidual, D)(make.floats(B, T, D), torch.sin),
    # model
    "embed": lambda make: lab.embed(make.ids(B, T), make.floats(VOCAB, D), make.floats(T, D)),
    "Embedding": lambda make: make.module(lab.Embedding, CONFIG)(make.ids(B, T), start=3),
    "encoder_layer": lambda make: lab.encoder_layer(
        make.floats(B, T, D),
        lambda q, k, v, mask: v,
        torch.sin,
        *(make.module(lab.LayerNorm, D) for _ in range(2)),
        None,
    ),
    "decoder_layer": lambda make: lab.decoder_layer(
        make.floats(B, T, D),
        make.floats(B, T, D),
        *(lambda q, k, v, mask: q + v,) * 2,
        torch.sin,
        *(make.module(lab.LayerNorm, D) for _ in range(3)),
        None,
        None,
    ),
    "EncoderLayer": lambda make: make.module(lab.EncoderLayer, CONFIG)(make.floats(B, T, D), make.mask(T, T)),
    "Encoder": lambda make: make.module(lab.Encoder, CONFIG)(make.floats(B, T, D), make.mask(T, T)),
    "DecoderLayer": lambda make: make.module(lab.DecoderLayer, CONFIG)(
        make.floats(B, T, D), make.floats(B, S, D), make.mask(T, T), make.mask(B, 1, 1, S)
    ),
    "Decoder": lambda make: make.module(lab.Decoder, CONFIG)(
        make.floats(B, T, D), make.floats(B, S, D), make.mask(T, T), make.mask(B, 1, 1, S)
    ),
    "Transformer": lambda make: make.transformer()(make.ids(B, S), make.ids(B, T)),
    # language_model and completion
    "LanguageModel": read_in_two_parts,
    # since Llama
    "qk_norm": lambda make: lab.qk_norm(
        make.floats(B, H, T, D), make.floats(B, 1, T, D), make.floats(D), make.floats(D), 1e-6
    ),
    "QKNorm": lambda make: make.module(lab.QKNorm, D)(make.floats(B, H, T, D), make.floats(B, 1, T, D)),
    "sliding_window_mask": lambda make: lab.sliding_window_mask(T, 3, make.device()),
    "soft_cap": lambda make: lab.soft_cap(make.floats(B, T), 3.0),
    **dict.fromkeys(("SlidingWindowLayer", "OpenModel"), read_by_an_open_model),
    "sink_attention": lambda make: by_any_mask(
        lambda *given: lab.sink_attention(*given[:3], make.floats(H), given[3]),
        make,
        *(make.floats(B, H, T, D), make.floats(B, H, S, D), make.floats(B, H, S, D)),
    ),
    "SinkAttention": lambda make: make.module(
        lab.SinkAttention, D, H, 1, 4, ScaledRotaryPositions(9, 4, 10.0, LinearScaling())
    )(*[make.floats(B, T, D)] * 3, make.mask(T, T)),
    "latent_attention": lambda make: by_any_mask(
        lab.latent_attention,
        make,
        *(make.floats(B, H, T, 6), make.floats(B, H, T, 4), make.floats(B, S, 10), make.floats(B, S, 4)),
        *(make.floats(H, 10, 6), make.floats(H, 10, 8)),
    ),
    "LatentAttention": lambda make: read_twice(make.module(latent), make),
    "delta_rule": lambda make: lab.delta_rule(
        *(make.floats(B, T, 4), make.floats(B, T, 4), make.floats(B, T, D)), *(make.floats(B, T), make.floats(B, T))
    ),
    "linear_attention": lambda make: lab.linear_attention(
        *(make.floats(B, T, 4), make.floats(B, T, 4), make.floats(B, T, D)), make.floats(B, T)
    ),
    "chunked_delta_rule": lambda make: lab.chunked_delta_rule(
        *(make.floats(B, T, 4), make.floats(B, T, 4), make.floats(B, T, D)), *(make.floats(B, T), make.floats(B, T)), 2
    ),
    "GatedDeltaNet": lambda make: read_twice(make.module(lab.GatedDeltaNet, D, 2, 4, 3, 5), make),
    "GatedAttention": lambda make: make.module(
        lab.GatedAttention, D, H, 1, 4, PartialRotaryPositions(RotaryPositions(9, 2), 4)
    )(*[make.floats(B, T, D)] * 3, make.mask(T, T)),
    "sigmoid_route": lambda make: lab.sigmoid_route(make.floats(B, T, 8), make.floats(8), 3, 4, 2),
    "SigmoidExperts": lambda make: make.module(experts)(make.floats(B, T, D)),
    "next_token_loss": lambda make: lab.next_token_loss(make.floats(B, T, VOCAB), make.ids(B, T), PAD),
    "perplexity": lambda make: lab.perplexity(make.floats(T)),
    "AttentionOnly": lambda make: make.module(lab.AttentionOnly, VOCAB, D, H, 2, "learned")(make.ids(B, T)),
    "TextEncoder": lambda make: make.module(lab.TextEncoder, ENCODER_CONFIG)(make.ids(B, T), make.ids(B, T) * 0),
    "mean_pool": lambda make: lab.mean_pool(make.floats(B, T, D), make.mask(B, T)),
    "answer_loss": lambda make: lab.answer_loss(make.floats(B, T, VOCAB), make.ids(B, T), make.mask(B, T)),
    "lora_forward": lambda make: lab.lora_forward(
        make.floats(B, T, D), make.floats(S, D), make.floats(2, D), make.floats(S, 2), 3.0
    ),
    "group_advantages": lambda make: lab.group_advantages(make.floats(B, S)),
    "clipped_objective": lambda make: lab.clipped_objective(make.floats(T), make.floats(T), make.floats(T), 0.2),
    "dpo_loss": lambda make: lab.dpo_loss(*(make.floats(B) for _ in range(4)), 0.1),
    "complete": lambda make: lab.complete(make.language_model(), make.ids(B, T), 7, mask=make.mask(B, T), top_k=3),
    "token_log_probs": lambda make: lab.token_log_probs(make.language_model(), make.ids(30)),
    "residual_distribution": lambda make: lab.residual_distribution(make.floats(B, VOCAB), make.floats(B, VOCAB)),
    # decoding: a model is a function, from a list of ids to logits
    "greedy_decode": lambda make: lab.greedy_decode(partial(next_logits, make.floats(VOCAB)), **IDS),
    "beam_search": lambda make: lab.beam_search(partial(next_logits, make.floats(VOCAB)), beam_size=2, **IDS),
    "top_k_filter": lambda make: lab.top_k_filter(make.floats(B, VOCAB), 5),
    "top_p_filter": lambda make: lab.top_p_filter(make.floats(B, VOCAB), 0.5),
    # generation
    "CachedDecoder": written_step_by_step,
    "start_decoder": lambda make: lab.start_decoder(make.transformer(), make.ids(B, S), copies=3)(
        torch.full((3 * B, 1), 3, device="meta")
    ),
    "greedy": lambda make: lab.greedy(make.transformer(), make.ids(B, S), **IDS),
    "sample": lambda make: lab.sample(make.transformer(), make.ids(B, S), top_k=5, top_p=0.5, **IDS),
    "beam": lambda make: lab.beam(make.transformer(), make.ids(B, S), beam_size=3, **IDS),
    # interop
    "copy_to_torch": partial(copied, torch_nn.copy_to_torch),
    "copy_from_torch": partial(copied, torch_nn.copy_from_torch),
    # analysis
    "softmax_jacobian": lambda make: analysis.softmax_jacobian(make.floats(B, S)),
    "head_contributions": lambda make: analysis.head_contributions(
        make.attention(), make.floats(B, T, D), make.floats(B, S, D), make.floats(B, S, D), make.mask(T, S)
    ),
    "induction_score": lambda make: analysis.induction_score(make.floats(2, 6, 6), 3),
    "logit_lens": lambda make: analysis.logit_lens(make.floats(B, T, 4), lambda x: x, make.floats(7, 4)),
    "ablate_head": lambda make: analysis.ablate_head(make.floats(B, 2, T, 3), make.floats(6, 6), 1),
    **dict.fromkeys(("swapped", "switched_off"), switched),
    **dict.fromkeys(("ablate", "patch_heads", "patch_input"), intervened),
    **dict.fromkeys(("record_heads", "record_states"), recorded_parts),
    "peak_bytes": lambda make: analysis.peak_bytes(lambda: make.floats(B, S) + make.floats(B, S)),
    "entropy": lambda make: analysis.entropy(make.floats(B, S)),
    "norms_by_layer": norms,
    "cross_attention": lambda make: analysis.cross_attention(make.transformer(), make.ids(1, S), make.ids(1, T)),
    # training
    "shift_right": lambda make: training.shift_right(make.ids(B, T), BOS),
    "label_smoothing_loss": lambda make: training.label_smoothing_loss(
        make.floats(B, T, VOCAB), make.ids(B, T), 0.1, PAD
    ),
    "Training": trained,
    "TextTraining": trained_on_text,
    "load_language_model": loaded_language_model,
    "paper_adam": stepped,
    "load_checkpoint": loaded,
    "load_training": gone_on,
    "translate": lambda make: training.translate(make.transformer(), TOKENIZER, ["a b", "b"]),
    "average_weights": lambda make: training.average_weights([make.transformer().state_dict()] * 2),
    "exact_match": lambda make: training.exact_match(make.transformer(), TOKENIZER, [("a b", "b")]),
}


NO_TENSORS = {
    *("checkpoint_path", "load_table"),
    *("LanguageModelConfig", "OpenModelConfig", "TextEncoderConfig", "TextRecipe", "bits_per_byte"),
    *("pass_at_k", "verifies"),
    *("TransformerConfig", "Recipe", "Report", "default_device", "warmup_rate", "progress", "DecoderSize", "PRESETS"),
    *(
        "planted_induction",
        "token_names",
        "cache_bytes",
        "cost_of_a_token",
        "flops_of_a_position",
        "flops_of_a_pair",
        "flops_with_cache",
    ),
    *("flops_without_cache", "tile_bytes"),
}
ELSEWHERE = {
    "Examples": "tables, which stay on the CPU: see Training",
    "TextExamples": "a text, which stays on the CPU: see TextTraining",
    "Speculation": "a text that was written, and how: see speculative",
    "speculative": "judges on the CPU, token by token, by numbers that a fake tensor has not",
    "save_checkpoint": "writes numbers, and a fake tensor has none",
    "save_training": "writes numbers, and a fake tensor has none",
}
ENDS_ON_THE_CPU = {"cross_attention", "norms_by_layer"}  # they are for pictures
# The tensor with this number, in the order in which an entry makes them, may lie on the CPU …
HARMLESS = {("KVCache", 2): "torch picks rows by a CPU tensor on any device", ("CachedDecoder", 4): "the same"}
HARMLESS |= dict.fromkeys([("token_log_probs", 0), ("token_log_probs", 1)], "a text is brought to the model")
HARMLESS |= {("embed", 0): "torch's fake F.embedding does not look, a GPU's does"}
HARMLESS |= dict.fromkeys(
    [("Embedding", 0), ("Embedding", 1), ("record_attention", 0), ("cross_attention", 0)], "the same"
)
HARMLESS |= {("TextEncoder", 2): "the same"}
HARMLESS |= dict.fromkeys([("swapped", 3), ("switched_off", 3)], "the same: the target's mask is switched off")


def public(module: ModuleType) -> set[str]:
    """The names that a module offers: its `__all__`, or the functions that it defines."""
    own = {name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__}
    return set(getattr(module, "__all__", {name for name in own if inspect.isfunction(vars(module)[name])}))


def tensors_in(result: Any) -> Iterator[Tensor]:
    """All tensors in what an entry returns, and the gradients of modules."""
    match result:
        case Tensor():
            yield result
        case nn.Module():
            yield from (tensor for p in result.parameters() for tensor in (p, p.grad) if tensor is not None)
        case tuple() | list():
            for part in result:
                yield from tensors_in(part)


@pytest.fixture(scope="module")
def stored(tmp_path_factory) -> Path:
    """A training, one step old, as it was saved on a CPU."""
    path = tmp_path_factory.mktemp("fake") / "training.safetensors"
    run = training.Training(lab.Transformer(CONFIG), examples(), training.Recipe(batch_size=4))
    list(run.run(until=1))
    training.save_training(path, run, TOKENIZER, {})
    return path


@pytest.fixture
def run(stored, monkeypatch) -> Callable[..., tuple[Any, int]]:
    """Runs an entry; what it returns, and how many tensors and modules it made."""
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: nullcontext())  # there is none for "meta"
    swaps = torch.__future__.get_swap_module_params_on_conversion
    monkeypatch.setattr(torch.__future__, swaps.__name__, lambda: True)  # a move to "meta" unties weights otherwise

    def run(name: str, planted: int | None = None) -> tuple[Any, int]:
        make = Maker(stored, planted)
        with FakeTensorMode(allow_non_fake_inputs=True), AnyNumber():
            return ENTRIES[name](make), make.made

    return run


def test_every_public_name_is_tried():
    names = public(lab) | public(training) | public(analysis) | public(masks) | {"copy_to_torch", "copy_from_torch"}
    assert sorted(names) == sorted([*ENTRIES, *NO_TENSORS, *ELSEWHERE])


@pytest.mark.parametrize("name", ENTRIES)
def test_all_of_it_stays_on_its_device(name, run):
    result, _ = run(name)
    found = {tensor.device.type for tensor in tensors_in(result)}
    assert found <= ({"cpu"} if name in ENDS_ON_THE_CPU else {"meta"})


@pytest.mark.parametrize("name", ENTRIES)
def test_what_lies_on_the_cpu_is_found(name, run):
    """Each tensor and each module in turn."""
    _, made = run(name)
    for planted in range(made) if made > 1 else ():
        if (name, planted) not in HARMLESS:
            with pytest.raises((FakeTensorDeviceMismatchError, ValueError)):
                run(name, planted)


# The same defects in the code


def without_device(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as it would be if it made its tensors wherever torch makes them by default."""
    return lambda *arguments, **named: function(*arguments, **named).cpu()


@pytest.mark.parametrize(
    ("module", "function", "names"),
    [
        ("nn.masks", "causal_mask", ["decoder_mask", "Transformer"]),
        ("decoding.cached_decoder", "causal_mask", ["CachedDecoder", "greedy", "sample", "beam", "translate"]),
        ("nn.transformer.transformer", "padding_mask", ["Transformer", "Training"]),
        (
            "nn.positions.sinusoidal",
            "sinusoidal_encoding",
            ["SinusoidalPositions", "Embedding", "Transformer", "load_checkpoint"],
        ),
        ("training.loop", "shift_right", ["Training", "load_training"]),
    ],
)
def test_a_tensor_made_on_the_cpu_is_found(module, function, names, run, monkeypatch):
    place = import_module(f"transformer_lab.{module}")
    monkeypatch.setattr(place, function, without_device(getattr(place, function)))
    for name in names:
        with pytest.raises(FakeTensorDeviceMismatchError):
            run(name)
