"""Copies public headers, and all of ours that they include. Usage: install_headers.py TO FOLDER... -- HEADER..."""

import pathlib
import re
import sys


def main() -> None:
    split = sys.argv.index("--")
    to, *folders = map(pathlib.Path, sys.argv[1:split])
    waiting, seen = list(sys.argv[split + 1:]), set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        source = next((folder / name for folder in folders if (folder / name).is_file()), None)
        if source is None:
            sys.exit(f"install_headers.py: there is no header {name}")
        text = source.read_text()
        waiting += re.findall(r'^\s*#\s*include\s+["<](sconce/[^">]+)[">]', text, re.M)
        target = to / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.is_file() or target.read_text() != text:
            target.write_text(text)


main()
