"""Functions of script/ that texts of the table may call beside operators, by their signatures."""

import ast
import functools
from pathlib import Path

from .schema import Argument, Schema

_SCRIPT = Path(__file__).resolve().parent.parent / "script" / "builtins"


@functools.cache
def decomposition_functions():
    """name -> [Schema] of what `decompose` may call: script/builtins/formulas.py and script/builtins/decompositions/."""
    found = {}
    for file in (_SCRIPT / "formulas.py", *sorted((_SCRIPT / "decompositions").glob("*.py"))):
        for node in ast.parse(file.read_text(), str(file)).body:
            if isinstance(node, ast.FunctionDef):
                found.setdefault(node.name, []).append(_schema(node))
    return found


def _schema(function):
    parameters = function.args.args
    defaults = [None] * (len(parameters) - len(function.args.defaults)) + [ast.unparse(d) for d in function.args.defaults]
    arguments = [Argument(p.arg, ast.unparse(p.annotation), p.arg, d, False, "") for p, d in zip(parameters, defaults)]
    results = function.returns
    is_tuple = isinstance(results, ast.Subscript) and ast.unparse(results.value) == "Tuple"
    returns = results.slice.elts if is_tuple else [results]
    return Schema(function.name, "", function.name, "", arguments,
                  [Argument("", ast.unparse(r), "", None, False, "") for r in returns])
