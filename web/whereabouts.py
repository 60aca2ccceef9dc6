"""Where the site will stand, and its repository: a workflow knows, and hands it over."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Whereabouts:
    """The addresses that a workflow hands over: of the site, with a slash at its end, and of the repository."""

    site: str = ""
    repository: str = ""

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Whereabouts":
        site = environment.get("SITE_ADDRESS", "")
        repository = [environment.get(name, "") for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY")]
        return cls(f"{site.rstrip('/')}/" if site else "", "/".join(repository) if all(repository) else "")
