"""A Transformer writes: the cache, greedy choice, sampling, beam search."""

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import product
from math import log, sqrt
from threading import Event, Thread

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.support import DEVICE, assert_close, each_half, refuses, scramble, tensor
from transformer_lab import (
    CachedDecoder,
    Transformer,
    TransformerConfig,
    beam,
    beam_search,
    decoder_mask,
    greedy,
    padding_mask,
    record_attention,
    sample,
)
from transformer_lab.decoding.inference import inference

PAD, BOS, EOS = 0, 1, 2
SMALL = TransformerConfig(
    vocab_size=11, d_model=12, n_heads=3, d_ff=7, n_layers=2, max_len=17, dropout=0.0, pad_id=PAD, tie_weights=False
)
IDS = {"bos_id": BOS, "eos_id": EOS}

each_order = pytest.mark.parametrize("norm_first", [False, True], ids=["post-norm", "pre-norm"])
EACH_WAY = {
    "greedy": greedy,
    "sample": sample,
    "beam search": beam,
}
each_way = pytest.mark.parametrize("decode", EACH_WAY.values(), ids=EACH_WAY.keys())


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def transformer(seed: int = 17, **changes) -> Transformer:
    """A model with large random weights, chosen so that its sentences differ and end in different places."""
    torch.manual_seed(seed)
    model = Transformer(replace(SMALL, **changes))
    scramble(model)
    with torch.no_grad():
        for matrix in (parameter for parameter in model.parameters() if parameter.ndim == 2):
            matrix.mul_(2)
        model.to_logits.weight[EOS] *= 4
    return model.to(DEVICE).eval()


def many_sources() -> torch.Tensor:
    return torch.randint(3, 11, (40, 6)).to(DEVICE)


def sources() -> torch.Tensor:
    return tensor([[4, 5, 6, 7, PAD, PAD], [10, 9, 8, 7, 6, 5], [3, PAD, PAD, PAD, PAD, PAD], [8, 8, 3, 9, 4, PAD]])


def targets() -> torch.Tensor:
    """Padded like a batch to train on."""
    return tensor([[1, 5, 6, 7, 3, 9, 2], [1, 9, 2, 0, 0, 0, 0], [1, 4, 4, 4, 10, 2, 0], [1, 3, 8, 2, 0, 0, 0]])


def remembering(model: Transformer, src: torch.Tensor) -> CachedDecoder:
    mask = padding_mask(src, PAD)
    return CachedDecoder(model, model.encode(src, mask), mask)


def chain(**then: dict[str, float]) -> Transformer:
    """A model whose next token depends on the last one only: `bos={"a": 0.6, "b": 0.4}` are its probabilities.

    Its layers add nothing to the embedding, a one-hot vector, and the matrix to logits holds the table.
    """
    names = {"pad": PAD, "bos": BOS, "eos": EOS, "a": 3, "b": 4, "c": 5}
    model = transformer(vocab_size=6, d_model=6, norm_first=True)
    model.decoder.norm = nn.Identity()
    table = torch.full((6, 6), float("-inf"))
    for last, row in ({"eos": {"pad": 1.0}, "pad": {"pad": 1.0}} | then).items():
        for following, probability in row.items():
            table[names[last], names[following]] = log(probability)
    with torch.no_grad():
        for layer in model.decoder.layers:
            for linear in (layer.self_attention.w_o, layer.cross_attention.w_o, layer.feed_forward.w_2):
                linear.weight.zero_()
                linear.bias.zero_()
        model.tgt_embedding.positions.encoding.zero_()
        model.tgt_embedding.tokens.weight.copy_(torch.eye(6) / sqrt(6))
        model.to_logits.weight.copy_(table.clamp(min=-1e4).T)  # 0 times -inf would be NaN
    return model.eval()


def sentences(ids: torch.Tensor) -> list[str]:
    """The sentences of a chain's tokens, such as "bos a eos", without padding."""
    return [" ".join((None, "bos", "eos", "a", "b", "c")[i] for i in row if i != PAD) for row in ids.tolist()]


