"""Scaled dot-product attention, one head, many heads, and the weights that they report."""

from math import exp, log, sqrt

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.support import (
    DEVICE,
    assert_close,
    assert_each_differs,
    each_direction,
    each_dtype,
    each_half,
    each_kernel,
    each_precision,
    gradients,
    no_float64,
    randn,
    random_mask,
    refuses,
    scramble,
    share_weights,
    tensor,
)
from transformer_lab import (
    AttentionHead,
    GroupedQueryAttention,
    KVCache,
    MultiHeadAttention,
    Transformer,
    TransformerConfig,
    cached_attention,
    causal_mask,
    grouped_query_attention,
    masked_softmax,
    merge_heads,
    multi_head_attention,
    padding_mask,
    record_attention,
    scaled_dot_product_attention,
    softmax,
    split_heads,
)
from transformer_lab.nn.masks import to_torch_attn_mask, to_torch_key_padding_mask

B, H, T, S, D_MODEL = 2, 3, 5, 7, 12


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def multi_head(dropout: float = 0.0) -> MultiHeadAttention:
    attention = MultiHeadAttention(D_MODEL, H, dropout)
    scramble(attention)
    return attention.to(DEVICE)


# Numbers worked by hand


def test_three_words_worked_by_hand():
    x = tensor([[0.0, 0, 1], [0, 0, 2], [1, 0, 0]])
    output, weights = scaled_dot_product_attention(x, x, x)
    # X Xᵀ = [[1, 2, 0], [2, 4, 0], [0, 0, 1]]; over √3 and through the softmax:
    assert_close(weights, [[0.2992, 0.5329, 0.1679], [0.2228, 0.7070, 0.0702], [0.2645, 0.2645, 0.4711]], within=5e-5)
    # first row: .2992 · [0, 0, 1] + .5329 · [0, 0, 2] + .1679 · [1, 0, 0]
    assert_close(output, [[0.1679, 0, 1.3650], [0.0702, 0, 1.6368], [0.4711, 0, 0.7935]], within=1.5e-4)


def test_one_token_alone_is_an_identity():
    x = randn(1, 3)
    output, weights = scaled_dot_product_attention(x, x, x)
    assert_close(weights, [[1.0]], within=0)
    assert_close(output, x, within=0)


def test_softmax_worked_by_hand():
    scores = tensor([[0.0, log(3)], [1000.0, 1000 + log(4)]])
    assert_close(softmax(scores, dim=1), [[0.25, 0.75], [0.2, 0.8]], within=1e-4)  # float32 has 1e-4 of 1000 left
    assert_close(softmax(scores[0], dim=0), [0.25, 0.75])


def test_heads_are_split_and_merged_by_blocks_of_features():
    x = tensor([[[0.0, 1, 2, 3], [4, 5, 6, 7]]])
    heads = split_heads(x, n_heads=2)
    assert_close(heads, [[[[0, 1], [4, 5]], [[2, 3], [6, 7]]]], within=0)
    assert_close(merge_heads(heads), x, within=0)


def test_masked_softmax_shares_the_weight_among_the_keys_allowed():
    scores = tensor([[0.0, log(3), 99.0], [1.0, 1.0, 1.0]])
    mask = tensor([[True, True, False], [False, False, False]])
    assert_close(masked_softmax(scores, mask), [[0.25, 0.75, 0.0], [0.0, 0.0, 0.0]])


def test_two_heads_worked_by_hand():
    attention = MultiHeadAttention(d_model=2, n_heads=2).to(DEVICE)
    with torch.no_grad():
        for projection in (attention.w_q, attention.w_k, attention.w_v):
            projection.weight.copy_(torch.eye(2))
        attention.w_o.weight.copy_(tensor([[0.0, 1.0], [1.0, 0.0]]))  # swaps the heads' outputs
        attention.w_o.bias.copy_(tensor([10.0, 20.0]))
    x = tensor([[[0.0, 1.0], [2.0, 0.0]]])  # head 0 sees the numbers 0 and 2, head 1 the numbers 1 and 0
    output, weights = attention(x, x, x, need_weights=True)
    assert_close(weights[0, 0], [[0.5, 0.5], [0.01799, 0.98201]], within=1e-5)  # softmax of [0, 0] and of [0, 4]
    assert_close(weights[0, 1], [[0.73106, 0.26894], [0.5, 0.5]], within=1e-5)  # softmax of [1, 0] and of [0, 0]
    assert_close(output[0], [[10.73106, 21.0], [10.5, 21.96403]], within=2e-5)


