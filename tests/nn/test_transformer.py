"""Embedding, layers, stacks and the whole Transformer."""

from dataclasses import replace
from math import cos, sin

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.support import (
    DEVICE,
    assert_close,
    assert_each_differs,
    each_direction,
    each_half,
    each_precision,
    gradients,
    randn,
    refuses,
    scramble,
    share_weights,
    tensor,
)
from transformer_lab import (
    Decoder,
    DecoderLayer,
    Embedding,
    Encoder,
    EncoderLayer,
    MultiHeadAttention,
    Transformer,
    TransformerConfig,
    causal_mask,
    decoder_layer,
    decoder_mask,
    embed,
    encoder_layer,
    padding_mask,
)
from transformer_lab.nn.masks import to_torch_key_padding_mask

PAD = 0
SMALL = TransformerConfig(
    vocab_size=13, d_model=12, n_heads=3, d_ff=11, n_layers=2, max_len=17, dropout=0.0, pad_id=PAD
)

each_order = pytest.mark.parametrize("norm_first", [False, True], ids=["post-norm", "pre-norm"])
each_activation = pytest.mark.parametrize("activation", ["relu", "gelu"])


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def transformer(**changes) -> Transformer:
    model = Transformer(replace(SMALL, **changes))
    scramble(model)
    return model.to(DEVICE).eval()


def sentences() -> tuple[torch.Tensor, torch.Tensor]:
    """Two sources of 7 tokens and two targets of 5, padded on the right."""
    src = tensor([[4, 5, 6, 7, 8, PAD, PAD], [12, 11, 10, 9, 8, 7, 6]])
    tgt = tensor([[1, 5, 6, 7, PAD], [1, 9, PAD, PAD, PAD]])
    return src, tgt


def count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def on_paper(**changes) -> int:
    """The number of parameters of a model, built without memory for its numbers."""
    with torch.device("meta"):
        return count(Transformer(TransformerConfig(**changes)))


# Numbers worked by hand


def test_embedding_worked_by_hand():
    embedding = Embedding(replace(SMALL, d_model=4)).to(DEVICE)
    embedding.tokens.weight.data[7] = tensor([1.0, 2, 3, 4])
    # √4 · [1, 2, 3, 4] = [2, 4, 6, 8], plus [sin p, cos p, sin p/100, cos p/100]
    expected = [[2, 5, 6, 9], [2 + sin(1), 4 + cos(1), 6 + sin(0.01), 8 + cos(0.01)]]
    assert_close(embedding(tensor([[7, 7]])), [expected])


def test_parameters_of_the_base_model_counted_by_hand():
    d, ff, vocab = 512, 2048, 37000
    attention = 4 * (d * d + d)
    feed_forward = (d * ff + ff) + (ff * d + d)
    norm = 2 * d
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    total = vocab * d + 6 * (encoder_layer + decoder_layer)  # one matrix embeds both languages and gives the logits
    assert on_paper() == total == 63_082_496
    assert total == pytest.approx(65e6, rel=0.03)  # what Table 3 says


@pytest.mark.parametrize(
    ("changes", "millions"),
    [
        ({}, 65),
        ({"n_layers": 2}, 36),
        ({"n_layers": 4}, 50),
        ({"n_layers": 8}, 80),
        ({"d_model": 256}, 28),
        ({"d_model": 1024}, 168),
        ({"d_ff": 1024}, 53),
        ({"d_ff": 4096}, 90),
    ],
    ids=str,
)
def test_with_some_41_000_tokens_all_rows_of_table_3_come_out(changes, millions):
    assert round(on_paper(vocab_size=40_960, **changes) / 1e6) == millions


def test_the_defaults_are_the_base_model_of_table_3():
    config = TransformerConfig()
    assert (config.n_layers, config.d_model, config.d_ff, config.n_heads, config.dropout) == (6, 512, 2048, 8, 0.1)
    assert (config.norm_first, config.activation, config.attention_dropout) == (False, "relu", 0.0)


# The layers as functions are those of the classes


def test_an_embedding_is_the_function_of_its_table_and_its_encoding():
    embedding, tokens = Embedding(SMALL).to(DEVICE), sentences()[0]
    assert_close(embed(tokens, embedding.tokens.weight, embedding.positions.encoding), embedding(tokens), within=0)


def output_of(attention: MultiHeadAttention):
    return lambda *inputs: attention(*inputs)[0]


def test_a_layer_of_the_encoder_is_the_function_of_its_parts():
    layer, x, mask = EncoderLayer(SMALL).to(DEVICE), randn(2, 7, 12), padding_mask(sentences()[0], PAD)
    scramble(layer)
    norms = layer.residual_1.norm, layer.residual_2.norm
    expected = encoder_layer(x, output_of(layer.self_attention), layer.feed_forward, *norms, mask)
    assert_close(layer(x, mask), expected, within=0)


