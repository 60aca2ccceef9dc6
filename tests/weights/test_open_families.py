"""The open models since Llama: logits equal to transformers' on random checkpoints, however a text is read."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from tests.support import DEVICE, assert_close, hugging_face, refuses, tensor, without_signature_checks
from transformer_lab import KVCache, LanguageModel, MixtureOfExperts, PreNormResidual, SinkAttention, complete
from transformer_lab.data.texts import Characters
from transformer_lab.decoding.completion import aligned
from transformer_lab.models.since_llama.layers import OpenAttention
from transformer_lab.models.since_llama.open_model import OpenModel
from transformer_lab.training import load_language_model, save_checkpoint
from transformer_lab.weights import configs, published
from transformer_lab.weights.modules import copy_to_huggingface
from transformer_lab.weights.open_families import reading

NONE = dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"))
TINY = {"vocab_size": 17, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 6, "intermediate_size": 20}
TINY |= {"num_key_value_heads": 2, "max_position_embeddings": 64, "rms_norm_eps": 1e-3} | NONE
LLAMA_3 = {"rope_type": "llama3", "rope_theta": 50.0, "factor": 8.0, "original_max_position_embeddings": 32}
LLAMA_3 |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
LINEAR = {"rope_type": "linear", "rope_theta": 500.0, "factor": 4.0}
GEMMA = {"head_dim": 8, "sliding_window": 3, "num_hidden_layers": 3, "query_pre_attn_scalar": 6}
GEMMA |= {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"], "final_logit_softcapping": 2.0}
YARN = {"rope_type": "yarn", "rope_theta": 150.0, "factor": 4.0, "original_max_position_embeddings": 16}
GPT_OSS = {"head_dim": 8, "num_local_experts": 5, "num_experts_per_tok": 2, "sliding_window": 3, "swiglu_limit": 0.5}
GPT_OSS |= {"rope_parameters": YARN | {"beta_fast": 2.0, "beta_slow": 0.3, "truncate": False}}
DEEPSEEK = {"num_hidden_layers": 3, "first_k_dense_replace": 1, "num_key_value_heads": 6, "moe_intermediate_size": 12}
DEEPSEEK |= {"n_routed_experts": 8, "num_experts_per_tok": 3, "n_group": 4, "topk_group": 2, "n_shared_experts": 2}
DEEPSEEK |= {"qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "v_head_dim": 5, "kv_lora_rank": 10, "q_lora_rank": 14}
DEEPSEEK_YARN = {"rope_parameters": YARN | {"mscale": 0.7, "mscale_all_dim": 1.3}}
DEEPSEEK_YARN |= {"q_lora_rank": None, "rope_interleave": False, "n_group": 1, "topk_group": 1}
QWEN3_NEXT = {"num_hidden_layers": 3, "layer_types": ["linear_attention", "full_attention", "linear_attention"]}
QWEN3_NEXT |= {"head_dim": 16, "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 6}
QWEN3_NEXT |= {"linear_value_head_dim": 5, "linear_conv_kernel_dim": 4, "num_experts": 5, "num_experts_per_tok": 2}
QWEN3_NEXT |= {"moe_intermediate_size": 12, "shared_expert_intermediate_size": 14, "mlp_only_layers": [1]}
CASES = {
    "llama": ("Llama", TINY | {"rope_parameters": LLAMA_3, "head_dim": 8, "tie_word_embeddings": True}),
    "llama linear": ("Llama", TINY | {"rope_parameters": LINEAR, "attention_bias": True}),
    "mistral": ("Mistral", TINY | {"sliding_window": 3, "head_dim": 4}),
    "qwen2": ("Qwen2", TINY | {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1}),
    "qwen3": ("Qwen3", TINY | {"head_dim": 8, "attention_bias": True}),
    "olmo2": ("Olmo2", TINY),
    "gemma3": ("Gemma3", TINY | GEMMA),
    "mixtral": ("Mixtral", TINY | {"num_local_experts": 5, "sliding_window": 4}),
    "gpt-oss": ("GptOss", TINY | GPT_OSS),
    "deepseek-v3": ("DeepseekV3", TINY | DEEPSEEK),
    "qwen3-next": ("Qwen3Next", TINY | QWEN3_NEXT),
    "deepseek-v3 yarn": ("DeepseekV3", TINY | DEEPSEEK | DEEPSEEK_YARN),
}
TEXTS = torch.randint(1, 17, (3, 9), generator=torch.Generator().manual_seed(0)).to(DEVICE)
LENGTHS = (9, 4, 6)  # of three texts of different length, in a batch
STANDS = torch.arange(9, device=DEVICE) < tensor([[n] for n in LENGTHS])  # (B, T), filled up on the right


@dataclass(frozen=True)
class Pair:
    """A random model of transformers', and what is loaded from its files."""

    theirs: torch.nn.Module
    ours: LanguageModel

    def expected(self, tokens: Tensor, stands: Tensor | None = None) -> Tensor:
        """Their logits; with a mask, each text counts its positions from its first token on, as `generate` has it."""
        if stands is None:
            return self.theirs(tokens).logits
        positions = (stands.long().cumsum(1) - 1).clamp(min=0)
        return self.theirs(tokens, attention_mask=stands.long(), position_ids=positions).logits