def test_attention_is_a_double_loop_over_queries_and_keys():
    query, key, value = randn(3, 5), randn(7, 5), randn(7, 2)
    expected = []
    for q in query.tolist():
        fits = [exp(sum(a * b for a, b in zip(q, k, strict=True)) / sqrt(5)) for k in key.tolist()]
        output = [0.0, 0.0]
        for fit, v in zip(fits, value.tolist(), strict=True):
            output = [o + fit / sum(fits) * feature for o, feature in zip(output, v, strict=True)]
        expected.append(output)
    assert_close(scaled_dot_product_attention(query, key, value)[0], expected)


# Properties


def test_each_row_of_weights_sums_to_1():
    query, key, value, mask = randn(B, H, T, 4), randn(B, H, S, 4), randn(B, H, S, 11), random_mask(B, 1, T, S)
    for weights in (
        scaled_dot_product_attention(query, key, value)[1],
        scaled_dot_product_attention(query, key, value, mask)[1],
    ):
        assert_close(weights.sum(dim=-1), torch.ones(B, H, T, device=DEVICE))


def test_a_masked_key_gets_no_weight_and_no_gradient():
    query, key, value = randn(3, 5), randn(7, 5, requires_grad=True), randn(7, 2, requires_grad=True)
    mask = torch.ones(3, 7, dtype=torch.bool, device=DEVICE)
    mask[:, [2, 6]] = False
    output, weights = scaled_dot_product_attention(query, key, value, mask)
    assert (weights == 0).equal(~mask)
    for gradient in gradients(output, key, value):
        assert (gradient == 0).all(dim=-1).equal(~mask[0])


@each_kernel
def test_no_position_sees_the_future(need_weights):
    attention, x, mask = multi_head(), randn(B, T, D_MODEL), causal_mask(T, DEVICE)
    before = attention(x, x, x, mask, need_weights)[0]
    for t in range(T - 1):
        changed = x.clone()
        changed[:, t + 1 :] = randn(B, T - t - 1, D_MODEL)
        after = attention(changed, changed, changed, mask, need_weights)[0]
        assert_close(after[:, : t + 1], before[:, : t + 1])
        assert_each_differs(after[:, t + 1 :], before[:, t + 1 :])


@each_kernel
def test_a_change_of_later_keys_and_values_reaches_later_queries_only(need_weights):
    attention, query, key, value = multi_head(), randn(B, T, D_MODEL), randn(B, T, D_MODEL), randn(B, T, D_MODEL)
    before = attention(query, key, value, causal_mask(T, DEVICE), need_weights)[0]
    for changed in ("key", "value"):
        later = randn(B, T - 2, D_MODEL)
        new_key = torch.cat([key[:, :2], later], dim=1) if changed == "key" else key
        new_value = torch.cat([value[:, :2], later], dim=1) if changed == "value" else value
        after = attention(query, new_key, new_value, causal_mask(T, DEVICE), need_weights)[0]
        assert_close(after[:, :2], before[:, :2])
        assert_each_differs(after[:, 2:], before[:, 2:])


@each_kernel
def test_the_order_of_keys_with_their_values_does_not_matter(need_weights):
    attention, query, memory, order = multi_head(), randn(B, T, D_MODEL), randn(B, S, D_MODEL), torch.randperm(S)
    expected = attention(query, memory, memory, need_weights=need_weights)[0]
    assert_close(attention(query, memory[:, order], memory[:, order], need_weights=need_weights)[0], expected)


@each_kernel
def test_queries_in_another_order_give_the_same_outputs_in_that_order(need_weights):
    attention, query, memory, order = multi_head(), randn(B, T, D_MODEL), randn(B, S, D_MODEL), torch.randperm(T)
    expected = attention(query, memory, memory, need_weights=need_weights)[0][:, order]
    assert_close(attention(query[:, order], memory, memory, need_weights=need_weights)[0], expected)


@each_kernel
def test_what_stands_on_padding_does_not_matter(need_weights):
    attention, x = multi_head(), randn(B, T, D_MODEL)
    mask = padding_mask(tensor([[4, 5, 6, 0, 0], [4, 0, 0, 0, 0]]), pad_id=0)
    changed = torch.where(mask[:, 0, 0, :, None], x, torch.full_like(x, 100))
    expected = attention(x, x, x, mask, need_weights)[0]
    output = attention(x, changed, changed, mask, need_weights)[0]
    assert_close(output, expected)