def test_a_layer_of_the_decoder_is_the_function_of_its_parts():
    layer, x, memory, (src, tgt) = DecoderLayer(SMALL).to(DEVICE), randn(2, 5, 12), randn(2, 7, 12), sentences()
    scramble(layer)
    parts = output_of(layer.self_attention), output_of(layer.cross_attention), layer.feed_forward
    norms = layer.residual_1.norm, layer.residual_2.norm, layer.residual_3.norm
    masks = decoder_mask(tgt, PAD), padding_mask(src, PAD)
    assert_close(layer(x, memory, *masks), decoder_layer(x, memory, *parts, *norms, *masks), within=0)


# Properties of the embedding


def test_an_embedding_may_start_later():
    embedding, tokens = Embedding(SMALL).to(DEVICE), sentences()[0]
    assert_close(embedding(tokens[:, 3:], start=3), embedding(tokens)[:, 3:])


def test_dropout_acts_on_the_sum_of_embedding_and_position():
    embedding, tokens = Embedding(replace(SMALL, dropout=0.5)).to(DEVICE), sentences()[0]
    whole, dropped = embedding.eval()(tokens), embedding.train()(tokens)
    lost = dropped == 0
    assert 0.3 < lost.float().mean() < 0.7
    assert_close(dropped[~lost], 2 * whole[~lost])


def test_embeddings_start_with_variance_1_after_their_factor():
    embedding = Embedding(replace(SMALL, vocab_size=1000, d_model=64))
    assert embedding.tokens.weight.std().item() == pytest.approx(1 / 8, rel=0.02)


def test_a_tied_matrix_starts_as_an_embedding_so_that_logits_start_with_variance_near_1():
    model = Transformer(replace(SMALL, vocab_size=1000, d_model=64, n_heads=2)).to(DEVICE)
    assert model.to_logits.weight.std().item() == pytest.approx(1 / 8, rel=0.02)
    assert model(*sentences()).std().item() == pytest.approx(1, rel=0.2)


# Properties of the whole model


@each_order
def test_no_prediction_sees_the_future(norm_first):
    model, (src, _) = transformer(norm_first=norm_first), sentences()
    tgt = torch.randint(1, 13, (2, 5), device=DEVICE)
    before = model(src, tgt)
    for t in range(4):
        changed = tgt.clone()
        changed[:, t + 1 :] = changed[:, t + 1 :] % 12 + 1  # another token everywhere, and no padding
        after = model(src, changed)
        assert_close(after[:, : t + 1], before[:, : t + 1], within=1e-5)
        assert_each_differs(after[:, t + 1 :], before[:, t + 1 :])


def test_every_prediction_sees_the_whole_source():
    model, (_, tgt) = transformer(), sentences()
    src = torch.randint(1, 13, (2, 7), device=DEVICE)
    before = model(src, tgt)
    for s in range(7):
        changed = src.clone()
        changed[:, s] = changed[:, s] % 12 + 1
        assert_each_differs(model(changed, tgt), before)


@pytest.mark.parametrize("pad_id", [0, 3])
def test_what_padding_is_embedded_as_does_not_matter(pad_id):
    model, (src, tgt) = transformer(tie_weights=False, pad_id=pad_id), sentences()
    src, tgt = src.where(src != PAD, pad_id), tgt.where(tgt != PAD, pad_id)
    before = model(src, tgt)
    for embedding in (model.src_embedding, model.tgt_embedding):
        embedding.tokens.weight.data[pad_id] = 7.0
    after = model(src, tgt)
    assert_close(after[tgt != pad_id], before[tgt != pad_id], within=1e-5)


def test_more_padding_does_not_matter():
    model, (src, tgt) = transformer(), sentences()
    padded = model(F.pad(src, (0, 4), value=PAD), F.pad(tgt, (0, 6), value=PAD))
    assert_close(padded[:, :5], model(src, tgt), within=1e-5)


def test_the_other_sentences_of_a_batch_do_not_matter():
    model, (src, tgt) = transformer(), sentences()
    together = model(src, tgt)
    for b in range(2):
        assert_close(model(src[b : b + 1], tgt[b : b + 1])[0], together[b], within=1e-5)


def test_the_order_of_the_source_matters_through_the_positions_alone():
    model, (src, tgt) = transformer(), sentences()
    reordered = src[:, [2, 0, 4, 1, 3, 5, 6]]  # words among words
    assert_each_differs(model(reordered, tgt), model(src, tgt))
    model.src_embedding.positions.encoding.zero_()
    assert_close(model(reordered, tgt), model(src, tgt), within=1e-5)


