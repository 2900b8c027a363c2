"""embed_scripts.py FOLDER OUT.cpp: every .py file under FOLDER as a constant of a C++ source.

Paths are relative to FOLDER with forward slashes, in sorted order."""

import pathlib
import sys

from cpp_literal import literal, write_source


def main() -> None:
    folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    files = sorted(folder.rglob("*.py"))
    entries = [f'    {{"{f.relative_to(folder).as_posix()}", {literal(f.read_text())}}},' for f in files]
    write_source(
        out,
        [
            "// Made by cmake/embed_scripts.py from script/.",
            '#include "sconce/frontend/script/program/script_library.h"',
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
        ],
    )


main()
