"""Captures models of torchvision, timm and transformers with sconce.compile, over real PyTorch: one graph where PyTorch's capture has
one, results as PyTorch asks of its own compiled models, and the time that a capture takes.

    python tools/check_torch_compile.py --install build/torch-venv       a virtual environment with PyTorch and the models
    PYTHONPATH=build/release/python build/torch-venv/bin/python tools/check_capture_models.py [--what forward,train] [names...]

A row: breaks of ours and of torch._dynamo.explain, whether results (and for `train` gradients and buffers of one step) agree,
milliseconds of the capture without and with the first call, of a later call, and of a call of the model itself.
"""

import argparse
import contextlib
import copy
import sys
import time
import traceback
import warnings

import check_torch_compile as zoo


def breaks(torch, model, inputs):
    """How many graph breaks PyTorch's capture has."""
    torch._dynamo.reset()
    explained = torch._dynamo.explain(model)
    found = explained(**inputs) if isinstance(inputs, dict) else explained(*inputs)
    torch._dynamo.reset()
    return found.graph_break_count


def step(torch, call, model, inputs):
    """One training step: outputs, gradients, buffers."""
    torch.manual_seed(1)
    model.zero_grad()
    outputs = zoo.tensors(torch, zoo.run(call, inputs))
    sum(out.float().pow(2).mean() for out in outputs if out.is_floating_point() and out.requires_grad).backward()
    return outputs + [p.grad for p in model.parameters() if p.grad is not None] + list(model.buffers())


def forward(torch, call, model, inputs):
    return zoo.forward(torch, call, inputs)


def timed(function, *args):
    """Its result, and milliseconds."""
    start = time.perf_counter()
    result = function(*args)
    return result, (time.perf_counter() - start) * 1e3


def check(torch, make, what, theirs):
    """A row as a dict; `reasons` says why the graph broke, `differs` what is not equal."""
    import sconce
    from sconce.compiler._watch import listening

    sconce.compiler.reset()
    torch.manual_seed(0)
    model, inputs = make(torch)
    training = what == "train"
    model.train(training)
    compute = step if training else forward
    with contextlib.suppress(AttributeError):
        model.config.use_cache = False
    other, exact, explained, timing = copy.deepcopy(model), copy.deepcopy(model).double(), copy.deepcopy(model), copy.deepcopy(model)
    expected = compute(torch, other, other, inputs)
    try:
        reference = compute(torch, exact, exact, zoo.double(torch, inputs))
    except RuntimeError:  # a model that makes float32 of its own
        reference = [t.double() if t.is_floating_point() else t for t in expected]

    heard, unstable = [], []

    def hear(event, facts):
        if event == "compiled":
            heard.append(facts)
        elif event == "unstable":
            unstable.append(f"guards that fail at once: {facts['why']}")

    compiled = sconce.compile(model)
    with listening(hear):
        found, first = timed(compute, torch, compiled, model, inputs)
    row = {"ours": max(sum(1 for facts in heard if facts["graph"] is not None and facts["nodes"]) - 1, 0), "theirs": None,
           "reasons": unstable + [f"{reason} [{code}] {file}:{line}" for facts in heard for code, reason, _, file, _, line in facts["breaks"]],
           "capture": sum(facts["seconds"] for facts in heard) * 1e3, "first": first, "differs": None}
    if len(found) != len(expected):
        row["differs"] = f"{len(found)} results, {len(expected)} expected"
    for i, (a, b, c) in enumerate(zip(expected, found, reference)):
        tolerance = zoo.TRAINING_TOLERANCE if training else zoo.TOLERANCE
        if row["differs"] is None and not torch._dynamo.utils.same(a, b, c, tol=tolerance, equal_nan=True):
            row["differs"] = f"result {i} of {len(found)} differs by {(a.double() - b.double()).abs().max():.3g}"
    row["call"] = min(timed(compute, torch, compiled, model, inputs)[1] for _ in range(3))
    row["eager"] = min(timed(compute, torch, timing, timing, inputs)[1] for _ in range(3))
    if theirs:
        row["theirs"] = breaks(torch, explained, inputs)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="models; all of them when none is named")
    parser.add_argument("--what", default="forward,train", help="which of the two checks")
    parser.add_argument("--ours-only", action="store_true", help="without PyTorch's own capture, which takes seconds a model")
    options = parser.parse_args()
    import torch

    kept = zoo.declare_torchvision(torch)  # noqa: F841
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    import sconce

    sconce.compile(lambda x: x + 1)(torch.ones(2))  # imports are no part of the first model's capture
    rows, failures = [], 0
    print(f"{'model':14} {'what':8} ours theirs equal {'capture':>9} {'first':>9} {'call':>9} {'eager':>9}  (ms)")
    for name in options.names or zoo.MODELS:
        for what in options.what.split(","):
            try:
                row = check(torch, zoo.MODELS[name], what, not options.ours_only)
            except Exception as error:
                traceback.print_exc(limit=-6)
                failures += 1
                print(f"{name:14} {what:8} FAILS {type(error).__name__}: {str(error)[:200]}", flush=True)
                continue
            rows.append(row)
            more = row["theirs"] is not None and row["ours"] > row["theirs"]
            failures += more or row["differs"] is not None
            print(f"{name:14} {what:8} {row['ours']:4} {'-' if row['theirs'] is None else row['theirs']:>6} "
                  f"{'no' if row['differs'] else 'yes':5} {row['capture']:9.1f} {row['first']:9.1f} {row['call']:9.2f} {row['eager']:9.2f}",
                  flush=True)
            for line in [row["differs"]] * (row["differs"] is not None) + row["reasons"]:
                print(f"    {line}", flush=True)
    whole = sum(row["ours"] == 0 for row in rows)
    print(f"{len(rows)} rows, {whole} of one graph, {failures} failures; longest capture "
          f"{max((row['capture'] for row in rows), default=0):.1f} ms")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