def test_the_order_of_the_target_matters():
    model, (src, _) = transformer(), sentences()
    assert_each_differs(
        model(src, tensor([[1, 5, 5, 6, 7]] * 2))[:, 4], model(src, tensor([[1, 5, 6, 5, 7]] * 2))[:, 4]
    )


def test_a_source_of_padding_alone_is_survived():
    model, (src, tgt) = transformer(), sentences()
    alone = torch.full_like(src, PAD)
    logits = model(alone, tgt)
    assert logits.isfinite().all()
    weights = list(model.parameters())
    assert all(gradient.isfinite().all() for gradient in gradients(logits, *weights))


def test_logits_are_products_with_the_output_matrix_and_no_probabilities():
    model, (src, tgt) = transformer(), sentences()
    src_mask = padding_mask(src, PAD)
    states = model.decoder(
        model.tgt_embedding(tgt), model.encoder(model.src_embedding(src), src_mask), decoder_mask(tgt, PAD), src_mask
    )
    logits = model(src, tgt)
    assert_close(logits, states @ model.to_logits.weight.T)
    assert (logits < 0).any()
    assert (logits > 1).any()


def test_forward_is_encode_then_decode_with_both_masks():
    model, (src, tgt) = transformer(), sentences()
    src_mask = padding_mask(src, PAD)
    expected = model.decode(tgt, model.encode(src, src_mask), decoder_mask(tgt, PAD), src_mask)
    assert_close(model(src, tgt), expected, within=0)
    for forgotten in (
        model.decode(tgt, model.encode(src), decoder_mask(tgt, PAD), src_mask),
        model.decode(tgt, model.encode(src, src_mask), decoder_mask(tgt, PAD)),
        model.decode(tgt, model.encode(src, src_mask), None, src_mask),
    ):
        assert_each_differs(forgotten[0, :4], expected[0, :4])


def test_a_decoder_may_hide_padding_on_the_left():
    model, (src, _) = transformer(tie_weights=False), sentences()
    tgt = tensor([[PAD, 1, 5, 6, 7], [PAD, PAD, 1, 5, 6]])
    before = model(src, tgt)
    model.tgt_embedding.tokens.weight.data[PAD] = 7.0
    assert_close(model(src, tgt)[tgt != PAD], before[tgt != PAD], within=1e-5)


def test_tied_weights_are_one_matrix():
    model = transformer(tie_weights=True)
    weights = [model.src_embedding.tokens.weight, model.tgt_embedding.tokens.weight, model.to_logits.weight]
    assert len({weight.data_ptr() for weight in weights}) == 1
    model.to_logits.weight.data[5] = 3.0
    assert all((weight[5] == 3).all() for weight in weights)


def test_untied_weights_are_three_matrices():
    model = transformer(tie_weights=False)
    weights = [model.src_embedding.tokens.weight, model.tgt_embedding.tokens.weight, model.to_logits.weight]
    assert len({weight.data_ptr() for weight in weights}) == 3
    assert count(model) - count(transformer(tie_weights=True)) == 2 * 13 * 12


def test_a_checkpoint_of_one_model_restores_it_in_another():
    model, other, (src, tgt) = transformer(), transformer(), sentences()
    other.load_state_dict(model.state_dict())
    assert_close(other(src, tgt), model(src, tgt), within=0)


@pytest.mark.parametrize("dropouts", [{"dropout": 0.5}, {"attention_dropout": 0.5}], ids=str)
def test_each_dropout_acts_in_training_only(dropouts):
    model, (src, tgt) = transformer(**dropouts), sentences()
    assert_close(model(src, tgt), model(src, tgt), within=0)
    model.train()
    assert_each_differs(model(src, tgt).flatten(), model(src, tgt).flatten())


def test_without_dropout_training_changes_nothing():
    model, (src, tgt) = transformer(), sentences()
    expected = model(src, tgt)
    assert_close(model.train()(src, tgt), expected, within=0)


def test_dropout_acts_on_every_sublayer_and_attention_dropout_on_every_attention():
    model = transformer(dropout=0.3, attention_dropout=0.2)
    dropouts = [module.p for module in model.modules() if isinstance(module, nn.Dropout)]
    assert dropouts == [0.3] * (2 + 2 * 2 + 2 * 3)  # two embeddings; two layers of each stack
    attention_dropouts = [module.dropout for module in model.modules() if isinstance(module, MultiHeadAttention)]
    assert attention_dropouts == [0.2] * (2 + 2 * 2)


