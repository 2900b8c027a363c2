"""Upgraders: operators that meant something else in older archives, by the functions of script/builtins/upgraders that repeat it."""

import ast
import functools
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "script/builtins/upgraders"


@functools.cache
def last_versions():
    """The last version of archives in which an operator with these arguments, "aten::gelu(self,out)", meant something else."""
    found = {}
    for path in sorted(FOLDER.glob("v*.py"), key=lambda p: int(p.stem[1:])):
        for function in ast.parse(path.read_text()).body:
            if isinstance(function, ast.FunctionDef):
                names = ",".join(a.arg for a in function.args.args + function.args.kwonlyargs)
                found[f"aten::{function.name}({names})"] = int(path.stem[1:])
    return found
