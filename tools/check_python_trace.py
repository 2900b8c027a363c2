"""Traces the same functions and modules with PyTorch and with Sconce, and compares graphs and results.

    PYTHONPATH=build/release/python python tools/check_python_trace.py [--record FOLDER] [name...]

Needs PyTorch beside the package. Graphs must be equal node by node: kinds, constants, types, scopes, methods of submodules;
names of values and places in source files may differ. --record writes PyTorch's graphs as python/tests/test_trace.py reads
them.
"""

import argparse
import pathlib
import re
import sys
import tempfile
import warnings

import sconce
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python" / "tests"))
import traced_cases  # noqa: E402


def carried(value):
    """Tensors of PyTorch as Sconce's."""
    if isinstance(value, torch.Tensor):
        return sconce.from_numpy(value.detach().numpy().copy()).requires_grad_(value.requires_grad)
    if isinstance(value, dict):
        return {key: carried(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(carried(item) for item in value)
    return value


def tensors(value):
    if isinstance(value, (torch.Tensor, sconce.Tensor)):
        return [value.detach().tolist()]
    if isinstance(value, dict):
        return [t for item in value.values() for t in tensors(item)]
    return [t for item in value for t in tensors(item)]


def flat(value):
    return [x for item in value for x in flat(item)] if isinstance(value, list) else [value]


def close(a, b):
    a, b = flat(tensors(a)), flat(tensors(b))
    return len(a) == len(b) and all(x == y or abs(x - y) <= 1e-4 + 1e-4 * abs(y) or (x != x and y != y) for x, y in zip(a, b))


def check(case, record):
    torch.manual_seed(0)
    theirs = case.build(torch)
    inputs = case.inputs(torch)
    ours = case.build(sconce)
    if isinstance(theirs, torch.nn.Module):
        ours.load_state_dict(carried(theirs.state_dict()))
    arguments = {"check_trace": False, "strict": case.strict}
    expected = torch.jit.trace(theirs, inputs, **arguments)
    their_graphs = traced_cases.graphs(expected)
    if record:
        (record / f"{case.name}.txt").write_text(their_graphs)
    traced = sconce.jit.trace(ours, carried(inputs), **arguments)
    our_graphs = traced_cases.graphs(traced)
    problems = []
    if our_graphs != their_graphs:
        problems.append("graphs differ:\n" + traced_cases.difference(their_graphs, our_graphs))
    if not case.random:
        other = case.other_inputs(torch)
        if not close(traced(*carried(other)), expected(*other)):
            problems.append("results differ")
        if hasattr(traced, "save") and isinstance(theirs, torch.nn.Module):
            with tempfile.TemporaryDirectory() as folder:
                traced.save(f"{folder}/traced.pt")
                loaded = torch.jit.load(f"{folder}/traced.pt")
            if not close(loaded(*other), expected(*other)):
                problems.append("PyTorch gets other results from the archive")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    good = bad = 0
    for case in traced_cases.CASES:
        if options.names and case.name not in options.names:
            continue
        try:
            problems = check(case, options.record if case.recorded else None)
        except Exception as error:  # noqa: BLE001  a case that cannot be traced is a finding
            problems = [f"{type(error).__name__}: {error}"]
        good, bad = good + (not problems), bad + bool(problems)
        for problem in problems:
            print(f"{case.name}: {problem}")
    print(f"{good} of {good + bad} agree")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
