"""Two training steps of whole networks at real sizes, against PyTorch's as recorded by tools/record_networks.py.

    python3 python/tests/networks/test_networks.py        a short choice of networks and ways, for `make test`
    python3 python/tests/networks/test_networks.py --all  every network in every way
    ... --all --networks 'resnet*' unet --ways float32    some of them; --ways takes parts of a way's name
    ... --json FILE                                       a row for each run: name, way, share of the bound, seconds
    ... --part 1/2                                        every second run, from the first on

A way is a dtype (float32, bfloat16), a layout (first; last: channels last, of images), 1 or 2 threads, eager or
compiled.

The rule: the reference is PyTorch's run in float64. Every tensor (losses, gradients, changes of the weights, running
statistics) may be as far from it as BOUND times PyTorch's own runs of that dtype are at most: two layouts, and in
float32 weights that are moved by roundings (tools/record_networks.py). One unit in the last place is added (of the
weight, for its change), and in float32 a tensor may be as far, in parts of its length, as the median of the network's
gradients: few runs see a ReLU that turns in a small layer. Where an optimiser's step has the sign of the gradient, one
element of a weight may go the other way: its gradient may be within a rounding of 0. Distances are those of all
elements together, estimated from random projections (measure.py), and those of sampled elements. No network or tensor
has a tolerance of its own.
"""

import argparse
import fnmatch
import json
import pathlib
import sys
import time
import traceback
import zlib

try:
    import numpy as np
except ImportError:
    print("skipped: whole networks are compared in NumPy, and there is none")
    sys.exit(77)
from library import torch
from measure import PROJECTIONS, train
from registry import load

RECORDED = pathlib.Path(__file__).parents[3] / "tests" / "conformance" / "networks" / "networks.npz"
BOUND = 5.0
UNIT = {"float32": 2.0 ** -23, "bfloat16": 2.0 ** -8}
TURNING = {"Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad"}  # their first steps have the sign of the gradient
# The short form: first the networks whose gradients were wrong once, then other kinds, in ways that take other code.
SHORT = [("resnet18", "float32 first 1 eager"), ("resnet18_calm", "float32 first 2 eager"),
         ("densenet121", "float32 first 2 eager"), ("squeezenet", "float32 first 2 compiled"),
         ("unet_calm", "float32 first 1 compiled"),
         ("diffusion", "float32 first 2 eager"), ("wavenet", "float32 first 1 eager"), ("wavenet", "bfloat16 first 2 eager"),
         ("mobilenet_v3_small", "float32 last 2 eager"), ("siamese", "bfloat16 last 1 eager"),
         ("tcn", "float32 first 2 compiled"),
         ("vae", "float32 last 1 compiled"), ("lstm_tagger", "float32 first 2 eager"),
         ("message_passing", "float32 first 1 compiled"), ("recommender", "bfloat16 first 1 eager"),
         ("mamba", "float32 first 2 eager")]


def ways(network):
    """All ways in which a network runs."""
    layouts = ("first", "last") if network.images else ("first",)
    return [f"{dtype} {layout} {threads} {mode}" for dtype in ("float32", "bfloat16") for layout in layouts
            for threads in (1, 2) for mode in ("eager", "compiled")]


