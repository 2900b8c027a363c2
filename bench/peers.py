"""Times whole models in Sconce and in its peers, checks that all results agree, and prints how Sconce stands.

    make peers                                                       # everything but torch.compile
    build/bench-venv/bin/python bench/peers.py --inductor            # with it: minutes for every model
    build/bench-venv/bin/python bench/peers.py --quick --row resnet  # one short turn: does it run?

The peers are PyTorch 2.13 in eager mode, TorchScript (frozen, with optimize_for_inference where that helps), ONNX Runtime
1.31 and, with --inductor, torch.compile with freezing. Each runs in a process of its own that stays alive and waits while
the others have their turns; Sconce runs as `sconce bench`, by plans. A turn times call after call. The least time of all
turns counts; beside it stands the ratio of medians (of the turns' medians), which a noisy machine shifts more.

Peers are called from Python, which costs them a microsecond or two a call; inputs and outputs of ONNX Runtime are bound.
Writes peers.json and peers.txt into --out after every row, and keeps models (4.5 GB) and logs of peers in --out/peers, so
that the next run need not export them again.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np

from compare import PEER_MALLOC, Worker, human, ours_machine

HERE = pathlib.Path(__file__).resolve().parent
PEERS = ["PyTorch", "TorchScript", "ONNX Runtime", "Inductor"]
LARGE = ["resnet18", "resnet50", "mobilenet_v3_small", "BERT", "GPT-2"]  # those of the geometric mean
# Model of peer_models.py and batch; 0 where the row has no batch.
ROWS = [("chain", 0), ("softmax", 0), ("layer_norm", 0), ("MLP-50", 1), ("MLP-50", 8), ("LSTM cell", 1)]
ROWS += [(model, batch) for model in LARGE for batch in (1, 8)]
# Inductor writes out all 200 steps of the loop: that compiles for long and says nothing about loops.
LEFT_OUT = {("LSTM cell", "Inductor")}

# Tolerance of accumulated float32 results, as in sconce/testing/compare/compare.h: relative, absolute, of the largest.
RELATIVE, ABSOLUTE, OF_LARGEST = 1.3e-6, 1e-5, 1e-4
WARM_UP = 2  # calls: the second one of a program makes the plan, the third runs it first


def disagreement(got, expected):
    """What differs by more than the tolerance, or None."""
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return f"{got.dtype}{list(got.shape)} is {expected.dtype}{list(expected.shape)} in PyTorch"
    if not np.isfinite(expected).all():
        return "PyTorch's result is not finite: it can confirm nothing"
    allowed = ABSOLUTE + RELATIVE * np.abs(expected) + OF_LARGEST * np.abs(expected).max(initial=0)
    wrong = ~(np.abs(got - expected) <= allowed)  # NaN is wrong
    if not wrong.any():
        return None
    where = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {got.size} elements, the first at {list(where)}: {got[where]} is {expected[where]} in PyTorch"


class Peer(Worker):
    """A peer's process: peer_runner.py. Whatever goes wrong in it is an error of its row alone."""

    def __init__(self, log, threads, folder):
        environment = {"OMP_NUM_THREADS": str(threads), "GLIBC_TUNABLES": PEER_MALLOC,
                       "TORCHINDUCTOR_CACHE_DIR": str(folder / f"inductor_{threads}")}
        super().__init__([sys.executable, str(HERE / "peer_runner.py")], environment, log)

    def died(self, message):
        raise RuntimeError(message)

    def ask(self, *words):
        return json.loads(super().ask(*words))


class Ours:
    """Sconce's turns: a process each, that loads the program, plans it and times its calls."""

    def __init__(self, program, threads, folder):
        self.program, self.threads = program, threads
        self.model = [str(folder / "program.pt"), *map(str, sorted(folder.glob("input*.npy")))]

    def run(self, command, *options):
        done = subprocess.run([self.program, command, *self.model, "--threads", str(self.threads), *options],
                              capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"sconce {command}: {done.stderr.strip()[:300]}")
        return done.stdout

    def result(self, path):
        self.run("run", "--repeat", str(WARM_UP + 1), "--out", str(path))  # the last one's, so a plan's
        return np.load(path)

    def time(self, runs):
        shown = self.run("bench", "--warm-up", str(WARM_UP), "--repeat", str(runs), "--plan", "--json")
        row = json.loads(shown)[0]
        return {"least": row["min_seconds"], "median": row["p50_seconds"], "runs": row["runs"],
                "load_seconds": row["load_seconds"], "first_call_seconds": row["first_call_seconds"],
                "peak_tensor_bytes": row["peak_tensor_bytes"], "steps": sum(plan["steps"] for plan in row["plans"])}


