"""Models from the Hugging Face hub, by its own client: with a bar, and a broken download goes on where it stopped.

They land in that client's cache, where `transformers` finds them, too. What is there already needs no network.
"""

import re
from contextlib import suppress
from pathlib import Path

from transformer_lab.weights.folders import INDEX, WEIGHTS, check_digest, read_json

SHA256 = re.compile(r"[0-9a-f]{64}")


def fetch(repository: str, revision: str, cache: Path | None = None, endpoint: str | None = None) -> Path:
    """A folder with a model's config, weights and tokenizer.

    A large file is stored on the hub by its SHA-256, and is compared with it.

    Raises:
        ConnectionError: the hub can't be reached, and not all is in the cache.
        FileNotFoundError: there is no such model, or it has no safetensors.
        ValueError: what came is not what the hub promised.
    """
    place = (revision, cache, endpoint)
    config = fetch_file(repository, "config.json", *place)
    for name in ("tokenizer.json", WEIGHTS):
        fetch_if_there(repository, name, *place)
    if not (config.parent / WEIGHTS).exists():
        index = fetch_file(repository, INDEX, *place)
        for shard in sorted(set(read_json(index)["weight_map"].values())):
            fetch_file(repository, shard, *place)
    return config.parent


def fetch_file(repository: str, name: str, revision: str, cache: Path | None, endpoint: str | None) -> Path:
    """Where a file lies now."""
    from huggingface_hub import hf_hub_download  # imported late: it takes half a second, and few ask for it
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError, RepositoryNotFoundError

    try:
        path = Path(hf_hub_download(repository, name, revision=revision, cache_dir=cache, endpoint=endpoint))
    except LocalEntryNotFoundError as error:
        raise ConnectionError(f"the hub must be within reach to get {repository} ({name} did not come)") from error
    except RepositoryNotFoundError as error:
        raise FileNotFoundError(f"a model must be on the hub to be got from there ({repository} is not)") from error
    except EntryNotFoundError as error:
        raise FileNotFoundError(f"a published model must have a {name} ({repository} has none)") from error
    if SHA256.fullmatch(stored_as := path.resolve().name):  # the cache names a large file by its digest
        check_digest(path.resolve(), stored_as)
    return path


def fetch_if_there(repository: str, name: str, revision: str, cache: Path | None, endpoint: str | None) -> None:
    """Get a file that not every model has; the cache remembers that one is not there."""
    from huggingface_hub import _CACHED_NO_EXIST, try_to_load_from_cache

    if try_to_load_from_cache(repository, name, cache_dir=cache, revision=revision) is _CACHED_NO_EXIST:
        return
    with suppress(FileNotFoundError):
        fetch_file(repository, name, revision, cache, endpoint)
