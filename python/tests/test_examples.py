"""Programs written for PyTorch print here what they printed there (python/tests/programs), line by line, number by number.

    python3 python/tests/test_examples.py [NAME...]
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"
RECORDED = pathlib.Path(__file__).parent / "programs"
_NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")
# How far a number may be from PyTorch's, relative to it and at all: the order of sums differs, and training makes more of it.
# bfloat16 has 8 bits: a sum that is rounded the other way is off by 0.4 %.
TOLERANCE = {"mixed_precision": (2e-2, 2e-2)}
DEFAULT = (5e-4, 2e-5)


def difference(name, got, wanted):
    """What differs first, or nothing. Text must be equal, whole numbers too."""
    rtol, atol = TOLERANCE.get(name, DEFAULT)
    got, wanted = got.splitlines(), wanted.splitlines()
    if len(got) != len(wanted):
        return f"{len(got)} lines, expected {len(wanted)}"
    for i, (mine, theirs) in enumerate(zip(got, wanted), 1):
        if _NUMBER.sub("#", mine) != _NUMBER.sub("#", theirs):
            return f"line {i}: '{mine}', expected '{theirs}'"
        for a, b in zip(_NUMBER.findall(mine), _NUMBER.findall(theirs)):
            if not abs(float(a) - float(b)) <= atol + rtol * abs(float(b)):
                return f"line {i}: '{mine}', expected '{theirs}'"
    return ""


def run(path, *command):
    """What a program prints."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([*command, str(path)], capture_output=True, text=True, timeout=300, env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"{path.name} failed:\n{done.stderr[-3000:]}")
    return done.stdout


class Examples(unittest.TestCase):
    def test_all_are_recorded(self):
        self.assertEqual(sorted(p.stem for p in EXAMPLES.glob("*.py")), sorted(p.stem for p in RECORDED.glob("*.txt")))
        self.assertGreaterEqual(len(list(EXAMPLES.glob("*.py"))), 12)

    def test_a_difference_is_seen(self):
        self.assertEqual(difference("x", "step 1 loss 0.50000", "step 1 loss 0.50001"), "")
        self.assertIn("line 1", difference("x", "step 1 loss 0.5010", "step 1 loss 0.5000"))
        self.assertIn("line 1", difference("x", "step 2 loss 0.5000", "step 1 loss 0.5000"))
        self.assertIn("lines", difference("x", "a", "a\nb"))


def _case(path):
    def test(self):
        wanted = (RECORDED / f"{path.stem}.txt").read_text()
        self.assertEqual(difference(path.stem, run(path, sys.executable, "-m", "sconce"), wanted), "")

    return test


for _path in sorted(EXAMPLES.glob("*.py")):
    setattr(Examples, f"test_{_path.stem}", _case(_path))

if __name__ == "__main__":
    unittest.main()
