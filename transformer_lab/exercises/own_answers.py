"""`exercises.mine()`: the learner's own functions that passed, for use in place of the package's."""

import difflib
import inspect
import linecache
import sys
from collections.abc import Callable, Iterator, Mapping

import torch

from transformer_lab.exercises.engine.memory_limit import memory_limit
from transformer_lab.exercises.engine.running import Attempt, on_one_thread
from transformer_lab.exercises.engine.time_limit import OutOfTime, time_limit
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.exercises.progress.own_source import OwnSource
from transformer_lab.exercises.progress.progress_store import SOLVED, read_answers, read_progress

EXAMINED: dict[tuple[str, str], Callable] = {}  # by name and source: one that passed again is not examined twice


class NotYours(AttributeError):
    """Raised where a learner's own answer can't be used: it is not solved yet, or can't be run here."""


class Mine:
    """The functions that a learner has passed, each under the name of its exercise: `mine.softmax(scores, dim=-1)`.

    Only what passed is here. Its source is kept on this machine with the progress; it is run when it is first asked
    for, and examined once more before it is handed out. What another notebook adds is found at once.
    """

    def __init__(self, catalogue: Mapping[str, Exercise]):
        self._catalogue = catalogue

    def __getattr__(self, name: str) -> Callable:
        """The learner's own function.

        Raises:
            NotYours: there is no such exercise; it is not solved yet; what was kept does not run or pass here.
        """
        if name.startswith("_"):  # Python and Jupyter ask for such names, before there is a catalogue too
            raise NotYours(name)
        if name not in self._catalogue:
            close = difflib.get_close_matches(name, self._catalogue, 1)
            raise NotYours(f"there is no exercise {name}" + (f": do you mean {close[0]}?" if close else ""))
        exercise, answer = self._catalogue[name], read_answers().get(name)
        if answer is None:
            raise NotYours(f"{name} {why_none(name)}: {way_out(exercise)}")
        if answer.missing:
            uses = " and ".join(answer.missing)
            raise NotYours(f"your {name} needs {uses}. Define it in the function, or hand it over; then {again(name)}")
        if (name, answer.source) not in EXAMINED:
            EXAMINED[name, answer.source] = examined(exercise, answer)
        return EXAMINED[name, answer.source]

    def __contains__(self, name: str) -> bool:
        return name in read_answers() and name in self._catalogue

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._catalogue if name in read_answers())

    def __dir__(self) -> list[str]:
        return [*self, "or_package"]

    def __repr__(self) -> str:
        names = [*self]
        return f"{len(names)} of {len(self._catalogue)} functions are yours: {', '.join(names) or 'none yet'}"

    def or_package(self) -> "OrPackage":
        """The same functions, with the package's in place of those that are not solved yet."""
        return OrPackage(self)


class OrPackage:
    """Functions under the names of their exercises: the learner's own or, where there is none, the package's.

    What was asked for once stays what it was. Printed, it says of each part whose it is.
    """

    def __init__(self, mine: Mine):
        self._mine = mine
        self._found: dict[str, Callable] = {}
        self._whose: dict[str, str] = {}

    def __getattr__(self, name: str) -> Callable:
        """The learner's own function, or the package's.

        Raises:
            NotYours: there is no such exercise.
        """
        if name.startswith("_"):
            raise NotYours(name)
        if name not in self._found:
            try:
                self._found[name] = getattr(self._mine, name)
                self._whose[name] = "yours"
            except NotYours as error:
                if name not in self._mine._catalogue:
                    raise
                self._found[name] = inspect.unwrap(self._mine._catalogue[name].reference)
                self._whose[name] = f"the package's ({error})" if name in self._mine else "the package's"
        return self._found[name]

    @property
    def yours(self) -> list[str]:
        """The names, among those asked for, of the functions that are the learner's own."""
        return [name for name, owner in self._in_order() if owner == "yours"]

    def __repr__(self) -> str:
        rows = [(self._mine._catalogue[name].lesson, name, owner) for name, owner in self._in_order()]
        width = max((len(name) for _, name, _ in rows), default=0)
        lines = [f"  lesson {lesson}  {name:{width}}  {owner}" for lesson, name, owner in rows]
        return "\n".join([f"{len(self.yours)} of {len(rows)} parts are yours", *lines])

    def _in_order(self) -> list[tuple[str, str]]:
        return [(name, self._whose[name]) for name in self._mine._catalogue if name in self._whose]


def why_none(name: str) -> str:
    solved = read_progress().get(name) == SOLVED
    return "was solved before answers were kept" if solved else "is not solved yet"


def way_out(exercise: Exercise) -> str:
    module = module_of(exercise.reference)
    own = module.startswith(__package__)  # the package has no use for it: it is an exercise's alone
    package = f"exercises.{exercise.name}.reference" if own else f"{module}.{exercise.name}"
    return f"solve it in lesson {exercise.lesson} ({again(exercise.name)}), or use the package's, {package}"


def module_of(function: Callable) -> str:
    """The module to import a function from: the package that contains its own module, if that exports it too."""
    above, _, _ = function.__module__.rpartition(".")
    used = getattr(sys.modules[above], function.__name__, None) if above.count(".") else None
    return above if used is function else function.__module__


def again(name: str) -> str:
    return f"run exercises.{name}.check({name})"


def examined(exercise: Exercise, answer: OwnSource) -> Callable:
    """The function that an answer's source defines, provided that it passes here and now.

    Raises:
        NotYours: it does not run, does not end, or does not pass.
    """
    name = exercise.name
    try:
        with time_limit(), memory_limit(), on_one_thread(), torch.inference_mode(False), torch.enable_grad():
            function = defined(name, answer.source)
            result = exercise.examine(Attempt(function), exercise.all_cases)
    except OutOfTime:
        raise NotYours(f"your {name} did not end in time: {again(name)}") from None
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise NotYours(f"your {name} can't be run as it was kept ({what}): {again(name)}") from None
    if not result.passed:
        raise NotYours(f"your {name} does not pass as it was kept ({result.headline}): {again(name)}")
    return function


def defined(name: str, source: str) -> Callable:
    """Run the source in a namespace of its own, with its lines registered so that errors can show them."""
    file = f"<your {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace: dict = {"__name__": f"mine_{name}"}
    exec(compile(source, file, "exec"), namespace)
    return namespace[name]
