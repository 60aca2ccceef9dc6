"""Build the site: the lessons as web pages, from the stored notebooks, into a folder that any file server serves.

    python web/build.py OUT        needs `pip install -e ".[site]"`; nothing is executed, nothing is downloaded

The pages are laid out in a temporary folder, as Sphinx wants them; what a page is made of stands in `lessons.py` and
`front.py`, what Sphinx does with it in `conf.py`. A workflow hands over where the site will stand, in SITE_ADDRESS, and
its repository, in GITHUB_SERVER_URL and GITHUB_REPOSITORY.
"""

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import nbformat
from sphinx.cmd.build import build_main

WEB = Path(__file__).resolve().parent
ROOT = WEB.parent
MARK = ".nojekyll"  # without it GitHub Pages leaves out folders that begin with an underscore
sys.path[:0] = [str(ROOT), str(WEB)]  # the package of this checkout

from course import lessons_of  # noqa: E402
from downloads import write_downloads, write_wheel  # noqa: E402
from figures import hang_figures  # noqa: E402
from front import front_page  # noqa: E402
from lessons import as_page  # noqa: E402
from lettering import with_letters  # noqa: E402
from mathematics import write_font  # noqa: E402
from posters import hang  # noqa: E402
from strip import hang_strip, titles_of  # noqa: E402
from wall import put_up  # noqa: E402
from whereabouts import Whereabouts  # noqa: E402

FONTS = ROOT / "transformer_lab" / "widgets" / "static" / "fonts"
DESCRIBED = (
    "Build the Transformer yourself, in PyTorch, in notebooks that check every answer on the spot and say which "
    "mistake you have made. Every view is alive in the page."
)
UNKNOWN = (
    "Nobody has said where the site will stand, so its pages name no canonical address and no picture for those who "
    "share them, which must both be whole addresses: SITE_ADDRESS=https://… python web/build.py OUT"
)
# Sphinx lays these out for every theme; no page of ours names them.
SPARE = ("basic.css", "doctools.js", "documentation_options.js", "language_data.js", "pygments.css", "searchtools.js")


def lay_out(source: Path, where: Whereabouts) -> None:
    """Write what Sphinx reads into `source`, and what it only copies into `source/_extra`."""
    extra, notebooks = source / "_extra", sorted((ROOT / "notebooks").glob("*.ipynb"))
    for folder in ("lessons", "docs", "_extra/lessons", "_static"):
        (source / folder).mkdir(parents=True)
    shutil.copytree(ROOT / "img", source / "img", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for drawing in sorted((source / "img").glob("*.svg")):
        drawing.write_text(with_letters(drawing.read_text("utf-8")), "utf-8")
    shutil.copytree(WEB / "static", source / "_static", dirs_exist_ok=True)
    shutil.copytree(FONTS, source / "_static" / "fonts")
    write_font(source / "_static" / "mathematics.woff")
    stored = {path.stem: nbformat.read(path, as_version=4) for path in notebooks}
    write_downloads(stored, where.site, write_wheel(ROOT, extra / "wheel"), extra / "lessons")
    lessons = lessons_of(stored, ROOT)
    by_name = {lesson["name"]: lesson for lesson in lessons}
    titles = titles_of(as_page(stored["gallery"], "gallery"))
    for name, notebook in stored.items():
        page = as_page(notebook, name, where.colab)
        if name == "gallery":
            put_up(page, extra / "lessons" / "wall")
        elif name in by_name:
            hang(page, by_name[name], where.colab)
            hang_strip(page, titles)
            hang_figures(page, extra / "lessons" / "figures", name)
        nbformat.write(page, source / "lessons" / f"{name}.ipynb")
    (source / "index.md").write_text(front_page(stored, lessons, where.repository, ROOT, source), "utf-8")
    (source / "course.json").write_text(json.dumps(about_all(lessons, where)), "utf-8")
    lay_out_texts(source)


def about_all(lessons: list[dict], where: Whereabouts) -> dict:
    """What every page is told, and its lessons."""
    course = {"title": "Transformer Lab: build a Transformer, then cut its threads", "described": DESCRIBED}
    course |= {"address": where.site, "repository": where.repository, "colab": where.colab}
    return {"course": course, "lessons": lessons}


def lay_out_texts(source: Path) -> None:
    """Write the texts of the repository that are pages, too."""
    for path in sorted((ROOT / "docs").glob("*.md")):
        (source / "docs" / path.name).write_text(with_links(path.read_text("utf-8")), "utf-8")
    contributing = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    contributing = re.sub(r"\[([^]]+)\]\(transformer_lab/[^)]*\)", r"\1", contributing)  # no page has the code
    (source / "contributing.md").write_text(contributing, "utf-8")


def with_links(text: str) -> str:
    """A text of the repository that names others, with links to their pages."""
    return text.replace("(../README.md)", "(../index.md)").replace("(../CONTRIBUTING.md)", "(../contributing.md)")


def build(out: Path) -> int:
    """Build the site in `out`, which is deleted before; returns 0 if all went well."""
    where = Whereabouts.of(os.environ)
    if not where.site:
        print(UNKNOWN)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        lay_out(source, where)
        shutil.rmtree(out, ignore_errors=True)
        options = ["-b", "html", "-q", "-W", "--keep-going", "-c", str(WEB), "-d", str(Path(folder) / "doctrees")]
        status = build_main([*options, str(source), str(out)])
    for spare in (out / ".buildinfo", out / "objects.inv", *(out / "_static" / name for name in SPARE)):
        spare.unlink(missing_ok=True)
    (out / MARK).touch()
    return status


def is_ours(out: Path) -> bool:
    """Whether a folder may be emptied: it is not there, holds nothing, or holds a site."""
    return not out.exists() or (out.is_dir() and (not any(out.iterdir()) or (out / MARK).exists()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path, metavar="OUT", help="the folder to build in; a site that it holds is deleted")
    chosen = parser.parse_args().out.resolve()
    if not is_ours(chosen):
        parser.error(f"OUT must be empty, or a site that was built before ({chosen} holds something else)")
    sys.exit(build(chosen))
