"""The cells of a notebook that is handed out, with nbgrader's metadata: statements, stubs, checks, questions."""

import ast
from collections.abc import Sequence
from textwrap import indent

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from transformer_lab.exercises import catalogue
from transformer_lab.exercises.kinds import FindTheBug
from transformer_lab.grading.handout.questions import HEADLINE as QUESTIONS
from transformer_lab.grading.handout.questions import HERE, Question
from transformer_lab.grading.handout.variants import INVITATION, STUDENT
from transformer_lab.grading.submissions.cells import ANSWER

HEADLINE = """# {lesson}: exercises

Replace the `...` in each function, or mend what is broken in it; run its cell, then the check below it.
`exercises.<name>.hint()` in a new cell gives a hint. Keep the functions' names; use `torch` and what you write
yourself, not the functions of `transformer_lab`. Grading tries your answers on other cases than the checks do; for a
test that you write, the lower of its two scores counts."""
INSTALL = """from importlib.util import find_spec

if find_spec("transformer_lab") is None:  # as in Colab: it does nothing where the package is there
    {how}"""
FROM = '%pip install --quiet "{}"'
NOWHERE = """raise ModuleNotFoundError("This notebook needs the package transformer_lab: ask whoever handed it out.")"""
WORK = "# your work"  # stands where the solution stands in the source
WORDS = "-words"  # ends the id of the cell in which a question is answered


def exercise_notebook(
    lesson: NotebookNode,
    points: dict[str, float | int],
    with_solutions: bool,
    withheld: bool = False,
    variants: Sequence[str] = (),
    key: str = "",
    install: str = "",
) -> NotebookNode:
    """Exercises of a lesson's notebook as a notebook of their own; in `variants` everybody has their own numbers.

    Where the package is missing, the notebook has pip `install` it from there.
    """
    number = catalogue[next(iter(points))].lesson
    title = lesson.cells[0].source.split("\n")[0].removeprefix("# ")
    has_variants = not points.keys().isdisjoint(variants)
    cells = [markdown(HEADLINE.format(lesson=title), f"headline-{number}")]
    how = FROM.format(install) if install else NOWHERE
    cells.append(locked(new_code_cell(INSTALL.format(how=how), id=f"install-{number}")))
    cells.append(
        locked(new_code_cell(set_up(lesson, [*points] if withheld else [], has_variants), id=f"set-up-{number}"))
    )
    cells += [new_code_cell(STUDENT, id=f"student-{number}")] if has_variants else []
    handed_out = stubs(lesson)
    for name, most in points.items():
        if name not in handed_out:
            raise ValueError(f"the exercise {name} must have a cell in its lesson's notebook (there is none)")
        statement = f"## {name} ({most:g} {'point' if most == 1 else 'points'})\n\n{catalogue[name].statement}"
        if name in variants:
            cells += variant_cells(name, statement, most, key, with_solutions)
            continue
        cells.append(markdown(statement, f"{name}-statement"))
        cells.append(answer_cell(name, handed_out[name].source, with_solutions))
        cells.append(check_cell(name, most, with_solutions))
    return new_notebook(cells=cells, metadata={"kernelspec": lesson.metadata.kernelspec})


def variant_cells(
    name: str, statement: str, most: float | int, key: str, with_solution: bool
) -> tuple[NotebookNode, NotebookNode, NotebookNode, NotebookNode]:
    """A prediction of one's own numbers: the statement, the numbers, the answer, and what is said of it before time."""
    given, needed = f'"{name}", STUDENT, "{key}"', "from transformer_lab.grading.marking import variant_marking"
    solution = region(f"{needed}\n{name} = variant_marking.right({given})", with_solution)
    answer = new_code_cell(f"{name} = ...\n{solution}", id=f"{name}{ANSWER}", metadata={"exercise": name})
    answer.metadata.nbgrader = nbgrader(f"{name}{ANSWER}", solution=True)
    hidden = f"{needed}\nassert variant_marking.is_right({given}, {name})"
    return (
        markdown(f"{statement}\n\n{INVITATION}", f"{name}-statement"),
        locked(new_code_cell(f"variants.show({given})", id=f"{name}-numbers")),
        answer,
        graded(f'display(variants.taken("{name}", {name}))', hidden, f"{name}-check", most, with_solution),
    )


