"""python3 -m opgen --out DIR          writes the generated files, touching only those that differ
python3 -m opgen --out DIR --list   prints "<kind> <path>" for each of them instead

--small writes what small libraries share instead, --select FILE what one for this selection has (faces/small.py)."""

import argparse
import pathlib
import sys

from . import autocast, order, selection, table
from .generate import generate, generate_small


def main():
    parser = argparse.ArgumentParser(prog="opgen", description="Generates C++ from the operator table.")
    parser.add_argument("--out", required=True, type=pathlib.Path, help="folder for the generated files")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent,
                        help="folder that holds ops/ (default: the repository)")
    parser.add_argument("--list", action="store_true", help="print kind and path of each file instead of writing")
    parser.add_argument("--small", action="store_true", help="the operators as small libraries link them")
    parser.add_argument("--select", type=pathlib.Path, metavar="FILE", help="the records and loops of a selection")
    args = parser.parse_args()
    try:
        entries = table.load(args.root)
        operators = table.operators(entries)
        orders = order.load(args.root, operators)
        if args.small or args.select:
            chosen = selection.load(args.select, operators) if args.select else None
            files = generate_small(entries, operators, orders, chosen)
        else:
            files = generate(entries, operators, orders, autocast.load(args.root))
    except table.TableError as e:
        sys.exit(f"opgen: {e}")
    for path, (kind, text) in files.items():
        if args.list:
            print(kind, path)
            continue
        target = args.out / path
        if target.exists() and target.read_text() == text:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


if __name__ == "__main__":
    main()
