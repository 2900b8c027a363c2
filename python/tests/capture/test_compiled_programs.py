"""Programs (programs_*.py) give compiled what they give eagerly, with no more graph breaks than PyTorch 2.13 (recorded.json).

    python3 test_compiled_programs.py [Programs.test_NAME...]

recorded.json is made by tools/record_capture.py. known_breaks.txt names programs that break more often than PyTorch's capture
does, with how often and why.
"""

import importlib.util
import json
import pathlib
import unittest

import harness
import sconce

FOLDER = pathlib.Path(__file__).parent
RECORDED = json.loads((FOLDER / "recorded.json").read_text())
KNOWN = {line.split()[0]: int(line.split()[1]) for line in (FOLDER / "known_breaks.txt").read_text().splitlines()
         if line and not line.startswith("#")}


def breaks_of_first_call(file, name):
    sconce.compiler.reset()
    counters = sconce._dynamo.utils.counters
    counters.clear()
    harness.outcomes(file, name, sconce, sconce.compile, 1)
    return sum(counters["graph_break"].values()), dict(counters["graph_break"])


class Programs(unittest.TestCase):
    def check(self, file, name):
        eager = harness.outcomes(file, name, sconce)
        sconce.compiler.reset()
        compiled = harness.outcomes(file, name, sconce, sconce.compile)
        for i, (a, b) in enumerate(zip(eager, compiled, strict=True)):
            self.assertEqual(harness.difference(a, b, f"call {i}"), "")
        if "numpy" in name and importlib.util.find_spec("numpy") is None:  # both raise
            return
        row = RECORDED[name]
        if "failed" in row or "differs" in row or row["graphs"] == 0:  # PyTorch captures nothing, or not this program
            return
        breaks, reasons = breaks_of_first_call(file, name)
        allowed = max(row["breaks"], KNOWN.get(name, 0))
        self.assertLessEqual(breaks, allowed, f"more breaks than PyTorch, or than known_breaks.txt says: {reasons}")


class Lists(unittest.TestCase):
    def test_every_program_is_recorded(self):
        names = [name for file in harness.FILES for name in harness.load(file, sconce)[0]]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(sorted(names), sorted(RECORDED))
        self.assertEqual(set(KNOWN) - set(names), set())


def _add(file, name):
    setattr(Programs, f"test_{name}", lambda self: self.check(file, name))


for _file in harness.FILES:
    for _name in harness.load(_file, sconce)[0]:
        _add(_file, _name)

if __name__ == "__main__":
    unittest.main()