def compare(recorded, network, dtype, found, sizes):
    """The tensors with their distances as shares of the bound: (share, tensor, distance, bound), the largest first."""
    name = network.name
    if zlib.crc32("\n".join(found).encode()) != recorded[f"{name}.names"]:
        raise AssertionError(f"{name}: the tensors have other names than those recorded (a gradient is missing, or the network "
                             f"changed: tools/record_networks.py {name})")
    wanted = recorded[name].astype(np.float64)
    errors = np.exp2(recorded[f"{name}.errors"].astype(np.float64))[:, 0:2 if dtype == "float32" else 4][:, -2:]
    got = np.stack(list(found.values()))
    gap = got - wanted
    distance = np.stack([np.sqrt(np.mean(gap[:, :PROJECTIONS] ** 2, 1)), np.abs(gap[:, PROJECTIONS:]).max(1)], 1)
    size = np.stack([np.sqrt(np.mean(wanted[:, :PROJECTIONS] ** 2, 1)), np.abs(wanted[:, PROJECTIONS:]).max(1)], 1)
    if dtype == "float32":
        gradients = np.array([tensor.startswith("gradient") for tensor in found])
        share = np.median(errors[gradients, 0] / np.maximum(size[gradients, 0], 1e-300))
        errors = np.maximum(errors, share * size[:, :1])
    units = np.stack([sizes.get(tensor, size[i]) for i, tensor in enumerate(found)])  # a change is rounded as its weight is
    bound = BOUND * errors + UNIT[dtype] * np.maximum(size, units)
    if network.optimizer in TURNING:
        turned = 4 * network.options["lr"]  # an element that goes the other way in both steps
        bound = np.maximum(bound, [[turned * tensor.startswith("change")] for tensor in found])
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(distance == 0, 0, distance / bound)
    share = np.where(np.isfinite(share), share, np.inf)
    kinds = ("all elements", "sampled elements")
    return sorted(((share[i, j], f"{tensor}, {kinds[j]}", distance[i, j], bound[i, j])
                   for i, tensor in enumerate(found) for j in range(2)), key=lambda row: -row[0])


def run(recorded, network, way):
    """A row of the table."""
    dtype, layout, threads, mode = way.split()
    start = time.perf_counter()
    row = {"network": network.name, "way": way}
    try:
        if mode == "compiled":
            torch.compiler.reset()
        sizes = {}
        found = train(network, getattr(torch, dtype), layout == "last", int(threads), mode == "compiled", sizes=sizes)
        shares = compare(recorded, network, dtype, found, sizes)
        differing = {tensor.rpartition(", ")[0] for share, tensor, _, _ in shares if share > 1}
        row |= {"share": float(shares[0][0]), "tensors": len(found), "differ": len(differing),
                "worst": [f"{tensor}: {distance:.3g} from the reference, bound {bound:.3g}"
                          for share, tensor, distance, bound in shares[:3]]}
    except Exception:
        row |= {"share": float("inf"), "differ": 1, "tensors": 0, "worst": [traceback.format_exc(limit=-4)]}
    return row | {"seconds": round(time.perf_counter() - start, 2)}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--networks", nargs="*", default=["*"])
    parser.add_argument("--ways", nargs="*", default=[""])
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--json")
    parser.add_argument("-q", "--quiet", action="store_true")
    options = parser.parse_args()
    networks = load()
    recorded = dict(np.load(RECORDED))
    chosen = [(name, way) for name in networks for way in ways(networks[name])] if options.all else SHORT
    chosen = [(name, way) for name, way in chosen if any(fnmatch.fnmatch(name, pattern) for pattern in options.networks)
              and any(part in way for part in options.ways)]
    if absent := {name for name, _ in chosen if name not in recorded}:
        sys.exit(f"not recorded: {' '.join(sorted(absent))} (tools/record_networks.py)")
    part, parts = map(int, options.part.split("/"))
    rows = []
    for name, way in chosen[part - 1::parts]:
        row = run(recorded, networks[name], way)
        rows.append(row)
        if not options.quiet or row["differ"]:
            print(f"{name:20s} {way:28s} {row['differ']:4d} of {row['tensors']:4d} differ, {row['share']:7.3f} of the bound, "
                  f"{row['seconds']:6.2f} s", flush=True)
        if row["differ"]:
            print("  " + "\n  ".join(row["worst"]), flush=True)
        if options.json:
            pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    wrong = {row["network"] for row in rows if row["differ"]}
    print(f"{len({row['network'] for row in rows})} networks, {len(rows)} runs, {sum(row['tensors'] for row in rows)} tensors: "
          f"{sum(row['differ'] > 0 for row in rows)} runs of {len(wrong)} networks differ", *sorted(wrong))
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
