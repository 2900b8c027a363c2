#!/usr/bin/env python3
"""Prints ops/overload_order.txt: the order in which PyTorch tries the overloads that the table has, for every name where the
table defines them in another order.

    build/bench-venv/bin/python tools/overload_order.py > ops/overload_order.txt"""
import pathlib
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from opgen import table  # noqa: E402

HEAD = """# In which order the overloads of a name are tried, where that is not the order of the table: PyTorch's order of
# registration, which decides between overloads that both fit. Written by tools/overload_order.py.
"""


def main():
    ours = {}
    for op in table.operators(table.load(ROOT)):
        ours.setdefault(f"{op.schema.namespace}::{op.schema.name}", []).append(op.schema.overload)
    print(HEAD, end="")
    for name in sorted(ours):
        theirs = [s.overload_name for s in torch._C._jit_get_schemas_for_operator(name)]
        wanted = [o for o in theirs if o in ours[name]]
        if wanted != [o for o in ours[name] if o in theirs]:
            print(f"{name}: {' '.join(o or 'default' for o in wanted)}")


main()
