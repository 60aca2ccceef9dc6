"""What `test_wheel.py` runs in a folder without the checkout: the set-up of each lesson, and all that it loads by name.

python tests/lessons_elsewhere.py NOTEBOOK...
"""

import ast
import json
import sys
from pathlib import Path

LOADS = {"load_checkpoint", "load_language_model", "load_table", "checkpoint_path", "paragraphs"}


def name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def loaded(codes: list[str]) -> list[str]:
    """The calls that load something, each made once behind the set-up cell and the imports up to its own."""
    names, calls = {}, []
    exec(codes[0], names)
    for tree in map(ast.parse, codes):
        imports = [line for line in tree.body if isinstance(line, ast.Import | ast.ImportFrom)]
        exec(compile(ast.Module(imports, []), "imports", "exec"), names)
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and name_of(call) in LOADS:
                calls.append(ast.unparse(call))
                eval(calls[-1], names)
    return calls


for path in map(Path, sys.argv[1:]):
    cells = json.loads(path.read_text("utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    print(path.stem, *loaded([source for source in code if not source.startswith("%")]))
