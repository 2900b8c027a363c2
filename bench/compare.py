"""Times the same rows in Sconce and in PyTorch, checks that the results agree, and prints the ratios.

Two workers stay alive and take turns: ours (sconce-bench-rows), PyTorch (peer_worker.py), PyTorch, ours, ... several
rounds over; the least time of each counts. Whatever else the machine does then hits both alike.

Writes results.json, results.txt and results.png into --out.
"""
import argparse
import json
import math
import os
import pathlib
import platform
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent

# Row of ours, row of the peer, threads, whether the peer's figure contains Python's own call.
ROWS = [
    ("add 8", "add 8", 1, True),
    ("empty 8", "empty 8", 1, True),
    ("view 8", "view 8", 1, True),
    ("add_out 8", "add_out 8", 1, True),
    ("boxed add 8", "boxed add 8", 1, True),
    ("chain of 1000", "chain of 1000", 1, True),
    ("chain of 1000", "chain of 1000, scripted", 1, False),
] + [
    (name, name, threads, False)
    for name in ("pointwise chain 16M", "sum 16M", "softmax 16M", "layer_norm 16M", "matmul 64", "matmul 256", "matmul 1024")
    for threads in (1, 2)
]
# Scripts; the functions take 1,000 turns, so that microseconds are nanoseconds of a turn.
ROWS += [
    ("script " + name, "script " + name, 1, False)
    for name in ("int_loop", "float_loop", "add_loop", "list_append", "list_get", "dict_update", "dict_update_str",
                 "str_concat", "method_call", "of 200 kinds", "MLP-50")
]
FAMILIES = json.loads((HERE / "families.json").read_text())
ROWS += [(family["row"], family["row"], threads, False) for family in FAMILIES for threads in (1, 2)]
# Program files: loading them, running them. Those that are not here are left out, and the report says so.
MODELS = json.loads((HERE / "models.json").read_text())
ABSENT = [model["model"] for model in MODELS if not (HERE.parent / model["file"]).exists()]
for model in MODELS:
    if model["model"] not in ABSENT:
        ROWS += [("load " + model["model"], "load " + model["model"], 1, False)]
        ROWS += [("model " + model["model"], "model " + model["model"], threads, False) for threads in (1, 2)]
# Steps of training: their time, and their memory.
TRAINING = ["train cnn", "train cnn channels_last", "train resnet18", "train transformer", "train transformer dropout",
            "train transformer causal", "train transformer causal dropout", "train lstm"]
ROWS += [(name, name, threads, False) for name in TRAINING for threads in (1, 2)]
# An uninitialised tensor and random numbers have no result to compare.
NO_RESULT = {"empty 8"} | {family["row"] for family in FAMILIES if family.get("random")}
# Rows in bfloat16: a unit in the last place is 2^-8.
COARSE = {family["row"] for family in FAMILIES if "bfloat16" in json.dumps(family)}

# PyTorch asks malloc for every tensor, and glibc by default hands large blocks back to the system at once: the page
# faults of the next one cost several times the arithmetic. This keeps the memory, in huge pages, as our allocator does.
PEER_MALLOC = ":".join(
    f"glibc.malloc.{setting}"
    for setting in ("hugetlb=1", "mmap_max=0", f"trim_threshold={1 << 34}", f"top_pad={1 << 30}")
)


