"""Python's operators, read from sconce/base/operators.def: which of them bodies of the table may use, and what each is called.

A row's `text` says which operator of Python's grammar it is, so nothing is listed here:

    SCONCE_TENSOR_BINARY(floordiv, "//", ...)    BINARY[ast.FloorDiv] == "floordiv"
    SCONCE_TENSOR_BINARY(lt, "<", ...)           COMPARE[ast.Lt] == "lt"
    SCONCE_TENSOR_UNARY(invert, "~", ...)        UNARY[ast.Invert] == "invert"
"""

import ast
import re
from pathlib import Path

TABLE = Path(__file__).parent.parent / "sconce" / "base" / "operators.def"
_ROW = re.compile(r'^SCONCE_TENSOR_(BINARY|UNARY)\s*\((\w+),\s*"([^"]+)"', re.MULTILINE)

BINARY, COMPARE, UNARY = {}, {}, {}
for kind, name, text in _ROW.findall(TABLE.read_text()):
    node = ast.parse(f"a {text} b" if kind == "BINARY" else f"{text}a", mode="eval").body
    if isinstance(node, ast.Compare):
        COMPARE[type(node.ops[0])] = name
    elif isinstance(node, ast.BinOp):
        BINARY[type(node.op)] = name
    else:
        UNARY[type(node.op)] = name