class WithoutSinks(SinkAttention):
    """Sinks that are learned and take no weight."""

    attend = OpenAttention.attend


def random_model(case: str, **changes) -> torch.nn.Module:
    """Noise on every parameter and buffer that is stored: what starts at 0 or at 1 would hide a mix-up."""
    kind, sizes = CASES[case]
    config = "Gemma3TextConfig" if kind == "Gemma3" else f"{kind}Config"
    torch.manual_seed(1)
    model = hugging_face(f"{kind}ForCausalLM")(hugging_face(config)(**(sizes | changes))).eval()
    for stored in model.state_dict().values():
        stored.add_(0.2 * torch.randn_like(stored))
    return model


def stored(case: str, folder: Path, shard: str = "1GB", **changes) -> Pair:
    model = random_model(case, **changes)
    model.save_pretrained(folder, max_shard_size=shard)
    return Pair(model.to(DEVICE), published.load(folder).model.to(DEVICE))


@pytest.fixture(scope="module", params=CASES)
def pair(request, tmp_path_factory) -> Pair:
    return stored(request.param, tmp_path_factory.mktemp("open"))


@pytest.fixture(autouse=True)
def no_gradients():
    with torch.no_grad():
        yield


# Parity with transformers


def test_logits_are_those_of_transformers(pair):
    expected = pair.expected(TEXTS)
    assert expected.std() > 0.3  # so that 1e-4 is little
    assert_close(pair.ours(TEXTS), expected, within=1e-4)


@pytest.fixture
def float64_for_all(monkeypatch):
    """Whoever asks for float32 gets float64: transformers computes its norms and states in the type of that name."""
    for name in ("float32", "float"):
        monkeypatch.setattr(torch, name, torch.float64)
    monkeypatch.setattr(Tensor, "float", Tensor.double)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.mark.usefixtures("float64_for_all")
def test_what_differs_in_many_layers_is_rounding(tmp_path):
    """Eight layers of a Qwen3-Next are apart by 1e-5 to 3e-4 in float32, and by less than 1e-12 in float64."""
    kinds = [*["linear_attention"] * 3, "full_attention"] * 2
    pair = stored("qwen3-next", tmp_path, num_hidden_layers=8, layer_types=kinds, mlp_only_layers=[], rms_norm_eps=1e-6)
    pair.theirs.set_experts_implementation("eager")  # their fast one knows no float64
    expected = pair.expected(TEXTS)
    assert expected.dtype == torch.float64
    assert_close(pair.ours(TEXTS), expected, within=1e-11)


