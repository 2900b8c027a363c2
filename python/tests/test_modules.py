"""Every recorded module of torch.nn: built in Python from its recorded arguments and seed, it has PyTorch's state, and a call gives
PyTorch's result.

    python3 python/tests/test_modules.py tests/conformance/modules
"""

import math
import sys

import sconce
from cases import flat, run_cases
from sconce import nn

# Those of sconce/testing/compare/compare.h for accumulated results: relative, absolute, of the largest element.
TOLERANCES = {sconce.float64: (1e-7, 1e-7, 1e-7), sconce.float32: (1.3e-6, 1e-5, 1e-4), sconce.bfloat16: (1.6e-2, 1e-5, 1.6e-2),
              sconce.float16: (1e-3, 1e-5, 1e-3)}


def difference(got, wanted):
    """What differs, or nothing."""
    if not isinstance(wanted, sconce.Tensor) or not isinstance(got, sconce.Tensor):
        return "" if type(got) is type(wanted) and got == wanted else f"{got!r}, expected {wanted!r}"
    if got.dtype is not wanted.dtype or got.shape != wanted.shape:
        return f"{got.dtype} {got.shape}, expected {wanted.dtype} {wanted.shape}"
    relative, absolute, of_largest = TOLERANCES.get(got.dtype, (0, 0, 0))
    a, b = got.detach().reshape(-1).tolist(), wanted.reshape(-1).tolist()
    largest = max((abs(v) for v in b if math.isfinite(abs(v))), default=0)
    for x, y in zip(a, b):
        if x != y and not (x != x and y != y) and not abs(x - y) <= absolute + relative * abs(y) + of_largest * largest:
            return f"{x}, expected {y}"
    return ""


def check(file, case):
    """Nothing when all is well, else what is wrong."""
    sconce.manual_seed(case["init_seed"])
    args = [file.value(a) for a in case["args"]]
    kwargs = {name: file.value(a) for name, a in case["kwargs"].items()}
    module = getattr(nn, case["module"])(*args, **kwargs)
    module.train(case["training"])
    state = module.state_dict()
    recorded = {name: file.value(value) for name, value in case["state_dict"]}
    if list(state) != list(recorded):
        return f"state {list(state)}, expected {list(recorded)}"
    for name, value in recorded.items():
        if problem := difference(state[name], value):
            return f"{name}: {problem}"
    sconce.manual_seed(case["call_seed"])
    result = module(*(file.value(i) for i in case["inputs"]), **{name: file.value(v) for name, v in case["input_kwargs"].items()})
    got, wanted = flat(result), flat(file.value(case["out"]))
    if len(got) != len(wanted):
        return f"{len(got)} results, expected {len(wanted)}"
    return next((problem for g, w in zip(got, wanted) if (problem := difference(g, w))), "")


if __name__ == "__main__":
    sys.exit(run_cases(sys.argv[1:], check, "module"))
