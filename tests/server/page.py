"""The page of `sconce serve`, as a user meets it: in Chromium, with a live server behind it.

Usage: page.py SCONCE FOLDER; FOLDER holds recorded programs (tests/conformance/programs). Exit status 77, which ctest calls skipped, when
there is no browser.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import chromium  # noqa: E402

SCONCE, PROGRAMS = sys.argv[1:3]


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = chromium.Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def start(self, *arguments):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        log = self.folder / "log.json"
        with log.open("w") as out:
            server = subprocess.Popen([SCONCE, "serve", "--port", "0", "--no-grpc", *arguments], stderr=out)
        self.addCleanup(lambda: (server.terminate(), self.assertEqual(server.wait(60), 0)))
        end = time.monotonic() + 60
        while '"ready"' not in log.read_text():
            self.assertIsNone(server.poll(), log.read_text())
            self.assertLess(time.monotonic(), end, log.read_text())
            time.sleep(0.02)
        self.base = "http://" + json.loads(log.read_text().splitlines()[0])["http"]

    def show(self):
        self.browser.requests(), self.browser.problems()
        self.browser.driver.get(self.base + "/")

    def text(self, selector):
        return self.browser.evaluate(f"document.querySelector({json.dumps(selector)}).innerText")

    def test_models_and_live_latencies(self):
        self.start(f"{PROGRAMS}/MLP.pt", f"{PROGRAMS}/ConvNet.pt")
        self.show()
        self.browser.wait_for("document.querySelectorAll('section[data-model]').length === 2")
        self.browser.wait_for("document.querySelector('#state').textContent === 'ready'")
        self.browser.wait_for("[...document.querySelectorAll('section[data-model=MLP] code')].some((e) => e.textContent === 'forward')")
        self.assertIn("serve ", self.text("#version"))
        body = json.dumps({"inputs": [{"name": "INPUT__0", "datatype": "FP32", "shape": [3, 4], "data": [1] * 12}]}).encode()

        def row():
            return self.browser.evaluate("[...document.querySelectorAll('section[data-model=MLP] .numbers td')].map((e) => e.textContent)")

        end = time.monotonic() + 30
        sent = 0
        while row()[5] == "–" and time.monotonic() < end:
            for _ in range(5):
                urllib.request.urlopen(self.base + "/v2/models/MLP/infer", body).read()
                sent += 1
            time.sleep(0.1)
        requests, _, failed, waiting, batch, p50, p99, since_start = row()
        self.assertGreater(int(requests.replace(",", "")), 0)
        self.assertLessEqual(int(requests.replace(",", "")), sent)
        self.assertEqual((failed, waiting, batch), ("0", "0", "1.0"))
        for value in (p50, p99, since_start):
            self.assertRegex(value, r"^[\d.]+(e\+\d)? (µs|ms|s)$")
        self.browser.wait_for("(document.querySelector('section[data-model=MLP] path.p99').getAttribute('d') || '').length > 0")
        self.assertEqual(self.browser.problems(), [])
        self.assertEqual([u for u in self.browser.requests() if not u.startswith((self.base, "data:"))], [], "nothing is loaded from elsewhere")

    def test_graph(self):
        self.start(f"{PROGRAMS}/ConvNet.pt")
        self.show()
        self.browser.wait_for("document.querySelector('a.graph')")
        self.browser.driver.get(self.browser.evaluate("document.querySelector('a.graph').href"))
        self.browser.wait_for("document.querySelectorAll('#graph .op').length > 0")
        self.assertTrue(any(t.startswith("conv2d") for t in self.browser.evaluate("[...document.querySelectorAll('#graph .op')].map((e) => e.textContent)")))

    def test_a_token_is_asked_for(self):
        with tempfile.NamedTemporaryFile("w") as tokens:
            tokens.write("secret\n")
            tokens.flush()
            self.start(f"{PROGRAMS}/MLP.pt", "--tokens", tokens.name)
        self.show()
        self.browser.wait_for("!document.querySelector('#login').hidden")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('section[data-model]').length"), 0)
        self.browser.evaluate("(document.querySelector('#token').value = 'secret', document.querySelector('#login button').click())")
        self.browser.wait_for("document.querySelectorAll('section[data-model]').length === 1")
        self.assertTrue(self.browser.evaluate("document.querySelector('#login').hidden"))


if __name__ == "__main__":
    if not chromium.find():
        print("there is no browser, or Selenium is missing")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
