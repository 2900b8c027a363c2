"""What docs/*.md show is what happens. Usage: docs.py [--accept] BIN FILE...

A fenced block of cpp whose first line is a comment with a file of the repository ("// examples/script.cpp") stands in that
file, line by line. A fenced block of python or text whose first line is a comment with a file name ("# model.py") becomes that file. In a block
of kind `console`, each line that begins with "$ " is run, in that folder and with BIN in front of PATH; the lines after it
are what it prints, standard error included. A last line "[exit status N]" says that it ends with N. The repository is in
$SOURCE, BIN in $BIN, opgen's files in $GENERATED. --accept writes what is printed into the files instead: read the difference before it is committed.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(command: str, folder: str, bin_dir: str) -> str:
    env = dict(os.environ, PATH=bin_dir + os.pathsep + os.environ["PATH"], SOURCE=str(ROOT), BIN=bin_dir,
               GENERATED=str(pathlib.Path(bin_dir).parent / "generated/sconce/generated"))
    for variable in ("COLUMNS", "NO_COLOR"):  # of whoever runs the tests
        env.pop(variable, None)
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=120, check=False)
    return done.stdout + (f"[exit status {done.returncode}]\n" if done.returncode else "")


def check(path: pathlib.Path, bin_dir: str, accept: bool) -> tuple[int, int]:
    passed = failed = 0
    page = path.read_text()
    with tempfile.TemporaryDirectory() as folder:
        for kind, text in re.findall(r"^```(\w+)\n(.*?)^```", page, re.S | re.M):
            if name := re.match(r"# (\S+\.(?:py|txt|ir))\n", text):
                (pathlib.Path(folder) / name[1]).write_text(text[name.end():])
            if source := re.match(r"// (\S+\.(?:cpp|h|c))\n", text):
                shown = text[source.end():].strip()
                if shown and shown in (ROOT / source[1]).read_text():
                    passed += 1
                else:
                    failed += 1
                    print(f"{path.name}: {source[1]} does not have\n{shown}")
            if kind != "console":
                continue
            for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M):
                printed = run(command, folder, bin_dir)
                if printed == expected:
                    passed += 1
                elif accept:
                    page = page.replace(f"\n$ {command}\n{expected}", f"\n$ {command}\n{printed}", 1)
                else:
                    failed += 1
                    print(f"{path.name}: `{command}` is said to print\n{expected}but it prints\n{printed}")
    if accept:
        path.write_text(page)
    return passed, failed


def main() -> None:
    arguments = [a for a in sys.argv[1:] if a != "--accept"]
    bin_dir = str(pathlib.Path(arguments[0]).resolve())
    results = [check(pathlib.Path(name), bin_dir, len(arguments) + 1 < len(sys.argv)) for name in arguments[1:]]
    passed, failed = (sum(column) for column in zip(*results))
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed != 0)


main()
