"""page_test.py PAGE CONFORMANCE [MODELS]: the page of `make web` in headless Chromium, with a small model of the repository, and
with mobilenet_v3_small and resnet18 of MODELS where they are: a file is given, its graph is seen, it runs on chance, a picture, text
and numbers, times stand at nodes, recorded results come out of the worker, errors are said, and nothing is asked of another
server. Prints how long it takes from opening the page to the first result. Exit status 77, which ctest calls skipped, where
there is no page or no browser."""

import functools
import http.server
import json
import pathlib
import re
import struct
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/tools"))
import chromium  # noqa: E402

DTYPES = {"F32": ("float32", "f"), "I64": ("int64", "q")}


class Handler(http.server.SimpleHTTPRequestHandler):
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".wasm": "application/wasm", ".mjs": "text/javascript"}

    def log_message(self, *args):
        pass


def recorded(path):
    """[(inputs, result)] of a .safetensors file, each tensor as (numbers, shape, dtype)."""
    content = path.read_bytes()
    length = struct.unpack_from("<Q", content)[0]
    header = json.loads(content[8:8 + length])

    def read(name):
        entry = header[name]
        dtype, code = DTYPES[entry["dtype"]]
        begin, end = (8 + length + x for x in entry["data_offsets"])
        return struct.unpack(f"<{(end - begin) // struct.calcsize(code)}{code}", content[begin:end]), entry["shape"], dtype

    for case in json.loads(header["__metadata__"]["cases"]):
        if "inputs" in case and "t" in case["out"] and all("t" in x for x in case["inputs"]):
            yield [read(x["t"]) for x in case["inputs"]], read(case["out"]["t"])


RUN_RECORDED = """
const [address, inputs, done] = arguments;
(async () => {
  const { SconceWorker } = await import('./worker_client.js');
  const { Tensor } = await import('./tensor.js');
  const worker = new SconceWorker();
  const model = await worker.loadModel(await (await fetch(address)).arrayBuffer());
  const args = inputs.map(([numbers, shape, dtype]) => new Tensor(Float32Array.from(numbers), shape, dtype));
  const out = await model.forward(...args);
  worker.terminate();
  return [Array.from(out.data), out.shape];
})().then(done, (error) => done(String(error)));
"""


DROP = """
const [address, done] = arguments;
(async () => {
  const data = new DataTransfer();
  data.items.add(new File([await (await fetch(address)).arrayBuffer()], 'dropped.pt'));
  dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true }));
})().then(done, (error) => done(String(error)));
"""


class Page:
    def __init__(self, browser, address):
        self.browser, self.address = browser, address

    def text(self, id):
        return self.browser.evaluate(f"document.getElementById('{id}').textContent")

    def wait(self, expression, seconds=60):
        try:
            self.browser.wait_for(f"!document.body.dataset.busy && ({expression})", seconds)
        except TimeoutError:
            raise AssertionError(f"never true: {expression}; the page says: {self.text('status')}") from None

    def open(self):
        self.browser.driver.get(self.address)
        self.wait("document.body.dataset.ready === 'yes'")

    def give(self, file):
        self.browser.driver.find_element("id", "file").send_keys(str(file))
        self.wait(f"document.getElementById('status').textContent.startsWith({json.dumps(file.name)})")

    def set(self, part, value):
        self.browser.evaluate(f"""(() => {{ const x = document.querySelector('[data-{part}]'); x.value = {json.dumps(value)};
                                  x.dispatchEvent(new Event('change')); }})()""")

    def run(self, seconds=60):
        self.browser.evaluate("(() => { document.getElementById('status').textContent = ''; document.getElementById('run').click(); })()")
        self.wait("document.getElementById('status').textContent !== ''", seconds)
        return self.text("status")

    def output(self):
        return self.browser.evaluate("document.querySelector('#outputs pre').textContent")

    def graph(self):
        self.browser.driver.switch_to.frame(self.browser.driver.find_element("id", "graph"))
        try:
            return self.browser.driver.execute_script("return document.documentElement.outerHTML")
        finally:
            self.browser.driver.switch_to.default_content()


def first_result(page, model, shape):
    start = time.time()
    page.open()
    page.give(model)
    page.set("shape", shape)
    assert page.run() == "done", page.text("status")
    opened = time.time() - start
    assert page.output().startswith("float32 ["), page.output()
    again = []
    for _ in range(7):
        assert page.run() == "done", page.text("status")
        again.append(float(re.match(r"[\d.]+", page.text("time"))[0]))
    print(f"{model.name}: first result {opened:.2f} s after opening the page, then {min(again):.1f} ms a run")


