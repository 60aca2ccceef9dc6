"""The JavaScript of a view as one script: its module and what that imports, without what it does not use."""

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from importlib.resources import files


@cache
def bundle(module: str, *parts: str) -> str:
    """A view's module, and before it what it uses of those that it imports, as one script without imports and exports.

    `parts` of the kit are added for the outputs that need them.
    """
    texts: dict[str, str] = {}

    def collect(name: str) -> None:
        text = files(__package__).joinpath(f"{name}.js").read_text("utf-8")
        for _, other in IMPORT.findall(text):
            if other not in texts:
                collect(other)
        texts[name] = text.replace("export default", "export const view =")

    collect(module)
    wanted = {"view", "define", *parts}
    used = reachable(texts.values(), wanted)
    for text in texts.values():
        wanted |= {name for names, _ in IMPORT.findall(text) for name in names.split(", ")}
    script = "".join(scoped(name, text, used, wanted) for name, text in texts.items())
    return f"{script}const{{{','.join(('define', *parts))}}}=$kit,{{view}}=${module};\n"


IMPORT = re.compile(r'^import \{ ([^}]*) \} from "\./(\w+)\.js";\n', re.MULTILINE)
# What stands at the left margin is declared there, up to the next such line.
DECLARATION = re.compile(r"^(export )?(?:(?:async )?function|class|const|let) (\w+|\[[^=]*\]|\{[^=]*\})", re.MULTILINE)


def declarations(text: str) -> list[tuple[set[str], str]]:
    """The names that each declaration of a module makes, and its text."""
    starts = [found.start() for found in DECLARATION.finditer(text)]
    pieces = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    return [(set(re.findall(r"\w+", DECLARATION.match(piece)[2])), piece) for piece in pieces]


def reachable(modules: Iterable[str], names: set[str]) -> set[str]:
    """The names that the declarations of these names use, in whichever module, those that theirs use, and so on."""
    words: dict[str, set[str]] = defaultdict(set)
    for text in modules:
        for declared, piece in declarations(text):
            for name in declared:
                words[name] |= set(re.findall(r"\w+", piece))
    while more := set().union(*(words[name] & words.keys() for name in names)) - names:
        names = names | more
    return names


def scoped(name: str, text: str, used: set[str], wanted: set[str]) -> str:
    """A module as a constant that holds what others want of it, so that no two modules can disagree about a name."""
    imports = [([name for name in names.split(", ") if name in used], other) for names, other in IMPORT.findall(text)]
    kept = [(names, piece.removeprefix("export ")) for names, piece in declarations(text) if names & used]
    body = "".join(f"const {{{', '.join(names)}}} = ${other};\n" for names, other in imports if names)
    body += "".join(piece for _, piece in kept)
    exported = sorted(set().union(*(names for names, _ in kept)) & wanted)
    return squeezed(f"const ${name} = (() => {{\n{body}return {{ {', '.join(exported)} }};\n}})();\n")


def squeezed(text: str) -> str:
    """Without comments, indents, empty lines and needless spaces; what stands in quotes or backticks stays as it is.

    Only a text in backticks that begins with a new line is CSS, and loses its spaces, too.
    """
    text = COMMENT.sub(lambda found: found["quoted"] or "", text)
    parts = re.split(QUOTED, re.sub(r"^\s+", "", text, flags=re.MULTILINE))  # every other part is quoted
    for spaces, instead in SPACES:
        parts[::2] = [re.sub(spaces, instead, part) for part in parts[::2]]
    parts[1::2] = [re.sub(SPACES_IN_CSS, r"\1", part) if part.startswith("`\n") else part for part in parts[1::2]]
    return "".join(parts)


QUOTED = r'("(?:[^"\\]|\\.)*"|`[^`$]*`|`.*`)'
COMMENT = re.compile(rf"^\s*//.*\n|  // .*$|(?P<quoted>{QUOTED})", re.MULTILINE)
SPACES = (
    (r" ?(=>|&&|\|\||\*\*|[=!]==|[-+*/]=|[{};,=?<>]) ?", r"\1"),
    (r" ([-+*/%:]) (?! )", r"\1"),
    (r"\((\w+)\)=>", r"\1=>"),
    (r"\b(if|for|return|of|const|let) (?=[(\[])|(?<=[(\[:]) | (?=[)\]])|(?<=[\])({]) (?=[({])|(?<=\)) (?=\w)", r"\1"),
    (r"(?<=[{},;(\[])\n|\n(?=})", ""),
    (r";(?=})", ""),
    (r"(?<![\w.])0(?=\.\d)", ""),
)
SPACES_IN_CSS = r"\s*([{};,])\s*|(?<=:) "
