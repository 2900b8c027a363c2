"""embed_scripts.py FOLDER OUT.cpp: every .py file under FOLDER as a constant of a C++ source.

Paths are relative to FOLDER with forward slashes, in sorted order. The text is cut into raw string literals of a size that
every compiler takes."""

import pathlib
import sys

PIECE = 12000


def literal(text: str) -> str:
    pieces = [text[i : i + PIECE] for i in range(0, len(text), PIECE)] or [""]
    assert ')py"' not in text, "the text holds the mark that ends a C++ literal"
    return "\n".join(f'R"py({piece})py"' for piece in pieces)


def main() -> None:
    folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    files = sorted(folder.rglob("*.py"))
    entries = [f'    {{"{f.relative_to(folder).as_posix()}", {literal(f.read_text())}}},' for f in files]
    text = "\n".join(
        [
            "// Made by cmake/embed_scripts.py from script/.",
            '#include "sconce/frontend/script/library.h"',
            "",
            "namespace sconce::script {",
            "",
            "ListRef<LibrarySource> library_sources() {",
            "  static constexpr LibrarySource sources[] = {",
            *entries,
            "  };",
            f"  return ListRef<LibrarySource>(sources, {len(files)});",
            "}",
            "",
            "}  // namespace sconce::script",
            "",
        ]
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    if not out.exists() or out.read_text() != text:
        out.write_text(text)


main()
