"""The training programs of python/examples, loops and steps compiled, print what PyTorch printed (python/tests/programs).

    python3 python/tests/capture/test_compiled_examples.py [NAME...]
"""

import pathlib
import sys
import unittest

FOLDER = pathlib.Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))
import test_examples  # noqa: E402


class CompiledExamples(unittest.TestCase):
    pass


def _case(path):
    def test(self):
        wanted = (test_examples.RECORDED / f"{path.stem}.txt").read_text()
        printed = test_examples.run(path, sys.executable, str(FOLDER / "compiled_example.py"))
        self.assertEqual(test_examples.difference(path.stem, printed, wanted), "")

    return test


for _path in sorted(test_examples.EXAMPLES.glob("*.py")):
    setattr(CompiledExamples, f"test_{_path.stem}", _case(_path))

if __name__ == "__main__":
    unittest.main()
