"""Types of the package: mypy --strict accepts and refuses what it should, and stubs and package agree (stubtest).

Needs mypy 1.19 or later; ends with status 77 where it is not installed."""

import importlib.metadata
import importlib.util
import os
import pathlib
import re
import runpy
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent / "typing"
UNAVAILABLE = 77
OLDEST_MYPY = (1, 19)  # knows --ignore-disjoint-bases


def run(package: pathlib.Path, stubs: pathlib.Path, *command: str) -> str:
    env = dict(os.environ, MYPYPATH=str(stubs), PYTHONPATH=str(package), MYPY_CACHE_DIR=str(stubs / "cache"))
    done = subprocess.run([sys.executable, "-B", "-m", *command], cwd=stubs, env=env, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    return done.stdout


def check_wrong_calls(printed: str) -> list[str]:
    """mypy's errors, line by line, against the comments of the file."""
    text = (HERE / "wrong_calls.py").read_text().splitlines()
    wanted = {i: found[1] for i, line in enumerate(text, 1) if (found := re.search(r"# mypy: ([\w-]+)$", line))}
    given = {int(line): code for line, code in re.findall(r"wrong_calls\.py:(\d+): error: .*\[([\w-]+)\]", printed)}
    return [f"wrong_calls.py:{i}: expected {wanted.get(i)}, mypy says {given.get(i)}"
            for i in sorted(wanted.keys() | given.keys()) if wanted.get(i) != given.get(i)]


def main() -> None:
    found = importlib.util.find_spec("mypy") and importlib.metadata.version("mypy")
    if not found or tuple(map(int, found.split(".")[:2])) < OLDEST_MYPY:
        print("skipped: there is no mypy 1.19 or later, so types are not checked (pip install mypy)")
        sys.exit(UNAVAILABLE)
    package = pathlib.Path(importlib.util.find_spec("sconce").origin).absolute().parents[1]
    if not (package / "sconce" / "_sconce.pyi").exists():
        print("skipped: this build has no stubs")
        sys.exit(UNAVAILABLE)
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        # Stubs alone: the texts of the script library beside them are no modules of Python.
        stubs = pathlib.Path(folder)
        for path in package.glob("sconce/**/*.pyi"):
            target = stubs / path.relative_to(package)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        (stubs / "sconce" / "py.typed").touch()
        printed = run(package, stubs, "mypy", "--strict", str(HERE / "calls.py"))
        if "Success" not in printed:
            failures.append(printed)
        failures += check_wrong_calls(run(package, stubs, "mypy", "--strict", str(HERE / "wrong_calls.py")))
        printed = run(package, stubs, "mypy.stubtest", "--concise", "--ignore-missing-stub", "--ignore-disjoint-bases",
                      "--ignore-unused-allowlist", "--allowlist", str(HERE / "allowlist.txt"), "sconce")
        if printed.strip() and "Success" not in printed:
            failures.append(printed)
    runpy.run_path(str(HERE / "calls.py"))
    if failures:
        sys.exit("\n".join(failures))
    print("mypy --strict and stubtest agree")


main()
