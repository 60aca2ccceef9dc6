"""The source of a function without what is no part of its computation."""

import ast


class BareSource(ast.NodeTransformer):
    """Takes off annotations, docstrings and guards that only raise an error."""

    def visit_FunctionDef(self, function: ast.FunctionDef) -> ast.AST:
        for argument in (*function.args.args, *function.args.kwonlyargs, function.args.kwarg):
            if argument is not None:
                argument.annotation = None
        function.returns = None
        function.body = [s for s in function.body if not is_text(s) and not is_guard(s)] or [ast.Pass()]
        return self.generic_visit(function)

    def visit_AnnAssign(self, statement: ast.AnnAssign) -> ast.AST:
        if statement.value is None:
            return ast.copy_location(ast.Pass(), statement)
        return ast.copy_location(ast.Assign([statement.target], statement.value), statement)


def is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def is_guard(statement: ast.stmt) -> bool:
    """Whether this is `if …: raise`."""
    return isinstance(statement, ast.If) and all(isinstance(s, ast.Raise) for s in statement.body + statement.orelse)
