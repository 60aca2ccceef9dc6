"""What all pages have in common: a style for screen and print, light and dark, and how a student's pages are named."""

from html import escape

from transformer_lab.grading.submissions.file_names import file_name

STYLE = """<style>
:root { color-scheme: light dark; --line: #8886; --soft: #8882; --ok: #00795a; --bad: #b34700; --link: #0068a8; }
@media screen and (prefers-color-scheme: dark) { :root { --ok: #2cc39a; --bad: #ff9452; --link: #7cc4f5; } }
html { background: Canvas; color: CanvasText; overflow-wrap: break-word; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
h1 { line-height: 1.2; } h2 { margin-top: 2.2rem; } a { color: var(--link); }
.wide { overflow-x: auto; }
@media screen { .broad th, .broad td { padding: 3px 7px; } }
@media screen and (min-width: 54rem) { /* beyond the text, on both sides, where the window has room */
  .broad { width: max-content; min-width: 100%; max-width: calc(100vw - 4rem); margin-left: 50%; translate: -50%; }
}
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 10px; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
td.text { overflow-wrap: anywhere; min-width: 12rem; }
td.number, th.number { text-align: right; } td.number { white-space: nowrap; }
@media screen and (max-width: 30rem) { .broad th, .broad td { padding: 3px; font-size: 15px; } }
section { border-left: 4px solid var(--line); padding: 2px 14px; margin: 1.2rem 0; break-inside: avoid; }
section.ok { border-color: var(--ok); } section.wrong { border-color: var(--bad); }
section h2, section h3 { margin: 0.3rem 0; font-size: 1.15rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--soft); padding: 6px 10px; }
blockquote { margin: 6px 0; padding: 6px 10px; background: var(--soft); }
blockquote, .asked { white-space: pre-wrap; overflow-wrap: anywhere; }
.look { border-top: 1px solid var(--line); padding-top: 4px; } ol.teach > li { margin: 0.6rem 0; }
summary { cursor: pointer; }
@page { margin: 16mm; }
@media print {
  :root { color-scheme: light; } body { max-width: none; margin: 0; padding: 0; font-size: 11pt; }
  a { color: inherit; } pre, blockquote { border: 1px solid var(--line); }
  h1, h2, h3, summary, tr:first-child { break-after: avoid; } tr { break-inside: avoid; }
  .wide { overflow: visible; } th, td { padding: 3px; } td.text { min-width: 7rem; }
  th.many { writing-mode: sideways-lr; text-align: left; vertical-align: bottom; white-space: nowrap; }
  details::details-content { content-visibility: visible; }
}
</style>"""


def page(title: str, body: str) -> str:
    view = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    head = f'<meta charset="utf-8">{view}<title>{escape(title)}</title>{STYLE}'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>\n'


def code_link(student: str, exercise: str = "", named: str = "") -> str:
    """A link to a student's code, from the report, named after the student or otherwise."""
    anchor = f"#{escape(exercise)}" if exercise else ""
    page_of = escape(file_name(student).replace("%", "%25"))
    return f'<a href="code/{page_of}.html{anchor}">{escape(named or student)}</a>'


def words(count: float | int, one: str, many: str) -> str:
    return f"{count:g} {one if count == 1 else many}"
