"""Records what PyTorch's capture makes of the programs of python/tests/capture. Usage: record_capture.py [--check] [NAME...]

For each program, into python/tests/capture/recorded.json: the graphs and graph breaks of its first call, the graphs after all calls,
and, where PyTorch's compiled program differs from its eager one, how. --check only prints. Needs PyTorch.
"""

import collections
import json
import logging
import pathlib
import sys

import torch
import torch._dynamo

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python/tests/capture"))
import harness  # noqa: E402

PATH = ROOT / "python/tests/capture/recorded.json"


class Counting:
    """A backend that runs the graph as it is, and counts."""

    def __init__(self):
        self.graphs = self.operators = self.broken = 0

    def __call__(self, graph, inputs):
        self.graphs += 1
        self.broken += graph.compile_subgraph_reason.graph_break  # breaks at jumps are in no counter
        self.operators += sum(node.op in ("call_function", "call_method", "call_module") for node in graph.graph.nodes)
        return graph.forward


def measured(file, name, calls=None):
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    counting = Counting()
    results = harness.outcomes(file, name, torch, lambda f: torch.compile(f, backend=counting), calls)
    breaks = max(sum(torch._dynamo.utils.counters["graph_break"].values()), counting.broken)
    return results, counting, breaks


def record(file, name):
    eager = harness.outcomes(file, name, torch)
    _, first, breaks = measured(file, name, 1)
    results, every, _ = measured(file, name)
    row = {"graphs": first.graphs, "breaks": breaks, "operators": first.operators, "graphs_of_all_calls": every.graphs}
    for i, (a, b) in enumerate(zip(eager, results)):
        if found := harness.difference(a, b, f"call {i}"):
            row["differs"] = found[:300]
            break
    return row


def main():
    names = [a for a in sys.argv[1:] if not a.startswith("--")]
    logging.disable(logging.CRITICAL)
    recorded = collections.OrderedDict(json.loads(PATH.read_text())) if PATH.exists() and names else collections.OrderedDict()
    for file in harness.FILES:
        for name in harness.load(file, torch)[0]:
            if names and name not in names:
                continue
            try:
                row = record(file, name)
            except Exception as error:  # noqa: BLE001
                row = {"failed": f"{type(error).__name__}: {str(error)[:200]}"}
            recorded[name] = row
            print(name, row, flush=True)
    if "--check" not in sys.argv:
        PATH.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(recorded.items())) + "\n}\n")


if __name__ == "__main__":
    main()
