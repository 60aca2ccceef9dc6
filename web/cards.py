"""The card of an exercise on a page: what is to be done, said once, room for an answer, hints, and one next step.

A page judges values, masks and matrices itself (`judged.py`), and where a function is broken it judges the line that
is pointed at (`faults.py`). It checks no code: the card says what the check in a notebook will tell, and leads there.
"""

import json
import re
from html import escape

from faults.diffing import code_lines
from faults.harm import cause, elsewhere, symptom
from faults.places import places
from faults.probes import probes
from judged import PAINTED, is_judged, panel_of
from listings import line
from missed import what_gets_past
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from results import which_is_right
from torch import Tensor

from transformer_lab.exercises import Exercise
from transformer_lab.exercises.engine.cards import folded, folded_hints, html_text
from transformer_lab.exercises.engine.comparing import show
from transformer_lab.exercises.kinds import FindTheBug, WriteTheTest

NEW_LINE = "\n"
TO_DO = {  # by the kind of an exercise
    "implement": "Write",
    "find the bug": "Find the bug in",
    "write the test": "Write the test",
    "predict": "Predict",
    "set the weights": "Set the weights of",
}
BROKEN = re.compile(r"^((?! |- ).+)\n(?! |- |\n)", re.MULTILINE)
FENCE = "`" * 8
LONG = 160  # characters of a call that is no longer an example at a glance
PLAIN = (Tensor, int, float, str, list, tuple)  # what an example may be given and give


def panel(exercise: Exercise, name: str, colab: str, number: int, stub: str, told: str) -> str:
    """The Markdown that stands on a page in place of a check: a card around what the lesson says of the exercise."""
    if exercise.name in PAINTED:
        told = re.sub(r"^Write\b", "Paint", told)
    return f"{raw(head(exercise, number))}\n\n{told}\n\n{raw(body(exercise, name, colab, stub))}"


def raw(html: str) -> str:
    return f"{FENCE}{{raw}} html\n{html}\n{FENCE}"


def head(exercise: Exercise, number: int) -> str:
    effort = (f"{exercise.minutes} minutes", f"difficulty {exercise.difficulty} of 3")
    to_do = "Paint" if exercise.name in PAINTED else TO_DO[exercise.kind]
    return (
        f'<div class="exercise" id="exercise-{exercise.name}" data-place="exercise" data-title="{exercise.name}" '
        f'role="group" aria-label="Exercise {exercise.name}">'
        f'<span class="seal" data-seal="{exercise.name}" data-number="{number}"></span><p class="effort">'
        f"<b>Exercise {number}</b>{''.join(f' <span>{escape(one)}</span>' for one in effort)}</p>"
        f'<p class="exercise-title">{to_do} <code>{exercise.name}</code></p>'
    )


def body(exercise: Exercise, name: str, colab: str, stub: str) -> str:
    """What stands below the words of the lesson: where the page judges, Python is the other way, and folded."""
    hints = folded_hints([flowing(hint) for hint in exercise.hints])
    said = folded("the full statement", html_text(flowing(exercise.statement))) + hints
    ways = ways_of(exercise, name, colab)
    if is_judged(exercise):
        there = f'{beginning(exercise, stub)}{promise(exercise, colab)}<p class="exercise-ways">{ways}</p>'
        folds = f"{said}{folded('in Python', there)}{link_to(exercise, 'quiet')}"
        return f'{panel_of(exercise)}<div class="folds">{folds}</div></div>'
    where = places(exercise) if isinstance(exercise, FindTheBug) else []
    start = pointing(exercise, stub, where) if where else writing(exercise, stub)
    ways = f'<p class="exercise-ways">{ways}{link_to(exercise, "button")}</p>'
    return f'{start}<div class="folds">{said}</div>{promise(exercise, colab)}{ways}</div>'


def link_to(exercise: Exercise, look: str) -> str:
    return f'<button class="{look}" type="button" data-send="exercise-{exercise.name}">Copy link</button>'


def beginning(exercise: Exercise, stub: str) -> str:
    """The code that is handed out, and a button that copies it with its check."""
    lines = "".join(map(line, coloured(stub).split(NEW_LINE)))
    return f'<div class="stub highlight"><pre>{lines}</pre>{copying(exercise, stub)}</div>'


def writing(exercise: Exercise, stub: str) -> str:
    """The code that is handed out, after a question that can be answered before it is written, or with an example."""
    if asked := what_gets_past(exercise) if isinstance(exercise, WriteTheTest) else which_is_right(exercise):
        return f'{asked}<p class="then">Then write it, from this start</p>{beginning(exercise, stub)}'
    return beginning(exercise, stub) + example(exercise)