def test_every_parameter_learns():
    model, (src, tgt) = transformer(tie_weights=False), sentences()
    F.cross_entropy(model(src, tgt).flatten(0, 1), tgt.flatten()).backward()
    for name, parameter in model.named_parameters():
        # a bias of the keys adds the same to all scores of a query: softmax does not see it
        assert (parameter.grad.abs().max() > 1e-5) != name.endswith("w_k.bias"), name


@each_order
def test_nothing_changes_its_inputs(norm_first):
    config = replace(SMALL, norm_first=norm_first)
    src, tgt = sentences()
    x, memory, mask = randn(2, 5, 12), randn(2, 7, 12), causal_mask(5, DEVICE)
    inputs = (src, tgt, x, memory, mask)
    before = [each.clone() for each in inputs]
    transformer(norm_first=norm_first)(src, tgt)
    Embedding(config).to(DEVICE)(src)
    Encoder(config).to(DEVICE)(x, mask)
    Decoder(config).to(DEVICE)(x, memory, mask)
    assert all(now.equal(then) for now, then in zip(inputs, before, strict=True))


def test_the_sizes_of_the_lab_sheet_run_and_each_output_is_normalised():
    config = TransformerConfig(n_layers=1, vocab_size=13)  # d_model 512, 8 heads
    src, tgt = randn(64, 32, 512), randn(64, 16, 512)
    encoder, decoder = Encoder(config).to(DEVICE).eval(), Decoder(config).to(DEVICE).eval()
    with torch.no_grad():
        output = decoder(tgt, encoder(src), causal_mask(16, DEVICE))
    assert_close(output.mean(dim=-1), torch.zeros(64, 16, device=DEVICE))
    assert_close(output.std(dim=-1, correction=0), torch.ones(64, 16, device=DEVICE), within=1e-3)


@each_order
@each_half
def test_half_precision_agrees_with_float32(dtype, norm_first):
    model, (src, tgt) = Transformer(replace(SMALL, norm_first=norm_first)).to(DEVICE).eval(), sentences()
    expected = model(src, tgt)
    logits = model.to(dtype)(src, tgt)
    assert logits.dtype == dtype
    assert_close(logits.float(), expected, within=0.1)


def test_the_whole_model_moves_to_another_device():
    model = transformer().to("meta")
    src, tgt = (tokens.to("meta") for tokens in sentences())
    logits = model(src, tgt)  # a tensor left behind would raise
    assert logits.device.type == "meta"
    assert all(each.device.type == "meta" for each in (*model.parameters(), *model.buffers()))


# Parity with torch. In float32 the rounding of several layers adds up in the gradients, which get five times as much
# room; in float64 the differences shrink to 1e-12, so they are rounding and nothing else.


def torchs(kind: type, config: TransformerConfig) -> nn.Module:
    """torch's layer with our sizes."""
    sizes = {"activation": config.activation, "norm_first": config.norm_first, "dropout": 0.0, "batch_first": True}
    return kind(config.d_model, config.n_heads, config.d_ff, **sizes)


def torchs_encoder(config: TransformerConfig) -> nn.TransformerEncoder:
    layer, norm = torchs(nn.TransformerEncoderLayer, config), nn.LayerNorm(config.d_model)
    return nn.TransformerEncoder(
        layer, config.n_layers, norm if config.norm_first else None, enable_nested_tensor=False
    )


def torchs_decoder(config: TransformerConfig) -> nn.TransformerDecoder:
    layer, norm = torchs(nn.TransformerDecoderLayer, config), nn.LayerNorm(config.d_model)
    return nn.TransformerDecoder(layer, config.n_layers, norm if config.norm_first else None)


@pytest.fixture
def config(norm_first, activation):
    return replace(SMALL, norm_first=norm_first, activation=activation)


@each_precision
@each_direction
@each_activation
@each_order
def test_encoder_layer_and_encoder_equal_torchs(config, to_torch, dtype, within):
    x = randn(2, 7, 12, dtype=dtype, requires_grad=True)
    padding, causal = padding_mask(sentences()[0], PAD), causal_mask(7, DEVICE)
    as_torch = {"src_key_padding_mask": to_torch_key_padding_mask(padding)}
    for ours, theirs, mask_name in (
        (EncoderLayer(config), torchs(nn.TransformerEncoderLayer, config), "src_mask"),
        (Encoder(config), torchs_encoder(config), "mask"),
    ):
        share_weights(ours, theirs, to_torch)
        ours, theirs = ours.to(DEVICE, dtype), theirs.to(DEVICE, dtype)
        for output, expected in (
            (ours(x), theirs(x)),
            (ours(x, padding), theirs(x, **as_torch)),
            (ours(x, padding & causal), theirs(x, **{mask_name: ~causal}, **as_torch)),
        ):
            assert_close(output, expected, within)
            assert_close(gradients(output, x), gradients(expected, x), 5 * within)