class Row:
    """A model at one batch and one number of threads: starts its peers, checks them, and takes turns."""

    def __init__(self, model, batch, threads, options):
        self.model, self.batch, self.threads, self.options = model, batch, threads, options
        self.folder = options.out / "peers" / f"{model}_{batch}".replace(" ", "_")
        self.logs = options.out / "peers" / "logs"
        self.errors, self.facts, self.turns = {}, {}, {}

    def attempt(self, side, action):
        try:
            return action()
        except (RuntimeError, OSError, ValueError) as error:
            self.errors[side] = str(error)
            return None

    def log(self, side):
        self.logs.mkdir(parents=True, exist_ok=True)
        return open(self.logs / f"{self.folder.name}_{self.threads}_{side.replace(' ', '_')}.txt", "w")

    def prepare(self):
        if (self.folder / "program.pt").exists():
            return
        with self.log("prepare") as log:
            peer = Peer(log, self.threads, self.folder)
            peer.ask("prepare", self.model, max(self.batch, 1), self.folder)
            peer.close()

    def start_peer(self, side):
        with self.log(side) as log:
            peer = Peer(log, self.threads, self.folder)
        self.facts[side] = peer.ask("start", side, self.model, max(self.batch, 1), self.threads, self.folder)
        return peer

    def check(self, peers, ours):
        """Results against PyTorch's. A side that is wrong is not timed."""
        expected = self.folder / "expected.npy"
        peers["PyTorch"].ask("result", expected)
        expected = np.load(expected)

        def of_peer(side):
            path = self.folder / "result.npy"
            peers[side].ask("result", path)
            return np.load(path)

        for side in ["Sconce", *peers]:
            got = self.attempt(side, lambda: ours.result(self.folder / "result.npy") if side == "Sconce" else of_peer(side))
            difference = None if got is None else disagreement(got, expected)
            if difference:
                self.errors[side] = f"results differ: {difference}"

    def take_turns(self, peers, ours):
        call = self.facts["PyTorch"]["call_seconds"]
        seconds, fewest = self.options.seconds, self.options.fewest
        runs = max(fewest, min(100_000, round(seconds / call)))
        for turn in range(self.options.turns):
            sides = [side for side in ["Sconce", *peers] if side not in self.errors]
            for side in sides if turn % 2 == 0 else reversed(sides):
                time.sleep(0.05)  # until the other side's threads no longer wait for work
                ask = (lambda: ours.time(runs)) if side == "Sconce" else (lambda: peers[side].ask("time", seconds, fewest))
                taken = self.attempt(side, ask)
                if taken:
                    self.turns.setdefault(side, []).append(taken)
                    if side == "Sconce":  # as long a turn as the others have
                        runs = max(fewest, min(1_000_000, round(seconds / taken["median"])))

    def measure(self):
        self.prepare()
        names = [p for p in PEERS if (p != "Inductor" or self.options.inductor) and (self.model, p) not in LEFT_OUT]
        peers = {}
        try:
            for side in names:
                peer = self.attempt(side, lambda: self.start_peer(side))
                if peer:
                    peers[side] = peer
            if "PyTorch" not in peers:
                raise RuntimeError(f"PyTorch does not run it: {self.errors['PyTorch']}")
            ours = Ours(self.options.program, self.threads, self.folder)
            self.check(peers, ours)
            self.take_turns(peers, ours)
        finally:
            for peer in peers.values():
                peer.close()
        return self.summary()

    def summary(self):
        sides = {}
        for side, turns in self.turns.items():
            sides[side] = {**self.facts.get(side, {}), "least": min(t["least"] for t in turns),
                           "median": statistics.median(t["median"] for t in turns), "turns": turns}
        out = {"row": self.model, "batch": self.batch, "threads": self.threads, "sides": sides, "errors": self.errors}
        peers = {side: figures for side, figures in sides.items() if side != "Sconce"}
        if "Sconce" in sides and peers:
            best = min(peers, key=lambda side: peers[side]["least"])
            out |= {"best": best, "planned": sides["Sconce"]["turns"][-1]["steps"] > 0}
            for figure in ("least", "median"):
                out[f"ratio_{figure}"] = min(p[figure] for p in peers.values()) / sides["Sconce"][figure]
        return out


def geometric_mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def label(row):
    return row["row"] + (f", batch {row['batch']}" if row["batch"] else "")


