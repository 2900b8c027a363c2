"""`make bench-serve`: the figures of `sconce serve` (docs/serve.md), on this machine, over loopback.

Usage: serve.py [--bin BUILD/bin] [--python VENV/bin/python] [--pytriton VENV/bin/python] [--seconds S] [--only WORD] [--json FILE]

Without a Python that has PyTorch, ONNX Runtime, FastAPI and uvicorn, and one that has PyTriton, the rows of these peers are left out. Each row says what was measured;
the load average is printed, since a machine that does other work at the same time shows in every number.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
MLP = '''
class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(64, 128)
        self.b = nn.Linear(128, 128)
        self.c = nn.Linear(128, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.c(torch.relu(self.b(torch.relu(self.a(x)))))
'''
RESNET = ROOT / "../shared/conformance/models/resnet18.pt"
EXPORT = '''
import sys, torch
m = torch.jit.load(sys.argv[1]).eval()
x = torch.zeros([int(n) for n in sys.argv[3].split("x")])
torch.onnx.export(m, (x,), sys.argv[2], dynamo=False)
'''

# Seconds of a call in the process, by the code that the peers' server has.
ENGINE = '''
import sys, time
import numpy as np
import fastapi_app
x = np.zeros([int(n) for n in sys.argv[1].split("x")], np.float32)
times, end = [], time.perf_counter() + float(sys.argv[2])
while time.perf_counter() < end or len(times) < 5:
    start = time.perf_counter()
    fastapi_app.run(x)
    times.append(time.perf_counter() - start)
print(sorted(times)[len(times) // 2])
'''

parser = argparse.ArgumentParser()
parser.add_argument("--bin", default=str(ROOT / "build/release/bin"))
parser.add_argument("--python", default=str(ROOT / "build/bench-venv/bin/python"))
parser.add_argument("--pytriton", default=str(ROOT / "build/pytriton-venv/bin/python"))
parser.add_argument("--seconds", type=float, default=4)
parser.add_argument("--only", default="")
parser.add_argument("--json")
parser.add_argument("--reloads", type=int, default=1000)
args = parser.parse_args()
SCONCE = f"{args.bin}/sconce"
rows = []


def say(what, value, unit="", note=""):
    rows.append({"what": what, "value": value, "unit": unit, "note": note})
    text = f"{value:,.4g}" if isinstance(value, float) else str(value)
    print(f"{what:64} {text:>10} {unit:6} {note}", flush=True)


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, **more)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")
    return done.stdout


class Server:
    def __init__(self, folder, *arguments):
        self.log = pathlib.Path(folder) / f"log{time.monotonic_ns()}"
        self.start = time.monotonic()
        with self.log.open("w") as out:
            self.process = subprocess.Popen([f"{args.bin}/sconce-server", "--port", "0", "--grpc-port", "0", *map(str, arguments)], stderr=out)
        while '"ready"' not in (text := self.log.read_text()):
            if self.process.poll() is not None:
                sys.exit(text)
            time.sleep(0.002)
        self.ready = time.monotonic() - self.start
        first = json.loads(text.splitlines()[0])
        self.url = "http://" + first["http"]
        self.grpc = first.get("grpc")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0

    def memory(self, kind="VmRSS"):
        """Megabytes."""
        return int(re.search(kind + r":\s+(\d+)", pathlib.Path(f"/proc/{self.process.pid}/status").read_text())[1]) / 1024

    def ask(self, path, body=None):
        return urllib.request.urlopen(self.url + path, body, timeout=60).read()


def peer_environment(engine, model, shape):
    return dict(os.environ, ENGINE=engine, MODEL=str(model), SHAPE=shape, PYTHONPATH=str(ROOT / "bench/serve"))


class FastApi:
    """uvicorn with as many processes as workers, of one thread each."""

    def __init__(self, folder, engine, model, shape, workers=1):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        environment = peer_environment(engine, model, shape)
        self.process = subprocess.Popen([args.python, "-m", "uvicorn", "fastapi_app:app", "--port", str(self.port), "--log-level", "error",
                                         "--no-access-log", "--workers", str(workers)], env=environment, cwd=folder)
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.1)
        sys.exit(f"uvicorn with {engine} does not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)


class PyTriton:
    def __init__(self, folder, model, columns):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.log = pathlib.Path(folder) / "pytriton.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen([args.pytriton, ROOT / "bench/serve/pytriton_app.py", model, str(port), columns], cwd=folder,
                                            stdout=log, stderr=log)
        for _ in range(1200):
            try:
                urllib.request.urlopen(self.url + "/v2/models/m/ready", timeout=1).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.1)
        sys.exit(f"PyTriton does not start: {self.log.read_text()[-2000:]}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()


def load(url, shape, *more, name="x", seconds=None):
    out = run(SCONCE, "load", url, "--input", f"{name}={shape}", "--duration", f"{seconds or args.seconds}s", "--json", *more)
    return json.loads(out)


def in_process(model, shape):
    """Seconds of a call without a server."""
    return json.loads(run(SCONCE, "bench", model, "--random", shape, "--seconds", "1", "--json"))[0]["p50_seconds"]


def overhead(folder):
    call = in_process(folder / "mlp.pt", "1x64")
    say("MLP, call in the process, p50", 1e6 * call, "us")
    with Server(folder, folder / "mlp.pt") as server:
        best = {}
        for _ in range(5):  # the least of several turns: others may use the machine
            turns = {"binary": load(server.url, "1x64", "--model", "mlp", "--concurrency", "1", seconds=1),
                     "JSON": load(server.url, "1x64", "--model", "mlp", "--concurrency", "1", "--as-json", seconds=1)}
            if server.grpc and os.path.exists(f"{args.bin}/sconce-bench-grpc"):
                turns["gRPC"] = json.loads(run(f"{args.bin}/sconce-bench-grpc", server.grpc, "mlp", "x", "1x64", "1"))
            for kind, turn in turns.items():
                for p in ("p50", "p99"):
                    best[kind, p] = min(best.get((kind, p), 1e9), turn[f"{p}_seconds"])
        for (kind, p), value in best.items():
            if p == "p50":
                say(f"overhead of {kind}, one connection, {p}", 1e6 * (value - call), "us", "bar: 60 HTTP, 90 gRPC")
            else:
                say(f"overhead of {kind}, one connection, {p}", 1e6 * (value - call), "us")
        capacity = max(load(server.url, "1x64", "--model", "mlp", "--concurrency", "16", seconds=2)["answers_per_second"] for _ in range(2))
        turns = [load(server.url, "1x64", "--model", "mlp", "--concurrency", "16", "--rate", f"{capacity / 2:.0f}", seconds=2) for _ in range(3)]
        least = min(turns, key=lambda t: t["p99_seconds"])
        say("at half of capacity, open loop, rate", capacity / 2, "1/s")
        say("at half of capacity, open loop, p50", 1e6 * least["p50_seconds"], "us")
        say("at half of capacity, open loop, p99", 1e6 * least["p99_seconds"], "us", "bar: 400")


def throughput(folder, name, model, shape, instances=1):
    """Ours with so many instances of one thread, the peers with so many processes of one thread."""
    seconds = args.seconds
    with Server(folder, f"m={model}", "--instances", instances) as server:
        ours = {kind: max(load(server.url, shape, "--model", "m", "--concurrency", "16", *more, seconds=seconds)["answers_per_second"] for _ in range(2))
                for kind, more in (("binary", ()), ("JSON", ("--as-json",)))}
    for kind, rate in ours.items():
        say(f"{name}, sconce serve, {kind}", rate, "1/s")
    if not os.path.exists(args.python):
        return
    onnx = folder / f"{name}.onnx"
    if not onnx.exists():
        run(args.python, "-c", EXPORT, model, onnx, shape)
    for engine, file in (("torch", model), ("onnx", onnx)):
        if not file.exists():
            say(f"{name}, FastAPI + {engine}", "-", "", "cannot be exported")
            continue
        if instances > 1:
            theirs, mine = float(run(args.python, "-c", ENGINE, shape, "1", env=peer_environment(engine, file, shape))), in_process(model, shape)
            say(f"{name}, a call of {engine} in the process, p50", 1e3 * theirs, "ms", f"ours takes {1e3 * mine:.3g} ms: {theirs / mine:.2f} times as fast")
        with FastApi(folder, engine, file, shape, instances) as peer:
            for kind, path, more in (("binary", "/raw", ()), ("JSON", "/infer", ("--as-json",))):
                rate = max(load(peer.url + path, shape, "--concurrency", "16", *more, seconds=seconds)["answers_per_second"] for _ in range(2))
                say(f"{name}, FastAPI + {engine}, {kind}", rate, "1/s", f"ours is {ours[kind] / rate:.2f} times as fast" if rate else "")


def pytriton(folder):
    """The MLP under PyTriton and PyTorch, turn by turn with ours: others may use the machine."""
    if not os.path.exists(args.pytriton):
        return
    with Server(folder, f"m={folder / 'mlp.pt'}") as server, PyTriton(folder, folder / "mlp.pt", "64") as peer:
        best = {}
        for _ in range(3):
            for name, url in (("sconce serve", server.url), ("PyTriton + PyTorch", peer.url)):
                result = load(url, "1x64", "--model", "m", "--concurrency", "16")
                if result["answers"] < 0.99 * result["sent"]:
                    sys.exit(f"{name}: {result['statuses']}")
                best[name] = max(best.get(name, 0), result["answers_per_second"])
        for name, rate in best.items():
            say(f"MLP, {name}, binary", rate, "1/s", f"ours is {best['sconce serve'] / rate:.2f} times as fast")


def resnet(folder):
    with Server(folder, f"resnet18={RESNET}") as server:
        say("resnet18, start to ready", server.ready, "s", "bar: 0.3")
        load(server.url, "1x3x224x224", "--model", "resnet18", "--concurrency", "1", seconds=1)
        time.sleep(0.1)
        weights = RESNET.stat().st_size / 2**20
        say("resnet18, resident memory after requests", server.memory(), "MiB", f"weights are {weights:.1f}; bar: + 40 MB")
        say("resnet18, of it not in files", server.memory("RssAnon"), "MiB")


def overload(folder, seconds):
    with Server(folder, folder / "mlp.pt", "--queue", "64", "--max-batch", "1") as server:
        plan = (server.url, "1x64", "--model", "mlp")
        capacity = max(load(*plan, "--concurrency", "64", seconds=2)["answers_per_second"] for _ in range(2))
        before = server.memory()
        result = load(*plan, "--concurrency", "256", "--rate", f"{2 * capacity:.0f}", "--timeout", "5s", seconds=seconds)
        after = max(load(*plan, "--concurrency", "64", seconds=2)["answers_per_second"] for _ in range(2))  # others may use the machine
        capacity = (capacity + after) / 2
        say("overload: capacity, mean of before and after", capacity, "1/s")
        say(f"overload: twice that for {seconds:.0f} s, goodput", result["answers_per_second"], "1/s", f"{100 * result['answers_per_second'] / capacity:.1f} % of capacity")
        say("overload: other answers", json.dumps(result["statuses"]))
        say("overload: memory before and after", f"{before:.0f}, {server.memory():.0f}", "MiB")


def reloads(folder):
    with Server(folder, folder / "mlp.pt", "--control") as server:
        stop = threading.Event()
        count = [0]

        def reload():
            while not stop.is_set() and count[0] < args.reloads:
                server.ask("/v2/repository/models/mlp/load", b"")
                count[0] += 1

        thread = threading.Thread(target=reload)
        thread.start()
        sent = good = 0
        statuses = {}
        while thread.is_alive():
            result = load(server.url, "1x64", "--model", "mlp", "--rate", "1000", "--concurrency", "16", seconds=2)
            sent += result["requests"]
            good += result["answers"]
            for k, n in result["statuses"].items():
                statuses[k] = statuses.get(k, 0) + n
        stop.set()
        thread.join()
        say(f"{count[0]} reloads under 1000 requests a second: failed", sent - good, "", f"of {sent}")
        say("reloads: memory after", server.memory(), "MiB")


def main():
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "mlp.py").write_text(MLP)
        run(SCONCE, "convert", folder / "mlp.py", folder / "mlp.pt", "--module", "MLP", "--seed", "0")
        parts = {"overhead": lambda: overhead(folder), "mlp": lambda: throughput(folder, "MLP", folder / "mlp.pt", "1x64"),
                 "pytriton": lambda: pytriton(folder),
                 "overload": lambda: overload(folder, 5 * args.seconds), "reloads": lambda: reloads(folder)}
        if RESNET.exists():
            parts["resnet"] = lambda: resnet(folder)
            parts["resnet-rate"] = lambda: throughput(folder, "resnet18", RESNET, "1x3x224x224", instances=2)
        for part, measure in parts.items():
            if args.only in part:
                measure()
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps({"load_average": os.getloadavg(), "rows": rows}, indent=1) + "\n")


main()
