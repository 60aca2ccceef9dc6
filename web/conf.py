"""What Sphinx makes of the pages that `build.py` lays out."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "Transformer Lab"
author = "Transformer Lab contributors"
language = "en"
extensions = ["myst_nb", "mathematics"]
exclude_patterns = ["_extra", "_static"]

nb_execution_mode = "off"  # what is stored is shown
nb_merge_streams = True
myst_enable_extensions = ["dollarmath", "attrs_inline"]
myst_dmath_double_inline = True
myst_heading_anchors = 3
suppress_warnings = ["mystnb.unknown_mime_type", "myst.header", "misc.highlighting_failure"]

html_theme = "theme"
html_theme_path = ["."]
html_title = project
html_math_renderer = "mathml"
html_static_path: list[str] = []  # laid out by build.py, relative to this file they would be ours alone
html_extra_path: list[str] = []
STYLES = ("base", "layout", "contents", "search", "front", "lesson", "tables", "exercise", "paper", "gallery", "code")
STYLES += ("folds", "prints", "figures", "poster", "cards", "answers", "options", "lines", "boards", "verdicts")
STYLES += ("which", "quiz", "closing", "onward", "extras")
html_css_files = [f"{name}.css" for name in STYLES]
html_js_files = ["site.js"]  # modules are named in the layout, by the address that others import them by
html_additional_pages = {"search": "search.html"}
html_permalinks_icon = "#"
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
html_use_index = False


def setup(app) -> None:
    """What `build.py` has laid out beside the pages is found there, wherever that is."""
    import ends
    import folds
    from navigation import Navigation

    source = Path(app.srcdir)
    app.config.html_static_path = [str(source / "_static")]
    app.config.html_extra_path = [str(source / "_extra")]
    laid = json.loads((source / "course.json").read_text("utf-8"))
    app.config.html_baseurl = laid["course"]["address"]
    ours = [f"_static/{name}" for name in (*html_css_files, *html_js_files)]
    navigation = Navigation(laid["course"] | {"files": ours}, laid["lessons"])
    app.connect("builder-inited", without_its_search)
    app.connect("doctree-resolved", ends.arrange)
    app.connect("doctree-resolved", folds.arrange)
    app.connect("html-page-context", navigation.of_page)
    app.connect("build-finished", navigation.write)


def without_its_search(app) -> None:
    """Sphinx's own search leads to pages; ours, in search.js, to the section."""
    app.builder.search = False