def times_at_nodes(page, model):
    assert "aten::" in page.graph(), f"{model.name}: the frame has no graph"
    assert '"ns":' not in page.graph(), f"{model.name}: times before it ran"
    page.browser.evaluate("document.getElementById('times').click()")
    page.wait("document.getElementById('status').textContent.startsWith('times')", 120)
    page.browser.wait_for("document.getElementById('graph').dataset.shown === 'yes'")
    assert '"ns":' in page.graph(), f"{model.name}: the graph has no times"


def recorded_results(page, address, model, cases):
    worst = 0
    for inputs, (numbers, shape, _) in cases:
        got = page.browser.driver.execute_async_script(RUN_RECORDED, address, inputs)
        assert isinstance(got, list), got
        assert got[1] == shape, (got[1], shape)
        worst = max(worst, max(abs(a - b) / max(1, abs(b)) for a, b in zip(got[0], numbers)))
    assert worst <= 1e-4, f"{model.name}: differs by {worst}"
    print(f"{model.name}: {len(cases)} recorded results, differ by {worst:.1e} at most")


def inputs_of_users(page, folder):
    """Pictures, text, numbers, and what cannot be an argument."""
    from PIL import Image  # chromium.py needs it, too

    picture = folder / "picture.png"
    Image.linear_gradient("L").convert("RGB").save(picture)
    page.set("shape", "1x3x16x16")
    page.set("source", "picture")
    assert "choose a picture" in page.run(), page.text("status")
    page.browser.driver.find_element("css selector", "fieldset input[type=file]").send_keys(str(picture))
    assert page.run() == "done", page.text("status")
    # A tone in place of the microphone, which this machine need not have. A true click: sound asks for one.
    page.browser.evaluate("""navigator.mediaDevices.getUserMedia = async () => {
        const context = new AudioContext(), tone = context.createOscillator(), out = context.createMediaStreamDestination();
        tone.connect(out), tone.start(), context.resume();
        return out.stream; }""")
    page.set("source", "microphone")
    page.browser.evaluate("document.getElementById('status').textContent = ''")
    page.browser.click("#run")
    page.wait("document.getElementById('status').textContent !== ''")
    assert page.text("status") == "done", page.text("status")
    page.set("source", "text")
    page.set("text", "a text")
    said = page.run()
    assert "Error" in said and said != "done", said  # bytes are no picture, and the library says so
    page.set("source", "numbers")
    page.set("text", json.dumps([[[[0.5] * 16] * 16] * 3]))
    assert page.run() == "done", page.text("status")
    page.set("source", "random")
    page.set("shape", "what")
    assert "is no shape" in page.run(), page.text("status")


def refusals(page, folder):
    bad = folder / "bad.pt"
    bad.write_bytes(b"nothing of the kind")
    page.browser.driver.find_element("id", "file").send_keys(str(bad))
    page.wait("document.getElementById('status').classList.contains('error')")


def main(folder, conformance, models=None):
    if not pathlib.Path(folder, "sconce.wasm").exists():
        print(f"skipped: there is no page in {folder}; `make web` makes it")
        return 77
    if not chromium.find():
        print("skipped: chromium, its driver or Selenium is missing")
        return 77
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{server.server_port}/"
    small = pathlib.Path(conformance, "programs/ConvNet.pt").resolve()
    with tempfile.TemporaryDirectory() as scratch, chromium.Browser() as browser:
        scratch = pathlib.Path(scratch)
        page = Page(browser, origin + "index.html")
        first_result(page, small, "2x3x16x16")
        times_at_nodes(page, small)
        inputs_of_users(page, scratch)
        refusals(page, scratch)
        left = [url for url in browser.requests() if not url.startswith((origin, "blob:", "data:", "about:"))]
        assert not left, f"the page asked for {left}"
        for name in ("mobilenet_v3_small", "resnet18"):
            model = models and pathlib.Path(models, name + ".pt").resolve()
            if not model or not model.exists():
                print(f"left out: {name} is not there")
                continue
            first_result(page, model, "1x3x224x224")
            times_at_nodes(page, model)
        # Recorded results, from files that the server has beside the page.
        handler_files = {"ConvNet": small}
        for name in ("mobilenet_v3_small", "resnet18"):
            if models and pathlib.Path(models, name + ".pt").exists():
                handler_files[name] = pathlib.Path(models, name + ".pt").resolve()
        for name, model in handler_files.items():
            served = pathlib.Path(folder, f"under_test_{name}.pt")
            served.write_bytes(model.read_bytes())
            try:
                page.browser.driver.execute_async_script(DROP, origin + served.name)
                page.wait("document.getElementById('status').textContent.startsWith('dropped.pt: ')")
                recorded_results(page, origin + served.name, model, list(recorded(model.with_suffix(".safetensors"))))
            finally:
                served.unlink()
    server.shutdown()
    print("passed")
    return 0


sys.exit(main(*sys.argv[1:]))