def example(exercise: Exercise) -> str:
    """The first case that is tried, with what is right, as a call; nothing where it cannot be written in a line."""
    case = exercise.cases[0]
    right = exercise.expected(case).value
    if exercise.kind != "implement" or not all(isinstance(one, PLAIN) for one in (*case.arguments.values(), right)):
        return ""
    given = ", ".join(f"{name}={show(value)}" for name, value in case.arguments.items())
    call = re.sub(r"\s*\n\s*", " ", f">>> {exercise.name}({given})")
    if len(call) > LONG:
        return ""
    told = escape("\n".join([call, *(show(one) for one in (right if isinstance(right, tuple) else (right,)))]))
    return f'<div class="example"><span class="label">An example: {escape(case.label)}</span><pre>{told}</pre></div>'


def coloured(code: str) -> str:
    return highlight(code, PythonLexer(), HtmlFormatter(nowrap=True)).rstrip("\n")


def copying(exercise: Exercise, stub: str) -> str:
    told = f"from transformer_lab import exercises\n\n\n{stub}\n\n\nexercises.{exercise.name}.check({exercise.name})\n"
    return f'<button type="button" data-copy="{escape(told).replace(NEW_LINE, "&#10;")}">Copy</button>'


def pointing(exercise: Exercise, stub: str, where: list[list[int]]) -> str:
    """The code that is handed out with a button for each line, and the places of its faults."""
    choice = '<input type="radio" name="line-{0}" value="{1}">'
    can = code_lines(stub)
    within = [len(code) - len(code.lstrip()) for code in stub.split("\n")]
    lines = [
        f'<label style="--in:{within[n]}">{choice.format(exercise.name, n)}<span>{line}</span></label>'
        if n in can
        else f"<span>{line}</span>"
        for n, line in enumerate(coloured(stub).split("\n"))
    ]
    many = f"Where are the {len(where)} bugs? Find one after another."
    legend = f"<legend>{'Where is the bug?' if len(where) == 1 else many}</legend>"
    causes = [cause(exercise, place) for place in where]
    known = {"name": exercise.name, "places": where, "causes": causes, "symptom": symptom(exercise)}
    known["elsewhere"] = [elsewhere(exercise, place) for place in where]
    known["probes"] = probes(exercise)
    table = json.dumps(known).replace("<", "\\u003c")
    return (
        f'<fieldset class="stub highlight lines" data-points="{exercise.name}">{legend}'
        f"<pre>{NEW_LINE.join(lines)}</pre>{copying(exercise, stub)}</fieldset>"
        f'<script type="application/json">{table}</script>'
    )


def promise(exercise: Exercise, colab: str) -> str:
    """What the check in a notebook tells whoever has written an answer."""
    count, known = len(exercise.cases), len(exercise.mistakes)
    other = f"the simplest of {count} cases that fails, with your answer beside the right one"
    if exercise.kind == "write the test":
        other = f"how many of {count} functions your test judges right, and what it misses"
    tells = {
        "solved": ("Right", "what you have worked out, and the next step"),
        "tried": (f"A mistake it knows, one of {known}" if known > 1 else "The mistake it knows", "its name, and why"),
        "": ("Anything else", other),
    }
    first = "Mend it" if exercise.kind == "find the bug" else "Write it"
    where = f'<a href="../index.html#start">on your computer</a>{" or in Colab, with nothing to install" * bool(colab)}'
    if exercise.kind == "implement" and not is_judged(exercise):
        said = f"Its check tries {count} cases, knows {known} mistakes by name, and shows the simplest case that fails."
        return f'<div class="exercise-run"><p>{first} in a notebook, {where}. {said}</p></div>'
    row = '<li><i class="dot {}"></i><span><b>{}:</b> {}</span></li>'
    rows = "".join(row.format(state, *told) for state, told in tells.items())
    lead = f"<p>{first} in a notebook, {where}. Its check says at once:</p>"
    return f'<div class="exercise-run">{lead}<ul>{rows}</ul></div>'


def ways_of(exercise: Exercise, name: str, colab: str) -> str:
    """Where code is written and checked, and a way to take the exercise there: one of them is the next step."""
    first = "button" if is_judged(exercise) else "button primary"
    ways = [f'<a class="{first}" href="{colab}{name}.ipynb">Open in Colab</a>'] * bool(colab)
    first = "button" if colab else first
    ways.append(f'<a class="{first}" href="{name}.ipynb" download>Download{"" if colab else " the notebook"}</a>')
    return "".join(ways)


def flowing(text: str) -> str:
    """A text whose lines were broken in the source, with a line for each paragraph; code and lists stay."""
    return BROKEN.sub(r"\1 ", text)
