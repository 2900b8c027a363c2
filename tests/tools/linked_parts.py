"""A program was linked without some parts of the library: `linked_parts.py PROGRAM OBJECT...` names functions that it has
from these objects. Inline functions count for nobody: they belong to whoever uses them."""

import collections
import subprocess
import sys


def symbols(*paths: str) -> list[list[str]]:
    """[file, name, kind, ...] of every symbol that the files define."""
    command = ["nm", "--defined-only", "--format=posix", "--print-file-name", *paths]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [line.replace(": ", " ", 1).split() for line in out.splitlines()]


def main() -> int:
    program, *objects = sys.argv[1:]
    linked = {name for _, name, *_ in symbols(program)}
    if not linked:
        print(f"{program} has no symbols")
        return 1
    found = collections.defaultdict(list)
    for path, name, kind, *_ in symbols(*objects):
        if kind == "T" and name in linked:
            found[path].append(name)
    for path, names in found.items():
        print(f"{path}: {len(names)} functions, among them {names[0]}")
    print(f"{len(found)} of {len(objects)} objects are in {program}")
    return 1 if found else 0


sys.exit(main())
