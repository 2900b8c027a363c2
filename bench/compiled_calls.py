"""Times calls of compiled functions beside the same functions uncompiled: what guards, graphs and results cost, and what compiling does.

    PYTHONPATH=build/release/python python3 bench/compiled_calls.py [--seconds 2] [row...]

Rows of small calls are measured turn by turn, so that neighbours disturb all alike; the least of many short windows counts, and an
empty loop is taken away. `sconce.add` stands first: it says how fast the machine is. Rows of the model (fifty layers of 64 x 64 behind
each other) are the least of many calls; `new size` is the call in which a plan for a size is made.
"""
import argparse
import time

import sconce as torch
from sconce import nn

WINDOW = 500  # calls

x, y = torch.arange(8.0), torch.ones(8)


def one(x):
    return x + 1


def two(x, y):
    return x + y


def three(x, y):
    return torch.relu(x + y) * 2


ROWS = {
    "sconce.add(x, y)": "torch.add(x, y)",
    "x + y": "x + y",
    "x + 1": "x + 1",
    "one, eager": "one(x)",
    "one, compiled": "compiled_one(x)",
    "two, eager": "two(x, y)",
    "two, compiled": "compiled_two(x, y)",
    "three, eager": "three(x, y)",
    "three, compiled": "compiled_three(x, y)",
}
MODEL = "model"
NAMES = {"torch": torch, "x": x, "y": y, "one": one, "two": two, "three": three, "compiled_one": torch.compile(one),
         "compiled_two": torch.compile(two), "compiled_three": torch.compile(three)}


def window(statement):
    """A function of a number of turns that gives the nanoseconds they took."""
    names = dict(NAMES, clock=time.perf_counter_ns)
    exec(f"def run(n):\n    turns = range(n)\n    begin = clock()\n    for _ in turns:\n        {statement}\n    return clock() - begin", names)
    return names["run"]


def small_calls(rows, seconds):
    runs = {row: window(ROWS[row]) for row in rows}
    empty = window("pass")
    for run in runs.values():
        run(WINDOW)
    best, least = dict.fromkeys(rows, float("inf")), float("inf")
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        least = min(least, empty(WINDOW) / WINDOW)
        for row, run in runs.items():
            best[row] = min(best[row], run(WINDOW) / WINDOW)
    for row in rows:
        print(f"{row:24} {best[row] - least:8.1f} ns")


def timed(f, *args):
    begin = time.perf_counter()
    f(*args)
    return time.perf_counter() - begin


@torch.no_grad()
def model():
    torch.manual_seed(0)
    net = nn.Sequential(*[layer for _ in range(50) for layer in (nn.Linear(64, 64), nn.ReLU())]).eval()
    batch = torch.randn(3, 64)
    captures = []
    for _ in range(40):
        compiled = torch.compile(net)
        captures.append(timed(compiled, batch))
        torch.compiler.reset()
    compiled = torch.compile(net)
    for _ in range(8):
        compiled(batch)
    calls = [timed(compiled, batch) for _ in range(1000)]
    eager = [timed(net, batch) for _ in range(300)]
    new = []
    for n in range(4, 64):
        batch = torch.randn(n, 64)
        compiled(batch)
        new.append(timed(compiled, batch))
    for name, times, unit in (("capture and first call", captures, 1e3), ("eager", eager, 1e6), ("compiled", calls, 1e6),
                              ("new size", new, 1e3)):
        print(f"MLP-50, {name:24} {min(times) * unit:8.2f} {'ms' if unit == 1e3 else 'us'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", default=2, type=float, help="for all small rows together")
    parser.add_argument("rows", nargs="*", help=f"only these, of: {', '.join([*ROWS, MODEL])}")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = arguments.rows or [*ROWS, MODEL]
    unknown = [row for row in rows if row not in ROWS and row != MODEL]
    if unknown:
        parser.error(f"there is no row {unknown[0]!r}")
    small = [row for row in rows if row != MODEL]
    if small:
        small_calls(small, arguments.seconds)
    if MODEL in rows:
        model()


if __name__ == "__main__":
    main()
