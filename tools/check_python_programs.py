#!/usr/bin/env python3
"""Runs the programs of python/examples with PyTorch and with Sconce, and compares what they print, step for step.

    tools/check_python_programs.py [--record] [NAME...]

For an interpreter that has PyTorch 2.13, with build/release/python in PYTHONPATH. --record writes what PyTorch printed into
python/tests/programs, with which `make test` compares without PyTorch. The last line says how many programs agree."""

import argparse
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python" / "tests"))

from test_examples import EXAMPLES, RECORDED, difference, run  # noqa: E402  needs the path above


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--record", action="store_true", help="write what PyTorch prints into python/tests/programs")
    options = parser.parse_args()
    agree, programs = 0, [p for p in sorted(EXAMPLES.glob("*.py")) if not options.names or p.stem in options.names]
    for path in programs:
        began = time.perf_counter()
        theirs = run(path, sys.executable)
        middle = time.perf_counter()
        try:
            problem = difference(path.stem, run(path, sys.executable, "-m", "sconce"), theirs)
        except RuntimeError as error:
            problem = str(error)
        ended = time.perf_counter()
        if options.record:
            RECORDED.mkdir(exist_ok=True)
            (RECORDED / f"{path.stem}.txt").write_text(theirs)
        agree += not problem
        print(f"{path.stem:22} {len(theirs.splitlines()):4} lines  PyTorch {middle - began:5.2f} s, Sconce {ended - middle:5.2f} s  "
              f"{problem or 'agree'}", flush=True)
    print(f"{agree} of {len(programs)} programs agree")
    return 0 if agree == len(programs) else 1


if __name__ == "__main__":
    sys.exit(main())