@each_kernel
def test_the_other_sentences_of_a_batch_do_not_matter(need_weights):
    attention, x, memory = multi_head(), randn(B, T, D_MODEL), randn(B, S, D_MODEL)
    together = attention(x, memory, memory, need_weights=need_weights)[0]
    for b in range(B):
        one, its_memory = x[b : b + 1], memory[b : b + 1]
        alone = attention(one, its_memory, its_memory, need_weights=need_weights)[0]
        assert_close(alone[0], together[b])


def test_the_weights_returned_made_the_output_also_under_dropout():
    query, key, value = randn(B, H, T, 4), randn(B, H, S, 4), randn(B, H, S, 11)
    undropped = scaled_dot_product_attention(query, key, value)[1]
    output, weights = scaled_dot_product_attention(query, key, value, dropout=0.5)
    assert_close(output, weights @ value)
    dropped = weights == 0
    assert 0.3 < dropped.float().mean() < 0.7
    assert_close(weights[~dropped], 2 * undropped[~dropped])  # what is left grows, to keep the mean


def test_many_heads_return_the_weights_that_they_used_in_training():
    attention, query, memory = multi_head(dropout=0.5).train(), randn(B, T, D_MODEL), randn(B, S, D_MODEL)
    output, weights = attention(query, memory, memory, need_weights=True)
    values = attention.w_v(memory).chunk(H, dim=-1)  # head i owns the i-th block of features
    heads = [weights[:, i] @ values[i] for i in range(H)]
    assert_close(output, attention.w_o(torch.cat(heads, dim=-1)))
    assert (weights == 0).any()
    assert (weights > attention.eval()(query, memory, memory, need_weights=True)[1]).any()


@each_kernel
def test_dropout_acts_in_training_only(need_weights):
    attention, x = multi_head(dropout=0.5), randn(B, T, D_MODEL)
    in_training = [attention.train()(x, x, x, need_weights=need_weights)[0] for _ in range(2)]
    in_use = [attention.eval()(x, x, x, need_weights=need_weights)[0] for _ in range(2)]
    assert_each_differs(in_training[0].flatten(), in_training[1].flatten())
    assert_close(in_use[0], in_use[1], within=0)


def test_dropout_of_a_single_head_acts_in_training_only():
    head, x = AttentionHead(D_MODEL, 4, dropout=0.5).to(DEVICE), randn(B, T, D_MODEL)
    assert (head.train()(x, x, x)[1] == 0).any()
    assert (head.eval()(x, x, x)[1] > 0).all()


@each_kernel
def test_without_dropout_training_changes_nothing(need_weights):
    attention, x = multi_head(), randn(B, T, D_MODEL)
    expected = attention.eval()(x, x, x, need_weights=need_weights)[0]
    assert_close(attention.train()(x, x, x, need_weights=need_weights)[0], expected, within=0)


@each_kernel
def test_attention_leaves_its_inputs_alone(need_weights):
    inputs = [randn(B, T, D_MODEL), randn(B, S, D_MODEL), randn(B, S, D_MODEL), random_mask(B, 1, T, S)]
    before = [each.clone() for each in inputs]
    multi_head()(*inputs, need_weights)
    assert all(now.equal(then) for now, then in zip(inputs, before, strict=True))


@each_kernel
@each_dtype
def test_a_query_that_may_attend_to_nothing_gets_zeros_and_no_gradient(dtype, need_weights):
    attention = multi_head().to(dtype)
    nn.init.zeros_(attention.w_o.bias)
    query, key, value = (randn(B, n, D_MODEL, dtype=dtype, requires_grad=True) for n in (T, S, S))
    mask = random_mask(B, 1, T, S)
    mask[1, :, 2] = False
    output, weights = attention(query, key, value, mask, need_weights)
    grads = gradients(output, query, key, value)
    for each in (output, grads[0]):
        blind = (each == 0).all(dim=-1)
        assert blind[1, 2]
        assert blind.sum() == 1  # the others do see
    assert all(each.isfinite().all() for each in (output, *grads))
    assert not need_weights or (weights[1, :, 2] == 0).all()