@pytest.mark.parametrize("chunks", [[1] * 9, [5, 3, 1]], ids=str)
def test_a_cache_changes_nothing(pair, chunks):
    """Theirs reads with its own, in the same parts."""
    mine, other, found, expected = KVCache(), None, [], []
    for part in TEXTS.split(chunks, dim=1):
        found.append(pair.ours(part, mine))
        answer = pair.theirs(part, past_key_values=other, use_cache=True)
        expected.append(answer.logits)
        other = answer.past_key_values
    assert_close(torch.cat(found, 1), torch.cat(expected, 1), within=1e-4)
    assert_close(torch.cat(found, 1), pair.ours(TEXTS), within=1e-4)
    assert mine.length == 9


def test_a_text_alone_is_what_it_is_in_a_batch(pair):
    """Padding stands on the right here, and on either side there."""
    left = torch.stack([row.roll(9 - n) for row, n in zip(TEXTS, LENGTHS, strict=True)])
    together = pair.ours(TEXTS)
    assert_close(together[STANDS], pair.expected(TEXTS, STANDS)[STANDS], within=1e-4)
    assert_close(together[STANDS], pair.expected(left, STANDS.flip(1))[STANDS.flip(1)], within=1e-4)
    assert aligned(left, STANDS.flip(1), 64)[0][STANDS].tolist() == TEXTS[STANDS].tolist()
    for text, n, logits in zip(TEXTS, LENGTHS, together, strict=True):
        assert_close(pair.ours(text[None, :n])[0], logits[:n], within=1e-4)


def test_generation_of_a_padded_batch_agrees_token_for_token(pair):
    left = torch.stack([row.roll(9 - n) for row, n in zip(TEXTS, LENGTHS, strict=True)])
    stands = STANDS.flip(1)
    mine = complete(pair.ours, left, 8, mask=stands, top_k=1)
    other = pair.theirs.generate(left, attention_mask=stands.long(), max_new_tokens=8, do_sample=False, pad_token_id=0)
    assert mine[:, 9:].tolist() == other[:, 9:].tolist()


@pytest.mark.parametrize(
    ("case", "tied"),
    [("llama", False), ("llama linear", True), ("gemma3", True), ("deepseek-v3 yarn", False), ("qwen3-next", False)],
)
def test_half_precision_in_shards_with_and_without_tied_matrices(case, tied, tmp_path):
    random_model(case, tie_word_embeddings=tied).bfloat16().save_pretrained(tmp_path, max_shard_size="4KB")
    theirs = hugging_face("AutoModelForCausalLM").from_pretrained(tmp_path, dtype=torch.float32).to(DEVICE)
    assert (tmp_path / "model.safetensors.index.json").exists()
    ours = published.load(tmp_path).model.to(DEVICE)
    assert {parameter.dtype for parameter in ours.parameters()} == {torch.float32}
    assert (ours.to_logits.weight is ours.tokens.weight) == tied
    assert_close(ours(TEXTS), theirs(TEXTS).logits, within=1e-4)


def test_names_and_angles_of_older_files_are_read(tmp_path):
    """Before version 5, rope_theta stood beside rope_scaling, and the recipe was called type."""
    pair = stored("llama", tmp_path)
    recipe = {name: value for name, value in LLAMA_3.items() if name != "rope_theta"}
    recipe["type"] = recipe.pop("rope_type")
    change_config(tmp_path, rope_parameters=None, rope_scaling=recipe, rope_theta=50.0)
    assert_close(published.load(tmp_path).model.to(DEVICE)(TEXTS), pair.expected(TEXTS), within=1e-4)


def test_an_older_gemma_says_its_angles_and_its_layers_apart(tmp_path):
    layers = ["sliding_attention", "full_attention", "sliding_attention"]
    rope = {"full_attention": LINEAR, "sliding_attention": {"rope_type": "default", "rope_theta": 30.0}}
    pair = stored("gemma3", tmp_path, layer_types=layers, rope_parameters=rope)
    old = {"rope_local_base_freq": 30.0, "rope_theta": 500.0, "rope_scaling": {"rope_type": "linear", "factor": 4.0}}
    change_config(tmp_path, rope_parameters=None, layer_types=None, sliding_window_pattern=2, **old)
    assert_close(published.load(tmp_path).model.to(DEVICE)(TEXTS), pair.expected(TEXTS), within=1e-4)


