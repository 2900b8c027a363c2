"""The page that `sconce ir --html` writes, as a user meets it: opened in Chromium, looked at, clicked, searched.

Usage: html_page.py SCONCE FOLDER [TEST...]; FOLDER holds recorded programs (tests/conformance/programs). Exit status 77, which
ctest calls skipped, when there is no browser.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

import chromium

SCONCE, PROGRAMS = sys.argv[1:3]

HOSTILE = '''
def f(x: Tensor) -> str:
    name = "</script><script>window.broken = 1</script><!-- <img src=x onerror='window.broken = 2'> & ü 😀"  # </script>
    print(x.relu())
    return name
'''

CONTROL = '''
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.block = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def forward(self, x: Tensor, n: int) -> Tensor:
        y = self.first(x)
        for i in range(n):
            if bool(y.sum() > 0):
                y = self.block(y)
            else:
                y = y.neg()
        return y
'''


class Page(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.browser = None

    @classmethod
    def setUpClass(cls):
        cls.shared_browser = chromium.Browser()

    @classmethod
    def tearDownClass(cls):
        cls.shared_browser.close()

    def open(self, *arguments, program=None, dark=False, **size):
        page = self.folder / "page.html"
        if program:
            (self.folder / "program.py").write_text(program)
        done = subprocess.run([SCONCE, "ir", *arguments, "--html", str(page)], cwd=self.folder, capture_output=True, text=True,
                              timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.browser = self.shared_browser
        self.browser.show(dark=dark, **size)
        self.browser.open(str(page))
        return self.browser

    def tearDown(self):
        if self.browser:
            self.assertEqual(self.browser.problems(), [], "the page's console")
            elsewhere = [url for url in self.browser.requests() if not url.startswith("file://")]
            self.assertEqual(elsewhere, [], "the page loads nothing from elsewhere")

    def text(self, selector):
        return self.browser.evaluate(f"document.querySelector({json.dumps(selector)}).textContent")

    def texts(self, selector):
        return self.browser.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent)")

    def count(self, selector):
        return self.browser.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")

    def test_shows_the_graph_and_its_text(self):
        b = self.open(f"{PROGRAMS}/ConvNet.pt")
        self.assertEqual(b.evaluate("document.title"), "ConvNet.pt · Sconce")
        self.assertEqual(self.text("#file"), "ConvNet.pt")
        boxes = self.texts("#graph .op")
        self.assertTrue(any(t.startswith("conv2d") for t in boxes), boxes)
        self.assertFalse(any("Constant" in t for t in boxes), "constants are folded into their users")
        # The text is what the command prints.
        printed = subprocess.run([SCONCE, "ir", f"{PROGRAMS}/ConvNet.pt", "--inline"], capture_output=True, text=True, check=True)
        lines = [line.split(" # ")[0] for line in printed.stdout.splitlines()[1:]]
        shown = [line.split(" # ")[0] for line in self.texts("#text > div")]
        self.assertEqual(shown, lines)
        self.assertGreater(self.count("#legend b"), 2)

    def test_a_click_shows_details_source_and_links(self):
        b = self.open("program.py", "--module", "Net", "--function", "forward", program=CONTROL)
        b.click("#graph .op")
        self.assertEqual(self.text("#details h2"), "aten::linear")
        self.assertIn("%x", self.text("#details code.line-of"))
        self.assertIn("weight", self.text("#details table"))
        self.assertIn("self.first.weight", self.text("#details table"))
        self.assertEqual(self.text("#details pre.source mark"), "F.linear")
        self.assertIn("return F.linear(input, self.weight, self.bias)", self.text("#details pre.source .at"))
        self.assertEqual(self.count("#graph .selected"), 1)
        self.assertEqual(self.count("#text .selected"), 1)
        self.assertGreater(self.count("#graph .line.near"), 0)
        # The link of an output leads to its user.
        b.evaluate("[...document.querySelectorAll('#details table')].at(1).querySelector('a').click()")
        self.assertNotEqual(self.text("#details h2"), "aten::linear")
        b.key("Escape")
        self.assertEqual(self.text("#details h2"), "Net.forward")

    def test_groups_open_and_close(self):
        b = self.open("program.py", "--module", "Net", "--function", "forward", program=CONTROL)
        titles = self.texts("#graph .titles text")
        for wanted in ("▾ loop", "▾ if", "▾ then", "▾ else", "▾ block"):
            self.assertIn(wanted, titles)
        before = self.count("#graph .op")
        b.click("#close-all")
        self.assertLess(self.count("#graph .op"), before)
        self.assertEqual(self.texts("#graph .closed text:first-of-type"), ["▸ loop"])
        b.click("#graph .closed", count=2)
        self.assertIn("▾ loop", self.texts("#graph .titles text"))
        b.click("#open-all")
        self.assertEqual(self.count("#graph .closed"), 0)
        self.assertEqual(self.count("#graph .op"), before)

    def test_search(self):
        b = self.open(f"{PROGRAMS}/ConvNet.pt")
        b.evaluate("page.setAll(false)")
        b.key("/")
        self.assertEqual(b.evaluate("document.activeElement.id"), "search")
        b.type("conv2d")
        hits = self.texts("#hits > div")
        self.assertGreater(len(hits), 1)
        self.assertTrue(all("conv2d" in h.lower() or "conv" in h.lower() for h in hits), hits)
        b.key("Enter")
        self.assertEqual(self.text("#details h2"), "aten::conv2d")
        self.assertTrue(self.text("#hit-count").startswith("1 of "))
        self.assertEqual(self.count("#graph .op.selected"), 1, "groups around the hit are open")
        first = self.text("#details code.line-of")
        b.key("Enter")
        self.assertNotEqual(self.text("#details code.line-of"), first)
        b.key("Escape")
        self.assertTrue(b.evaluate("document.getElementById('hits').hidden"))
        b.key("/")
        b.type("no such thing")
        self.assertEqual(self.texts("#hits > div"), ["nothing found"])

    def test_zoom_pan_and_fit(self):
        b = self.open(f"{PROGRAMS}/ConvNet.pt")
        transform = lambda: b.evaluate("document.getElementById('world').getAttribute('transform')")
        seen = [transform()]

        def changes(what):
            self.assertNotEqual(transform(), seen[-1], what)
            seen.append(transform())

        b.click("#zoom-in")
        changes("the button +")
        b.wheel(400, 400, 300)
        b.wait_for(f"document.getElementById('world').getAttribute('transform') !== {json.dumps(seen[-1])}")
        changes("the wheel")
        b.drag(300, 700, 120, -60)
        changes("dragging")
        b.key("f")
        changes("the key f")
        inside = b.evaluate("[...document.querySelectorAll('#graph .op')].every((e) => { const r = e.getBoundingClientRect();"
                            " return r.left >= 0 && r.top >= 0 && r.bottom <= innerHeight; })")
        self.assertTrue(inside, "fit shows everything")

    def test_a_run_adds_shapes_and_times(self):
        b = self.open("program.py", "--module", "Net", "--function", "forward", "--seed", "0", "--run", "torch.ones(2, 4)", "3",
                      program=CONTROL)
        first = self.text("#graph .op")
        self.assertIn("2×4 float32", first)
        self.assertRegex(first, r"(ns|µs|ms)  [\d.]+ %")
        self.assertIn("share of", self.text("#legend"))
        self.assertIn("medians of 5 runs", self.text("#legend"))
        self.assertGreater(self.count("#graph rect.heat"), 0)
        b.click("#graph .op")
        self.assertIn("ran 1 time,", self.text("#details"))
        b.key("Escape")
        shares = [float(t.split()[0]) for t in self.texts("#details td.number") if t.endswith("%")]
        self.assertTrue(50 < sum(shares) <= 101, shares)

    def test_what_fused_has_one_colour(self):
        b = self.open("program.py", "--random", "8x16", "--random", "16x16", program="""
