"""The front door is short, and the pages name what exists. Usage: readme.py

README.md has at most 90 lines, and none of its lines of prose more than 120 characters. Links of README.md and the other
pages lead somewhere; what they name in backquotes as a path of the repository or of sconce/ (`ops/*.toml`, `ir/graph.h`) is
there.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = {"bench", "cli", "cmake", "docs", "examples", "extensions", "opgen", "ops", "sconce", "script", "tests", "tools"}
GENERATED = {"sconce/ops.h"}  # headers that programs include, written by opgen


def without_code(page: str) -> str:
    """The page with its fenced blocks emptied, so that lines keep their numbers."""
    return re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), page, flags=re.S | re.M)


def shape(page: str) -> list[str]:
    lines = page.splitlines()
    found = [f"README.md has {len(lines)} lines, more than 90"] if len(lines) > 90 else []
    return found + [f"README.md:{n}: {len(line)} characters, more than 120"
                    for n, line in enumerate(without_code(page).splitlines(), 1) if len(line) > 120]


def expanded(path: str) -> list[str]:
    """a/{b,c}/d as a/b/d and a/c/d."""
    braces = re.search(r"\{([^{}]*)\}", path)
    return [path] if not braces else [
        each for word in braces[1].split(",") for each in expanded(path[:braces.start()] + word + path[braces.end():])]


def missing(file: pathlib.Path, tracked: list[pathlib.PurePath]) -> list[str]:
    found = []
    for n, line in enumerate(without_code(file.read_text()).splitlines(), 1):
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", line):
            if "://" not in target and not (file.parent / target).exists():
                found.append(f"{file.relative_to(ROOT)}:{n}: no file {target}")
        for path in re.findall(r"`([\w{},*./+-]+)`", line):
            if "/" not in path or path in GENERATED or path.startswith(".."):
                continue
            if (ROOT / "sconce" / path.split("/")[0]).is_dir():
                path = "sconce/" + path
            if path.split("/")[0] not in FOLDERS:
                continue
            for name in expanded(path.rstrip("/")):
                if not ((ROOT / name).exists() or any(each.match(name) for each in tracked)):
                    found.append(f"{file.relative_to(ROOT)}:{n}: no file {path}")
    return found


def main() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    tracked = [pathlib.PurePath(line) for line in listed.splitlines()] or [
        path.relative_to(ROOT) for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    pages = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "tests/conformance/README.md")]
    pages += sorted((ROOT / "docs").glob("*.md"))
    failures = shape((ROOT / "README.md").read_text()) + [each for page in pages for each in missing(page, tracked)]
    print(*failures, sep="\n", end="\n" if failures else "")
    print(f"{len(pages) + 1 - len({each.split(':')[0] for each in failures})} passed, {len(failures)} failed")
    sys.exit(bool(failures))


main()
