"""embed_scripts.py FOLDER TEXTS.cpp UPGRADED.cpp: every .py file under FOLDER as a constant of a C++ source, and the
operators that its upgraders are for as another.

Paths are relative to FOLDER with forward slashes, in sorted order."""

import ast
import pathlib
import sys

from cpp_literal import literal, write_source


def upgraded(folder: pathlib.Path) -> list[str]:
    """Rows of lite::UpgradedOperator, from builtins/upgraders/v<last version>.py."""
    rows = []
    for path in sorted(folder.glob("builtins/upgraders/v*.py"), key=lambda p: int(p.stem[1:])):
        for function in ast.parse(path.read_text()).body:
            if isinstance(function, ast.FunctionDef):
                names = ",".join(a.arg for a in function.args.args + function.args.kwonlyargs)
                rows.append(f'    {{"aten::{function.name}", {path.stem[1:]}, "{names}"}},')
    return rows


def main() -> None:
    folder, out, upgraded_out = map(pathlib.Path, sys.argv[1:])
    rows = upgraded(folder)
    write_source(
        upgraded_out,
        [
            "// Made by cmake/embed_scripts.py from script/builtins/upgraders/.",
            '#include "sconce/serialization/lite/lite_upgraders.h"',
            "",
            "namespace sconce::lite {",
            "",
            "ListRef<UpgradedOperator> upgraded_operators() {",
            "  static constexpr UpgradedOperator operators[] = {",
            *rows,
            "  };",
            f"  return ListRef<UpgradedOperator>(operators, {len(rows)});",
            "}",
            "",
            "}  // namespace sconce::lite",
        ],
    )
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
