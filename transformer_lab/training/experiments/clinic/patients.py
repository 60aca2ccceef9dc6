"""Loading the program with a bug in it, beside its healthy twin."""

import linecache
from dataclasses import dataclass
from importlib import resources
from types import ModuleType

from transformer_lab.training.experiments.clinic.bugs import BUGS

PROGRAM = "transformer_lab.training.experiments.clinic.program"
FILES = ("data", "model", "training", "generation")  # each imports only those before it


@dataclass(frozen=True)
class Program:
    """A copy of the program: its four files as modules, and their sources."""

    data: ModuleType
    model: ModuleType
    training: ModuleType
    generation: ModuleType
    sources: dict[str, str]


def load(bug: str | None = None) -> Program:
    """The program with one of the `BUGS` in it; without a name, the healthy program.

    Every call makes new modules, so that a patient and its healthy twin can run side by side.

    Raises:
        ValueError: there is no such bug.
    """
    if bug is not None and bug not in BUGS:
        raise ValueError(f"a bug must be one of {', '.join(BUGS)} (got {bug})")
    return from_sources({name: source_of(name, bug) for name in FILES})


def mend(program: Program, file: str, wrong: str, right: str) -> Program:
    """A copy of a program in which some lines of a file are replaced.

    Raises:
        ValueError: the program has no such file; the lines do not stand there exactly once.
    """
    if file not in FILES:
        raise ValueError(f"a file must be one of {', '.join(FILES)} (got {file})")
    if (count := program.sources[file].count(wrong)) != 1:
        raise ValueError(f"the lines to replace must stand in {file} once (got {count})")
    return from_sources(program.sources | {file: program.sources[file].replace(wrong, right)})


def from_sources(sources: dict[str, str]) -> Program:
    """A program made from the texts of its files."""
    modules: dict[str, ModuleType] = {}
    for name, source in sources.items():
        modules[name] = compiled(name, source, modules)
    return Program(**modules, sources=sources)


def source_of(name: str, bug: str | None) -> str:
    """The text of a file of the program, with the bug if it lies in this file."""
    source = resources.files(PROGRAM).joinpath(f"{name}.py").read_text("utf-8")
    return BUGS[bug].put_into(source) if bug and BUGS[bug].file == name else source


def compiled(name: str, source: str, earlier: dict[str, ModuleType]) -> ModuleType:
    """A module made from a source, whose imports from the program lead to the copies that were made before."""
    module, file = ModuleType(f"patient.{name}"), f"<{name}.py, {hash(source)}>"
    lines = source.splitlines(keepends=True)
    for i, line in enumerate(lines):
        if line.startswith(f"from {PROGRAM}"):
            lines[i] = "\n"
            place, names = line.removeprefix(f"from {PROGRAM}").split(" import ")
            for wanted in names.strip().split(", "):
                module.__dict__[wanted] = getattr(earlier[place[1:]], wanted) if place else earlier[wanted]
    exec(compile("".join(lines), file, "exec"), module.__dict__)
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)  # for `inspect.getsource`
    return module
