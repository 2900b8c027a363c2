#!/usr/bin/env python3
"""Checks script/torch/nn/modules under PyTorch: every class is built with the recorded constructor arguments and seed, its
parameters compared with the recorded ones, then compiled by PyTorch's compiler and called.

    build/bench-venv/bin/python tools/check_script_modules.py [NAME ...]

The text derives from the real torch.nn.Module here and calls script/torch/nn/functional. Prints what differs."""
import pathlib
import sys
import tempfile
import warnings
from typing import Optional, Tuple

import torch

from recorded_cases import read_cases

ROOT = pathlib.Path(__file__).resolve().parent.parent
RENAMED = (("from torch.nn import", "from sconce_nn import"), ("torch.nn.functional", "sconce_nn.functional"),
           ("torch.nn.modules", "sconce_nn.modules"), ("torch.nn.utils", "sconce_nn.utils"),
           ("torch.nn.init", "sconce_nn.init"))


def package():
    """script/torch/nn as an importable package, sconce_nn."""
    source, target = ROOT / "script/torch/nn", pathlib.Path(tempfile.mkdtemp()) / "sconce_nn"
    files = {"functional.py": "\n\n".join(p.read_text() for p in sorted((source / "functional").glob("*.py"))),
             "init.py": (source / "init.py").read_text(), "utils/__init__.py": "", "modules/__init__.py": "",
             "utils/rnn.py": (source / "utils/rnn.py").read_text()}
    order = ["linear", "activation", "dropout", "distance", "batchnorm"]
    names = [p.stem for p in sorted((source / "modules").glob("*.py"))]
    for name in names:
        files[f"modules/{name}.py"] = (source / f"modules/{name}.py").read_text()
    # PyTorch unrolls its own containers only.
    files["modules/container.py"] = "from torch.nn import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential\n"
    operators = [n for n, f in vars(torch.nn.functional).items() if type(f).__name__ == "builtin_function_or_method"]
    files["functional.py"] += "\nimport torch.nn as torch_nn\n" + "".join(
        f"{n} = torch_nn.functional.{n}\n" for n in operators if f"\n{n} = " not in files["functional.py"])
    imports = "".join(f"from .modules.{n} import *\n" for n in order + [n for n in names if n not in order + ["utils"]])
    files["__init__.py"] = "from torch.nn.modules.module import Module\nfrom torch.nn import Parameter\nfrom . import init\n" + imports
    for name, text in files.items():
        for old, new in () if "container" in name or name == "__init__.py" else RENAMED:
            text = text.replace(old, new)
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text(text)
    sys.path.insert(0, str(target.parent))
    import sconce_nn
    return sconce_nn


def differ(got, want):
    a, b = torch.utils._pytree.tree_leaves(got), torch.utils._pytree.tree_leaves(want)
    if len(a) != len(b):
        return f"{len(a)} results, expected {len(b)}"
    for x, y in zip(a, b):
        if isinstance(y, torch.Tensor):
            if x.dtype != y.dtype or x.shape != y.shape:
                return f"{x.dtype} {list(x.shape)}, expected {y.dtype} {list(y.shape)}"
            if not torch.allclose(x, y, 1e-5, 1e-5 if x.dtype == torch.float32 else 1e-7, equal_nan=True):
                return f"off by {(x.double() - y.double()).abs().max()}"
        elif x != y:
            return f"{x}, expected {y}"
    return None


def check(nn, case):
    torch.manual_seed(case["init_seed"])
    module = getattr(nn, case["module"])(*case["args"], **case["kwargs"])
    state = module.state_dict()
    wanted = dict(case["state_dict"])
    if list(state) != list(wanted):
        return f"state {list(state)}, expected {list(wanted)}"
    for name, value in wanted.items():
        if not torch.allclose(state[name].double(), value.double(), 1e-6, 1e-7):
            return f"{name} begins otherwise"
    with torch.no_grad():
        for name, value in wanted.items():
            state[name].copy_(value)
    module.train(case["training"])
    if case["module"] in ("RNN", "GRU", "LSTM"):  # overloaded methods are called in scripts only
        module = Recurrent(module) if case["module"] != "LSTM" else RecurrentPair(module)
    inputs = [torch.tensor(x) if isinstance(x, tuple) and case["module"] == "CTCLoss" else
              x.clone() if isinstance(x, torch.Tensor) else x for x in case["inputs"]]
    compiled = torch.jit.script(module)
    torch.manual_seed(case["call_seed"])
    with torch.no_grad():
        return differ(compiled(*inputs, **case["input_kwargs"]), case["out"])


class Recurrent(torch.nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, input: torch.Tensor, hx: Optional[torch.Tensor] = None):
        return self.module(input, hx)


class RecurrentPair(torch.nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, input: torch.Tensor, hx: Optional[Tuple[torch.Tensor, torch.Tensor]] = None):
        return self.module(input, hx)


def main():
    warnings.simplefilter("ignore")
    nn = package()
    total = failed = 0
    for path in sorted((ROOT / "tests/conformance/modules").glob("*.safetensors")):
        if sys.argv[1:] and path.stem not in sys.argv[1:]:
            continue
        for i, case in enumerate(read_cases(path)):
            total += 1
            try:
                problem = check(nn, case)
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"
            if problem:
                failed += 1
                print(f"{path.stem}#{i} {case['args']} {case['kwargs']} training={case['training']}: {problem}"[:1500])
    print(f"{total} cases, {failed} differ")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
