"""Times int8 models in Sconce and in PyTorch 2.13, turn by turn: the least time of each counts.

    build/bench-venv/bin/python bench/quantized.py [--rounds 5] [--threads 1] [name...]

A static linear layer of 1024 x 1024 over 1024 rows, the same with inputs quantised as they come, and resnet18 and
mobilenet_v2 over one image of 224 x 224, quantised in eager mode for x86 (tools/record_quantized.py makes them).
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
warnings.simplefilter("ignore")

import torch  # noqa: E402
import record_quantized as recorded  # noqa: E402
from torch import nn  # noqa: E402


def linear():
    calls = [(torch.randn(1024, 1024),)]
    return calls, recorded.static(nn.Linear(1024, 1024), calls)


def linear_dynamic():
    return [(torch.randn(1024, 1024),)], recorded.dynamic(nn.Sequential(nn.Linear(1024, 1024)))


def model(name):
    calls = recorded.LARGE[name][1]()
    return calls, recorded.LARGE[name][2](calls)


ROWS = {"linear 1024": linear, "linear 1024 dynamic": linear_dynamic, "resnet18": lambda: model("resnet18"),
        "mobilenet_v2": lambda: model("mobilenet_v2")}


def of_peer(loaded, arguments, seconds):
    best, until = float("inf"), time.perf_counter() + seconds
    with torch.inference_mode():
        while time.perf_counter() < until:
            start = time.perf_counter()
            loaded(*arguments)
            best = min(best, time.perf_counter() - start)
    return best


def of_ours(program, path, sizes, threads, seconds):
    shown = subprocess.run([program, "bench", path, "--random", "x".join(map(str, sizes)), "--seconds", str(seconds),
                            "--threads", str(threads), "--json"], capture_output=True, text=True, check=True).stdout
    return json.loads(shown)[0]["min_seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--program", default=str(ROOT / "build/release/bin/sconce"))
    parser.add_argument("names", nargs="*", default=list(ROWS))
    asked = parser.parse_intermixed_args()
    torch.backends.quantized.engine = "x86"
    torch.set_num_threads(asked.threads)
    with tempfile.TemporaryDirectory() as folder:
        for name in asked.names:
            torch.manual_seed(7)
            calls, made = ROWS[name]()
            path = f"{folder}/model.pt"
            torch.jit.script(made).save(path)
            loaded = torch.jit.load(path)
            of_peer(loaded, calls[0], 0.5)
            ours = theirs = float("inf")
            for _ in range(asked.rounds):
                ours = min(ours, of_ours(asked.program, path, calls[0][0].shape, asked.threads, asked.seconds))
                theirs = min(theirs, of_peer(loaded, calls[0], asked.seconds))
            print(f"{name:22} {ours * 1e3:9.3f} ms, PyTorch {theirs * 1e3:9.3f} ms: {theirs / ours:.2f} times as fast", flush=True)


if __name__ == "__main__":
    main()
