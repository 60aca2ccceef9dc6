"""The page on a term: what to take up again, which mistake persists, which exercise separates, who falls behind."""

import os
from html import escape
from pathlib import Path

from transformer_lab.grading.reports.pages import page, words
from transformer_lab.grading.reports.reports import write
from transformer_lab.grading.reports.summaries import Summary, read_summary
from transformer_lab.grading.reports.term import (
    BETTER_FAIL,
    falling,
    mistakes_of,
    names_of,
    not_always_there,
    one_row_each,
    persisting,
    separation,
    table,
    verdict,
)
from transformer_lab.grading.submissions.file_names import file_name

MOST_TO_TEACH, MOST_NAMED, MOST_KINDS = 3, 8, 20


def write_term(folders: list[Path], out: Path) -> list[Summary]:
    """Write term.csv and term.html of several folders of grades, in the order of the term.

    Raises:
        ValueError: a folder holds no grades, or two have the same assignment.
    """
    term = one_row_each([read_summary(folder) for folder in folders])
    names = [one.name for one in term]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"a term must have each assignment once ({twice} comes twice)")
    out.mkdir(parents=True, exist_ok=True)
    write(out / "term.csv", table(term))
    write(out / "term.html", term_page(term, out))
    return term


def term_page(term: list[Summary], out: Path) -> str:
    """What an instructor reads; `out` is the folder from which its links lead to students' code."""
    heads = "".join(f'<th class="number many">{escape(one.name)}</th>' for one in term)
    students = words(len(names_of(term)), "student", "students")
    parts = [f"<h1>The term: {words(len(term), 'assignment', 'assignments')}, {students}</h1>"]
    parts += ["<h2>Take up again</h2>", take_up_again(term)]
    parts += ["<h2>Which mistake persists</h2>", persisting_table(term, out, heads)]
    parts += ["<h2>Which exercise separates</h2>", separation_table(term)]
    along = "the correlation of the points of an exercise with those of all others"
    parts.append(f"<p><em>Along with the rest</em> is {along}.</p>")
    rows = "".join(f"<tr><td>{link(i, term, out)}</td>{percents(shares)}</tr>" for i, shares in falling(term))
    fallen = f"<div class=wide><table><tr><th></th>{heads}</tr>{rows}</table></div>" if rows else "<p>Nobody.</p>"
    parts += ["<h2>Who falls behind</h2>", fallen, *came_or_left(term, out)]
    return page("The term", "\n".join(parts))


def came_or_left(term: list[Summary], out: Path) -> list[str]:
    """Who was not in the course all the time, if anybody was not."""
    if not (found := not_always_there(term)):
        return []
    lines = "".join(f"<li>{link(i, term, out)}: not in {escape(', '.join(names))}</li>" for i, names in found)
    told = "They were not on the roster then and handed in nothing, so their cells in term.csv are empty."
    return ["<h2>Who came later, or left</h2>", f"<p>{told}</p>", f"<ul>{lines}</ul>"]


def take_up_again(term: list[Summary]) -> str:
    """The kinds of mistakes that most students made again, then the exercises in which the better fail."""
    again = [(len(who), kind) for kind, _, who in persisting(term)[:MOST_TO_TEACH] if who]
    lines = [
        f"<strong>{escape(kind[0].upper() + kind[1:])}</strong>: {words(count, 'student', 'students')} made such a "
        "mistake in more than one assignment."
        for count, kind in again
    ]
    lines += [
        f"<code>{escape(exercise)}</code> of {escape(name)}: who is good elsewhere fails in it. Is it asked clearly?"
        for name, exercise, mean, r in separation(term)
        if verdict(mean, r) == BETTER_FAIL
    ][:MOST_TO_TEACH]
    if not lines:
        return "<p>Nothing: no kind of mistake was made again.</p>"
    return "<ol class=teach>" + "".join(f"<li>{line}</li>" for line in lines) + "</ol>"


def persisting_table(term: list[Summary], out: Path, heads: str) -> str:
    made = mistakes_of(term)
    rows = ""
    for kind, counts, again in persisting(term)[:MOST_KINDS]:
        numbers = "".join(f"<td class=number>{count or ''}</td>" for count in (*counts, len(again)))
        more = f" and {len(again) - MOST_NAMED} more" if len(again) > MOST_NAMED else ""
        who = f"{', '.join(link(i, term, out) for i in again[:MOST_NAMED])}{more}"
        rows += (
            f"<tr><td class=text>{escape(kind)}{which(kind, made[kind])}</td>{numbers}<td class=text>{who}</td></tr>"
        )
    head = f"<tr><th>students who made it</th>{heads}<th class=number>again</th><th>who</th></tr>"
    return f"<div class=wide><table>{head}{rows}</table></div>"


def which(kind: str, mistakes: list[str]) -> str:
    """The mistakes of a kind, unless it is one mistake by itself."""
    named = [one for one in mistakes if one != kind]
    return f"<br><small>{', '.join(map(escape, named))}</small>" if named else ""


def separation_table(term: list[Summary]) -> str:
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(exercise)}</td><td class=number>{100 * mean:.0f} %</td>"
        f"<td class=number>{'' if r is None else f'{r:+.2f}'}</td><td>{verdict(mean, r)}</td></tr>"
        for name, exercise, mean, r in sorted(separation(term), key=lambda one: -(one[3] or 0))
    )
    columns = "<th class=number>mean</th><th class=number>along with the rest</th><th></th>"
    return f"<div class=wide><table><tr><th></th><th>exercise</th>{columns}</tr>{rows}</table></div>"


def link(id_: str, term: list[Summary], out: Path) -> str:
    """A student's name, with a link to the code of the last assignment that they handed in."""
    name = escape(names_of(term)[id_] or id_)
    for one in reversed(term):
        if id_ in one.students and one.students[id_]["handed_in"]:
            code = one.folder / "code" / f"{file_name(one.students[id_]['student'])}.html"
            path = Path(os.path.relpath(code.absolute(), out.absolute())).as_posix().replace("%", "%25")
            return f'<a href="{escape(path)}">{name}</a>'
    return name


def percents(shares: list[float | int | None]) -> str:
    return "".join(f"<td class=number>{'' if share is None else f'{100 * share:.0f} %'}</td>" for share in shares)
