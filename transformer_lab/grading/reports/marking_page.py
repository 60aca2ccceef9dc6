"""The page on which an instructor marks answers in words: one file that holds all, works offline, and saves a file.

What students wrote travels as JSON, in which no `<` is left, and is only ever set as text. The page's policy lets no
script run but its own, and nothing be fetched from anywhere.
"""

import base64
import hashlib
import json
from html import escape
from pathlib import Path

from transformer_lab.grading.gradebook.final_grades import Gradebook
from transformer_lab.grading.handout.questions import alike, fingerprint
from transformer_lab.grading.reports.pages import STYLE

NAME = "marking.html"
SCRIPT = Path(__file__).with_suffix(".js")
OWN_STYLE = """<style>
body { max-width: 60rem; }
header { position: sticky; top: 0; z-index: 1; background: Canvas; border-bottom: 1px solid var(--line); }
header h1 { margin: 6px 0; font-size: 1.4rem; }
fieldset { border: 0; padding: 0; margin: 4px 0; display: flex; flex-wrap: wrap; gap: 4px 16px; }
.row { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: center; margin: 4px 0; }
.answer { scroll-margin-top: 12rem; }
.answer.done { border-color: var(--ok); }
.answer:focus-within { border-color: var(--link); }
.answer h3 { display: flex; gap: 12px; align-items: baseline; justify-content: space-between; flex-wrap: wrap; }
.answer pre { font: inherit; max-height: 30rem; overflow-y: auto; }
.badge { color: var(--bad); font-size: 0.85rem; }
.marks { display: grid; grid-template-columns: 11rem 1fr; gap: 10px; }
.marks label { display: block; }
input[type=number] { width: 5rem; font-size: 1.1rem; }
input:invalid { outline: 3px solid var(--bad); }
.fault { color: var(--bad); font-size: 0.85rem; margin: 4px 0; }
textarea { width: 100%; font: inherit; box-sizing: border-box; }
button { font: inherit; padding: 3px 12px; }
kbd { font-family: inherit; border: 1px solid var(--line); padding: 0 4px; border-radius: 3px; }
.sr { position: absolute; clip-path: inset(50%); }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
.hidden { display: none; }
@media (max-width: 40rem) { .marks { grid-template-columns: 1fr; } header { position: static; } }
@media print { header { position: static; } .row, .keys { display: none; } .answer pre { max-height: none; } }
</style>"""
BODY = """<header><h1>{title}</h1>
<fieldset id="questions"><legend class="sr">Question</legend></fieldset>
<div class="row">
<button type="button" id="save">Save</button>
<label><input type="checkbox" id="open"> only what is not marked yet</label>
<label><input type="checkbox" id="nameless"> hide names</label>
<label>take over a saved file <input type="file" id="load" accept=".json,application/json"></label>
<span id="said" role="status"></span></div></header>
<section><div class="text" id="asked"></div>
<details open id="guided"><summary>For the marker</summary><div class="text" id="guide"></div></details>
<p class="keys"><kbd>Tab</kbd> goes from points to comment; <kbd>Enter</kbd> in points, or
<kbd>Ctrl</kbd>+<kbd>Enter</kbd> in a comment, to the next answer, with <kbd>Shift</kbd> to the one before;
<kbd>Ctrl</kbd>+<kbd>S</kbd> saves.</p></section>
<main id="answers"></main>
<noscript>This page needs JavaScript.</noscript>"""


def marking_page(book: Gradebook) -> str:
    """All answers to all questions, with what has been given so far."""
    title = f"{book.assignment.name}: answers in words"
    script = SCRIPT.read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'"
    policy += "; base-uri 'none'; form-action 'none'"
    head = f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
    head += '<meta name="viewport" content="width=device-width, initial-scale=1">'
    head += f"<title>{escape(title)}</title>{STYLE}{OWN_STYLE}"
    data = f'<script type="application/json" id="data">{inert(told(book))}</script>'
    body = f"{BODY.format(title=escape(title))}{data}<script>{script}</script>"
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>\n'


def inert(data: dict) -> str:
    """JSON that ends no element, wherever it stands in a page."""
    text = json.dumps(data)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def told(book: Gradebook) -> dict:
    """What the page shows: questions, answers that are not empty, and marks."""
    texts = {name: texts_of(book, name) for name in book.assignment.questions}
    same = {name: dict(alike(of_all)) for name, of_all in texts.items()}
    names = {one.student: one.name or one.student for one in book.finals}
    questions = [
        {"name": name, "points": one.points, "text": one.text, "guide": one.guide, "empty": empty(book, name)}
        for name, one in book.assignment.questions.items()
    ]
    answers = [
        {"student": student, "name": names[student], "question": name, "text": text, "print": fingerprint(text)}
        | {"alike": same[name][student]}
        for name, of_all in texts.items()
        for student, text in of_all.items()
    ]
    marks = [vars(given) for one in book.finals for given in one.by_hand.values()]
    # of another assignment of the same name the browser must keep other drafts
    return {
        "assignment": book.assignment.name,
        "draft": fingerprint(f"draft {book.assignment.seed}"),
        **{"questions": questions, "answers": answers, "marks": marks},
    }


def texts_of(book: Gradebook, question: str) -> dict[str, str]:
    return {
        one.student: one.graded.texts[question] for one in book.finals if one.graded and question in one.graded.texts
    }


def empty(book: Gradebook, question: str) -> int:
    """How many handed in something, but no answer to this."""
    return sum(one.graded is not None and question not in one.graded.texts for one in book.finals)
