"""The base of the HTML-first views: a picture that everybody sees, and a script that makes it live where scripts run.

The computation is in JavaScript, so a view answers while the kernel is busy, or gone, and in an exported page. Each
output is whole in itself: no id, no address, nothing to load.
"""

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import numpy as np
from torch import Tensor

from transformer_lab.plots import Picture

MANY_BYTES = 16_000  # from there on numbers are deflated
# What only some outputs need of the kit: as what `define` takes it, its name, and what in the state calls for it.
PARTS = (("read", "unpacked", '"deflated":'), ("ask", "predictFirst", '"predict":'))


class View:
    """A live view in one output: the element, the picture inside it, its state, and the module that takes over.

    `state` holds JSON values and tensors; `picture` is what is seen where no script runs, its alt text the summary.
    """

    def __init__(self, module: str, state: dict, picture: Picture):
        self.module, self.picture = module, picture
        self.state = {"summary": picture.alt} | {name: packed(value) for name, value in state.items()}

    def __repr__(self) -> str:
        return self.picture.alt

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self.html()}

    def predict(self, question: str, choices: Sequence[str], answer: str, because: str) -> "View":
        """Cover the view by a question, until the reader has chosen one of a few answers or asks to see.

        `because` gives the number that shows it, for instance "its weight is 0.98".

        Raises:
            ValueError: the answer is not among the choices.
        """
        if answer not in choices:
            raise ValueError(f"the answer must be one of the choices {list(choices)} (it is {answer!r})")
        choices = list(choices)
        asked = {"question": question, "choices": choices, "answer": choices.index(answer), "because": because}
        self.state = self.state | {"predict": asked}
        return self

    def html(self) -> str:
        """The output as HTML; `<` is escaped within the state, so that no token can end the script."""
        state = json.dumps(self.state, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
        parts = {role: name for role, name, sign in PARTS if sign in state}
        script = bundle(self.module, *parts.values())
        roles = ", ".join(f"{role}: {name}" for role, name in parts.items())
        tag = f"tl-{self.module}-{hashlib.sha256(script.encode()).hexdigest()[:8]}"
        return (
            f'<{tag}>{self.picture.html()}<script type="application/json">{state}</script></{tag}>'
            f'<script type="module">{script}define("{tag}", view, {{ {roles} }});</script>'
        )


def packed(value: object) -> object:
    """A tensor as base64 of its float32 numbers, with its shape; anything else as it is.

    Many numbers are deflated, after all their first bytes come all their second ones, and so on: signs and exponents
    are much alike, so this takes a quarter less room, and loses nothing.
    """
    if not isinstance(value, Tensor):
        return value
    array = value.detach().cpu().float().contiguous().numpy().astype(np.dtype("<f4"))
    data, deflated = array.tobytes(), {}
    if len(data) > MANY_BYTES:
        planes = array.view(np.uint8).reshape(-1, 4).T.tobytes()
        data, deflated = zlib.compress(planes, level=9), {"deflated": True}
    return {"f32": base64.b64encode(data).decode(), "shape": list(value.shape)} | deflated


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
    used = reachable("".join(texts.values()), {"view", "define", *parts})
    script = "".join(scoped(name, text, used) for name, text in texts.items())
    return f"{script}const {{ {', '.join(('define', *parts))} }} = $kit, {{ view }} = ${module};\n"


IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";\n', re.MULTILINE)
# What stands at the left margin is declared there, up to the next such line.
DECLARATION = re.compile(r"^(export )?(?:(?:async )?function|class|const|let) (\w+|\[[^=]*\]|\{[^=]*\})", re.MULTILINE)


def declarations(text: str) -> list[tuple[set[str], str]]:
    """The names that each declaration of a module makes, and its text."""
    starts = [found.start() for found in DECLARATION.finditer(text)]
    pieces = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    return [(set(re.findall(r"\w+", DECLARATION.match(piece)[2])), piece) for piece in pieces]


def reachable(text: str, names: set[str]) -> set[str]:
    """The names that the declarations of these names use, in whichever module, those that theirs use, and so on."""
    words: dict[str, set[str]] = {}
    for declared, piece in declarations(text):
        for name in declared:
            words[name] = words.get(name, set()) | set(re.findall(r"\w+", piece))
    while more := set().union(*(words[name] & words.keys() for name in names)) - names:
        names = names | more
    return names


def scoped(name: str, text: str, used: set[str]) -> str:
    """A module as a constant that holds what it exports, so that no two modules can disagree about a name."""
    imports = [f"const {{{found[1].replace(' as ', ': ')}}} = ${found[2]};\n" for found in IMPORT.finditer(text)]
    kept = [(names, piece) for names, piece in declarations(text) if names & used]
    exported = [name for names, piece in kept if piece.startswith("export ") for name in sorted(names)]
    body = squeezed("".join(imports) + "".join(piece.removeprefix("export ") for _, piece in kept))
    return f"const ${name} = (() => {{\n{body}return {{ {','.join(exported)} }};\n}})();\n"


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
