"""Every recorded module of torch.nn: built in Python from its recorded arguments and seed, it has PyTorch's state, and a call gives
PyTorch's result.

    python3 python/tests/test_modules.py tests/conformance/modules
"""

import sys

import sconce
from cases import difference, flat, run_cases
from sconce import nn

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
