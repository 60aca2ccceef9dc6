"""Mutations that insert what may have been forgotten: a scale, a factor, an axis, an argument."""

import ast
from collections.abc import Collection, Iterator

from transformer_lab.exercises.diagnosis.call_mutations import Change, called, has_receiver
from transformer_lab.exercises.diagnosis.mutation import COMMON, FAIR, RARE
from transformer_lab.exercises.diagnosis.replacements import REDUCTIONS


def of_result(node: ast.expr, name: str) -> Iterator[Change]:
    """Bring a parameter that is never read into the returned expression."""
    unused = ast.Name(name, ast.Load())
    for operator in (ast.Mult(), ast.MatMult(), ast.Add(), ast.Div(), ast.Sub()):
        yield ast.BinOp(node, operator, unused), FAIR
    for power in (0.5, -0.5):
        yield ast.BinOp(node, ast.Mult(), ast.BinOp(unused, ast.Pow(), ast.Constant(power))), FAIR
    yield ast.Call(unused, [node], []), FAIR


def of_operand(node: ast.Name, parent: ast.BinOp, names: Collection[str]) -> Iterator[Change]:
    """Insert a transposition in a matrix product, 1 minus a factor, or an axis along which a factor is broadcast."""
    if isinstance(parent.op, ast.MatMult):
        yield ast.Attribute(node, "mT", ast.Load()), FAIR
    elif isinstance(parent.op, ast.Mult | ast.Div) and node.id in names:
        yield ast.BinOp(ast.Constant(1), ast.Sub(), node), RARE
        minus_one = ast.UnaryOp(ast.USub(), ast.Constant(1))
        yield ast.Call(ast.Attribute(node, "unsqueeze", ast.Load()), [minus_one], []), RARE


def scaled(product: ast.BinOp) -> Iterator[Change]:
    """Divide the product of queries and keys by the square root of their width."""
    turned = isinstance(product.right, ast.Attribute) and product.right.attr in ("T", "mT")
    if turned or (isinstance(product.right, ast.Call) and called(product.right.func) == "transpose"):
        minus_one = ast.UnaryOp(ast.USub(), ast.Constant(1))
        width = ast.Call(ast.Attribute(product.left, "size", ast.Load()), [minus_one], [])
        yield ast.BinOp(product, ast.Div(), ast.BinOp(width, ast.Pow(), ast.Constant(0.5))), FAIR


def of_axis(call: ast.Call, names: Collection[str]) -> Iterator[Change]:
    """Insert the axis of a reduction, or `keepdim`; or apply the mask after a softmax."""
    axis = ast.Name("dim", ast.Load()) if "dim" in names else ast.UnaryOp(ast.USub(), ast.Constant(1))
    if called(call.func) in REDUCTIONS and not any(one.arg == "keepdim" for one in call.keywords):
        kept = ast.keyword("keepdim", ast.Constant(True))
        if call.keywords or (call.args and has_receiver(call)):
            yield ast.Call(call.func, call.args, [*call.keywords, kept]), COMMON
        elif has_receiver(call):
            yield ast.Call(call.func, [axis], [kept]), COMMON
    mask = next((name for name in names if "mask" in name), None)
    if called(call.func) == "softmax" and mask:
        yield ast.BinOp(call, ast.Mult(), ast.Name(mask, ast.Load())), FAIR


def of_einsum(text: str) -> Iterator[Change]:
    """Swap two letters of the result, or prepend one over which the sum should not run."""
    inputs, _, result = text.replace(" ", "").rpartition("->")
    if len(result) > 1:
        yield ast.Constant(f"{inputs}->{result[:-2]}{result[-1]}{result[-2]}"), FAIR
    for letter in dict.fromkeys(one for one in inputs if one.isalpha() and one not in result):
        yield ast.Constant(f"{inputs}->{letter}{result}"), RARE