ANY = torch.tensor([[3]], device=DEVICE)  # a chain does not look at its source
# Greedy takes a (0.6) and ends with 0.6 · 0.4 = 0.24; "b eos" has 0.4 · 0.9 = 0.36.
GARDEN_PATH = {
    "bos": {"a": 0.6, "b": 0.4},
    "a": {"eos": 0.4, "b": 0.3, "c": 0.3},
    "b": {"eos": 0.9, "c": 0.1},
    "c": {"eos": 1.0},
}


# Numbers worked by hand


def test_greedy_takes_the_most_probable_token_and_beam_search_the_more_probable_sentence():
    model = chain(**GARDEN_PATH)
    assert sentences(greedy(model, ANY, **IDS, max_length=6)) == ["bos a eos"]
    assert sentences(beam(model, ANY, **IDS, max_length=6, beam_size=1)) == ["bos a eos"]
    assert sentences(beam(model, ANY, **IDS, max_length=6, beam_size=2)) == ["bos b eos"]


@pytest.mark.parametrize(("length_penalty", "sentence"), [(0.0, "bos b eos"), (0.5, "bos b eos"), (2.0, "bos a c eos")])
def test_the_length_penalty_worked_by_hand(length_penalty, sentence):
    # log(0.4 · 0.9) = -1.022 over (7/6)^α, against log(0.6 · 0.448 · 1) = -1.314 over (8/6)^α:
    # α = 0: -1.022, -1.314;  α = 0.5: -0.946, -1.138;  α = 2: -0.751, -0.739 (with |Y| one too large -0.575, -0.584)
    then_c = {"c": 0.448, "a": 0.276, "b": 0.276}
    model = chain(bos={"a": 0.6, "b": 0.4}, a=then_c, b={"eos": 0.9, "c": 0.1}, c={"eos": 1.0})
    found = beam(model, ANY, **IDS, max_length=6, beam_size=4, length_penalty=length_penalty)
    assert sentences(found) == [sentence]


# Properties of the cache


def chunks(*lengths: int) -> pytest.param:
    return pytest.param(lengths, id="+".join(map(str, lengths)))


@each_order
@pytest.mark.parametrize(
    "lengths", [chunks(1, 1, 1, 1, 1, 1, 1), chunks(7), chunks(3, 4), chunks(4, 1, 2), chunks(1, 6)]
)
def test_cached_logits_are_those_of_teacher_forcing_however_the_target_is_cut(norm_first, lengths):
    model, src, tgt = transformer(norm_first=norm_first), sources(), targets()
    decoder = remembering(model, src)
    logits = torch.cat([decoder(part) for part in tgt.split(lengths, dim=1)], dim=1)
    assert_close(logits, model(src, tgt))


def test_uncached_logits_at_every_step_are_those_of_teacher_forcing():
    model, src, tgt = transformer(), sources(), targets()
    memory, src_mask = model.encode(src, padding_mask(src, PAD)), padding_mask(src, PAD)
    whole = model(src, tgt)
    for n in range(1, tgt.size(1) + 1):
        read = tgt[:, :n]
        assert_close(model.decode(read, memory, decoder_mask(read, PAD), src_mask)[:, -1], whole[:, n - 1])


def test_the_cache_tracks_gradients_where_the_model_does():
    model, src, tgt = transformer(), sources(), targets()
    weight = model.decoder.layers[0].self_attention.w_k.weight
    decoder = remembering(model, src)
    cached = torch.cat([decoder(part) for part in tgt.split(3, dim=1)], dim=1)
    both = [torch.autograd.grad(logits.square().sum(), weight)[0] for logits in (cached, model(src, tgt))]
    assert_close(*both, within=1e-5)


def test_keys_and_values_are_computed_once_for_each_position():
    model, src = transformer(), sources()
    seen = Counter()
    for name, module in model.named_modules():
        if name.endswith(("w_k", "w_v")):
            module.register_forward_hook(lambda m, args, _, name=name: seen.update({name: args[0].size(1)}))
    ids = greedy(model, src, **IDS, max_length=9)
    steps = ids.size(1) - 1  # the last token is never read
    assert steps > 3
    for stack, which, positions in (
        ("encoder", "self", src.size(1)),
        ("decoder", "self", steps),
        ("decoder", "cross", src.size(1)),
    ):
        for i, w in product((0, 1), ("w_k", "w_v")):
            assert seen[f"{stack}.layers.{i}.{which}_attention.{w}"] == positions


