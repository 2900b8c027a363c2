"""embed_server_page.py PAGE.html OUT.cpp: the page of `sconce serve` as a constant of a C++ source."""

import pathlib
import sys

from cpp_literal import literal, write_source


def main() -> None:
    page, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    write_source(
        out,
        [
            "// Made by cmake/embed_server_page.py from server/page/page.html.",
            '#include "server/page/page.h"',
            "",
            "namespace sconce::server {",
            "",
            f"const char* const kPage =\n{literal(page.read_text())};",
            "",
            "}  // namespace sconce::server",
        ],
    )


main()