def f(x: Tensor, w: Tensor) -> Tensor:
    y = torch.sigmoid(x) * x
    return torch.exp(torch.mm(y, w) + 1)
""")
        colours = ("Object.fromEntries([...document.querySelectorAll('#graph .op')].map((g) => "
                   "[g.querySelector('text').textContent, g.style.getPropertyValue('--colour')]))")
        self.assertFalse(b.evaluate("document.querySelector('#colour [value=step]').hidden"))
        b.evaluate("[document.getElementById('colour')].map((s) => { s.value = 'step'; s.dispatchEvent(new Event('change')); })")
        found = b.evaluate(colours)
        self.assertEqual(found["sigmoid"], found["mul"], found)
        self.assertNotEqual(found["sigmoid"], found["mm"], found)
        self.assertEqual(found["add"], found["exp"], found)
        self.assertIn("sigmoid + mul", self.text("#legend"))
        b.click("#graph .op")
        self.assertRegex(self.text("#details"), r"Step \d+ of the plan")
        self.assertIn("nest [", self.text("#details"))

    def test_calls_of_loops_are_counted(self):
        b = self.open("program.py", "--module", "Net", "--function", "forward", "--seed", "0", "--run", "torch.ones(2, 4)", "3",
                      program=CONTROL)
        counts = dict(b.evaluate("[...document.querySelectorAll('#details table')].at(-1) && "
                                 "[...[...document.querySelectorAll('#details table')].at(-1).rows].map("
                                 "(r) => [r.cells[0].textContent, Number(r.cells[1].textContent)])"))
        self.assertEqual(counts["sum"], 3, counts)
        self.assertFalse([t for t in self.texts("#graph .time") if re.search(r"(?<![\d.])0\.0 %", t)])

    def test_text_on_tinted_boxes_can_be_read(self):
        b = self.open("program.py", "--run", "torch.ones(900, 900)",
                      program="def f(x: Tensor) -> Tensor:\n    return x.matmul(x).relu() + x[:300].matmul(x).sum() + x[:150].matmul(x).sum()\n")
        contrast = """(() => {
          const numbers = (c) => c.match(/[\\d.]+/g).map(Number);
          const light = ([r, g, b]) => [r, g, b].map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
                                                .reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
          const over = ([r, g, b, a = 1], under) => [r, g, b].map((v, i) => v * a + under[i] * (1 - a));
          return [...document.querySelectorAll('#graph .warm')].flatMap((g) => {
            const box = numbers(getComputedStyle(g.querySelector('.box')).fill);
            const behind = light(over(numbers(getComputedStyle(g.querySelector('.heat')).fill), box));
            return [...g.querySelectorAll('text')].map((t) => {
              const ink = light(numbers(getComputedStyle(t).fill));
              return (Math.max(ink, behind) + 0.05) / (Math.min(ink, behind) + 0.05);
            });
          });
        })()"""
        for dark in (False, True):
            b.show(dark=dark)
            found = b.evaluate(contrast)
            self.assertGreater(len(found), 3, "matmul takes most of the time")
            self.assertGreater(min(found), 4.4, "WCAG asks for 4.5 of the final colours, which are rounded")

    def test_narrow_windows_keep_graph_and_tools(self):
        b = self.open(f"{PROGRAMS}/ConvNet.pt", width=420, height=800)
        inside = b.evaluate("[...document.querySelectorAll('header button, header input[type=search]')]"
                            ".every((e) => { const r = e.getBoundingClientRect(); return r.left >= 0 && r.right <= innerWidth + 1; })")
        self.assertTrue(inside, "the tools are in the window")
        width, height = b.evaluate("(() => { const r = document.getElementById('graph').getBoundingClientRect(); return [r.width, r.height]; })()")
        self.assertGreater(width, 400)
        self.assertGreater(height, 250)

    def test_opens_with_the_whole_graph(self):
        b = self.open(f"{PROGRAMS}/ConvNet.pt", width=900, height=500)
        inside = b.evaluate("[...document.querySelectorAll('#graph .op')].every((e) => { const r = e.getBoundingClientRect();"
                            " const c = document.getElementById('canvas').getBoundingClientRect();"
                            " return r.left >= c.left && r.top >= c.top && r.right <= c.right && r.bottom <= c.bottom; })")
        self.assertTrue(inside)

    def test_hovering_text_marks_the_graph(self):
        b = self.open("program.py", "--module", "Net", "--function", "forward", program=CONTROL)
        b.evaluate("[...document.querySelectorAll('#text div')].find((d) => d.textContent.includes('aten::linear'))"
                   ".dispatchEvent(new PointerEvent('pointerover', { bubbles: true }))")
        self.assertEqual(self.count("#graph .op.hover"), 1)

    def test_nothing_of_the_file_becomes_html(self):
        b = self.open("program.py", program=HOSTILE)
        self.assertIsNone(b.evaluate("window.broken ?? null"))
        self.assertEqual(self.count("script"), 2)
        self.assertEqual(self.count("img"), 0)
        self.assertIn("</script><script>window.broken = 1</script><!--", self.text("#text"))
        b.evaluate("[...document.querySelectorAll('#text div')].find((d) => d.textContent.includes('window.broken')).click()")
        self.assertIn("ü 😀", self.text("#details pre.source mark"))
        self.assertEqual(b.evaluate("window.broken ?? null"), None)
        self.assertEqual(self.count("img"), 0)

    def test_is_drawn_in_light_and_dark(self):
        for dark in (False, True):
            b = self.open(f"{PROGRAMS}/ConvNet.pt", dark=dark, width=900, height=600)
            b.evaluate("(page.toggleSide(), page.view.fit())")
            picture = b.screenshot()
            self.assertEqual(picture.size, (900, 600))
            below_the_bar = picture.crop((0, 60, 900, 600))
            colours = sorted(below_the_bar.getcolors(900 * 540), reverse=True)
            count, background = colours[0]
            self.assertEqual(sum(background) < 300, dark, f"the background is {background}")
            self.assertGreater(1 - count / (900 * 540), 0.03, "something is drawn")
            self.assertGreater(len(colours), 30)

    def test_thousands_of_nodes_stay_quick(self):
        lines = ["def f(x: Tensor) -> Tensor:"]
        for i in range(2500):
            lines += [f"    a = torch.relu(x + {i})", "    x = x * a"]
        b = self.open("program.py", program="\n".join(lines + ["    return x", ""]))
        took = b.evaluate("(() => { const t = performance.now(); page.setAll(true); return performance.now() - t; })()")
        self.assertLess(took, 5000, "milliseconds to lay out and draw 7,500 operators")
        took = b.evaluate("(() => { const t = performance.now(); page.search('relu'); return performance.now() - t; })()")
        self.assertLess(took, 3000, "milliseconds to search them")
        self.assertEqual(b.evaluate("page.hits.length"), 2500)


class Driver(unittest.TestCase):
    def test_a_browser_behind_a_script_is_closed_too(self):
        """Debian's chromium is a script that becomes the browser; this one stays beside it."""
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder) / "browser"
            script.write_text(f'#!/bin/sh\n"{chromium.find()}" "$@"\n')
            script.chmod(0o755)
            with chromium.Browser(program=str(script)) as browser:
                own = browser.folder
                self.assertGreater(len(processes_with(own)), 1)
            end = time.time() + 10
            while processes_with(own) and time.time() < end:
                time.sleep(0.05)
            self.assertEqual(processes_with(own), [])
            self.assertFalse(pathlib.Path(own).exists())


def processes_with(folder: str) -> list[str]:
    """The command lines of processes that have the folder in their arguments."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = process.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it has ended
            continue
        if folder in command:
            found.append(command)
    return found


if __name__ == "__main__":
    if not chromium.find():
        print(f"skipped: one of {', '.join(chromium.PROGRAMS)}, chromedriver, Selenium or Pillow is not installed (tools/bootstrap test)")
        sys.exit(77)
    PROGRAMS = str(pathlib.Path(PROGRAMS).resolve())
    SCONCE = str(pathlib.Path(SCONCE).resolve())
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