def test_selected_targets_go_on_where_they_were():
    model, tgt = transformer(), targets()
    src = sources()[:1].expand(4, -1)
    rows = tensor([2, 0, 2, 1])
    decoder = remembering(model, src)
    decoder(tgt[:, :3])
    decoder.select(rows)
    assert_close(decoder(tgt[rows, 3:]), model(src, tgt[rows])[:, 3:])


def test_a_decoder_can_read_up_to_max_len_and_no_further():
    decoder = remembering(transformer(max_len=6), sources())
    decoder(targets()[:, :5])
    decoder(targets()[:, 5:6])
    with refuses("a sequence may have at most max_len (6) positions (got 7)"):
        decoder(targets()[:, 6:])


# Properties of greedy choice, and what holds for all


def greedy_without_cache(model: Transformer, src: torch.Tensor, max_length: int) -> torch.Tensor:
    """The plain loop: the whole target through the whole model at every step."""
    ids = torch.full((len(src), 1), BOS, device=DEVICE)
    for _ in range(max_length - 1):
        chosen = model(src, ids)[:, -1].argmax(-1)
        over = (ids == EOS).any(1)
        if over.all():
            break
        ids = torch.cat([ids, chosen.masked_fill(over, PAD)[:, None]], dim=1)
    return ids[:, :-1] if (ids[:, -1] == PAD).all() else ids


@each_order
def test_greedy_equals_the_loop_without_a_cache(norm_first):
    model = transformer(norm_first=norm_first)
    src = many_sources()
    expected = greedy_without_cache(model, src, max_length=12)
    ends = {row.index(EOS) if EOS in row else 12 for row in expected.tolist()}
    assert len(ends) > 3  # the sentences end in different places, or this would test little
    assert torch.equal(greedy(model, src, **IDS, max_length=12), expected)


@pytest.mark.parametrize("decode", [greedy, beam])
def test_neither_batch_mates_nor_padding_matter(decode):
    model = transformer()
    together = decode(model, sources(), **IDS, max_length=12)
    assert len({tuple(row) for row in together.tolist()}) > 1
    wider = decode(model, F.pad(sources(), (0, 3), value=PAD), **IDS, max_length=12)
    assert torch.equal(wider, together)
    for src, expected in zip(sources(), together, strict=True):
        alone = decode(model, src[src != PAD][None], **IDS, max_length=12)
        assert torch.equal(F.pad(alone[0], (0, together.size(1) - alone.size(1)), value=PAD), expected)


@each_way
def test_a_sentence_has_bos_eos_and_then_padding(decode):
    src = many_sources()
    ids = decode(transformer(), src, **IDS, max_length=12)
    assert (ids[:, 0] == BOS).all()
    ended = (ids == EOS).cumsum(1)
    assert ended.amax() == 1  # one eos at most
    assert (ids[(ended - (ids == EOS).long()) > 0] == PAD).all()  # padding after it
    assert 0 < ended[:, -1].sum() < 40  # some end by themselves, some are cut
    assert ids.size(1) == 12


@each_way
def test_decoding_ends_when_every_sentence_has_ended(decode):
    model, steps = chain(bos={"a": 1.0}, a={"b": 1.0}, b={"eos": 1.0}), []
    model.to_logits.register_forward_hook(lambda *_: steps.append(1))
    assert sentences(decode(model, ANY.expand(5, 1), **IDS, max_length=17)) == 5 * ["bos a b eos"]
    assert len(steps) == 3


@each_way
@pytest.mark.parametrize("max_length", [1, 2, 3, 17])
def test_max_length_counts_bos(decode, max_length):
    model = chain(bos={"a": 1.0}, a={"a": 1.0})
    assert sentences(decode(model, ANY, **IDS, max_length=max_length)) == [" ".join(["bos", *(max_length - 1) * ["a"]])]


@each_way
def test_dropout_rests_and_comes_back(decode):
    model = transformer(dropout=0.5)
    expected = decode(model, sources(), **IDS, max_length=12, **same_draws(decode))
    model.train()
    model.encoder.eval()
    modes = [module.training for module in model.modules()]
    actual = decode(model, sources(), **IDS, max_length=12, **same_draws(decode))
    assert torch.equal(actual, expected)
    assert [module.training for module in model.modules()] == modes


