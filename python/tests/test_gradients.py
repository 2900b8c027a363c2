"""Every recorded gradient of an operator, from Python: the function of its name called with tensors that require grad, then
autograd.grad with the recorded cotangents.

    python3 python/tests/test_gradients.py tests/conformance/ops
"""

import pathlib
import sys

import sconce
from cases import difference, flat, run_cases
from sconce import _sconce

# Those that sconce-conformance excuses, too, with the reason beside each.
EXCUSED = {line.split()[0] for line in (pathlib.Path(__file__).parents[2] / "tests/conformance/known_failures.txt").read_text().split("\n")
           if line and not line.startswith("#")}


def tensors(args, kwargs):
    return [value for value in flat([*args, *kwargs.values()]) if isinstance(value, sconce.Tensor)]


def in_phase(cotangent, ours, recorded):
    """The cotangent for our eigenvectors, which may have other signs (phases, of complex ones) than the recorded ones."""
    phase = (recorded.conj() * ours.detach()).sum(-2, keepdim=True)
    return cotangent * phase / phase.abs()


def check(file, case):
    """Nothing when all is well, else what is wrong; None where no gradient was recorded."""
    grad = case.get("grad")
    if not grad:
        return None
    args = [file.value(a) for a in case["args"]]
    kwargs = {name: file.value(a) for name, a in case["kwargs"].items()}
    places = grad["inputs"]
    inputs = [tensors(args, kwargs)[i].requires_grad_() for i in places]
    name, _, overload = case["op"].removeprefix("aten::").partition(".")
    sconce.manual_seed(case.get("seed", 0))
    if name.endswith("_") and not name.startswith("_"):  # in place: not on leaves
        copies = {id(t): t.clone() for t in inputs}
        args = [copies.get(id(a), a) if isinstance(a, sconce.Tensor) else a for a in args]
    results = [r for r in flat(_sconce._function(name)(*args, **kwargs)) if isinstance(r, sconce.Tensor)]
    outputs = [results[i] for i in grad["outputs"]]
    cotangents = [file.value(c) for c in grad["cotangents"]]
    if name == "linalg_eigh":
        recorded = flat(file.value(case["out"]))
        cotangents = [in_phase(c, r, recorded[i]) if i else c for c, r, i in zip(cotangents, outputs, grad["outputs"])]
    got = sconce.autograd.grad(outputs, inputs, cotangents, allow_unused=True)
    for place, ours, recorded in zip(places, got, grad["grads"]):
        wanted = None if recorded is None else file.value(recorded)
        if ours is None or wanted is None:  # no gradient and one of zeros say the same
            given = ours if wanted is None else wanted
            problem = "" if given is None or not given.any() else f"{ours}, expected {wanted}"
        else:
            problem = difference(ours, wanted)
        if problem:
            return f"gradient of tensor {place}: {problem}"
    return ""


if __name__ == "__main__":
    sys.exit(run_cases(sys.argv[1:], check, "op", EXCUSED))
