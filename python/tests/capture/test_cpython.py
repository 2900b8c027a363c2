"""The quicker modules of CPython's own tests, every method compiled (cpython_suite.py runs them all)."""

import pathlib
import subprocess
import sys
import unittest

SUITE = pathlib.Path(__file__).parent / "cpython_suite.py"


class CPython(unittest.TestCase):
    def test_short(self):
        try:
            import test.test_grammar  # noqa: F401
        except ImportError:
            self.skipTest("this Python comes without its tests")
        done = subprocess.run([sys.executable, "-B", str(SUITE), "--short"], capture_output=True, text=True, timeout=500)
        self.assertEqual(done.returncode, 0, done.stdout[-5000:] + done.stderr[-2000:])


if __name__ == "__main__":
    unittest.main()
