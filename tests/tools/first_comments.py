"""Files say what they are. Usage: first_comments.py

Every header below sconce/ begins with a comment (before or right behind `#pragma once`), and so does every source that has
no header of its name. Comments end at 120 columns.
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def begins_with_comment(lines: list[str]) -> bool:
    return lines[0].startswith(("//", "/*")) or (lines[0] == "#pragma once" and lines[1].startswith("//"))


def failures(path: pathlib.Path) -> list[str]:
    lines = path.read_text().splitlines() + ["", ""]
    name = path.relative_to(ROOT)
    found = []
    explained = path.suffix == ".cpp" and (path.with_suffix(".h").exists() or path.stem.endswith("_test"))
    if not explained and not begins_with_comment(lines):
        found.append(f"{name}: begins without a comment")
    found += [f"{name}:{n}: a comment of {len(line)} columns, more than 120"
              for n, line in enumerate(lines, 1) if len(line) > 120 and line.lstrip().startswith("//")]
    return found


def main() -> None:
    files = sorted(path for kind in ("*.h", "*.cpp") for path in (ROOT / "sconce").rglob(kind))
    found = [each for path in files for each in failures(path)]
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(files) - len({each.split(':')[0] for each in found})} passed, {len(found)} failed")
    sys.exit(bool(found))


main()
