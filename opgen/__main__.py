"""python3 -m opgen --out DIR          writes the generated files, touching only those that differ
python3 -m opgen --out DIR --list   prints "<kind> <path>" for each of them instead"""

import argparse
import pathlib
import sys

from . import autocast, order, table
from .generate import generate


def main():
    parser = argparse.ArgumentParser(prog="opgen", description="Generates C++ from the operator table.")
    parser.add_argument("--out", required=True, type=pathlib.Path, help="folder for the generated files")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent,
                        help="folder that holds ops/ (default: the repository)")
    parser.add_argument("--list", action="store_true", help="print kind and path of each file instead of writing")
    args = parser.parse_args()
    try:
        entries = table.load(args.root)
        operators = table.operators(entries)
        files = generate(entries, operators, order.load(args.root, operators), autocast.load(args.root))
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
