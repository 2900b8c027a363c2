"""Times calls from Python in Sconce and in PyTorch: what an operator, an attribute, an import cost beside Python itself.

    build/bench-venv/bin/python bench/python_calls.py [--package build/release/python] [--rounds 5] [row...]

Each library is measured in a process of its own, turn by turn; the least time of many short windows counts, and an empty loop is
taken away. An import is a whole process, less one that imports numpy alone. Writes python.json into --out.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent

SETUP = """
a, b, m = torch.arange(8.0), torch.ones(8), torch.ones(64, 64)
row = torch.ones(1, 64)
torch.manual_seed(0)
linear = torch.nn.Linear(64, 64)
net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
images, labels = torch.rand(32, 64), torch.arange(32) % 10
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loss = torch.nn.functional.cross_entropy
def forward():
    with torch.no_grad():
        return linear(row)
def step():
    optimizer.zero_grad()
    loss(net(images), labels).backward()
    optimizer.step()
"""
# Statement; at most so many nanoseconds (0: no such bar), at most this part of PyTorch's time.
ROWS = {
    "add(a, b)": ("torch.add(a, b)", 60, 1 / 8),
    "a + b": ("a + b", 60, 1 / 8),
    "a + 1.0": ("a + 1.0", 90, 1 / 8),
    "a[0]": ("a[0]", 60, 1 / 8),
    "a.shape": ("a.shape", 30, 1 / 8),
    "binder: addcmul": ("torch.addcmul(a, b, b, value=2)", 90, 1 / 8),
    "a.view(2, 4)": ("a.view(2, 4)", 0, 1 / 8),
    "a.sum(0)": ("a.sum(0)", 0, 1 / 8),
    "Linear(64, 64) of a row": ("forward()", 0, 1 / 3),
    "training step": ("step()", 0, 0.7),
}
IMPORT = "import"


def worker(package):
    """Answers the number of a statement's nanoseconds for every statement that it reads."""
    torch = __import__(package)
    torch.set_num_threads(1)
    names = {"torch": torch}
    exec(SETUP, names)
    clock = time.perf_counter_ns

    def window(statement):
        text = f"def run(n, clock):\n    turns = range(n)\n    begin = clock()\n    for _ in turns:\n        {statement}\n    return clock() - begin"
        exec(text, names)
        return names["run"]

    empty = window("pass")
    for line in sys.stdin:
        run = window(line.strip())
        run(20, clock)
        count = max(1, min(500, int(200_000 / max(run(5, clock) / 5, 1))))
        until = time.perf_counter() + 0.3
        best = least = float("inf")
        while time.perf_counter() < until:
            best = min(best, run(count, clock) / count)
            least = min(least, empty(count, clock) / count)
        print(best - least, flush=True)


def import_time(package, path, rounds):
    """Nanoseconds of `import package` after numpy, in fresh processes."""
    text = f"import time, numpy\nbegin = time.perf_counter_ns()\nimport {package}\nprint(time.perf_counter_ns() - begin)"
    with tempfile.TemporaryDirectory() as bytecode:  # as installing a package leaves it
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        return min(int(subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True).stdout)
                   for _ in range(rounds + 1))


def shown(ns):
    return f"{ns / 1e6:.3g} ms" if ns >= 1e6 else f"{ns / 1e3:.3g} us" if ns >= 1e4 else f"{ns:.0f} ns"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", default="build/release/python", help="the folder that holds sconce")
    parser.add_argument("--out", default="build/bench", type=pathlib.Path, help="folder for the results")
    parser.add_argument("--rounds", default=5, type=int, help="turns of each side, for each row")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("rows", nargs="*", help="only these")
    arguments = parser.parse_args()
    if arguments.worker:
        return worker(arguments.worker)

    path = str(pathlib.Path(arguments.package).resolve())
    workers = {side: subprocess.Popen([sys.executable, str(HERE / "python_calls.py"), "--worker", side], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path})
               for side in ("sconce", "torch")}

    def ask(side, statement):
        process = workers[side]
        process.stdin.write(statement + "\n")
        process.stdin.flush()
        return float(process.stdout.readline())

    results = []
    print(f"{'from Python':28} {'Sconce':>10} {'PyTorch':>10} {'part':>7}   bars")
    for name in arguments.rows or [*ROWS, IMPORT]:
        if name == IMPORT:
            best = {side: import_time(side, path, 2 * arguments.rounds if side == "sconce" else 2) for side in workers}
            most, part = 15_000_000, 1
        else:
            statement, most, part = ROWS[name]
            best = {side: min(ask(side, statement) for _ in range(arguments.rounds)) for side in workers}
        ratio = best["sconce"] / best["torch"]
        met = (not most or best["sconce"] <= most) and ratio <= part
        bars = (f"{shown(most)}, " if most else "") + f"{part:.3g}" + ("" if met else "  missed")
        print(f"{name:28} {shown(best['sconce']):>10} {shown(best['torch']):>10} {ratio:7.3f}   {bars}")
        results.append({"row": name, "ours_ns": best["sconce"], "peer_ns": best["torch"], "bar_ns": most, "bar_part": part, "met": met})
    for process in workers.values():
        process.stdin.close()
        process.wait()
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "python.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
