"""embed_page.py FOLDER OUT.cpp: page.html of FOLDER, its style and its scripts in place, as two constants of a C++ source:
what stands before and behind the page's data."""

import pathlib
import sys

from cpp_literal import literal, write_source

SCRIPTS = ["model.js", "layout.js", "draw.js", "panels.js", "page.js"]  # one after the other, in one scope


def main() -> None:
    folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    page = (folder / "page.html").read_text()
    script = '"use strict";\n' + "\n".join((folder / name).read_text() for name in SCRIPTS)
    assert "</script" not in script.lower(), "a script holds the mark that ends it"
    page = page.replace("/*{{page.css}}*/", (folder / "page.css").read_text()).replace("/*{{page.js}}*/", script)
    before, behind = page.split("{{data}}")
    write_source(
        out,
        [
            "// Made by cmake/embed_page.py from cli/sconce/html/.",
            '#include "graphs/graph_page.h"',
            "",
            "namespace sconce::cli {",
            "",
            f"const char* const kPageBeforeData =\n{literal(before)};",
            f"const char* const kPageBehindData =\n{literal(behind)};",
            "",
            "}  // namespace sconce::cli",
        ],
    )


main()
