"""Variants as the sources declare them: name, condition, needs, file. Run as a program it prints them, one a line.

    python3 python/tests/variants/listing.py [PART OF A NAME OR FILE]
"""

import dataclasses
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
TEXT = r'"((?:[^"\\]|\\.)*)"'
DECLARATION = re.compile(rf"^SCONCE_VARIANT\(\s*\w+,\s*{TEXT},\s*((?:{TEXT}\s*)+)(?:,\s*{TEXT}\s*)?\);", re.M)


@dataclasses.dataclass
class Variant:
    name: str
    condition: str
    needs: str  # "" if every machine reaches it
    source: str


def variants():
    """All declarations, in the order of files."""
    found = []
    for path in sorted((ROOT / "sconce").rglob("*.cpp")):
        text = path.read_text()
        if "SCONCE_VARIANT(" not in text:
            continue
        for match in DECLARATION.finditer(text):
            condition = "".join(re.findall(TEXT, match[2]))
            found.append(Variant(match[1], condition, match[4] or "", str(path.relative_to(ROOT))))
    return found


def main():
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    for v in variants():
        if part in v.name or part in v.source:
            needs = f" (needs {v.needs})" if v.needs else ""
            print(f"{v.name}: {v.condition}{needs}  [{v.source}]")


if __name__ == "__main__":
    main()
