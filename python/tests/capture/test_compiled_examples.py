"""The training programs of python/examples, loops and steps compiled, print what PyTorch printed (python/tests/programs).

    python3 python/tests/capture/test_compiled_examples.py [NAME...]
"""

import pathlib
import sys
import unittest

FOLDER = pathlib.Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))
import test_examples  # noqa: E402


# Wrong today, and expected to fail so that whoever mends it notices: losses differ from the fourth step on, the cause is not known.
KNOWN_WRONG = {"mixed_precision"}


class CompiledExamples(unittest.TestCase):
    pass


def _case(path):
    def test(self):
        wanted = (test_examples.RECORDED / f"{path.stem}.txt").read_text()
        printed = test_examples.run(path, sys.executable, str(FOLDER / "compiled_example.py"))
        self.assertEqual(test_examples.difference(path.stem, printed, wanted), "")
    return unittest.expectedFailure(test) if path.stem in KNOWN_WRONG else test


for _path in sorted(test_examples.EXAMPLES.glob("*.py")):
    setattr(CompiledExamples, f"test_{_path.stem}", _case(_path))

if __name__ == "__main__":
    unittest.main()
