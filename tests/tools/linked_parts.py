"""A program was linked without some parts of the library: `linked_parts.py PROGRAM OBJECT...` names functions that it has
from these objects. Inline functions count for nobody: they belong to whoever uses them."""

import subprocess
import sys


def functions(path: str) -> set[str]:
    """Functions that a file defines and that are in no other."""
    lines = subprocess.run(["nm", "--defined-only", "--format=posix", path], capture_output=True, text=True, check=True)
    return {words[0] for words in map(str.split, lines.stdout.splitlines()) if len(words) > 1 and words[1] == "T"}


def main() -> int:
    program, *objects = sys.argv[1:]
    # A program's symbols are local where the library hides them.
    lines = subprocess.run(["nm", "--defined-only", "--format=posix", program], capture_output=True, text=True, check=True)
    linked = {line.split()[0] for line in lines.stdout.splitlines()}
    if not linked:
        print(f"{program} has no symbols")
        return 1
    found = 0
    for path in objects:
        names = sorted(functions(path) & linked)
        found += bool(names)
        if names:
            print(f"{path}: {len(names)} functions, among them {names[0]}")
    print(f"{found} of {len(objects)} objects are in {program}")
    return 1 if found else 0


sys.exit(main())