@each_kernel
@each_dtype
def test_a_mask_without_a_single_true_gives_zeros_and_no_gradient(dtype, need_weights):
    attention = multi_head().to(dtype)
    nn.init.zeros_(attention.w_o.bias)
    inputs = [randn(B, n, D_MODEL, dtype=dtype, requires_grad=True) for n in (T, S, S)]
    output, _ = attention(*inputs, torch.zeros(T, S, dtype=torch.bool, device=DEVICE), need_weights)
    for each in (output, *gradients(output, *inputs)):
        assert (each == 0).all()


def test_no_nan_arises_on_the_way_back_from_a_query_that_may_attend_to_nothing():
    scores = randn(T, S, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):  # raises at a NaN, even one that a later step would hide
        (gradient,) = gradients(masked_softmax(scores, torch.zeros(T, S, dtype=torch.bool, device=DEVICE)), scores)
    assert (gradient == 0).all()


def test_a_list_of_heads_is_multi_head_attention():
    together, query, key, value = multi_head(), randn(B, T, D_MODEL), randn(B, S, D_MODEL), randn(B, S, D_MODEL)
    mask = random_mask(B, T, S)
    outputs, maps = [], []
    for i in range(H):  # head i owns the i-th block of features: rows 4i to 4i + 3 of each weight
        head = AttentionHead(D_MODEL, D_MODEL // H).to(DEVICE)
        for name in ("w_q", "w_k", "w_v"):
            for part in ("weight", "bias"):
                block = getattr(getattr(together, name), part).chunk(H)[i]
                getattr(getattr(head, name), part).data.copy_(block)
        output, weights = head(query, key, value, mask)
        outputs.append(output)
        maps.append(weights)
    output, weights = together(query, key, value, mask[:, None], need_weights=True)
    assert_close(output, together.w_o(torch.cat(outputs, dim=-1)))
    assert_close(weights, torch.stack(maps, dim=1))


def test_many_heads_as_a_function_of_matrices_are_the_module_without_biases():
    attention, query, memory = MultiHeadAttention(D_MODEL, H).to(DEVICE), randn(B, T, D_MODEL), randn(B, S, D_MODEL)
    matrices = (projection.weight.T for projection in (attention.w_q, attention.w_k, attention.w_v, attention.w_o))
    assert_close(multi_head_attention(query, memory, memory, *matrices, H), attention(query, memory, memory)[0])


@each_dtype
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_softmax_equals_torchs(dtype, dim):
    scores = 30 * randn(3, 5, 7, dtype=dtype, requires_grad=True)
    assert_close(softmax(scores, dim), scores.softmax(dim), within=1e-6 if dtype == torch.float32 else 0.01)


@each_kernel
def test_queries_of_another_sequence_that_fit_all_keys_alike_get_the_mean_of_the_values(need_weights):
    attention, x, memory = multi_head(), randn(B, T, D_MODEL), randn(B, S, D_MODEL)
    nn.init.zeros_(attention.w_k.weight)  # all keys are equal now
    mean = attention.w_v(memory).mean(dim=1, keepdim=True)
    output = attention(x, memory, memory, need_weights=need_weights)[0]
    assert_close(output, attention.w_o(mean).expand(B, T, D_MODEL))


@each_kernel
@pytest.mark.parametrize("shape", [(T, S), (1, S), (S,), (H, T, S), (B, 1, 1, S), (1, H, T, S)], ids=str)
def test_a_mask_is_broadcast_over_batch_heads_and_queries(shape, need_weights):
    attention, query, memory, mask = multi_head(), randn(B, T, D_MODEL), randn(B, S, D_MODEL), random_mask(*shape)
    expected = attention(query, memory, memory, mask.expand(B, H, T, S).contiguous(), need_weights)[0]
    assert_close(attention(query, memory, memory, mask, need_weights)[0], expected)


def test_float16_does_not_overflow_in_the_product_of_queries_and_keys():
    x = torch.full((2, 64), 60.0, dtype=torch.float16, device=DEVICE)  # x · x = 230 400, float16 ends at 65 504
    assert_close(scaled_dot_product_attention(x, x, x)[1], [[0.5, 0.5], [0.5, 0.5]], within=0)


@each_kernel
def test_float16_survives_scores_that_it_cannot_hold(need_weights):
    attention = MultiHeadAttention(d_model=64, n_heads=1).to(DEVICE, torch.float16)
    with torch.no_grad():
        for linear in (attention.w_q, attention.w_k, attention.w_v, attention.w_o):
            linear.weight.copy_(torch.eye(64))
    x = torch.full((1, 3, 64), 100.0, dtype=torch.float16, device=DEVICE, requires_grad=True)  # scores of 80 000
    for mask in (None, causal_mask(3, DEVICE)):
        output, _ = attention(x, x, x, mask, need_weights)
        assert_close(output, x, within=0.1)
        assert gradients(output, x)[0].isfinite().all()


@each_dtype
def test_an_allowed_score_may_be_the_lowest_number_there_is(dtype):
    lowest = torch.finfo(dtype).min
    scores, mask = tensor([[lowest, 0.0, 7.0], [lowest, lowest, 7.0]], dtype), tensor([[1, 0, 0], [1, 1, 0]]).bool()
    assert_close(masked_softmax(scores, mask), [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]], within=0)
    query, key = tensor([[1.0]], dtype), scores[:1].mT
    assert_close(scaled_dot_product_attention(query, key, key, mask[:1])[1], [[1.0, 0.0, 0.0]], within=0)


