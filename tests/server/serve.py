"""`sconce serve`, as clients meet it: raw sockets, curl, tritonclient over HTTP and gRPC.

Usage: [SERVER=sconce-server-asan] serve.py SCONCE [TEST...]. Clients that are not installed (curl, tritonclient: tests/server/environment) are skipped, with the
reason.
"""

import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

SCONCE = str(pathlib.Path(sys.argv[1]).resolve())
SERVE = [str(pathlib.Path(os.environ["SERVER"]).resolve())] if "SERVER" in os.environ else [SCONCE, "serve"]
PROGRAM = '''
class Net(nn.Module):
    def __init__(self, factor: float):
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        return x * self.factor

    @torch.jit.export
    def pair(self, a: Tensor, b: Tensor, k: int = 1) -> Tuple[Tensor, Tensor]:
        return a + b * k, a - b

    @torch.jit.export
    def twice(self, s: List[str]) -> List[str]:
        return [t + t for t in s]

    @torch.jit.export
    def spin(self, n: int) -> int:
        i = 0
        while i < n:
            i += 1
        return i

    @torch.jit.export
    def count(self, tokens: Tensor, left: int, step: int = 1, nap: int = 0) -> Dict[str, Tensor]:
        i = 0
        while i < nap:
            i += 1
        step = step + (i - nap)
        tokens = torch.cat([tokens, tokens[-1:] + step])
        return {"tokens": tokens, "left": torch.tensor([left - 1]), "done": torch.tensor([left <= 1])}
'''
FOREVER = {"parameters": {"n": 10**15}, "inputs": []}

try:
    import numpy as np
    import tritonclient.grpc as triton_grpc
    import tritonclient.http as triton_http
    import tritonclient.utils.shared_memory as triton_shm
    TRITON = ""
except ImportError as e:
    TRITON = f"tritonclient cannot be imported: {e}"


class Server:
    """A server process on ports of its own, with its log."""

    def __init__(self, folder, *arguments):
        self.log = pathlib.Path(folder) / f"log{random.random()}.json"
        with self.log.open("w") as log:
            self.process = subprocess.Popen([*SERVE, "--port", "0", "--grpc-port", "0", *arguments], stderr=log, stdout=log,
                                            cwd=folder)
        self.port = self.grpc = None

    def events(self):
        return [json.loads(line) for line in self.log.read_text().splitlines(True) if line.endswith("\n")]

    def wait(self, event="ready"):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            events = self.events()
            for e in events:
                if e["event"] == "listening":
                    self.port = int(e["http"].rsplit(":")[-1])
                    self.grpc = e.get("grpc")
            if any(e["event"] == event for e in events):
                return self
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        raise AssertionError(f"the server does not say '{event}': {self.log.read_text()}")

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def ask(self, method, path, body=None, headers=None, timeout=30):
        """Status, headers, body."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            c.request(method, path, json.dumps(body) if isinstance(body, dict) else body, headers or {})
            r = c.getresponse()
            return r.status, r.headers, r.read()
        finally:
            c.close()

    def raw(self, data, timeout=30):
        """What the server says to these bytes, until it closes or is silent for a second."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as s:
            s.sendall(data)
            s.settimeout(1)
            got = b""
            try:
                while piece := s.recv(65536):
                    got += piece
            except TimeoutError:
                pass
            except ConnectionResetError:
                got = got or b"reset"
            return got

    def wait_for_work(self, model, running, waiting):
        """Until so many requests of the model run and wait."""
        labels, deadline = f'{{model="{model}",version="1"}}', time.monotonic() + 60
        while time.monotonic() < deadline:
            found = self.metric("sconce_running_batches" + labels), self.metric("sconce_waiting_requests" + labels)
            if found == (running, waiting):
                return
            time.sleep(0.01)
        raise AssertionError(f"{found} run and wait, not {running, waiting}")

    def memory(self, of=None):
        """Resident kilobytes of the process; of mappings of the files whose name begins so."""
        text = pathlib.Path(f"/proc/{self.process.pid}/{'smaps' if of else 'status'}").read_text()
        if not of:
            return int(re.search(r"^VmRSS:\s+(\d+)", text, re.M)[1])
        total, counts = 0, False
        for line in text.splitlines():
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                counts = line.split("/")[-1].startswith(of) and " " not in line.split("/")[-1]
            elif counts and line.startswith("Rss:"):
                total += int(line.split()[1])
        return total

    def metric(self, name):
        for line in self.ask("GET", "/metrics")[2].decode().splitlines():
            if line.startswith(name + " "):
                return float(line.rsplit(" ", 1)[1])
        return None


def x(values, **more):
    return {"inputs": [{"name": "x", "datatype": "FP32", "shape": [len(values)], "data": values}], **more}