@each_precision
@each_direction
@each_activation
@each_order
def test_decoder_layer_and_decoder_equal_torchs(config, to_torch, dtype, within):
    x, memory = (randn(2, length, 12, dtype=dtype, requires_grad=True) for length in (5, 7))
    src, tgt = sentences()
    tgt_mask, memory_mask = decoder_mask(tgt, PAD), padding_mask(src, PAD)
    as_torch = {
        "tgt_mask": ~causal_mask(5, DEVICE),
        "tgt_key_padding_mask": to_torch_key_padding_mask(padding_mask(tgt, PAD)),
        "memory_key_padding_mask": to_torch_key_padding_mask(memory_mask),
    }
    for ours, theirs in (
        (DecoderLayer(config), torchs(nn.TransformerDecoderLayer, config)),
        (Decoder(config), torchs_decoder(config)),
    ):
        share_weights(ours, theirs, to_torch)
        ours, theirs = ours.to(DEVICE, dtype), theirs.to(DEVICE, dtype)
        for output, expected in (
            (ours(x, memory), theirs(x, memory)),
            (ours(x, memory, tgt_mask, memory_mask), theirs(x, memory, **as_torch)),
        ):
            assert_close(output, expected, within)
            assert_close(gradients(output, x, memory), gradients(expected, x, memory), 5 * within)


@each_precision
@each_direction
@each_activation
@each_order
def test_the_whole_model_equals_torchs(config, to_torch, dtype, within):
    model = Transformer(config)
    torchs_stacks = {"custom_encoder": torchs_encoder(config), "custom_decoder": torchs_decoder(config)}
    theirs = nn.Transformer(config.d_model, config.n_heads, batch_first=True, **torchs_stacks)
    share_weights(model.encoder, theirs.encoder, to_torch)
    share_weights(model.decoder, theirs.decoder, to_torch)
    model, theirs = model.to(DEVICE, dtype), theirs.to(DEVICE, dtype)
    src, tgt = sentences()
    blind = {
        "src_key_padding_mask": src == PAD,
        "memory_key_padding_mask": src == PAD,
        "tgt_key_padding_mask": tgt == PAD,
        "tgt_mask": torch.ones(5, 5, dtype=torch.bool, device=DEVICE).triu(1),
    }
    logits = model(src, tgt)
    expected = model.to_logits(theirs(model.src_embedding(src), model.tgt_embedding(tgt), **blind))
    table = model.to_logits.weight  # tied: its gradient passes both stacks
    assert_close(logits, expected, within)
    assert_close(gradients(logits, table), gradients(expected, table), 5 * within)


# Errors


def test_an_activation_must_have_one_of_the_names():
    with refuses("activation must be one of relu, gelu, gelu_tanh, silu (got 'tanh')"):
        replace(SMALL, activation="tanh")


@pytest.mark.parametrize("make", [EncoderLayer, DecoderLayer, Encoder, Decoder, Transformer])
def test_the_width_must_divide_among_the_heads(make):
    with refuses("d_model (10) must be divisible by n_heads (4)"):
        make(replace(SMALL, d_model=10, n_heads=4))


@pytest.mark.parametrize("make", [Embedding, Transformer])
def test_the_width_must_be_even(make):
    with refuses("d_model (15) must be even"):
        make(replace(SMALL, d_model=15))


def test_no_sequence_may_be_longer_than_the_table_of_positions():
    model, long, short = transformer(), torch.ones(2, 18, dtype=torch.long, device=DEVICE), sentences()[0]
    for src, tgt in ((long, short), (short, long)):
        with refuses("a sequence may have at most max_len (17) positions (got 18)"):
            model(src, tgt)


def test_masks_of_another_kind_are_refused_in_every_attention():
    model, (src, tgt) = transformer(), sentences()
    memory = model.encode(src)
    floats = torch.ones(5, 5, device=DEVICE)
    with refuses("a mask must be torch.bool, True = may attend (got torch.float32 of shape (5, 5))"):
        model.decode(tgt, memory, tgt_mask=floats)
    with refuses("a mask must broadcast to the scores (2, 3, 5, 7) (got (5, 5))"):
        model.decode(tgt, memory, memory_mask=floats.bool())
    with refuses("a mask must broadcast to the scores (2, 3, 7, 7) (got (5, 5))"):
        model.encode(src, floats.bool())
