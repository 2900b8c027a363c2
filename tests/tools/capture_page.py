"""The page that sconce.compiler.trace writes, as a user meets it: opened in Chromium, looked at, searched.

Usage: capture_page.py PYTHON...; the command of a Python that finds the package. Exit status 77, which ctest calls skipped, when there
is no browser.
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import chromium

PYTHON = sys.argv[1:]

PROGRAM = '''
import sys
import sconce as torch

@torch.compile
def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b

@torch.compile
def hostile(x, name):
    return x + len(name)

with torch.compiler.trace(sys.argv[1]):
    toy_example(torch.ones(10), torch.ones(10))
    toy_example(torch.ones(10), -torch.ones(10))
    hostile(torch.ones(2), "</script><script>window.broken = 1</script>")
    hostile(torch.ones(2), "<img src=x onerror='window.broken = 2'>")
'''


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.place.name)
        (folder / "program.py").write_text(PROGRAM)
        done = subprocess.run([*PYTHON, "program.py", "out/deep"], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode:
            raise AssertionError(done.stderr)
        cls.page = folder / "out" / "deep" / "index.html"
        cls.browser = chromium.Browser()
        cls.browser.open(str(cls.page))

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.place.cleanup()

    def text(self, selector):
        return self.browser.evaluate(f"document.querySelector({selector!r}).textContent")

    def count(self, selector):
        return self.browser.evaluate(f"[...document.querySelectorAll({selector!r})].filter(e => !e.hidden).length")

    def test_whole(self):
        self.assertEqual(self.browser.problems(), [], "the page's console")
        self.assertEqual([url for url in self.browser.requests() if not url.startswith("file://")], [])
        self.assertFalse(self.browser.evaluate("'broken' in window"), "text of the program became part of the page")

    def test_frames(self):
        self.assertGreaterEqual(self.count("#frames tbody tr"), 5)
        self.assertIn("recompilations", self.text("h1"))
        self.assertIn("toy_example", self.text("#frames"))

    def test_breaks(self):
        text = self.text(".break")
        self.assertIn("the truth of a tensor decides a branch", text)
        self.assertIn("program.py:8", text)
        self.assertIn("if b.sum() < 0:", self.text("mark"))

    def test_graphs_and_guards(self):
        text = self.text("article")
        for part in ("torch.abs(l_a_)", "L_b_", "check_tensor(L['a'], Tensor, DispatchKeySet(CPU", "__compiled_fn_", "__resume_at_"):
            self.assertIn(part, text)
        self.assertIn("Compiled again", self.text("body"))

    def test_filter(self):
        everything = self.count("article")
        self.browser.click("#filter")
        self.browser.type("hostile")
        self.assertEqual(self.count("article"), 2)
        self.assertEqual(self.count("#frames tbody tr"), 2)
        self.browser.evaluate("(() => { const box = document.getElementById('filter'); box.value = ''; "
                              "box.dispatchEvent(new Event('input')); })()")
        self.assertEqual(self.count("article"), everything)


if __name__ == "__main__":
    if not chromium.find():
        print(f"skipped: one of {', '.join(chromium.PROGRAMS)}, chromedriver, Selenium or Pillow is not installed (tools/bootstrap test)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