def same_draws(decode) -> dict:
    return {"generator": torch.Generator().manual_seed(0)} if decode is sample else {}


def test_modes_come_back_after_an_error():
    model = transformer().cpu().train()  # on a GPU such an id would end the process's use of it
    with refuses("token ids must be from 0 to 10 (got 99 to 99)"):
        greedy(model, torch.tensor([[99]]), **IDS, max_length=5)
    assert model.training
    assert model.decoder.layers[0].training


def test_a_model_in_training_may_write_in_two_threads():
    model, entered, may_leave = transformer(dropout=0.5).train(), Event(), Event()

    def write() -> None:
        with inference(model):
            entered.set()
            may_leave.wait(600)

    other = Thread(target=write)
    other.start()
    entered.wait(600)
    with inference(model):
        may_leave.set()
        other.join()
        assert not any(module.training for module in model.modules())  # though the other one has left
    assert all(module.training for module in model.modules())


@each_way
def test_no_sources_give_no_targets(decode):
    targets = decode(transformer(), sources()[:0], **IDS, max_length=5)
    assert len(targets) == 0
    assert targets.dtype == torch.int64


@each_way
def test_decoding_keeps_no_graph(decode):
    model, tracked = transformer(), []
    model.to_logits.register_forward_hook(lambda module, args, logits: tracked.append(logits.requires_grad))
    decode(model, sources(), **IDS, max_length=5)
    assert tracked
    assert not any(tracked)


@each_half
@each_way
def test_half_precision_decodes(decode, dtype):
    model = chain(**GARDEN_PATH).to(dtype)
    assert set(sentences(decode(model, ANY.expand(9, 1), **IDS, max_length=6))) <= set(PATHS)


def test_of_a_decoder_with_a_cache_the_weights_of_its_last_step_are_recorded():
    model, src = transformer(), sources()
    with record_attention(model) as maps:
        ids = greedy(model, src, **IDS, max_length=5)
    with record_attention(model) as expected:
        model(src, ids[:, :-1])
    assert set(maps) == set(expected)
    for name, weights in expected.items():
        assert_close(maps[name], weights[:, :, -1:] if name.startswith("decoder") else weights)


# Properties of sampling

PATHS = {  # every sentence of the garden path, and its probability
    "bos a eos": 0.6 * 0.4,
    "bos a b eos": 0.6 * 0.3 * 0.9,
    "bos a b c eos": 0.6 * 0.3 * 0.1,
    "bos a c eos": 0.6 * 0.3,
    "bos b eos": 0.4 * 0.9,
    "bos b c eos": 0.4 * 0.1,
}


def chi_square(drawn: list[str], probabilities: dict[str, float]) -> float:
    """Σ (observed - expected)² / expected."""
    observed = Counter(drawn)
    assert set(observed) <= set(probabilities)  # what has probability 0 never comes
    expected = {name: len(drawn) * p for name, p in probabilities.items()}
    return sum((observed[name] - n) ** 2 / n for name, n in expected.items())


def critical(degrees: int, z: float = 3.719) -> float:
    """What chi-square exceeds once in 10 000 times (Wilson & Hilferty, 1931)."""
    return degrees * (1 - 2 / (9 * degrees) + z * sqrt(2 / (9 * degrees))) ** 3


def draws(model: Transformer, n: int = 20_000, **settings) -> list[str]:
    settings = {"generator": torch.Generator().manual_seed(0), "max_length": 6} | settings
    return sentences(sample(model, ANY.expand(n, 1), **IDS, **settings))


def test_sentences_come_as_often_as_they_are_probable():
    assert sum(PATHS.values()) == pytest.approx(1)
    assert critical(5) == pytest.approx(25.74, rel=0.03)  # as in tables
    assert chi_square(draws(chain(**GARDEN_PATH)), PATHS) < critical(5)