def question_notebook(lesson: NotebookNode, questions: dict[str, Question], with_guide: bool) -> NotebookNode:
    """The questions, each with a cell for words; for nbgrader's source, with what whoever marks them reads."""
    cells = [markdown(QUESTIONS, "headline-questions")]
    for name, one in questions.items():
        cells.append(markdown(one.statement(name), f"{name}-question"))
        cells[-1].metadata.question = name
        text = f"### BEGIN SOLUTION\n{one.guide}\n### END SOLUTION" if with_guide and one.guide else HERE
        cell = new_markdown_cell(text, id=f"{name}{WORDS}", metadata={"question": name})
        cell.metadata.nbgrader = nbgrader(f"{name}{WORDS}", grade=True, solution=True, points=one.points)
        cells.append(cell)
    return new_notebook(cells=cells, metadata={"kernelspec": lesson.metadata.kernelspec})


def stubs(lesson: NotebookNode) -> dict[str, NotebookNode]:
    """The cells that hold an exercise's stub, by the name of the exercise."""
    return {cell.metadata.exercise: cell for cell in lesson.cells if "exercise" in cell.metadata}


def set_up(lesson: NotebookNode, withheld: list[str], with_variants: bool = False) -> str:
    """The imports of the lesson's first code cell, but of the package the exercises alone."""
    kept = ["from transformer_lab.grading.handout import variants"] if with_variants else []
    kept += [f"exercises.withhold({', '.join(map(repr, withheld))})"] if withheld else []
    first = next(cell for cell in lesson.cells if cell.cell_type == "code")
    imports = [s for s in ast.parse(first.source).body if isinstance(s, ast.Import | ast.ImportFrom)]
    general = [ast.unparse(s) for s in imports if "transformer_lab" not in ast.unparse(s)]
    return "\n".join([*general, "", "from transformer_lab import exercises", *kept])


def answer_cell(name: str, stub: str, with_solution: bool) -> NotebookNode:
    """What is handed out, a stub or a broken function; for nbgrader's source, with the solution in it or below it."""
    exercise = catalogue[name]
    if isinstance(exercise, FindTheBug):
        source = f"{exercise.handed_out().rstrip()}\n\n\n{region(solution_text(name), with_solution)}"
    else:
        head, mark, _ = stub.rpartition("    return ...")
        if not mark:
            raise ValueError(f"the stub of {name} must end in `return ...`")
        source = f"{head}{indent(region(solution_body(name), with_solution), '    ')}\n{mark}"
    cell = new_code_cell(source, id=f"{name}{ANSWER}", metadata={"exercise": name})
    cell.metadata.nbgrader = nbgrader(f"{name}{ANSWER}", solution=True)
    return cell


def region(solution: str, with_solution: bool) -> str:
    """The solution between the marks by which nbgrader finds it, or what it leaves in their place."""
    return f"### BEGIN SOLUTION\n{solution}\n### END SOLUTION" if with_solution else WORK


def solution_text(name: str) -> str:
    """The solution as it stands in the source, with what it needs."""
    return catalogue[name].solution_source().strip()


def solution_body(name: str) -> str:
    """The same as the body of the stub, which calls it."""
    return f"{solution_text(name)}\n\nreturn {name}({', '.join(catalogue[name].parameters)})"


def check_cell(name: str, most: float | int, with_tests: bool) -> NotebookNode:
    """The visible check; for nbgrader's source, with the hidden line that gives the points."""
    visible = f"exercises.{name}.check({name})"  # displayed: a cell's result nbgrader takes for points
    return graded(f"display({visible})", f"assert {visible}.passed", f"{name}-check", most, with_tests)


def graded(visible: str, hidden: str, id_: str, most: float | int, with_tests: bool) -> NotebookNode:
    source = f"{visible}\n### BEGIN HIDDEN TESTS\n{hidden}\n### END HIDDEN TESTS" if with_tests else visible
    cell = new_code_cell(source, id=id_)
    cell.metadata.nbgrader = nbgrader(id_, grade=True, locked=True, points=most)
    return cell


def markdown(text: str, id_: str) -> NotebookNode:
    return locked(new_markdown_cell(text, id=id_))


def locked(cell: NotebookNode) -> NotebookNode:
    cell.metadata.nbgrader = nbgrader(cell.id, locked=True)
    return cell


def nbgrader(
    grade_id: str, grade: bool = False, locked: bool = False, solution: bool = False, points: float | int | None = None
) -> dict:
    """Metadata of nbgrader's schema 3."""
    described = {"grade": grade, "grade_id": grade_id, "locked": locked, "schema_version": 3, "solution": solution}
    return described | ({"points": points} if grade else {}) | {"task": False}