class Case(unittest.TestCase):
    arguments = ()

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        (cls.folder / "net.py").write_text(PROGRAM)
        (cls.folder / "models/net/1").mkdir(parents=True)
        cls.convert(2.0, "models/net/1/model.pt")
        cls.server = Server(cls.folder, "--models", "models", *cls.arguments).wait()

    @classmethod
    def convert(cls, factor, to):
        # A file is replaced, never written in place: the server has it mapped.
        subprocess.run([SCONCE, "convert", "net.py", to, "--module", f"Net({factor})"], cwd=cls.folder, check=True, capture_output=True)

    @classmethod
    def tearDownClass(cls):
        status = cls.server.stop()
        cls.temporary.cleanup()
        assert status == 0, f"the server ended with {status}"


class Http(Case):
    arguments = ("--control", "--max-body", "1M", "--read-timeout", "2s", "--queue", "4")

    def test_json(self):
        status, headers, body = self.server.ask("POST", "/v2/models/net/infer", x([1, 2.5], id="a"))
        self.assertEqual((status, headers["Content-Type"]), (200, "application/json"))
        self.assertEqual(json.loads(body), {"model_name": "net", "model_version": "1", "id": "a", "outputs": [
            {"name": "output", "datatype": "FP32", "shape": [2], "data": [2, 5]}]})

    def test_binary(self):
        head = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [2], "parameters": {"binary_data_size": 8}}],
                           "outputs": [{"name": "output", "parameters": {"binary_data": True}}]}).encode()
        status, headers, body = self.server.ask("POST", "/v2/models/net/infer", head + struct.pack("<2f", 1, 2.5),
                                                {"Inference-Header-Content-Length": str(len(head))})
        self.assertEqual(status, 200, body)
        length = int(headers["Inference-Header-Content-Length"])
        self.assertEqual(json.loads(body[:length])["outputs"][0]["parameters"], {"binary_data_size": 8})
        self.assertEqual(struct.unpack("<2f", body[length:]), (2, 5))

    def test_keep_alive_and_pipelining(self):
        c = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        for _ in range(100):
            c.request("POST", "/v2/models/net/infer", json.dumps(x([1])))
            self.assertEqual(json.loads(c.getresponse().read())["outputs"][0]["data"], [2])
        c.close()
        body = json.dumps(x([1])).encode()
        one = b"POST /v2/models/net/infer HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        self.assertEqual(self.server.raw(one * 5).count(b"HTTP/1.1 200"), 5)

    def test_many_connections_at_once(self):
        body = json.dumps(x([1])).encode()
        request = b"POST /v2/models/net/infer HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        sockets = [socket.create_connection(("127.0.0.1", self.server.port)) for _ in range(256)]
        try:
            for _ in range(3):
                start = time.monotonic()
                for s in sockets:
                    s.sendall(request)
                for s in sockets:
                    s.settimeout(20)
                    self.assertRegex(s.recv(65536), rb"^HTTP/1.1 (200|429)")
                self.assertLess(time.monotonic() - start, 10)
        finally:
            for s in sockets:
                s.close()

    def test_curl(self):
        if not shutil.which("curl"):
            self.skipTest("curl is not installed")
        base = f"http://127.0.0.1:{self.server.port}"
        for extra in ([], ["-H", "Transfer-Encoding: chunked"], ["-H", "Expect: 100-continue"], ["--http1.0"]):
            done = subprocess.run(["curl", "-sS", "-f", *extra, f"{base}/v2/models/net%3Apair/infer", "-d", json.dumps({
                "parameters": {"k": 3}, "inputs": [{"name": n, "datatype": "INT32", "shape": [1], "data": [v]} for n, v in (("a", 1), ("b", 2))]})],
                capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, (extra, done.stderr))
            self.assertEqual([o["data"] for o in json.loads(done.stdout)["outputs"]], [[7], [-1]])
        done = subprocess.run(["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", f"{base}/v2/health/ready"], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "200")

    def test_malformed_requests(self):
        post = b"POST /v2/models/net/infer HTTP/1.1\r\nHost: a\r\n"
        deep = b"[" * 100000
        for data, wanted in [
            (post + b"Content-Length: 3\r\n\r\n{}}", b"400"),
            (post + b"Content-Length: %d\r\n\r\n" % len(deep) + deep, b"400"),
            (post + b"Content-Length: 99999999999\r\n\r\n", b"413"),
            (post + b"Content-Length: 99999999999999999999999\r\n\r\n", b"4"),
            (post + b"Content-Length: -1\r\n\r\n", b"4"),
            (post + b"Content-Length: 2\r\nInference-Header-Content-Length: 10\r\n\r\n{}", b"400"),
            (post + b"Content-Length: 2\r\nInference-Header-Content-Length: x\r\n\r\n{}", b"400"),
            (post + b"Content-Length: 2\r\nContent-Encoding: br\r\n\r\n{}", b"501"),
            (post + b"A: " + b"a" * 100000 + b"\r\n\r\n", b"4"),
            (b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", b"4"),
            (b"GET /v2?a=1 HTTP/1.1\r\nHost: a\r\n\r\n", b"400"),
            (b"BREW /v2 HTTP/1.1\r\nHost: a\r\n\r\n", b"405"),
        ]:
            got = self.server.raw(data)
            # A refusal before all is read may be lost when the connection is reset.
            self.assertTrue(got.startswith(b"HTTP/1.1 " + wanted) or got in (b"", b"reset"), (data[:80], got[:200]))
        random.seed(1)
        for i in range(200):
            junk = bytes(random.randrange(256) for _ in range(random.randrange(1, 400)))
            with socket.create_connection(("127.0.0.1", self.server.port)) as s:
                s.sendall(junk if i % 2 else post + junk)
        self.assertEqual(self.server.ask("GET", "/v2/health/live")[0], 200)

    def test_large_body_in_chunks_is_refused(self):
        chunk = b"10000\r\n" + b"a" * 65536 + b"\r\n"
        got = self.server.raw(b"POST /v2/models/net/infer HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk * 20 + b"0\r\n\r\n")
        self.assertTrue(got.startswith(b"HTTP/1.1 413"), got[:100])

    def test_slow_clients_are_closed(self):
        start = time.monotonic()
        with socket.create_connection(("127.0.0.1", self.server.port)) as s:
            s.sendall(b"POST /v2/models/net/infer HTTP/1.1\r\n")
            s.settimeout(0.2)
            try:
                while time.monotonic() - start < 20:
                    s.sendall(b"A: b\r\n")  # a byte now and then
                    try:
                        if s.recv(100) == b"":
                            break
                    except TimeoutError:
                        pass
            except OSError:
                pass
        self.assertLess(time.monotonic() - start, 10)

    def test_half_a_first_line_is_closed(self):
        start = time.monotonic()
        with socket.create_connection(("127.0.0.1", self.server.port)) as s:
            s.sendall(b"POST /v2/models")
            s.shutdown(socket.SHUT_WR)
            s.settimeout(20)
            self.assertEqual(s.recv(100), b"")
        self.assertLess(time.monotonic() - start, 10)

    def test_a_client_that_leaves_frees_the_instance(self):
        body = json.dumps(FOREVER).encode()
        with socket.create_connection(("127.0.0.1", self.server.port)) as s:
            s.sendall(b"POST /v2/models/net:spin/infer HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            time.sleep(0.1)
        self.assertEqual(self.server.ask("POST", "/v2/models/net/infer", x([1]), timeout=5)[0], 200)

    def events(self, body, version="HTTP/1.1"):
        """What a stream of events says, and when each came."""
        body = json.dumps(body).encode()
        c = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        c._http_vsn_str = version
        c.request("POST", "/v2/models/net:count/generate_stream", body)
        r = c.getresponse()
        self.assertEqual((r.status, r.headers["Content-Type"]), (200, "text/event-stream; charset=utf-8"))
        self.assertEqual(r.headers["Transfer-Encoding"], "chunked" if version == "HTTP/1.1" else None)
        found, text = [], b""
        while piece := r.read1():
            text += piece
            *whole, text = text.split(b"\n\n")
            found += [(json.loads(event.removeprefix(b"data: ")), time.monotonic()) for event in whole]
        self.assertEqual(text, b"")
        c.close()
        return found

    def test_generation_is_a_stream_of_events(self):
        for version in ("HTTP/1.1", "HTTP/1.0"):
            found = self.events({"tokens": [5], "left": 3, "step": 10}, version)
            self.assertEqual([e["tokens"] for e, _ in found], [[5, 15], [5, 15, 25], [5, 15, 25, 35]])
            self.assertEqual([e["done"] for e, _ in found], [False, False, True])
        found = self.events({"tokens": [5], "left": 500})
        self.assertEqual(len(found), 500)
        self.assertEqual(found[-1][0]["tokens"], list(range(5, 506)))
        # They come as they are made, not all at the end.
        start = time.monotonic()
        found = self.events({"tokens": [5], "left": 20, "parameters": {"nap": 2000000}})
        self.assertLess(found[0][1] - start, 0.5 * (found[-1][1] - start))
        status, headers, body = self.server.ask("POST", "/v2/models/net:count/generate", {"tokens": [5], "left": 3})
        self.assertEqual((status, headers["Content-Type"], json.loads(body)["tokens"]), (200, "application/json", [5, 6, 7, 8]))
        status, headers, body = self.server.ask("POST", "/v2/models/net:count/generate_stream", {"tokens": [5]})
        self.assertEqual((status, headers["Content-Type"]), (400, "application/json"), body)
        if shutil.which("curl"):
            done = subprocess.run(["curl", "-sS", "-N", f"http://127.0.0.1:{self.server.port}/v2/models/net:count/generate_stream", "-d",
                                   '{"tokens": [1], "left": 2}'], capture_output=True, text=True, check=True)
            self.assertEqual(done.stdout.count("data: "), 2)

    def test_a_stream_whose_client_leaves_ends(self):
        body = json.dumps({"tokens": [5], "left": 10**9, "parameters": {"max_steps": 10**6}}).encode()
        request = b"POST /v2/models/net:count/generate_stream HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        with socket.create_connection(("127.0.0.1", self.server.port)) as s:  # one that reads a little
            s.sendall(request)
            self.assertTrue(s.recv(1000).startswith(b"HTTP/1.1 200"))
        with socket.create_connection(("127.0.0.1", self.server.port)) as s:  # one that reads nothing
            s.sendall(request)
            time.sleep(0.3)
        self.executions_end()

    def executions_end(self):
        """Nothing runs any more."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            before = json.loads(self.server.ask("GET", "/v2/models/net/stats")[2])["model_stats"][0]["execution_count"]
            time.sleep(0.2)
            if json.loads(self.server.ask("GET", "/v2/models/net/stats")[2])["model_stats"][0]["execution_count"] == before:
                return
        self.fail("the generation goes on")

    def test_queue_is_bounded(self):
        body = json.dumps(FOREVER).encode()
        request = b"POST /v2/models/net:spin/infer HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        sockets = []
        try:
            for waiting in range(5):
                s = socket.create_connection(("127.0.0.1", self.server.port))
                s.sendall(request)
                sockets.append(s)
                self.server.wait_for_work("net", running=1, waiting=waiting)
            status, headers, body = self.server.ask("POST", "/v2/models/net/infer", x([1]))
            self.assertEqual((status, headers["Retry-After"]), (429, "1"), body)
            # What is refused does not wait, and the load test counts it.
            done = subprocess.run([SCONCE, "load", f"http://127.0.0.1:{self.server.port}", "--model", "net", "--input", "x=1x4", "--rate", "200",
                                   "--duration", "0.5s", "--warm-up", "0s", "--json"], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1, done.stderr)
            result = json.loads(done.stdout)
            self.assertEqual((result["requests"], result["answers"], result["statuses"]), (100, 0, {"429": result["sent"]}))
            self.server.wait_for_work("net", running=1, waiting=4)
        finally:
            for s in sockets:
                s.close()
        deadline = time.monotonic() + 10  # the server notices soon that they have gone
        while (status := self.server.ask("POST", "/v2/models/net/infer", x([1]), timeout=10)[0]) == 429 and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(status, 200)

    def test_reload_under_load(self):
        stop, bad, good = threading.Event(), [], []

        def client():
            c = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
            while not stop.is_set():
                c.request("POST", "/v2/models/net/infer", json.dumps(x([1])))
                r = c.getresponse()
                answer = r.read()
                (good if r.status == 200 else bad).append((r.status, answer))
            c.close()

        threads = [threading.Thread(target=client) for _ in range(2)]
        for t in threads:
            t.start()
        for _ in range(50):
            self.assertEqual(self.server.ask("POST", "/v2/repository/models/net/load")[0], 200)
        stop.set()
        for t in threads:
            t.join()
        self.assertEqual(bad, [])
        self.assertGreater(len(good), 50)


class LoadTool(Case):
    """Its queue holds what the tool's connections can ask for at once, however busy the machine is."""

    def test_load_tool(self):
        url = f"http://127.0.0.1:{self.server.port}"
        done = subprocess.run([SCONCE, "load", url, "--model", "net", "--input", "x=1x4", "--rate", "200", "--duration", "1s", "--warm-up", "0s",
                               "--svg", "plot.svg", "--json"], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        result = json.loads(done.stdout)
        self.assertEqual((result["requests"], result["answers"], result["statuses"]), (200, 200, {"200": 200}))
        self.assertEqual(sum(n for _, _, n in result["histogram_ns"]), 200)
        self.assertLessEqual(result["p50_seconds"], result["p99_seconds"])
        self.assertTrue((self.folder / "plot.svg").read_text().startswith("<svg"))
        done = subprocess.run([SCONCE, "load", url, "--model", "net", "--input", "x=3:INT64", "--as-json", "--concurrency", "2", "--duration", "0.3"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        self.assertIn("(closed loop)", done.stdout)
        self.assertIn("p99.9", done.stdout)
        # One that blocks the only connection: those behind it were due, whether they could be sent or not.
        request = self.folder / "spin.json"
        request.write_text(json.dumps({"parameters": {"n": 10**15, "timeout": 300000}, "inputs": []}))
        done = subprocess.run([SCONCE, "load", url + "/v2/models/net:spin/infer", "--body", str(request), "--rate", "20", "--concurrency", "1",
                               "--duration", "1s", "--warm-up", "0s", "--json"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        result = json.loads(done.stdout)
        self.assertEqual((result["requests"], result["statuses"]), (20, {"504": result["sent"]}))
        self.assertIn(result["sent"], range(2, 6))
        for wrong in (["http://example.org", "--input", "x=1"], ["https://127.0.0.1", "--input", "x=1"], [url, "--input", "x"], [url],
                      [url, "--input", "x=1", "--rate", "-1"], [url, "--input", "x=1", "--model", "a", "--concurrency", "0"]):
            self.assertEqual(subprocess.run([SCONCE, "load", *wrong], capture_output=True, check=False).returncode, 2, wrong)


class Memory(Case):
    """What the load and the first calls of a model need is given back while it is idle (Model::give_back_memory)."""

    LARGE = '''
class Large(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(2048, 2048))

    def forward(self, x: Tensor) -> Tensor:
        y = torch.matmul(x, self.weight)
        return torch.cat([y] * 16).sum(0)
'''

    def test_is_given_back(self):
        (self.folder / "large.py").write_text(self.LARGE)
        subprocess.run([SCONCE, "convert", "large.py", "large.pt", "--module", "Large()"], cwd=self.folder, check=True, capture_output=True)
        server = Server(self.folder, "large.pt", "--instances", "1").wait()
        self.addCleanup(server.stop)
        head = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [256, 2048], "parameters": {"binary_data_size": 4 * 256 * 2048}}],
                           "outputs": [{"name": "output", "parameters": {"binary_data": True}}]}).encode()
        body = head + bytes(4 * 256 * 2048)

        def call():
            status, _, answer = server.ask("POST", "/v2/models/large/infer", body, {"Inference-Header-Content-Length": str(len(head))})
            self.assertEqual(status, 200, answer[:200])

        def look():
            return {"all": server.memory(), "code": server.memory("libsconce.so"), "file": server.memory("large.pt"),
                    "held": server.metric("sconce_held_memory_bytes") / 1024}

        call()
        call()
        before = look()
        call()  # the third one: all of it is given back as soon as nothing runs
        # Sanitizers have a malloc of their own, which keeps what is freed, and write to a library's pages when it is loaded.
        sanitized = sum(server.memory(name) for name in ("libasan.so", "libtsan.so", "libclang_rt.")) > 0
        deadline, after = time.monotonic() + (1 if sanitized else 20), before
        while time.monotonic() < deadline and not (after["code"] < 0.7 * before["code"] and after["all"] < before["all"] - 20_000):
            time.sleep(0.05)
            after = look()
        if not sanitized:
            self.assertLess(after["code"], 0.7 * before["code"], (before, after))
            self.assertLess(after["all"], before["all"] - 20_000, (before, after))  # the 32 MB of 16 copies, and more
            self.assertLess(after["held"], before["held"], (before, after))
        self.assertLessEqual(after["file"], before["file"])
        for _ in range(4):  # what was given back comes again where it is needed
            call()


class Secured(Case):
    @classmethod
    def setUpClass(cls):
        cls.keys = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.keys.name)
        if not shutil.which("openssl"):
            raise unittest.SkipTest("openssl is not installed")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "key.pem",
                        "-out", "certificate.pem", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                       cwd=folder, check=True, capture_output=True)
        (folder / "tokens.txt").write_text("one\n\ntwo\n")
        cls.arguments = ("--tls-certificate", f"{folder}/certificate.pem", "--tls-key", f"{folder}/key.pem", "--tokens", f"{folder}/tokens.txt")
        super().setUpClass()

    def ask(self, path, token=None):
        context = ssl.create_default_context(cafile=f"{self.keys.name}/certificate.pem")
        c = http.client.HTTPSConnection("127.0.0.1", self.server.port, context=context, timeout=30)
        c.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
        r = c.getresponse()
        r.read()
        c.close()
        return r.status

    def test_tokens_over_tls(self):
        self.assertEqual([self.ask("/v2"), self.ask("/v2", "three"), self.ask("/v2", "two"), self.ask("/v2/health/ready")], [401, 401, 200, 200])

    def test_plain_http_is_refused(self):
        self.assertNotIn(b"HTTP/1.1 200", self.server.raw(b"GET /v2/health/live HTTP/1.1\r\nHost: a\r\n\r\n"))

    @unittest.skipIf(TRITON, TRITON)
    def test_grpc(self):
        if not self.server.grpc:
            self.skipTest("the server is built without gRPC")
        client = triton_grpc.InferenceServerClient(self.server.grpc.replace("127.0.0.1", "localhost"), ssl=True,
                                                   root_certificates=f"{self.keys.name}/certificate.pem")
        self.assertTrue(client.is_server_live())
        with self.assertRaises(triton_grpc.InferenceServerException):
            client.get_server_metadata()
        self.assertEqual(client.get_server_metadata(headers={"authorization": "Bearer one"}).name, "sconce")
        client.close()


class Lifetime(Case):
    arguments = ("--drain", "20s")

    def start(self, *arguments):
        server = Server(self.folder, *arguments)
        self.addCleanup(server.stop)
        return server

    def test_requests_are_answered_before_it_stops(self):
        server = self.start("models/net/1/model.pt", "--drain", "20s").wait()
        answer = []
        work = threading.Thread(target=lambda: answer.append(server.ask("POST", "/v2/models/model:spin/infer",
                                                                        {"parameters": {"n": 3 * 10**7}, "inputs": []})))
        work.start()
        deadline = time.monotonic() + 10
        while server.metric('sconce_running_batches{model="model",version="1"}') != 1 and not answer and time.monotonic() < deadline:
            time.sleep(0.005)
        self.assertEqual(server.stop(), 0)
        work.join()
        self.assertEqual(answer[0][0], 200)
        self.assertEqual(server.events()[-1]["event"], "stopped")

    def test_what_takes_longer_is_cancelled(self):
        server = self.start("models/net/1/model.pt", "--drain", "200ms").wait()
        answer = []
        work = threading.Thread(target=lambda: answer.append(server.ask("POST", "/v2/models/model:spin/infer", FOREVER)))
        work.start()
        time.sleep(0.2)
        start = time.monotonic()
        self.assertEqual(server.stop(), 0)
        self.assertLess(time.monotonic() - start, 10)
        work.join()
        self.assertEqual(answer[0][0], 499)

    def test_refusals(self):
        for arguments, status in [((), 2), (("none.pt",), 1), (("net.py",), 1), (("--port", "x", "a.pt"), 2), (("--host", "no.such.host.", "a.pt"), 1),
                                  (("a.pt", "--tls-key", "k"), 2), (("a=models/net/1/model.pt", "--preferred", "3"), 1),
                                  (("models/net/1/model.pt", "--port", str(self.server.port)), 1), (("--colour",), 2)]:
            done = subprocess.run([SCONCE, "serve", "--grpc-port", "0", *arguments], cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, status, (arguments, done.stderr))
        self.assertEqual(subprocess.run([SCONCE, "serve", "--help"], capture_output=True, check=False).returncode, 0)

    def test_hangup_loads_again(self):
        self.convert(3.0, "other.pt")
        server = self.start("net=other.pt").wait()
        self.convert(4.0, "other.pt")
        server.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            data = json.loads(server.ask("POST", "/v2/models/net/infer", x([1]))[2])["outputs"][0]["data"]
            if data == [4]:
                return
            time.sleep(0.02)
        self.fail(f"still {data}")


@unittest.skipIf(TRITON, TRITON)
class Triton(Case):
    arguments = ("--control",)

    def setUp(self):
        self.http = triton_http.InferenceServerClient(f"127.0.0.1:{self.server.port}")
        self.addCleanup(self.http.close)
        self.clients = [(triton_http, self.http)]
        if self.server.grpc:
            grpc = triton_grpc.InferenceServerClient(self.server.grpc)
            self.addCleanup(grpc.close)
            self.clients.append((triton_grpc, grpc))

    def test_health_and_metadata(self):
        for module, client in self.clients:
            self.assertTrue(client.is_server_live() and client.is_server_ready() and client.is_model_ready("net") and client.is_model_ready("net", "1"))
            as_dict = {"as_json": True} if module is triton_grpc else {}
            self.assertEqual(client.get_server_metadata(**as_dict)["name"], "sconce")
            metadata = client.get_model_metadata("net:pair", **as_dict)
            self.assertEqual([t["name"] for t in metadata["inputs"]], ["a", "b", "k"])
            self.assertEqual([t["name"] for t in metadata["outputs"]], ["output_0", "output_1"])
            config = client.get_model_config("net", **as_dict)
            self.assertEqual((config.get("config", config) if module is triton_grpc else config)["name"], "net")
            with self.assertRaises(module.InferenceServerException):
                client.get_model_metadata("none")

    def test_infer_every_datatype(self):
        for module, client in self.clients:
            for dtype, name in [(np.bool_, "BOOL"), (np.uint8, "UINT8"), (np.int8, "INT8"), (np.int16, "INT16"), (np.int32, "INT32"),
                                (np.int64, "INT64"), (np.float16, "FP16"), (np.float32, "FP32"), (np.float64, "FP64")]:
                for binary in ((True, False) if module is triton_http and dtype != np.float16 else (True,)):
                    options = {"binary_data": binary} if module is triton_http else {}
                    a, b = (module.InferInput(n, [2, 3], name) for n in "ab")
                    values = np.arange(6).reshape(2, 3).astype(dtype)
                    a.set_data_from_numpy(values, **options)
                    b.set_data_from_numpy(values, **options)
                    outputs = [module.InferRequestedOutput("output_0", **options)]
                    if dtype == np.bool_:  # bools have no difference
                        with self.assertRaises(module.InferenceServerException):
                            client.infer("net:pair", [a, b], outputs=outputs)
                        continue
                    result = client.infer("net:pair", [a, b], outputs=outputs, request_id="7")
                    got = result.as_numpy("output_0")
                    self.assertEqual(got.dtype, dtype)
                    np.testing.assert_array_equal(got, values + values)
                    self.assertIsNone(result.as_numpy("output_1"))

    def test_strings(self):
        for module, client in self.clients:
            s = module.InferInput("s", [3], "BYTES")
            s.set_data_from_numpy(np.array(["a", "bc", "é"], dtype=np.object_))
            got = client.infer("net:twice", [s]).as_numpy("output")
            self.assertEqual([t.decode() for t in got], ["aa", "bcbc", "éé"])

    def test_parameters_and_methods(self):
        for module, client in self.clients:
            a, b = (module.InferInput(n, [1], "FP32") for n in "ab")
            for t in (a, b):
                t.set_data_from_numpy(np.ones(1, np.float32))
            self.assertEqual(client.infer("net", [a, b], parameters={"method": "pair", "k": 5}).as_numpy("output_0"), [6])
            with self.assertRaises(module.InferenceServerException) as e:
                client.infer("net", [a, b], parameters={"method": "pair", "colour": 5})
            self.assertIn("colour", str(e.exception))

    def test_asynchronous(self):
        for module, client in self.clients:
            t = module.InferInput("x", [1], "FP32")
            t.set_data_from_numpy(np.ones(1, np.float32))
            if module is triton_http:
                answers = [client.async_infer("net", [t]).get_result() for _ in range(20)]
            else:
                answers, done = [], threading.Semaphore(0)
                for _ in range(20):
                    client.async_infer("net", [t], lambda result, error: (answers.append(result or error), done.release()))
                for _ in range(20):
                    self.assertTrue(done.acquire(timeout=30))
            for result in answers:
                self.assertEqual(result.as_numpy("output"), [2])

    def test_stream(self):
        for module, client in self.clients:
            if module is not triton_grpc:
                continue
            got, done = {}, threading.Semaphore(0)

            def answer(result, error, got=got, done=done):
                if error is None:
                    got[result.get_response().id] = result.as_numpy("output")[0]
                else:
                    got["error"] = str(error)
                done.release()

            client.start_stream(answer)
            for i in range(200):
                t = module.InferInput("x", [1], "FP32")
                t.set_data_from_numpy(np.full(1, i, np.float32))
                client.async_stream_infer("net", [t], request_id=str(i))
            client.async_stream_infer("none", [t], request_id="wrong")
            for _ in range(201):
                self.assertTrue(done.acquire(timeout=30))
            client.stop_stream()
            self.assertIn("there is no model 'none'", got.pop("error"))
            self.assertEqual(got, {str(i): 2 * i for i in range(200)})

    def test_generation(self):
        for module, client in self.clients:
            if module is not triton_grpc:
                continue
            got, done = [], threading.Semaphore(0)

            def answer(result, error, got=got, done=done):
                if error is not None:
                    got.append(str(error))
                    return done.release()
                response = result.get_response()
                got.append(result.as_numpy("tokens").tolist())
                if response.parameters["triton_final_response"].bool_param:
                    done.release()
                return None

            def generate(parameters, got=got, done=done, module=module, client=client):
                got.clear()
                t = module.InferInput("tokens", [1], "INT64")
                t.set_data_from_numpy(np.array([5]))
                client.async_stream_infer("net:count", [t], parameters={"generate": True, **parameters})
                self.assertTrue(done.acquire(timeout=30))
                return got

            client.start_stream(answer)
            self.assertEqual(generate({"left": 3, "step": 10}), [[5, 15], [5, 15, 25], [5, 15, 25, 35]])
            self.assertEqual(generate({"left": 100, "max_steps": 2}), [[5, 6], [5, 6, 7]])
            self.assertEqual(len(generate({"left": 500})), 500)
            self.assertIn("max_steps", generate({"left": 3, "max_steps": 0})[0])
            self.assertIn("'left' is missing", generate({})[0])
            # A client that leaves ends it.
            t = module.InferInput("tokens", [1], "INT64")
            t.set_data_from_numpy(np.array([5]))
            client.async_stream_infer("net:count", [t], parameters={"generate": True, "left": 10**9, "max_steps": 10**6})
            time.sleep(0.2)
            client.stop_stream(cancel_requests=True)
            deadline = time.monotonic() + 20
            before = -1
            while time.monotonic() < deadline:
                now = client.get_inference_statistics("net").model_stats[0].execution_count
                if now == before:
                    break
                before = now
                time.sleep(0.3)
            self.assertEqual(now, before, "it goes on")

    def test_deadlines(self):
        for module, client in self.clients:
            n = module.InferInput("n", [1], "INT64")
            n.set_data_from_numpy(np.array([10**15]))
            with self.assertRaises(module.InferenceServerException) as e:
                client.infer("net:spin", [n], timeout=100000)
            self.assertIn("deadline", str(e.exception))
            if module is triton_grpc:
                with self.assertRaises(module.InferenceServerException):
                    client.infer("net:spin", [n], client_timeout=0.1)
            # The instance is free again.
            t = module.InferInput("x", [1], "FP32")
            t.set_data_from_numpy(np.ones(1, np.float32))
            self.assertEqual(client.infer("net", [t]).as_numpy("output"), [2])

    def test_repository_and_statistics(self):
        for module, client in self.clients:
            as_dict = {"as_json": True} if module is triton_grpc else {}
            client.load_model("net")
            client.load_model("net", config=json.dumps({"max_batch_size": 4}))
            client.load_model("net")
            index = client.get_model_repository_index(**as_dict)
            self.assertEqual([m["name"] for m in (index["models"] if as_dict else index)], ["net"])
            with self.assertRaises(module.InferenceServerException):
                client.load_model("none")
            with self.assertRaises(module.InferenceServerException):
                client.load_model("net", config='{"colour": 1}')
            client.unload_model("net")
            self.assertFalse(client.is_model_ready("net"))
            client.load_model("net")
            stats = client.get_inference_statistics("net", **as_dict)
            self.assertEqual(stats["model_stats"][0]["name"], "net")

    def test_shared_memory(self):
        for module, client in self.clients:
            values = np.arange(4, dtype=np.float32)
            region = triton_shm.create_shared_memory_region("in_out", f"/sconce_test_{os.getpid()}", 64)
            try:
                triton_shm.set_shared_memory_region(region, [values])
                client.register_system_shared_memory("in_out", f"/sconce_test_{os.getpid()}", 64)
                status = client.get_system_shared_memory_status(**({"as_json": True} if module is triton_grpc else {}))
                self.assertIn("in_out", json.dumps(status))
                t = module.InferInput("x", [4], "FP32")
                t.set_shared_memory("in_out", 16)
                out = module.InferRequestedOutput("output")
                out.set_shared_memory("in_out", 16, offset=32)
                client.infer("net", [t], outputs=[out])
                got = triton_shm.get_contents_as_numpy(region, np.float32, [4], offset=32)
                np.testing.assert_array_equal(got, values * 2)
                t.set_shared_memory("in_out", 100)
                with self.assertRaises(module.InferenceServerException):
                    client.infer("net", [t])
                client.unregister_system_shared_memory("in_out")
            finally:
                triton_shm.destroy_shared_memory_region(region)

    def test_compression(self):
        t = triton_http.InferInput("x", [1000], "FP32")
        t.set_data_from_numpy(np.ones(1000, np.float32))
        for algorithm in ("gzip", "deflate"):
            result = self.http.infer("net", [t], request_compression_algorithm=algorithm, response_compression_algorithm=algorithm)
            np.testing.assert_array_equal(result.as_numpy("output"), np.full(1000, 2, np.float32))

    def test_classification_is_refused_by_name(self):
        for module, client in self.clients:
            t = module.InferInput("x", [1], "FP32")
            t.set_data_from_numpy(np.ones(1, np.float32))
            with self.assertRaises(module.InferenceServerException) as e:
                client.infer("net", [t], outputs=[module.InferRequestedOutput("output", class_count=2)])
            self.assertIn("classification", str(e.exception))

    def test_proto_is_the_protocol(self):
        """Field names, numbers and kinds of server/grpc/inference.proto are those that clients have."""
        if not shutil.which("protoc"):
            self.skipTest("protoc is not installed")
        from google.protobuf import descriptor_pb2
        from tritonclient.grpc import service_pb2
        proto = pathlib.Path(__file__).resolve().parents[2] / "server/grpc/inference.proto"
        out = self.folder / "inference.desc"
        subprocess.run(["protoc", f"--proto_path={proto.parent}", f"--descriptor_set_out={out}", proto.name], check=True)
        ours = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file[0]

        def check(message, theirs):
            for f in message.field:
                other = theirs.fields_by_name[f.name]
                self.assertEqual((f.number, f.type), (other.number, other.type), f"{message.name}.{f.name}")
            for nested in message.nested_type:
                check(nested, theirs.nested_types_by_name[nested.name])

        from tritonclient.grpc import model_config_pb2
        for message in ours.message_type:
            known = {**model_config_pb2.DESCRIPTOR.message_types_by_name, **service_pb2.DESCRIPTOR.message_types_by_name}
            check(message, known[message.name])
        self.assertGreater(len(ours.message_type), 30)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=1)
