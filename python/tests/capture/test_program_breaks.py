"""Programs (programs_*.py) that break at any of their instructions do what they do unbroken: resume code over tensors."""

import inspect
import unittest

import harness
import sconce
from sconce import _sconce

FILES = ("programs_control.py", "programs_functions.py", "programs_containers.py", "programs_classes.py", "programs_effects.py",
         "programs_more.py")  # with those of test_breaks.py more than 400 functions
# Their answer is the frame that they run in, or what is alive in it.
OF_FRAMES = {"star_locals", "vars_dir_locals_hasattr", "eval_order", "weak_references"}


class ProgramBreaks(unittest.TestCase):
    def check(self, file):
        functions = breaks = 0
        for name, program in harness.load(file, sconce)[0].items():
            if inspect.isgeneratorfunction(program.function) or name in OF_FRAMES:
                continue
            plain = harness.outcomes(file, name, sconce, only=1)
            functions += 1
            for index in range(len(_sconce._capture_decode(program.function))):
                broken = []

                def wrap(function):
                    broken.append(_sconce._capture_break(function, index))
                    return broken[0] or function

                found = harness.outcomes(file, name, sconce, wrap, only=1)
                if broken[0] is None:
                    continue
                breaks += 1
                for a, b in zip(plain, found, strict=True):
                    self.assertEqual(harness.difference(a, b), "", f"{name} broken at {index}")
        return functions, breaks

    def test_at_every_instruction(self):
        for file in FILES:
            with self.subTest(file):
                functions, breaks = self.check(file)
                self.assertGreater(functions, 40)
                self.assertGreater(breaks, 700)


if __name__ == "__main__":
    unittest.main()