@pytest.mark.parametrize("dtype", [torch.float32, pytest.param(torch.float64, marks=no_float64)], ids=str)
def test_masked_attention_is_the_masked_softmax_of_its_scores(dtype):
    query, key, mask = randn(B, H, T, 4, dtype=dtype), randn(B, H, S, 4, dtype=dtype), random_mask(B, 1, T, S)
    mask[0, 0, 1] = False  # a query that may attend to nothing
    query.requires_grad_()
    weights = scaled_dot_product_attention(query, key, key, mask)[1]
    expected = masked_softmax(query @ key.mT / 2, mask)
    assert_close(weights, expected)
    assert_close(gradients(weights, query), gradients(expected, query))


@no_float64
def test_masked_attention_has_second_derivatives():
    query, key = (randn(2, n, 4, dtype=torch.float64, requires_grad=True) for n in (3, 5))
    mask = random_mask(3, 5)
    mask[1] = False
    assert torch.autograd.gradgradcheck(lambda q, k: scaled_dot_product_attention(q, k, k, mask), (query, key))


@each_kernel
@each_half
def test_half_precision_agrees_with_float32(dtype, need_weights):
    attention, x, mask = multi_head().to(dtype), randn(B, T, D_MODEL, dtype=dtype), causal_mask(T, DEVICE)
    output = attention(x, x, x, mask, need_weights)[0]
    assert output.dtype == dtype
    expected = attention.float()(x.float(), x.float(), x.float(), mask, need_weights)[0]
    assert_close(output.float(), expected, within=0.05)


@each_kernel
def test_with_a_cache_keys_and_values_are_those_of_all_calls(need_weights):
    attention, query, memory, mask = multi_head(), randn(B, T, D_MODEL), randn(B, S, D_MODEL), random_mask(T, S)
    cache, read = KVCache(), 0
    for part, until in ((slice(0, 2), 4), (slice(2, 3), 4), (slice(3, T), S)):  # the second call reads nothing new
        new = memory[:, read:until]
        output = attention(query[:, part], new, new, mask[part, :until], need_weights, cache.layer(0))
        expected = attention(query[:, part], memory[:, :until], memory[:, :until], mask[part, :until], need_weights)
        assert_close(output[0], expected[0])
        if need_weights:
            assert_close(output[1], expected[1])
        read = until
        assert cache.length == read


def test_a_cache_keeps_the_layers_of_a_model_apart_and_what_each_reads():
    one, other, x, cache = multi_head(), multi_head(), randn(B, T, D_MODEL), KVCache()
    one(x, x, x, cache=cache.layer(0))
    for part in (cache.layer(1), cache.layer(0).memory):
        assert (cache.layer(0).length, part.length) == (T, 0)
        assert_close(other(x, x, x, cache=part)[0], other(x, x, x)[0])


def test_a_cache_goes_on_with_the_rows_selected():
    attention, x, new, rows, cache = (
        multi_head(),
        randn(B, T, D_MODEL),
        randn(3, 1, D_MODEL),
        tensor([1, 0, 1]),
        KVCache(),
    )
    attention(x, x, x, cache=cache.layer(0))
    cache.select(rows)
    whole = torch.cat([x[rows], new], dim=1)
    assert_close(attention(new, new, new, cache=cache.layer(0))[0], attention(new, whole, whole)[0])


