"""Records PyTorch's two training steps of the networks of python/tests/networks. Usage: record_networks.py [NAME...]

Into tests/conformance/networks/networks.npz, for every network (all of them, or those named, which replace their rows):

    NAME         float32, a row for each tensor: the projections and elements of measure.py, of a run in float64
    NAME.errors  float16, a row for each tensor: log2 of the distances of PyTorch's runs from that one: length and
                 largest element of the difference for float32, then for bfloat16 (the largest over the runs below);
                 -999 for 0
    NAME.names   the checksum of the tensors' names

The runs: channels first, channels last (of images), and for float32 weights that are moved by up to 2^-24, 2^-21 and
2^-18 of themselves, until the gradients move by a thousandth of their length (the median). They show how the network
itself amplifies roundings: one ReLU of a million that turns moves a gradient by a thousandth, which one run may see and
another not. Needs PyTorch 2.13.
"""

import os
import pathlib
import sys
import time
import zlib

os.environ["NETWORKS_LIBRARY"] = "torch"
ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python/tests/networks"))

import numpy as np  # noqa: E402
import torch  # noqa: E402
from measure import summary, train  # noqa: E402
from registry import load  # noqa: E402

NUDGES, MOVED_ENOUGH = (2.0 ** -24, 2.0 ** -21, 2.0 ** -18), 1e-3
PATH = ROOT / "tests/conformance/networks/networks.npz"


def distances(network, reference, dtype, **options):
    """Length and largest element of the difference from the reference, for each tensor."""

    def take(name, values):
        gap = values - reference[name]
        return float(np.sqrt(np.dot(gap, gap))), float(np.abs(gap).max())

    found = train(network, dtype, take=take, **options)
    assert found.keys() == reference.keys()
    return np.array(list(found.values()))


def record(network):
    reference = train(network, torch.float64, take=lambda name, values: values)
    values = np.stack([summary(name, elements) for name, elements in reference.items()]).astype(np.float32)
    layouts = [False, True] if network.images else [False]
    runs32 = [distances(network, reference, torch.float32, last=last) for last in layouts]
    lengths = np.array([np.linalg.norm(v) for v in reference.values()])
    gradients = np.array([name.startswith("gradient") for name in reference])

    def shares(errors):
        return errors[gradients, 0] / np.maximum(lengths[gradients], 1e-300)

    for nudge in NUDGES:
        runs32.append(distances(network, reference, torch.float32, nudge=nudge))
        if np.median(shares(runs32[-1])) > MOVED_ENOUGH:
            break
    runs16 = [distances(network, reference, torch.bfloat16, last=last) for last in layouts]
    errors = np.concatenate([np.max(runs32, 0), np.max(runs16, 0)], 1)
    logs = np.where(errors > 0, np.log2(np.maximum(errors, 1e-300)), -999).astype(np.float16)
    share = np.stack([shares(errors[:, :2]), shares(errors[:, 2:])], 1)
    print(f"{network.name:20s} {len(reference):4d} tensors, loss {list(reference.values())[0][0]:.4f}, errors of gradients (median, "
          f"largest): float32 {np.median(share[:, 0]):.1e} {share[:, 0].max():.1e}, bfloat16 {np.median(share[:, 1]):.1e} "
          f"{share[:, 1].max():.1e}", end="", flush=True)
    return {network.name: values, f"{network.name}.errors": logs,
            f"{network.name}.names": np.uint32(zlib.crc32("\n".join(reference).encode()))}


def main():
    torch.set_num_threads(1)
    networks = load()
    rows = dict(np.load(PATH)) if PATH.exists() else {}
    rows = {key: value for key, value in rows.items() if key.split(".")[0] in networks}
    PATH.parent.mkdir(exist_ok=True)
    for name in sys.argv[1:] or networks:
        start = time.perf_counter()
        rows |= record(networks[name])
        print(f", {time.perf_counter() - start:.1f} s", flush=True)
        np.savez_compressed(PATH, **{key: rows[key] for key in sorted(rows)})


if __name__ == "__main__":
    main()