def means(rows):
    """The lines below the table: large models against the best peer and against Inductor, and what two threads bring."""
    lines = []
    for threads in sorted({r["threads"] for r in rows}):
        large = [r for r in rows if r["row"] in LARGE and r["threads"] == threads and "ratio_least" in r]
        if not large:
            continue
        slow = [f"{label(r)} {r['ratio_least']:.2f}" for r in large if r["ratio_least"] < 0.95]
        line = (f"{threads} thread{'s' * (threads > 1)}: geometric mean of {len(large)} rows of large models against the best peer "
                f"{geometric_mean([r['ratio_least'] for r in large]):.2f}x; under 0.95: {', '.join(slow) or 'none'}")
        compiled = [r["sides"]["Inductor"]["least"] / r["sides"]["Sconce"]["least"] for r in large if "Inductor" in r["sides"]]
        if compiled:
            line += f"; {len(compiled)} of them against Inductor {geometric_mean(compiled):.2f}x"
        lines.append(line)
    alone = {(r["row"], r["batch"]): r for r in rows if r["threads"] == 1}
    for r in rows:
        first = alone.get((r["row"], r["batch"]))
        if r["threads"] == 1 or not first:
            continue
        gains = [f"{side} {first['sides'][side]['least'] / figures['least']:.2f}x"
                 for side, figures in r["sides"].items() if side in first["sides"]]
        lines.append(f"{label(r)}: {r['threads']} threads against one: {', '.join(gains)}")
    return lines


def table(rows, sides):
    lines = [f"{'row':29} {'threads':>7} " + " ".join(f"{side:>12}" for side in sides)
             + f" {'best peer':>13} {'times as fast':>14} {'by medians':>11}"]
    for r in rows:
        cells = " ".join(f"{human(r['sides'][s]['least'] * 1e9) if s in r['sides'] else '-':>12}" for s in sides)
        line = f"{label(r):29} {r['threads']:7} {cells}"
        if "ratio_least" in r:
            line += f" {r['best']:>13} {r['ratio_least']:13.2f}x {r['ratio_median']:10.2f}x"
            line += "" if r["planned"] else "  Sconce ran it without a plan"
        lines.append(line)
        lines += [f"  {side}: {message}" for side, message in r["errors"].items()]
    return lines


def report(rows, options):
    sides = ["Sconce", *(p for p in PEERS if p != "Inductor" or options.inductor)]
    versions = {side: r["sides"][side]["version"] for side in PEERS for r in rows if side in r["sides"]}
    head = [f"Sconce {options.version} against {', '.join(f'{side} {version}' for side, version in versions.items())}",
            f"machine: {ours_machine()}; least of {options.turns} turns of {options.seconds:g} s", ""]
    return "\n".join(head + table(rows, sides) + [""] + means(rows))


def version_of(program):
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(HERE.parent / "build/release/bin/sconce"), help="our command")
    parser.add_argument("--out", default=HERE.parent / "build/bench", type=pathlib.Path, help="folder for results and models")
    parser.add_argument("--row", action="append", help="only rows whose name contains this, such as 'BERT, batch 8'; repeatable")
    parser.add_argument("--threads", default="1,2", help="numbers of threads: 1,2")
    parser.add_argument("--turns", default=5, type=int, help="turns of each side, for each row")
    parser.add_argument("--seconds", default=1.0, type=float, help="length of a turn")
    parser.add_argument("--fewest", default=3, type=int, help="calls of a turn, at the least")
    parser.add_argument("--inductor", action="store_true", help="torch.compile, too")
    parser.add_argument("--quick", action="store_true", help="one turn of a tenth of a second: figures mean nothing")
    parser.add_argument("--json", action="store_true", help="prints JSON instead of the table")
    options = parser.parse_args()
    if options.quick:
        options.turns, options.seconds, options.fewest = 1, 0.1, 1
    if options.turns < 1 or options.fewest < 1 or not options.seconds > 0:
        parser.error("--turns, --fewest and --seconds take numbers above 0")
    if not os.access(options.program, os.X_OK):
        parser.error(f"there is no {options.program}: `make build` makes it, --program names another")
    options.out = options.out.resolve()
    options.version = version_of(options.program)
    names = {label({"row": model, "batch": batch}): (model, batch) for model, batch in ROWS}
    chosen = [row for name, row in names.items() if not options.row or any(part in name for part in options.row)]
    if not chosen:
        parser.error(f"no row's name contains {' or '.join(options.row)}; there are: {'; '.join(names)}")
    threads = [int(word) for word in options.threads.split(",")]

    options.out.mkdir(parents=True, exist_ok=True)
    rows = []
    for model, batch in chosen:
        for number in threads:
            row = Row(model, batch, number, options)
            begin = time.monotonic()
            rows.append(row.attempt("row", row.measure) or row.summary())
            print(f"{label(rows[-1])}, {number} thread{'s' * (number > 1)}: {time.monotonic() - begin:.0f} s", file=sys.stderr)
            text = report(rows, options)
            results = json.dumps({"machine": ours_machine(), "version": options.version, "rows": rows}, indent=1)
            (options.out / "peers.txt").write_text(text + "\n")
            (options.out / "peers.json").write_text(results + "\n")
    print(results if options.json else text)
    sys.exit(1 if any(r["errors"] for r in rows) else 0)


if __name__ == "__main__":
    main()