def test_cached_attention_grows_as_the_cache_of_many_heads_does():
    attention, x, cache, stored = multi_head(), randn(B, T, D_MODEL), KVCache(), randn(2, B, H, 0, D_MODEL // H)
    for t in range(T):
        new = x[:, t : t + 1]
        query, key, value = (split_heads(project(new), H) for project in (attention.w_q, attention.w_k, attention.w_v))
        heads, stored = cached_attention(query, key, value, stored)
        assert_close(attention.w_o(merge_heads(heads)), attention(new, new, new, cache=cache.layer(0))[0])
        assert_close(stored, cache.tensors[0, "text"], within=0)


def test_projections_start_xavier_uniform_with_zero_biases():
    attention, head = MultiHeadAttention(d_model=64, n_heads=2), AttentionHead(d_model=64, d_head=16)
    layers = [(attention, 64, ("w_q", "w_k", "w_v", "w_o")), (head, 16, ("w_q", "w_k", "w_v"))]
    for module, d_out, names in layers:
        bound = sqrt(6 / (64 + d_out))
        for linear in (getattr(module, name) for name in names):
            assert 0.98 * bound < linear.weight.abs().max() <= bound
            assert linear.weight.std().item() == pytest.approx(bound / sqrt(3), rel=0.06)  # as spread as a uniform
            assert (linear.bias == 0).all()


# Properties of record_attention


@pytest.fixture
def model():
    config = TransformerConfig(13, D_MODEL, H, d_ff=11, n_layers=2, max_len=17, dropout=0.0)
    return Transformer(config).to(DEVICE).eval()


@pytest.fixture
def sentences():
    return tensor([[4, 5, 6, 7, 0], [8, 9, 3, 0, 0]]), tensor([[1, 5, 6], [1, 7, 0]])


def test_recorded_weights_are_those_that_each_attention_gives_when_asked(model, sentences):
    asked, hooks = {}, []
    for name, module in model.named_modules():
        if isinstance(module, MultiHeadAttention):

            def ask(module, args, _, name=name):
                asked[name] = module.forward(*args, need_weights=True)[1]

            hooks.append(module.register_forward_hook(ask))
    model(*sentences)
    for hook in hooks:
        hook.remove()
    with record_attention(model) as maps:
        model(*sentences)
    names = {f"encoder.layers.{i}.self_attention" for i in (0, 1)}
    names |= {f"decoder.layers.{i}.{which}_attention" for i in (0, 1) for which in ("self", "cross")}
    assert set(maps) == set(asked) == names
    for name in maps:
        assert_close(maps[name], asked[name])


def test_recording_does_not_change_the_outputs(model, sentences):
    expected = model(*sentences)
    with record_attention(model):
        assert_close(model(*sentences), expected)


def test_under_dropout_the_weights_recorded_are_those_of_this_very_pass():
    attention, x = multi_head(dropout=0.5).train(), randn(B, T, D_MODEL)
    with record_attention(attention) as maps:
        _, weights = attention(x, x, x)
    assert (weights == 0).any()
    assert_close(maps[""], weights, within=0)


@pytest.mark.parametrize("asked", [(), (None, False), (None, True)], ids=str)
def test_a_call_is_recorded_whether_or_not_it_asks_for_weights_itself(asked):
    attention, x = multi_head(), randn(B, T, D_MODEL)
    with record_attention(attention) as maps:
        _, weights = attention(x, x, x, *asked)
    assert_close(maps[""], weights, within=0)


def test_recording_ends_with_the_block():
    attention, x = multi_head(), randn(B, T, D_MODEL)
    with record_attention(attention) as maps:
        attention(x, x, x)
    assert maps.pop("").shape == (B, H, T, T)
    assert attention(x, x, x)[1] is None
    assert not maps


def test_recording_ends_with_a_block_that_fails():
    attention, x = multi_head(), randn(B, T, D_MODEL)
    with pytest.raises(RuntimeError, match="a learner's error"), record_attention(attention) as maps:
        raise RuntimeError("a learner's error")
    assert attention(x, x, x)[1] is None
    assert not maps


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # torch.compile imports what it deprecates
@pytest.mark.parametrize("how", ["a new module", "in place"])
def test_a_compiled_model_is_not_recorded(how):
    attention = multi_head()
    if how == "in place":
        attention.compile()
    else:
        attention = torch.compile(attention)
    name = "MultiHeadAttention" if how == "in place" else "OptimizedModule"
    with (
        refuses(f"record_attention must be given a model that is not compiled (got {name})"),
        record_attention(attention),
    ):
        pass


def test_a_block_in_which_nothing_is_recorded_is_an_error(model):
    message = "an attention of the Transformer must be called in the block (none was recorded)"
    with refuses(message), record_attention(model):
        pass


# Properties of grouped queries


@pytest.mark.parametrize("groups", [1, 2, 3, 6])
def test_heads_of_a_group_read_the_same_keys_and_values(groups):
    """As if each head had its own, which are copies: head i has those of group i // (h / g)."""
    query, key, value = randn(2, 6, 4, 5), randn(2, groups, 7, 5), randn(2, groups, 7, 5)
    owner = [head // (6 // groups) for head in range(6)]
    expected, _ = scaled_dot_product_attention(query, key[:, owner], value[:, owner], mask := random_mask(4, 7))
    assert_close(grouped_query_attention(query, key, value, mask), expected, within=1e-6)
    fused = F.scaled_dot_product_attention(query, key, value, enable_gqa=True)
    assert_close(grouped_query_attention(query, key, value), fused, within=1e-6)


@each_kernel
def test_a_module_of_groups_is_one_of_heads_with_copied_projections(need_weights):
    grouped, x = GroupedQueryAttention(12, 6, 2).to(DEVICE), randn(2, 5, 12)
    scramble(grouped)
    whole = MultiHeadAttention(12, 6).to(DEVICE)
    with torch.no_grad():
        for name in ("w_q", "w_k", "w_v", "w_o"):
            for mine, other in zip(getattr(grouped, name).parameters(), getattr(whole, name).parameters(), strict=True):
                rows = mine.unflatten(0, (-1, 2))  # heads of two features
                copies = 3 if name in ("w_k", "w_v") else 1
                other.copy_(rows.repeat_interleave(copies, dim=0).flatten(0, 1))
    mask = random_mask(5, 5)
    results = [attention(x, x, x, mask, need_weights) for attention in (grouped, whole)]
    assert_close(results[0][0], results[1][0], within=1e-6)
    if need_weights:
        assert_close(results[0][1], results[1][1], within=1e-6)


def test_groups_keep_as_many_keys_as_there_are_groups():
    attention, cache, x = GroupedQueryAttention(12, 6, 2).to(DEVICE), KVCache(), randn(1, 5, 12)
    whole, _ = attention(x, x, x, causal_mask(5).to(DEVICE))
    parts = [attention(*[x[:, t : t + 1]] * 3, cache=cache.layer(0))[0] for t in range(5)]
    assert_close(torch.cat(parts, dim=1), whole, within=1e-6)
    assert cache.tensors[0, "text"].shape == (2, 1, 2, 5, 2)


@each_kernel
def test_a_single_query_copies_no_keys(need_weights, monkeypatch):
    attention, cache, x = GroupedQueryAttention(12, 6, 2).to(DEVICE), KVCache(), randn(2, 5, 12)
    expected = attention(x, x, x, causal_mask(5).to(DEVICE), need_weights)
    attention(*[x[:, :4]] * 3, causal_mask(4).to(DEVICE), cache=cache.layer(0))
    monkeypatch.delattr(GroupedQueryAttention, "repeat_kv")
    output, weights = attention(*[x[:, 4:]] * 3, None, need_weights, cache.layer(0))
    assert_close(output, expected[0][:, 4:], within=1e-6)
    if need_weights:
        assert_close(weights, expected[1][:, :, 4:], within=1e-6)


def test_as_many_groups_as_heads_are_multi_head_attention():
    torch.manual_seed(0)
    grouped = GroupedQueryAttention(12, 3, 3)
    torch.manual_seed(0)
    assert_close(tuple(grouped.parameters()), tuple(MultiHeadAttention(12, 3).parameters()), within=0)


@pytest.mark.parametrize("n_kv_heads", [0, 4, 12])
def test_groups_must_serve_equally_many_heads(n_kv_heads):
    with refuses(f"n_heads (6) must be divisible by n_kv_heads ({n_kv_heads})"):
        GroupedQueryAttention(12, 6, n_kv_heads)
    if n_kv_heads:
        with refuses(f"n_heads (6) must be divisible by n_kv_heads ({n_kv_heads})"):
            grouped_query_attention(randn(1, 6, 2, 4), randn(1, n_kv_heads, 3, 4), randn(1, n_kv_heads, 3, 4))


# Parity with torch


@pytest.mark.parametrize("mask", ["none", "shared by all heads", "one for each head"])
def test_output_equals_torchs_function(mask):
    query, key, value = (randn(B, H, n, d, requires_grad=True) for n, d in ((T, 4), (S, 4), (S, 11)))
    mask = {"none": None, "shared by all heads": random_mask(T, S), "one for each head": random_mask(B, H, T, S)}[mask]
    output = scaled_dot_product_attention(query, key, value, mask)[0]
    expected = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    assert_close(output, expected)
    assert_close(gradients(output, query, key, value), gradients(expected, query, key, value))


@each_half
def test_output_equals_torchs_function_in_half_precision(dtype):
    query, key, value = randn(B, H, T, 4, dtype=dtype), randn(B, H, S, 4, dtype=dtype), randn(B, H, S, 11, dtype=dtype)
    mask = random_mask(B, 1, T, S)
    output = scaled_dot_product_attention(query, key, value, mask)[0]
    assert output.isfinite().all()
    assert_close(output, F.scaled_dot_product_attention(query, key, value, attn_mask=mask), within=0.03)


def masks_for_both(kind: str):
    """A mask for ours, and the same one as torch's module wants it."""
    if kind == "causal":
        mask = causal_mask(S, DEVICE)[:T]
        return mask, {"attn_mask": ~mask}
    if kind == "padding":
        mask = padding_mask(tensor([[4, 5, 6, 0, 0, 0, 0], [4, 5, 6, 7, 8, 9, 0]]), pad_id=0)
        return mask, {"key_padding_mask": to_torch_key_padding_mask(mask)}
    if kind == "one for each head":
        mask = random_mask(B, H, T, S)
        return mask, {"attn_mask": to_torch_attn_mask(mask, B, H)}
    return None, {}


@each_precision
@each_direction
@pytest.mark.parametrize("kind", ["none", "causal", "padding", "one for each head"])
def test_outputs_weights_and_gradients_equal_torchs_module(kind, to_torch, dtype, within):
    ours = MultiHeadAttention(D_MODEL, H).to(DEVICE, dtype)
    theirs = nn.MultiheadAttention(D_MODEL, H, batch_first=True, device=DEVICE, dtype=dtype)
    share_weights(ours, theirs, to_torch)
    inputs = [randn(B, n, D_MODEL, dtype=dtype, requires_grad=True) for n in (T, S, S)]
    mask, as_torch = masks_for_both(kind)
    expected, expected_weights = theirs(*inputs, average_attn_weights=False, **as_torch)
    expected_gradients = gradients(expected, *inputs)
    for need_weights in (True, False):
        output, weights = ours(*inputs, mask, need_weights)
        assert_close(output, expected, within)
        assert_close(gradients(output, *inputs), expected_gradients, within)
        if need_weights:
            assert_close(weights, expected_weights, within)
        else:
            assert weights is None


# Errors


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64], ids=str)
def test_a_mask_must_be_boolean(dtype):
    x, mask = randn(B, T, D_MODEL), torch.ones(T, T, dtype=dtype, device=DEVICE)
    message = f"a mask must be torch.bool, True = may attend (got {dtype} of shape (5, 5))"
    with refuses(message):
        masked_softmax(randn(T, T), mask)
    with refuses(message):
        scaled_dot_product_attention(x, x, x, mask)
    for need_weights in (True, False):
        with refuses(message):
            multi_head()(x, x, x, mask, need_weights)


@pytest.mark.parametrize("shape", [(S, T), (T, 3), (B, T, S), (1, B, H, T, S)], ids=str)
def test_a_mask_must_fit_the_scores(shape):
    query, memory, mask = randn(B, T, D_MODEL), randn(B, S, D_MODEL), torch.ones(shape, dtype=torch.bool, device=DEVICE)
    for need_weights in (True, False):
        with refuses(f"a mask must broadcast to the scores (2, 3, 5, 7) (got {shape})"):
            multi_head()(query, memory, memory, mask, need_weights)
    with refuses(f"a mask must broadcast to the scores (5, 7) (got {shape})"):
        scaled_dot_product_attention(query[0], memory[0], memory[0], mask)


def test_the_width_must_divide_among_the_heads():
    with refuses("d_model (10) must be divisible by n_heads (4)"):
        MultiHeadAttention(d_model=10, n_heads=4)
