"""Operators, comparisons and functions that are mistaken for one another."""

import ast

OPERATORS: dict[type, tuple[type, ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult,),
    ast.Pow: (ast.Mult,),
    ast.MatMult: (ast.Mult,),
    ast.FloorDiv: (ast.Mod, ast.Mult),
    ast.Mod: (ast.FloorDiv,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
}
COMPARISONS: dict[type, tuple[type, ...]] = {
    ast.Lt: (ast.LtE, ast.Gt, ast.GtE),
    ast.LtE: (ast.Lt, ast.GtE, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt, ast.LtE),
    ast.GtE: (ast.Gt, ast.LtE, ast.Lt),
    ast.Eq: (ast.NotEq, ast.LtE, ast.GtE),
    ast.NotEq: (ast.Eq, ast.Lt, ast.Gt),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
SIMILAR_FUNCTIONS = (
    ("amax", "amin", "sum", "mean"),
    ("max", "min", "sum"),
    ("argmax", "argmin"),
    ("softmax", "log_softmax", "sigmoid"),
    ("exp", "log"),
    ("sin", "cos", "tan"),
    ("tril", "triu"),
    ("any", "all"),
    ("var", "std"),
    ("cumsum", "cumprod"),
    ("zeros", "ones"),
    ("zeros_like", "ones_like"),
    ("eye", "ones", "zeros"),
    ("relu", "gelu", "sigmoid", "tanh"),
    ("stack", "cat"),
    ("sqrt", "square"),
    ("mean", "sum", "prod"),
    ("append", "extend"),
    ("log", "log2", "log10"),
)

REDUCTIONS = {"sum", "mean", "max", "min", "amax", "amin", "var", "std", "any", "all", "argmax"}
