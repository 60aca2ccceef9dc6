"""The card of an exercise on a page: what is to be done, the code that one begins with, hints, and one next step.

A page checks no code. It judges values, masks and matrices itself (`judged.py`), and for the rest says where to go.
"""

import re
from html import escape

from judged import is_judged, panel_of
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from transformer_lab.exercises import Exercise
from transformer_lab.exercises.engine.cards import folded, folded_hints, html_text

NEW_LINE = "\n"
TO_DO = {  # by the kind of an exercise
    "implement": "Write",
    "find the bug": "Find the bug in",
    "write the test": "Write the test",
    "predict": "Predict",
    "set the weights": "Set the weights of",
}
BROKEN = re.compile(r"^((?! |- ).+)\n(?! |- |\n)", re.MULTILINE)


def panel(exercise: Exercise, name: str, colab: str, number: int, stub: str) -> str:
    """What stands on a page in place of the check of an answer: a card, with the code that it begins with."""
    effort = (f"{exercise.minutes} minutes", f"difficulty {exercise.difficulty} of 3")
    hints = folded_hints([flowing(hint) for hint in exercise.hints])
    return (
        f'<div class="exercise" id="exercise-{exercise.name}" data-place="exercise" data-title="{exercise.name}" '
        f'role="group" aria-label="Exercise {exercise.name}">'
        f'<span class="seal" data-seal="{exercise.name}" data-number="{number}"></span><p class="effort">'
        f"<b>Exercise {number}</b>{''.join(f'<span>{escape(one)}</span>' for one in effort)}</p>"
        f'<p class="exercise-title">{TO_DO[exercise.kind]} <code>{exercise.name.replace("_", "_<wbr>")}</code></p>'
        f"{beginning(exercise, stub)}"
        f'<div class="folds">{folded("the full statement", html_text(flowing(exercise.statement)))}{hints}</div>'
        f"{panel_of(exercise) if is_judged(exercise) else ''}{how_else(exercise, name, colab)}</div>"
    )


def beginning(exercise: Exercise, stub: str) -> str:
    """The code that is handed out, and a button that copies it with its check."""
    told = f"from transformer_lab import exercises\n\n\n{stub}\n\n\nexercises.{exercise.name}.check({exercise.name})\n"
    code = highlight(stub, PythonLexer(), HtmlFormatter(nowrap=True)).rstrip("\n")
    return (
        f'<div class="stub highlight"><pre>{code}</pre>'
        f'<button type="button" data-copy="{escape(told).replace(NEW_LINE, "&#10;")}">Copy</button></div>'
    )


def how_else(exercise: Exercise, name: str, colab: str) -> str:
    """Where code is written and checked, which no page does, and a way to take the exercise there."""
    judged, n_mistakes = is_judged(exercise), len(exercise.mistakes)
    first = "button" if judged else "button primary"  # there is one next step
    ways = [f'<a class="{first}" href="{colab}{name}.ipynb">Open in Colab</a>'] * bool(colab)
    first = "button" if judged or colab else "button primary"
    ways.append(f'<a class="{first}" href="{name}.ipynb" download>Download{"" if colab else " the notebook"}</a>')
    ways.append(f'<button class="button" type="button" data-send="exercise-{exercise.name}">Copy link</button>')
    here = "Or write it in Python" if judged else "You write this one in Python"
    knows = f"knows {n_mistakes} mistakes by name" if n_mistakes > 1 else "tells a slip by its name"
    return (
        f'<p class="exercise-run">{here}, in a notebook <a href="../index.html#start">on your computer</a>'
        f"{' or in Colab' * bool(colab)}. The check there tries your answer on {len(exercise.cases)} "
        f'case{"s" * (len(exercise.cases) != 1)} and {knows}.</p><p class="exercise-ways">{"".join(ways)}</p>'
    )


def flowing(text: str) -> str:
    """A text whose lines were broken in the source, with a line for each paragraph; code and lists stay."""
    return BROKEN.sub(r"\1 ", text)
