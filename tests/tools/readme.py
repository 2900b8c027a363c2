"""The first example of README.md is examples/first.cpp, and prints what README.md says. Usage: readme.py PROGRAM"""

import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
readme = (root / "README.md").read_text()
blocks = re.findall(r"```(cpp|text)\n(.*?)```", readme, re.S)
source = next(text for kind, text in blocks if kind == "cpp")
expected = next(text for kind, text in blocks if kind == "text")
if source != (root / "examples/first.cpp").read_text():
    sys.exit("README.md: the first C++ example differs from examples/first.cpp")
printed = subprocess.run([sys.argv[1]], capture_output=True, text=True, check=True).stdout
if printed != expected:
    sys.exit(f"README.md says the example prints\n{expected}but it prints\n{printed}")
print("1 passed, 0 failed")
