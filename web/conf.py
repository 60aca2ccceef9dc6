"""What Sphinx makes of the pages that `build.py` lays out."""

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
nb_code_prompt_show = "show the code"
nb_code_prompt_hide = "hide the code"
myst_enable_extensions = ["dollarmath", "attrs_inline"]
myst_dmath_double_inline = True
myst_heading_anchors = 3
suppress_warnings = ["mystnb.unknown_mime_type", "myst.header", "misc.highlighting_failure"]

html_theme = "furo"
html_title = project
html_math_renderer = "mathml"
html_static_path: list[str] = []  # laid out by build.py, relative to this file they would be ours alone
html_extra_path: list[str] = []
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_favicon = "static/icon.svg"
templates_path = ["templates"]
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Helvetica Neue', Arial, sans-serif"
MONO = "ui-monospace, 'SF Mono', 'Cascadia Code', 'JetBrains Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"
html_theme_options = {
    "top_of_page_buttons": [],
    "light_css_variables": {
        "font-stack": SANS,
        "font-stack--monospace": MONO,
        "color-brand-primary": "#005d92",
        "color-brand-content": "#005d92",
    },
    "dark_css_variables": {"color-brand-primary": "#7cc4f0", "color-brand-content": "#7cc4f0"},
}


def setup(app) -> None:
    """What `build.py` has laid out beside the pages is found there, wherever that is."""
    source = Path(app.srcdir)
    app.config.html_static_path = [str(source / "_static")]
    app.config.html_extra_path = [str(source / "_extra")]
