"""Parts taken away and replaced: each result against a model that is computed without the part."""

from collections.abc import Callable
from contextlib import ExitStack
from copy import deepcopy

import pytest
import torch
from torch import Tensor, nn

import transformer_lab as lab
from transformer_lab import analysis
from transformer_lab.analysis.interventions import head_mask

SELF, CROSS = "layers.1.self_attention", "decoder.layers.0.cross_attention"


def text_model(positions: str = "rotary") -> lab.LanguageModel:
    torch.manual_seed(0)
    config = lab.LanguageModelConfig(11, 12, 3, 10, 2, max_len=9, positions=positions)
    model = lab.LanguageModel(config).eval()
    return perturbed(model)


def translator() -> lab.Transformer:
    torch.manual_seed(0)
    model = lab.Transformer(lab.TransformerConfig(11, 12, 3, 10, n_layers=1, max_len=9)).eval()
    return perturbed(model)


def attention_only(positions: str = "rotary") -> lab.AttentionOnly:
    torch.manual_seed(0)
    return perturbed(lab.AttentionOnly(11, 12, 3, 2, positions, max_len=9))


def perturbed(model: nn.Module) -> nn.Module:
    """No bias is 0, and no logit small: what is taken away must show."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return model


def run(model: nn.Module, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    sizes = [(2, 7), (2, 5)] if isinstance(model, lab.Transformer) else [(2, 7)]
    with torch.no_grad():
        return model(*(torch.randint(1, 11, size, generator=generator) for size in sizes))


CASES = [(text_model, SELF), (translator, CROSS), (attention_only, "layers.0.self_attention")]
cases = pytest.mark.parametrize(("make", "layer"), CASES, ids=["language model", "translator", "attention only"])


def without_blocks(model: nn.Module, layer: str, *heads: int) -> nn.Module:
    """A copy whose W_O reads nothing of these heads."""
    copy = deepcopy(model)
    w_o = copy.get_submodule(layer).w_o.weight
    with torch.no_grad():
        for head in heads:
            w_o[:, 4 * head : 4 * (head + 1)] = 0  # d_head is 4
    return copy


@cases
def test_an_ablated_head_is_a_block_of_w_o_that_is_zero(make: Callable, layer: str):
    model = make()
    whole = run(model)
    for heads in ((0,), (2,), (0, 1), (0, 1, 2)):
        with analysis.ablate(model, layer, *heads):
            ablated = run(model)
        assert torch.allclose(ablated, run(without_blocks(model, layer, *heads)), atol=1e-5)
        assert not torch.allclose(ablated, whole, atol=1e-3)
    assert torch.equal(run(model), whole)  # afterwards the model is as before


def test_an_ablated_head_is_the_one_of_ablate_head():
    model, x = lab.MultiHeadAttention(12, 3).eval(), torch.randn(2, 5, 12)
    nn.init.normal_(model.w_o.bias)
    wrapped = nn.ModuleDict({"only": model})
    with analysis.record_heads(wrapped) as written:
        model(x, x, x)
    with analysis.ablate(wrapped, "only", 1):
        ablated, _ = model(x, x, x)
    by_hand = analysis.ablate_head(written["only"], model.w_o.weight.T, 1) + model.w_o.bias
    assert torch.allclose(ablated, by_hand, atol=1e-5)


def test_what_is_recorded_of_heads_makes_their_contributions():
    model, x = lab.MultiHeadAttention(12, 3).eval(), torch.randn(2, 5, 12)
    with analysis.record_heads(nn.ModuleDict({"only": model})) as written:
        model(x, x, x)
    blocks = model.w_o.weight.T.unflatten(0, (3, 4))  # (h, d_head, d_model)
    assert torch.allclose(written["only"] @ blocks, analysis.head_contributions(model, x, x, x), atol=1e-5)


@cases
def test_with_weights_and_by_the_fused_kernel_it_is_the_same(make: Callable, layer: str):
    model = make()
    with analysis.ablate(model, layer, 1):
        fused = run(model)
        with lab.record_attention(model):
            asked = run(model)
    assert torch.allclose(fused, asked, atol=1e-5)


def test_with_a_cache_it_is_the_same():
    model, tokens = text_model(), torch.tensor([[1, 2, 3, 4, 5]])
    with torch.no_grad(), analysis.ablate(model, SELF, 1):
        cache, whole = lab.KVCache(), model(tokens)
        parts = [model(tokens[:, t : t + 1], cache) for t in range(5)]
    assert torch.allclose(torch.cat(parts, dim=1), whole, atol=1e-5)


def test_the_mean_of_a_head_is_what_it_says_always():
    model, layer = attention_only(), "layers.0.self_attention"
    with analysis.record_heads(model) as written:
        whole = run(model)
    mean = written[layer][:, 1].mean((0, 1))  # (d_head,)
    outputs = written[layer].clone()
    outputs[:, 1] = mean
    with analysis.ablate(model, layer, 1, mean=True):
        ablated = run(model)
    with analysis.patch_heads(model, layer, outputs):
        assert torch.allclose(run(model), ablated, atol=1e-5)
    assert not torch.allclose(ablated, whole, atol=1e-3)


@cases
def test_all_heads_at_all_positions_patched_are_the_other_run_s_layer(make: Callable, layer: str):
    model = make()
    with analysis.record_heads(model) as other:
        run(model, seed=2)
    reached, attention = [], model.get_submodule(layer)
    watched = attention.w_o.register_forward_hook(lambda module, args, out: reached.append(out))
    with watched, analysis.patch_heads(model, layer, other[layer]):
        run(model)
    expected = attention.w_o(lab.merge_heads(other[layer]))
    assert torch.allclose(reached[0], expected, atol=1e-5)


def test_a_patch_reaches_its_head_and_its_positions_alone():
    model, layer = attention_only(), SELF
    with analysis.record_heads(model) as other:
        run(model, seed=2)
    with analysis.record_heads(model) as own:
        run(model)
    patch = analysis.patch_heads(model, layer, other[layer], heads=[2], positions=[1, 6])
    with patch, analysis.record_heads(model) as written:
        run(model)
    expected = own[layer].clone()
    expected[:, 2, [1, 6]] = other[layer][:, 2, [1, 6]]
    assert torch.equal(written[layer], expected)


def test_a_patch_of_its_own_run_changes_nothing():
    model = text_model()
    with analysis.record_heads(model) as own:
        whole = run(model)
    with analysis.patch_heads(model, SELF, own[SELF]):
        assert torch.allclose(run(model), whole, atol=1e-6)


@pytest.mark.parametrize("make", [text_model, attention_only])
def test_the_states_are_those_that_layers_make(make: Callable):
    model = make()
    with analysis.record_states(model) as states:
        logits = run(model)
    mask = lab.causal_mask(7)
    assert len(states) == 3
    with torch.no_grad():
        for layer, before, after in zip(model.layers, states[:-1], states[1:], strict=True):
            assert torch.allclose(layer(before, mask), after, atol=1e-5)
        lens = analysis.logit_lens(states[-1], model.norm, model.to_logits.weight)
    assert torch.allclose(lens, logits, atol=1e-5)


@pytest.mark.parametrize("part", ["query", "key", "value"])
def test_another_input_is_read_by_one_part_alone(part: str):
    model, layer = attention_only(), SELF
    with analysis.record_states(model) as other:
        run(model, seed=2)
    with analysis.record_states(model) as own:
        run(model)
    inputs = {name: own[1].clone() for name in ("query", "key", "value")}
    inputs[part][:, [2, 3]] = other[1][:, [2, 3]]
    with torch.no_grad():
        expected = own[1] + model.get_submodule(layer)(*inputs.values(), lab.causal_mask(7))[0]
    with analysis.patch_input(model, layer, part, other[1], positions=[2, 3]), analysis.record_states(model) as states:
        run(model)
    assert torch.allclose(states[2], expected, atol=1e-5)
    assert not torch.allclose(states[2], own[2], atol=1e-3)


def test_blocks_may_be_nested():
    model = attention_only()
    with ExitStack() as blocks:
        for layer, head in (("layers.0.self_attention", 1), (SELF, 2)):
            blocks.enter_context(analysis.ablate(model, layer, head))
        ablated = run(model)
    expected = without_blocks(without_blocks(model, "layers.0.self_attention", 1), SELF, 2)
    assert torch.allclose(ablated, run(expected), atol=1e-5)


def test_an_error_in_the_block_leaves_the_model_as_it_was():
    model = attention_only()
    whole = run(model)
    with pytest.raises(KeyError), analysis.ablate(model, SELF, 0):
        raise KeyError
    assert torch.equal(run(model), whole)


# What is refused


@pytest.mark.parametrize("heads", [(), (3,), (-1,), (0, 3)])
def test_heads_that_are_not_there(heads: tuple[int, ...]):
    with pytest.raises(ValueError, match=r"heads must be one or more of 0 to 2 \(got \["):
        head_mask(lab.MultiHeadAttention(12, 3), heads)


def refused(message: str, block: Callable, *run_in_it: nn.Module) -> None:
    """The block, or a run in it, is refused with this message."""

    def try_it() -> None:
        with block():
            for model in run_in_it:
                run(model)

    with pytest.raises(ValueError, match=message):
        try_it()


def test_names_that_are_not_there():
    model, x, heads = attention_only(), torch.zeros(2, 7, 12), torch.zeros(2, 3, 7, 4)
    names = "layers.0.self_attention, layers.1.self_attention"
    message = rf"an attention must be one of {names} \(got 'layers.2'\)"
    refused(message, lambda: analysis.ablate(model, "layers.2", 0))
    refused(message, lambda: analysis.patch_heads(model, "layers.2", heads))
    refused(message, lambda: analysis.patch_input(model, "layers.2", "key", x))
    message = r"part must be one of query, key, value \(got 'output'\)"
    refused(message, lambda: analysis.patch_input(model, SELF, "output", x))


def test_shapes_and_positions_that_do_not_fit():
    model, x = attention_only(), torch.zeros(2, 6, 12)
    rule = "must have the shape of what it replaces"
    of_states, of_heads = (
        rf"{rule}, \(2, 7, 12\) \(got \(2, 6, 12\)\)",
        rf"{rule}, \(2, 3, 7, 4\) \(got \(2, 3, 6, 4\)\)",
    )
    refused(of_states, lambda: analysis.patch_input(model, SELF, "key", x), model)
    refused(of_heads, lambda: analysis.patch_heads(model, SELF, torch.zeros(2, 3, 6, 4)), model)
    message = r"positions must be from 0 to 6 \(got \[7\]\)"
    refused(message, lambda: analysis.patch_input(model, SELF, "key", torch.zeros(2, 7, 12), positions=[7]), model)


def test_models_that_are_not_run_or_have_no_layers():
    model = attention_only()
    refused(r"must be called in the block \(none was recorded\)", lambda: analysis.record_heads(model))
    refused(r"called once in the block \(0 states were recorded\)", lambda: analysis.record_states(model))
    refused(r"called once in the block \(6 states were", lambda: analysis.record_states(model), model, model)
    refused(r"a model with `layers` \(a Transformer has none\)", lambda: analysis.record_states(translator()))


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # torch.compile imports what it deprecates
@pytest.mark.parametrize("part", [0, 1])
def test_compiled_models(part: int):
    model = attention_only()
    model.layers[part].compile()
    for block in (
        lambda: analysis.ablate(model, SELF, 0),
        lambda: analysis.record_heads(model),
        lambda: analysis.record_states(model),
    ):
        refused("must be given a model that is not compiled", block)