class Worker:
    """A process that answers every line it is given with one line."""

    def __init__(self, command, environment, log=None):
        self.name = command[-1]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env={**os.environ, **environment}
        )

    def ask(self, *words):
        self.process.stdin.write("\t".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline().strip()
        if not line:
            self.died(f"{self.name} died at: {' '.join(map(str, words))}")
        if line.startswith("error"):
            raise RuntimeError(f"{' '.join(map(str, words))}: {line[6:]}")
        return line

    def died(self, message):
        sys.exit(message)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def disagreement(ours, peer, coarse):
    """The first pair of elements that differ by more than the dtype's precision explains, or None."""
    if len(ours) != len(peer):
        return f"{len(ours)} elements, PyTorch has {len(peer)}"
    largest = max((abs(y) for y in peer), default=0)
    for x, y in zip(ours, peer):
        if not math.isclose(x, y, rel_tol=1.6e-2 if coarse else 1e-4, abs_tol=(1e-2 if coarse else 1e-5) * max(largest, 1)):
            return f"{x} is {y} in PyTorch"
    return None


def measure(ours, peer, rows, rounds, seconds):
    results = []
    for name, peer_name, threads, python in rows:
        best = {}
        turns = [("ours", ours, name), ("peer", peer, peer_name)]
        difference = None
        try:
            for turn in range(rounds):
                for side, worker, row in turns if turn % 2 == 0 else reversed(turns):
                    figure = float(worker.ask("time", row, threads, max(seconds, 0.6) if name in TRAINING else seconds))
                    best[side] = min(best.get(side, math.inf), figure)
                    time.sleep(0.005)  # until the other side's threads no longer wait for work
            if name not in NO_RESULT:
                difference = disagreement(json.loads(ours.ask("result", name)), json.loads(peer.ask("result", peer_name)),
                                          name in COARSE)
        except RuntimeError as error:
            results.append({"row": peer_name, "threads": threads, "error": str(error)})
            continue
        results.append({
            "row": peer_name,
            "threads": threads,
            "ours_ns": best["ours"],
            "peer_ns": best["peer"],
            "ratio": best["peer"] / best["ours"],
            "peer_includes_python": python,
            "agrees": difference is None,
            **({"difference": difference} if difference else {}),
        })
    return results


def measure_memory(start_ours, start_peer, rows):
    """Bytes of tensors at their peak, each row in processes of its own."""
    results = []
    for name, peer_name, threads, _ in rows:
        if name not in TRAINING:
            continue
        figures = {}
        for side, start, row in (("ours", start_ours, name), ("peer", start_peer, peer_name)):
            worker = start()
            figures[side] = json.loads(worker.ask("memory", row, threads))
            worker.close()
        results.append({"row": name, "threads": threads, "ours_bytes": figures["ours"][0], "ours_held_bytes": figures["ours"][1],
                        "peer_bytes": figures["peer"][0]})
    return results


def memory_report(results):
    lines = ["", f"{'memory of tensors at peak':28} {'threads':>7} {'Sconce':>10} {'PyTorch':>10} {'Sconce/PyTorch':>14} {'Sconce, held':>14}"]
    for r in results:
        lines.append(f"{r['row']:28} {r['threads']:7} {r['ours_bytes'] / 1e6:7.1f} MB {r['peer_bytes'] / 1e6:7.1f} MB "
                     f"{r['ours_bytes'] / r['peer_bytes']:13.2f}x {r['ours_held_bytes'] / 1e6:11.1f} MB")
    lines.append("In use: Sconce's allocator_stats, PyTorch's profiler. Held: taken from the system, in use or kept for reuse.")
    return "\n" + "\n".join(lines) if results else ""


def human(ns):
    for unit, size in (("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.1f} ns"


def report(results, ours, peer):
    lines = [
        f"Sconce {ours['version']} ({ours['compiler']}, CPU level v{ours['cpu_level']}) against PyTorch {peer['version']}",
        f"machine:   {ours_machine()}",
        f"PyTorch:   {'; '.join(peer['build'])}; BLAS {peer['blas']}; {peer['mode']}",
        f"allocator: PyTorch runs with {peer['malloc']}" + (
            ", so that large blocks are kept between calls, in huge pages, as ours are" if peer["malloc"] == PEER_MALLOC else ""),
        "",
        f"{'row':28} {'threads':>7} {'Sconce':>10} {'PyTorch':>10} {'times as fast':>14}",
    ]
    for r in results:
        if "error" in r:
            lines.append(f"{r['row']:28} {r['threads']:7} {r['error']}")
            continue
        note = "  *" if r["peer_includes_python"] else ""
        note += "" if r["agrees"] else f"  results differ: {r['difference']}"
        lines.append(f"{r['row']:28} {r['threads']:7} {human(r['ours_ns']):>10} {human(r['peer_ns']):>10} {r['ratio']:13.2f}x{note}")
    compared = [r for r in results if "error" not in r and not r["peer_includes_python"]]
    if compared:
        mean = math.exp(sum(math.log(r["ratio"]) for r in compared) / len(compared))
        slowest = sorted(compared, key=lambda r: r["ratio"])[:5]
        lines.append(f"geometric mean of the {len(compared)} rows without *: {mean:.2f}x; {sum(r['ratio'] < 0.7 for r in compared)} under 0.7x; slowest: "
                     + ", ".join(f"{r['row']} ({r['threads']}) {r['ratio']:.2f}x" for r in slowest))
    if ABSENT:
        lines.append(f"left out, their files are not here: {', '.join(ABSENT)}")
    lines.append("* PyTorch's figure includes Python's call of one function; ours is called from C++.")
    return "\n".join(lines)


def ours_machine():
    model = platform.machine()
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = names[0] if names else model
    return f"{model}, {os.cpu_count()} cores"


def plot(results, title, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = [r for r in results if "error" not in r][::-1]
    labels = [f"{r['row']}, {r['threads']} thread{'s' * (r['threads'] > 1)}" + " *" * r["peer_includes_python"] for r in rows]
    figure, axes = plt.subplots(figsize=(9, 1.2 + 0.32 * len(rows)))
    colours = ["#2a7f62" if r["ratio"] >= 1 else "#c2573a" for r in rows]
    bars = axes.barh(labels, [r["ratio"] for r in rows], color=colours)
    axes.bar_label(bars, [f" {r['ratio']:.2f}x" for r in rows], fontsize=8)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, 0.5), high * 1.6)
    axes.set_xlabel("PyTorch's time / Sconce's time (right of the line: Sconce is faster)   * includes Python's call")
    axes.set_title(title, fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=130)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ours", default="build/release/bin/sconce-bench-rows", help="our worker")
    parser.add_argument("--out", default="build/bench", type=pathlib.Path, help="folder for the results")
    parser.add_argument("--rounds", default=4, type=int, help="turns of each side, for each row")
    parser.add_argument("--seconds", default=0.08, type=float, help="length of a turn")
    parser.add_argument("--row", help="only rows whose name contains this")
    parser.add_argument("--peer-malloc", default=PEER_MALLOC, help="GLIBC_TUNABLES of PyTorch's process; '' for glibc's defaults")
    arguments = parser.parse_args()

    start_ours = lambda: Worker([arguments.ours], {})
    start_peer = lambda: Worker([sys.executable, str(HERE / "peer_worker.py")],
                                {"GLIBC_TUNABLES": arguments.peer_malloc} if arguments.peer_malloc else {})
    ours, peer = start_ours(), start_peer()
    rows = [row for row in ROWS if not arguments.row or arguments.row in row[1]]
    configuration = {"ours": json.loads(ours.ask("info")), "peer": json.loads(peer.ask("info"))}
    results = measure(ours, peer, rows, arguments.rounds, arguments.seconds)
    ours.close()
    peer.close()
    memory = measure_memory(start_ours, start_peer, rows)

    text = report(results, configuration["ours"], configuration["peer"]) + memory_report(memory)
    print(text)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "results.txt").write_text(text + "\n")
    (arguments.out / "results.json").write_text(json.dumps({"machine": ours_machine(), **configuration, "rows": results, "memory": memory}, indent=1) + "\n")
    plot(results, text.splitlines()[0], arguments.out / "results.png")
    sys.exit(0 if all(r.get("agrees") for r in results) else 1)


if __name__ == "__main__":
    main()