ONE = {"a": 0.5, "b": 0.3, "c": 0.15, "eos": 0.05}  # one step from bos
SETTINGS = {
    "plain": ({}, ONE),
    "cooler": ({"temperature": 0.5}, {"a": 0.25, "b": 0.09, "c": 0.0225, "eos": 0.0025}),
    "hotter": ({"temperature": 2.0}, {name: sqrt(p) for name, p in ONE.items()}),
    "top 2": ({"top_k": 2}, {"a": 0.5, "b": 0.3}),
    "nucleus": ({"top_p": 0.9}, {"a": 0.5, "b": 0.3, "c": 0.15}),
    # squares: 0.685, 0.247, 0.062, 0.007 of their sum, so that two of them reach 0.9 now
    "temperature before top-p": ({"temperature": 0.5, "top_p": 0.9}, {"a": 0.25, "b": 0.09}),
    # of the three largest a has 0.526, b 0.316: two of them reach 0.84, and of all four only 0.8
    "top-k before top-p": ({"top_k": 3, "top_p": 0.82}, {"a": 0.5, "b": 0.3}),
}


@pytest.mark.parametrize(("settings", "weights"), SETTINGS.values(), ids=SETTINGS.keys())
def test_one_step_is_drawn_from_exactly_the_distribution_asked_for(settings, weights):
    drawn = draws(chain(bos=ONE), max_length=2, **settings)
    probabilities = {f"bos {name}": weight / sum(weights.values()) for name, weight in weights.items()}
    assert chi_square(drawn, probabilities) < critical(len(weights) - 1)
    if settings:  # and this test would see it if the setting were not obeyed
        plainly = draws(chain(bos=ONE), max_length=2)
        assert set(plainly) != set(drawn) or chi_square(plainly, probabilities) > 2 * critical(len(weights) - 1)


def test_each_sentence_of_a_batch_is_drawn_for_itself():
    assert len(set(draws(chain(**GARDEN_PATH), n=50))) > 3


def test_the_same_seed_draws_the_same_sentences():
    model, src = transformer(), sources()
    one, other = (
        sample(model, src, **IDS, max_length=12, generator=torch.Generator().manual_seed(7)) for _ in range(2)
    )
    assert torch.equal(one, other)
    torch.manual_seed(3)
    without_generator = sample(model, src, **IDS, max_length=12)
    torch.manual_seed(3)
    assert torch.equal(sample(model, src, **IDS, max_length=12), without_generator)


@pytest.mark.parametrize("settings", [{"top_k": 1}, {"top_p": 1e-6}, {"temperature": 1e-4}], ids=str)
def test_cut_to_one_token_or_frozen_sampling_is_greedy(settings):
    model, src = transformer(), many_sources()
    assert torch.equal(sample(model, src, **IDS, max_length=12, **settings), greedy(model, src, **IDS, max_length=12))


# Properties of beam search


def best_of_all(model: Transformer, src: torch.Tensor, max_length: int, length_penalty: float) -> list[int]:
    """The sentence with the highest score, found by looking at every one there is."""
    vocab = range(model.config.vocab_size)
    every = []
    for n in range(1, max_length):
        whole = n == max_length - 1
        for start in product([t for t in vocab if t != EOS], repeat=n - 1):
            every += [[BOS, *start, last] for last in (vocab if whole else [EOS])]
    tgt = nn.utils.rnn.pad_sequence([torch.tensor(s) for s in every], batch_first=True, padding_value=-1).to(DEVICE)
    read = tgt.clamp(min=0)
    log_probs = model(src.expand(len(every), -1), read[:, :-1]).log_softmax(-1)
    each = log_probs.gather(-1, read[:, 1:, None]).squeeze(-1).masked_fill(tgt[:, 1:] < 0, 0.0)
    lengths = (tgt[:, 1:] >= 0).sum(1)
    return every[(each.sum(1) / ((5 + lengths) / 6) ** length_penalty).argmax()]


def small_model(seed: int) -> tuple[Transformer, torch.Tensor]:
    """A whole Transformer with four tokens, and two sources of different length."""
    return transformer(seed, vocab_size=4), tensor([[3, 1, 2], [3, 3, PAD]])


