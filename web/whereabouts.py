"""Where the site will stand, and its repository: a workflow knows, and hands it over."""

from collections.abc import Mapping
from dataclasses import dataclass

COLAB = "https://colab.research.google.com/github/"


@dataclass(frozen=True)
class Whereabouts:
    """The addresses that a workflow hands over: of the site, with a slash at its end, and of the repository."""

    site: str = ""
    repository: str = ""

    @property
    def colab(self) -> str:
        """Where Colab opens the lessons: it takes notebooks from a branch of a repository on GitHub.

        The workflow pushes them there, as they lie on the site; each begins by installing the wheel that the site has.
        """
        _, on_github, name = self.repository.partition("https://github.com/")
        return f"{COLAB}{name}/blob/colab/" if on_github and self.site else ""

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Whereabouts":
        site = environment.get("SITE_ADDRESS", "")
        repository = [environment.get(name, "") for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY")]
        return cls(f"{site.rstrip('/')}/" if site else "", "/".join(repository) if all(repository) else "")