@pytest.mark.parametrize(
    ("case", "name"), [("deepseek-v3", "model.layers.3.eh_proj.weight"), ("qwen3-next", "mtp.fc.weight")]
)
def test_what_predicts_further_tokens_is_left_out(case, name, tmp_path):
    pair = stored(case, tmp_path)
    path = tmp_path / "model.safetensors"
    save_file(load_file(path) | {name: torch.ones(3)}, path)
    assert_close(published.load(tmp_path).model.to(DEVICE)(TEXTS), pair.ours(TEXTS), within=0)


# Wrong loadings compute something else: the tests above can fail


@pytest.mark.parametrize(
    ("case", "place", "wrong"),
    [
        ("llama", "angles.Llama3Scaling.slowed", lambda self, plain, base: plain),
        ("mistral", "dense.layer_of", lambda window, *parts: reading.layer_of(None, *parts)),
        ("qwen3", "reading.paired_rows", lambda rows, *_: rows),
        ("olmo2", "dense.SublayerNormResidual", PreNormResidual),
        ("gemma3", "dense.from_one", lambda tensors: tensors),
        ("gemma3", "dense.gemma_rope", lambda config, kind: {"rope_parameters": {}}),
        ("mixtral", "mixtures.MixtureOfExperts", lambda d, d_ff, n, top_k: MixtureOfExperts(d, d_ff, n, top_k=1)),
        ("gpt-oss", "mixtures.SinkAttention", WithoutSinks),
        ("deepseek-v3 yarn", "mixtures.score_scale", lambda config: 1.0),
        ("qwen3-next", "hybrid.PartialRotaryPositions.forward", lambda self, queries, keys, start: (queries, keys)),
    ],
)
def test_a_wrong_loading_is_seen(case, place, wrong, tmp_path, monkeypatch):
    theirs = random_model(case)
    theirs.save_pretrained(tmp_path)
    monkeypatch.setattr(f"transformer_lab.weights.open_families.{place}", wrong)
    assert (published.load(tmp_path).model(TEXTS.cpu()) - theirs(TEXTS.cpu()).logits).abs().max() > 1e-3


# Refusals


def change_config(folder: Path, **changes) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("case", "changes", "message"),
    [
        ("llama", {"mlp_bias": True}, "mlp_bias of a checkpoint must be False to be loaded (got True)"),
        ("llama", {"hidden_act": "gelu"}, "hidden_act of a checkpoint must be 'silu' to be loaded (got 'gelu')"),
        (
            "llama",
            {"rope_parameters": {"rope_type": "longrope"}},
            "rope_type of a checkpoint must be one of default, linear, llama3, yarn (got 'longrope')",
        ),
        ("mistral", {"layer_types": ["full_attention"] * 2}, "layer_types of a checkpoint must be None to be loaded"),
        (
            "qwen3",
            {"layer_types": ["full_attention", "chunked_attention"]},
            "layer_types of a checkpoint must be full_attention or sliding_attention (got chunked_attention)",
        ),
        (
            "gemma3",
            {"attn_logit_softcapping": 50.0},
            "attn_logit_softcapping of a checkpoint must be None to be loaded",
        ),
        ("gemma3", {"use_bidirectional_attention": True}, "use_bidirectional_attention of a checkpoint must be False"),
        (
            "deepseek-v3",
            {"norm_topk_prob": False},
            "norm_topk_prob of a checkpoint must be True to be loaded (got False)",
        ),
        ("deepseek-v3", {"attention_bias": True}, "attention_bias of a checkpoint must be False to be loaded"),
        ("deepseek-v3", {"n_group": 8}, "each of n_groups (8) must have equally many experts, 2 or more (of 8)"),
        (
            "qwen3-next",
            {"norm_topk_prob": False},
            "norm_topk_prob of a checkpoint must be True to be loaded (got False)",
        ),
        (
            "qwen3-next",
            {"layer_types": ["linear_attention", "sliding_attention", "full_attention"]},
            "layer_types of a checkpoint must be full_attention or linear_attention (got sliding_attention)",
        ),
        ("llama", {"rope_parameters": {"rope_type": "linear"}}, "config.json of a llama must say its factor"),
        (
            "llama",
            {"quantization_config": {"quant_method": "mxfp4"}},
            "must be plain floating-point numbers to be loaded (these are quantized: 'mxfp4')",
        ),
    ],
)
def test_what_these_parts_cannot_compute_is_refused(case, changes, message, tmp_path):
    random_model(case).save_pretrained(tmp_path)
    change_config(tmp_path, **changes)
    with refuses(message):
        published.load(tmp_path)