def random_chain(seed: int) -> tuple[Transformer, torch.Tensor]:
    """A chain of three words in which sentences of every length may be the best."""
    torch.manual_seed(seed)
    rows = torch.distributions.Dirichlet(torch.full((4,), 0.4)).sample((4,))
    rows[0, 3] = 1e-3  # bos is seldom followed by eos
    then = [dict(zip(("a", "b", "c", "eos"), row, strict=True)) for row in rows.tolist()]
    return chain(**dict(zip(("bos", "a", "b", "c"), then, strict=True))), ANY


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 3.0])
@pytest.mark.parametrize(("make", "lengths"), [(small_model, 2), (random_chain, 3)])
def test_a_beam_wide_enough_finds_the_best_of_all_sentences(make, lengths, length_penalty):
    found = set()
    for seed in range(8):
        model, src = make(seed)
        beam_size = (model.config.vocab_size - 1) ** 4  # as many as there are sentences of 5 tokens without eos
        ids = beam(model, src, **IDS, max_length=6, beam_size=beam_size, length_penalty=length_penalty)
        for row, source in zip(ids.tolist(), src, strict=True):
            expected = best_of_all(model, source, 6, length_penalty)
            assert row == expected + [PAD] * (len(row) - len(expected))
            found.add(len(expected))
    assert len(found) >= lengths


def test_a_narrow_beam_equals_the_search_for_one_sentence():
    model, src = transformer(), many_sources()[:10]

    @cache  # the beams of different sizes read much the same
    def log_probs(source: int, read: tuple[int, ...]) -> torch.Tensor:
        with torch.no_grad():
            return model(src[source : source + 1], tensor([read]))[0, -1].log_softmax(-1)

    for beam_size in (1, 2, 3, 5):
        ids = beam(model, src, **IDS, max_length=9, beam_size=beam_size, length_penalty=0.0)
        for source, row in enumerate(ids.tolist()):
            expected, _ = beam_search(lambda read, at=source: log_probs(at, tuple(read)), BOS, EOS, beam_size, 9)
            assert row == expected + [PAD] * (len(row) - len(expected))


def test_a_beam_of_one_is_greedy():
    model, src = transformer(), many_sources()
    expected = greedy(model, src, **IDS, max_length=12)
    assert torch.equal(beam(model, src, **IDS, max_length=12, beam_size=1), expected)


def test_a_beam_may_be_wider_than_the_vocabulary():
    assert sentences(beam(chain(**GARDEN_PATH), ANY, **IDS, max_length=6, beam_size=50)) == ["bos b eos"]


def test_a_search_that_nothing_can_overtake_ends_before_max_length():
    # after "b eos" (0.81) all that is left of the beam has 0.19 at most
    model, steps = chain(bos={"b": 0.9, "a": 0.1}, b={"eos": 0.9, "a": 0.1}, a={"a": 1.0}), []
    model.to_logits.register_forward_hook(lambda *_: steps.append(1))
    assert sentences(beam(model, ANY, **IDS, max_length=17, beam_size=3, length_penalty=0.0)) == ["bos b eos"]
    assert len(steps) == 2


# Errors


@each_way
def test_max_length_must_fit_the_model(decode):
    for max_length, rule in ((0, "must be at least 1"), (18, "must be at most max_len (17)")):
        with refuses(f"max_length ({max_length}) {rule}"):
            decode(transformer(), sources(), **IDS, max_length=max_length)


@pytest.mark.parametrize("temperature", [0, -0.5, float("nan"), float("inf"), 1e-45, 1e39, "1", True])
def test_temperature_must_be_positive(temperature):
    with refuses(f"temperature ({temperature!r}) must be above 0, a number from 1.2e-38 to 3.4e+38"):
        sample(transformer(), sources(), **IDS, max_length=5, temperature=temperature)


def test_top_k_must_keep_something():
    with refuses("top_k (-1) must be at least 1"):
        sample(transformer(), sources(), **IDS, max_length=5, top_k=-1)


@pytest.mark.parametrize("p", [0.0, 1.01, -0.5, float("nan")])
def test_top_p_must_be_a_share(p):
    with refuses(f"top_p ({p}) must be above 0 and at most 1"):
        sample(transformer(), sources(), **IDS, max_length=5, top_p=p)


def test_a_beam_must_hold_a_sentence():
    with refuses("beam_size (0) must be at least 1"):
        beam(transformer(), sources(), **IDS, max_length=5, beam_size=0)


def test_the_length_penalty_must_not_be_negative():
    with refuses("length_penalty (-0.1) must be at least 0"):
        beam(transformer(), sources(), **IDS, max_length=5, length_penalty=-0.1)
