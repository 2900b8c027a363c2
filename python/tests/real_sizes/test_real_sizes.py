"""Random calls at sizes of real models, with fixed seeds: test_real_sizes.py [CALLS]. See docs/real-sizes.md."""

import importlib.util
import pathlib
import subprocess
import sys

if importlib.util.find_spec("numpy") is None:
    print("skipped: NumPy is not installed")
    sys.exit(77)

calls = sys.argv[1] if len(sys.argv) > 1 else "2400"
program = pathlib.Path(__file__).parent / "__main__.py"
sys.exit(subprocess.run([sys.executable, program, "--calls", calls, "--seed", "40", "--no-shrink"]).returncode)