NOT_IN_THE_WEIGHTS = {"sliding_window", "max_window_layers", "max_position_embeddings", "num_experts_per_tok"}
NOT_IN_THE_WEIGHTS |= {"original_max_position_embeddings", "n_group", "topk_group", "_sliding_window_pattern"}


def outcome(folder: Path, **changes) -> str:
    """What loading says of a config with these changes: nothing, or the text of its ValueError."""
    path = folder / "config.json"
    before = path.read_text()
    change_config(folder, **changes)
    try:
        with without_signature_checks():
            published.load(folder)
    except ValueError as error:
        return str(error)
    finally:
        path.write_text(before)
    return ""


@pytest.mark.parametrize("case", CASES)
def test_a_config_that_does_not_fit_the_weights_is_refused(case, tmp_path):
    random_model(case).save_pretrained(tmp_path)
    said = json.loads((tmp_path / "config.json").read_text())
    sizes = {name: x for name, x in said.items() if configs.KINDS.get(name) is configs.SIZE and x is not None}
    silent = {name for name, x in sizes.items() if not all(outcome(tmp_path, **{name: x + by}) for by in (-1, 1))}
    unused = {"head_dim"} if case.startswith("deepseek") else set()  # a DeepSeek has other sizes for its heads
    assert silent <= NOT_IN_THE_WEIGHTS | unused
    for by in (-1, 1):
        n_layers = sizes["num_hidden_layers"] + by
        kinds = {"layer_types": (2 * said["layer_types"])[:n_layers]} if said.get("layer_types") else {}
        assert outcome(tmp_path, num_hidden_layers=n_layers, **kinds).startswith("stored weights must fit the model (")


@pytest.mark.parametrize("case", CASES)
def test_a_value_of_a_wrong_type_is_named(case, tmp_path):
    """Every value of the config in turn; what has no type in the table must not matter."""
    random_model(case).save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    said = json.loads(path.read_text())
    inner = {name: (key, x) for key, x in said.items() if isinstance(x, dict) for name in x}
    for name in [*said, *inner]:
        for wrong in ("64", [{}]):
            kind = configs.KINDS.get(name)
            key, table = inner.get(name, (name, {}))
            changes = {key: table | {name: wrong}} if table else {name: wrong}
            found = outcome(tmp_path, **changes)
            if kind is not None and not kind.fits(wrong):
                assert found == f"{name} of a checkpoint must be {kind.rule} (got {wrong!r} in {path})"


def test_an_open_model_is_not_copied_and_no_checkpoint_holds_it(tmp_path):
    """A Mistral's tensors have the names of a Llama's, and without its window they would mean something else."""
    pair, path = stored("llama", tmp_path), tmp_path / "stored.safetensors"
    with refuses("what is copied must be a LanguageModel made from its config (got OpenModel)"):
        copy_to_huggingface(pair.ours, pair.theirs)
    save_checkpoint(path, pair.ours, Characters("abcdefghijklmno"), {})
    with refuses("a config must have the fields of LanguageModelConfig (missing=[], unknown=['family'])"):
        load_language_model(path)
    with refuses("an OpenModel must be opened by published.load, from its family's folder (got "):
        OpenModel.from_checkpoint(path)
