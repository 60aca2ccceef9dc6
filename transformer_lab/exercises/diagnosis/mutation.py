"""A mutation: a small change of a function's source, made in place and undone afterwards."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import permutations

Place = tuple[ast.AST, str, int | None]  # a field of a node; of a list of nodes, which of them

COMMON, FAIR, RARE = 0, 1, 2  # ranks of mutations: how often somebody makes that mistake


@dataclass(frozen=True, eq=False)
class Mutation:
    """A place in a syntax tree, and what replaces the node there."""

    parent: ast.AST
    field: str
    index: int | None  # in a list of nodes
    new: object
    function: ast.FunctionDef  # in which it lies
    line: int
    rank: int

    def __post_init__(self) -> None:
        for node in self.new if isinstance(self.new, list) else [self.new]:
            give_line(node, self.line)

    @property
    def place(self) -> Place:
        return self.parent, self.field, self.index

    @property
    def old(self) -> object:
        """The value that the mutation replaces."""
        value = getattr(self.parent, self.field)
        return value if self.index is None else value[self.index]

    def old_source(self, parents: Mapping[ast.AST, ast.AST]) -> str:
        """The source of what is replaced: something small is shown in context, and several statements by their line."""
        node = self.old
        if isinstance(node, list):
            node = next(part for part in [*node, *self.function.body] if getattr(part, "lineno", 0) == self.line)
        assert isinstance(node, ast.AST)
        around = self.parent
        while isinstance(around, ast.keyword | ast.UnaryOp | ast.Slice | ast.Tuple) and around in parents:
            around = parents[around]
        small = isinstance(node, ast.Constant | ast.Name | ast.Slice | ast.UnaryOp)
        if small and isinstance(around, ast.expr):
            return f"{ast.unparse(node)}` of `{shortened(around)}"
        return shortened(node)

    def names_lost(self) -> set[str]:
        """The names that occur in the old value and no longer in the new one."""
        return names_in(self.old) - names_in(self.new)


def shortened(node: ast.AST, longest: int = 60) -> str:
    """The first line of a node's source."""
    text = ast.unparse(node).splitlines()[0]
    return text if len(text) <= longest else f"{text[: longest - 2].rstrip()} …"


def names_in(node: object) -> set[str]:
    """The names that occur in a node or a list of nodes."""
    parts = [part for part in (node if isinstance(node, list) else [node]) if isinstance(part, ast.AST)]
    return {one.id for part in parts for one in ast.walk(part) if isinstance(one, ast.Name)}


def give_line(node: object, line: int) -> None:
    """Give new nodes their line in the text; old nodes among them keep theirs."""
    if isinstance(node, ast.AST) and not hasattr(node, "lineno"):
        node.lineno = node.end_lineno = line  # type: ignore[attr-defined]
        node.col_offset = node.end_col_offset = 0  # type: ignore[attr-defined]
        for child in ast.iter_child_nodes(node):
            give_line(child, line)


@contextmanager
def applied(mutations: Sequence[Mutation]) -> Iterator[None]:
    """Within the block, apply the mutations. One of them may lie within what another one inserts.

    Raises:
        ValueError: two of them are for one place.
    """
    if len({one.place for one in mutations}) < len(mutations):
        raise ValueError("two mutations must be of two places")
    changes = [(one.place, one.new) for one in mutations]
    for one, other in permutations(mutations, 2):
        changes += [(place, one.new) for place in places_of(one.old, other.new) if place != one.place]
    before = [put(place, new) for place, new in changes]
    try:
        yield
    finally:
        for (place, _), value in zip(reversed(changes), reversed(before), strict=True):
            put(place, value)


def places_of(node: object, tree: object) -> Iterator[Place]:
    """The places in a tree, below its root, where a node occurs."""
    for parent in ast.walk(tree) if isinstance(tree, ast.AST) and isinstance(node, ast.AST) else ():
        for name, value in ast.iter_fields(parent):
            if value is node:
                yield parent, name, None
            elif isinstance(value, list):
                yield from ((parent, name, i) for i, part in enumerate(value) if part is node)


def put(place: Place, value: object) -> object:
    """Put a value in a place of a tree, and return the value that was there."""
    parent, name, index = place
    if index is None:
        before = getattr(parent, name)
        setattr(parent, name, value)
    else:
        nodes = getattr(parent, name)
        before, nodes[index] = nodes[index], value
    return before
