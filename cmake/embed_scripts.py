"""embed_scripts.py FOLDER TEXTS.cpp UPGRADED.cpp: every .py file under FOLDER as deflated text in a C++ source, and the
operators that its upgraders are for in another.

Paths are relative to FOLDER with forward slashes, in sorted order."""

import pathlib
import sys
import zlib

from cpp_literal import write_source

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from opgen import upgraders  # noqa: E402


def upgraded() -> list[str]:
    """Lines "3 aten::div(self,other)" for lite::upgraded_until."""
    versions = upgraders.last_versions()
    assert all(version < 10 for version in versions.values())
    return [f'    "{version} {signature}"' for signature, version in versions.items()]


def main() -> None:
    folder, out, upgraded_out = map(pathlib.Path, sys.argv[1:])
    rows = upgraded()
    write_source(
        upgraded_out,
        [
            "// Made by cmake/embed_scripts.py from script/builtins/upgraders/.",
            '#include "sconce/base/text/find_text.h"',
            '#include "sconce/serialization/lite/lite_upgraders.h"',
            "",
            "namespace sconce::lite {",
            "",
            "int upgraded_until(std::string_view signature) {",
            "  constexpr std::string_view kLines =",
            *rows[:-1],
            f"{rows[-1]};",
            "  const size_t at = find_text(kLines, signature);",
            "  return at == kLines.npos ? 0 : kLines[at - 1] - '0';",
            "}",
            "",
            "}  // namespace sconce::lite",
        ],
    )
    entries, data = [], b""
    for path in sorted(folder.rglob("*.py")):
        text = path.read_bytes()
        deflated = zlib.compress(text, 9)
        place = f"ListRef<uint8_t>(deflated + {len(data)}, {len(deflated)})"
        entries.append(f'    {{"{path.relative_to(folder).as_posix()}", {place}, {len(text)}}},')
        data += deflated
    numbers = [",".join(map(str, data[i : i + 32])) + "," for i in range(0, len(data), 32)]
    write_source(
        out,
        [
            "// Made by cmake/embed_scripts.py from script/.",
            '#include "sconce/frontend/script/program/script_library.h"',
            "",
            "namespace sconce::script {",
            "",
            f"static constexpr uint8_t deflated[{len(data)}] = {{",
            *numbers,
            "};",
            "",
            "ListRef<LibrarySource> library_sources() {",
            "  static constexpr LibrarySource sources[] = {",
            *entries,
            "  };",
            f"  return ListRef<LibrarySource>(sources, {len(entries)});",
            "}",
            "",
            "}  // namespace sconce::script",
        ],
    )


main()
