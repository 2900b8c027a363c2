"""package_test.py PACKAGE CONFORMANCE [MODELS]: node_test.mjs, where a package was built and Node is there; else exit status 77, which
ctest calls skipped."""

import pathlib
import shutil
import subprocess
import sys

if not pathlib.Path(sys.argv[1], "sconce.wasm").exists():
    print(f"skipped: there is no package in {sys.argv[1]}; `make web` makes it")
    sys.exit(77)
if not shutil.which("node"):
    print("skipped: Node is missing")
    sys.exit(77)
sys.exit(subprocess.run(["node", pathlib.Path(__file__).parent / "node_test.mjs", *sys.argv[1:]]).returncode)
