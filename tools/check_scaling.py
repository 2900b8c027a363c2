#!/usr/bin/env python3
"""Time to compile, by the size of the text: it must be linear, whatever the text is.

    tools/check_scaling.py build/release/bin/sconce [--size 4000] [--kinds list,elif]

Each kind of text is made in three sizes, n, 2n and 4n, compiled and called with `sconce script`. The processor time of the
larger ones must not grow by more than 3 times for twice the size (linear with room for caches and noise); a time below a
tenth of a second says nothing and passes. Exit status 1 when a kind grows faster.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

LIMIT = 3.0
SHORTEST = 0.1  # seconds


def f(body, arguments="x: int", result="int"):
    return f"def f({arguments}) -> {result}:\n" + "".join(f"    {line}\n" for line in body)


KINDS = {
    "list": lambda n: f([f"y = [{', '.join(str(i) for i in range(n))}]", "return len(y)"]),
    "strings": lambda n: f([f"y = [{', '.join(repr('s%d' % i) for i in range(n))}]", "return len(y)"]),
    "dict": lambda n: f(["y = {" + ", ".join(f"{i}: {i}" for i in range(n)) + "}", "return len(y)"]),
    "tuple": lambda n: f([f"y = ({', '.join('x' for i in range(n))})", "return y[0]"]),
    "statements": lambda n: f(["y = x"] + [f"y = y * 3 + {i}" for i in range(n)] + ["return y"]),
    "variables": lambda n: f([f"v{i} = x + {i}" for i in range(n)] + [f"return v0 + v{n - 1}"]),
    "uses": lambda n: f(["y = [x]"] + ["y.append(x)" for i in range(n)] + ["return len(y)"]),
    # Nests as deep as the compiler allows, and no deeper: "x + x + x" is a tree on its side.
    "sum": lambda n: f(["y = x"] + ["y = " + " + ".join(["x"] * 200)] * (n // 200) + ["return y"]),
    "and": lambda n: f(["y = 0"] + ["y = int(" + " and ".join(["x > 0"] * 50) + ")"] * (n // 200) + ["return y"]),
    "elif": lambda n: f(["if x == -1:", "    y = 0"] + [line for i in range(n // 8) for line in (f"elif x == {i}:", f"    y = {i}")]
                        + ["else:", "    y = 1", "return y"]),
    "ifs": lambda n: f(["y = 0"] + [line for i in range(n // 4) for line in (f"if x > {i}:", f"    y = y + {i}")] + ["return y"]),
    "loops": lambda n: f(["y = 0"] + [line for i in range(n // 8) for line in ("for i in range(x):", f"    y = y + {i}")] + ["return y"]),
    "nested ifs": lambda n: f(["y = 0"] + ["    " * i + f"if x > {i}:" for i in range(60)] + ["    " * 60 + "y = 1"] * (n // 8) + ["return y"]),
    "functions": lambda n: "".join(f"def g{i}(x: int) -> int:\n    return x + {i}\n" for i in range(n // 8))
                           + f([f"return g{n // 8 - 1}(x)"]),
    "calls": lambda n: "def g(x: int) -> int:\n    return x + 1\n" + f(["y = x"] + ["y = g(y)" for i in range(n // 4)] + ["return y"]),
    "chain": lambda n: "def g0(x: int) -> int:\n    return x\n"
                       + "".join(f"def g{i}(x: int) -> int:\n    return g{i - 1}(x) + 1\n" for i in range(1, min(n // 64, 400)))
                       + f([f"return g{min(n // 64, 400) - 1}(x)"]),
    "tensors": lambda n: f(["y = x"] + ["y = torch.relu(y + x)" for i in range(n // 4)] + ["return y"], "x: Tensor", "Tensor"),
    "in place": lambda n: f(["y = x.clone()"] + ["y.add_(x)" for i in range(n // 4)] + ["return y"], "x: Tensor", "Tensor"),
    "attributes": lambda n: "class C:\n    def __init__(self):\n" + "".join(f"        self.a{i} = {i}\n" for i in range(n // 8))
                            + f(["c = C()", f"return c.a{n // 8 - 1}"]),
    "text": lambda n: f(["return len('" + "a" * (16 * n) + "')"]),
    "comments": lambda n: f(["# " + "a" * 60] * n + ["return x"]),
}


def seconds(program, text, name):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "f.py"
        path.write_text(text)
        call = "f(torch.ones(2))" if name in ("tensors", "in place") else "f(1)"
        before = os.times()
        run = subprocess.run([program, "script", path, "--call", call], capture_output=True, text=True)
        after = os.times()
        if run.returncode != 0:
            sys.exit(f"{name}: {run.stderr[-400:]}")
        return after.children_user - before.children_user


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--size", type=int, default=4000)
    parser.add_argument("--kinds", help="some of " + ", ".join(KINDS))
    options = parser.parse_args()
    wrong = []
    for name in options.kinds.split(",") if options.kinds else KINDS:
        times = [seconds(options.program, KINDS[name](options.size * k), name) for k in (1, 2, 4)]
        grows = [b / a for a, b in zip(times, times[1:]) if b > SHORTEST and a > 0]
        bad = any(g > LIMIT for g in grows)
        wrong += [name] * bad
        print(f"{name:12} {' '.join(f'{t:7.2f} s' for t in times)}{'   grows too fast' if bad else ''}", flush=True)
    print(f"{len(wrong)} kinds grow too fast{': ' + ', '.join(wrong) if wrong else ''}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
