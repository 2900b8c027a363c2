"""PyTorch's half of the comparison: the rows of rows/rows.cpp, in PyTorch.

Reads one command a line and answers each with one line:
  info                     JSON: version, instruction set, BLAS, allocator settings
  time ROW THREADS SECONDS nanoseconds of one call, the least over batches that together take about SECONDS
  result ROW               JSON: the row's result, at most 256 elements of it, evenly spaced
  memory ROW THREADS       JSON: bytes of tensors at the peak of making the row's inputs and of three calls, in use; of ours
                           also those taken from the system
An answer that begins with "error" says why there is none.

Statements are timed as source text by timeit, so that a call costs what it costs a Python program: no wrapper function,
but Python's own call. Rows named `... scripted` run inside TorchScript's interpreter instead, without Python.
"""
import json
import math
import os
import pathlib
import sys
import tempfile
import timeit

import numpy as np
import torch
import torch.nn.functional as F


HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))  # scripts.py, training.py
import training


# The inputs, bit for bit those of rows/inputs.h: a multiplicative hash of the element's number.
def hashes(numel, seed):
    return (np.arange(numel, dtype=np.uint32) + np.uint32(seed * 7919)) * np.uint32(2654435761)


def uniform(numel, seed, low=-1.0, high=1.0):
    x = (hashes(numel, seed) >> np.uint32(8)).astype(np.float32) / np.float32(1 << 24)
    return torch.from_numpy(x * (np.float32(high) - np.float32(low)) + np.float32(low))


def index(sizes, seed, below):
    numbers = (hashes(math.prod(sizes), seed) >> np.uint32(8)).astype(np.int64) % below
    return torch.from_numpy(numbers).view(sizes)


class Inputs:
    """Reads the arguments of a row of families.json (rows/family_rows.h describes it); each tensor has its own seed."""

    def __init__(self):
        self.seed = 0

    def read(self, value):
        if isinstance(value, list):
            return [self.read(v) for v in value]
        if not isinstance(value, dict):
            return value
        if set(value) == {"dtype"}:
            return getattr(torch, value["dtype"])
        if set(value) == {"memory_format"}:
            return getattr(torch, value["memory_format"])
        self.seed += 1
        return self.tensor(value, self.seed)

    @staticmethod
    def tensor(value, seed):
        if "index" in value:
            return index(value["index"], seed, value["below"])
        if "mask" in value:
            bits = hashes(math.prod(value["mask"]), seed) >> np.uint32(20) & np.uint32(1)
            return torch.from_numpy(bits != 0).view(value["mask"])
        if "ramp" in value:
            n = value["ramp"][0]
            return torch.from_numpy(np.arange(n, dtype=np.float32) * (np.float32(2) / np.float32(n)) - np.float32(1))
        if "gram" in value:
            sizes = value["gram"] + value["gram"][-1:]
            half = uniform(math.prod(sizes), seed).view(sizes)
            return (half + half.mT) / 2 + sizes[-1] * torch.eye(sizes[-1])
        tensor = uniform(math.prod(value["tensor"]), seed, value.get("low", -1.0), value.get("high", 1.0))
        tensor = tensor.view(value["tensor"])
        if "transpose" in value:
            tensor = tensor.transpose(*value["transpose"])
        if "format" in value:
            tensor = tensor.contiguous(memory_format=getattr(torch, value["format"]))
        return tensor.to(getattr(torch, value["dtype"])) if "dtype" in value else tensor


def scalar_chain(x, a, b):
    for _ in range(500):
        x = x * a
        x = x + b
    return x


SMALL = "a, b = uniform(8, 1), uniform(8, 2)"
LARGE = "a, b, c = uniform(1 << 24, 1), uniform(1 << 24, 2), uniform(1 << 24, 3)"
CHAIN = "x, a, b = torch.tensor(1.0), torch.tensor(0.999), torch.tensor(0.5)"
MATRIX = "a, b = uniform({0} * {0}, 1).view({0}, {0}), uniform({0} * {0}, 2).view({0}, {0})"

# Row: what is made before, what is timed.
ROWS = {
    "add 8": (SMALL, "torch.add(a, b)"),
    "empty 8": ("n = [8]", "torch.empty(n)"),
    "view 8": (SMALL + "; n = [2, 4]", "a.view(n)"),
    "add_out 8": (SMALL + "; out = torch.empty(8)", "torch.add(a, b, out=out)"),
    "boxed add 8": (SMALL + "; op = torch.ops.aten.add.Tensor", "op(a, b)"),
    "chain of 1000": (CHAIN, "scalar_chain(x, a, b)"),
    "chain of 1000, scripted": (CHAIN + "; run = torch.jit.script(scalar_chain)", "run(x, a, b)"),
    "pointwise chain 16M": (LARGE, "a.mul(b).add(c).sigmoid().mul(a)"),
    "sum 16M": ("a = uniform(1 << 24, 1, 0.0)", "torch.sum(a)"),
    "softmax 16M": ("a = uniform(1 << 24, 1).view(-1, 1024)", "F.softmax(a, -1)"),
    "layer_norm 16M": (
        "a, w, b, n = uniform(1 << 24, 1).view(-1, 1024), uniform(1024, 2), uniform(1024, 3), [1024]",
        "F.layer_norm(a, n, w, b)",
    ),
    "matmul 64": (MATRIX.format(64), "torch.mm(a, b)"),
    "matmul 256": (MATRIX.format(256), "torch.mm(a, b)"),
    "matmul 1024": (MATRIX.format(1024), "torch.mm(a, b)"),
}

# Rows of scripts: rows/script_rows.h describes them.
SCRIPTS = "import scripts; run = torch.jit.script(scripts.{0}); n = 1000"
for name in ("int_loop", "float_loop", "list_append", "list_get", "dict_update", "dict_update_str", "str_concat", "method_call"):
    ROWS["script " + name] = (SCRIPTS.format(name), "run(n)")
ROWS["script add_loop"] = (SCRIPTS.format("add_loop") + "; x = uniform(8, 1)", "run(x, n)")
ROWS["script of 200 kinds"] = ("run = many_kinds(); x = [uniform(8, r + 1, 0.125, 0.875) for r in range(5)]", "run(*x)")
ROWS["script MLP-50"] = ("run = torch.jit.script(filled_mlp()); x = uniform(64, 1000).view(1, 64)", "run(x)")


# Rows of program files: rows/model_rows.h describes them.
MODELS = {model["model"]: model for model in json.loads((HERE / "models.json").read_text())}
for name, model in MODELS.items():
    made = f"path = {str(HERE.parent / model['file'])!r}; run = torch.jit.load(path); inputs = Inputs(); x = [inputs.read(a) for a in MODELS[{name!r}]['args']]"
    ROWS["load " + name] = (made, "torch.jit.load(path)")
    ROWS["model " + name] = (made, "run(*x)")


# Rows that train: rows/training.h describes them.
for name in training.MODELS:
    ROWS[name] = (f"run = training.Training({name!r}, uniform, index)", "run.step()")


def many_kinds():
    """l[r] = kind of x_r and the tensor after it, 1,000 times."""
    kinds = (HERE / "script_kinds.txt").read_text().splitlines()
    text = "from typing import List\n\nimport torch\nfrom torch import Tensor\n\n\ndef many_kinds(x0: Tensor, x1: Tensor, x2: Tensor, x3: Tensor, x4: Tensor) -> List[Tensor]:\n"
    text += "".join(f"    x{r} = x{r}.clone()\n" for r in range(5)) + "    l = [x0, x1, x2, x3, x4]\n"
    for i in range(5 * len(kinds)):
        r, k = divmod(i * 37 % (5 * len(kinds)), len(kinds))
        text += f"    l[{r}] = {kinds[k].format(x=f'x{r}', y=f'x{(r + 1) % 5}')}\n"
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "many_kinds_text.py").write_text(text + "    l.append(x0)\n    return l\n")
        sys.path.insert(0, folder)
        import many_kinds_text
        return torch.jit.script(many_kinds_text.many_kinds)


def filled_mlp():
    import scripts

    module = scripts.Mlp()
    for seed, p in enumerate(module.parameters()):
        p.data = uniform(p.numel(), seed + 1, -0.125, 0.125).view(p.shape)
    return module


for family in json.loads((HERE / "families.json").read_text()):
    ROWS[family["row"]] = family


def call_of(family):
    """What is made before, and the statement, of a row of families.json."""
    inputs = Inputs()
    op = torch.ops
    for name in family["op"].replace("::", ".").split("."):
        op = getattr(op, name)
    args = [inputs.read(a) for a in family["args"]]
    named = {k: inputs.read(v) for k, v in family.items() if k not in ("row", "op", "args", "result", "random")}
    return {"op": op, "args": args, "named": named}, "op(*args, **named)"


class Work:
    """One row, with its inputs made. The last one is kept, since making 16 M floats takes longer than using them."""

    def __init__(self, row):
        self.row = row
        self.names = dict(globals())
        if isinstance(ROWS[row], dict):
            made, self.statement = call_of(ROWS[row])
            self.names.update(made)
            self.which = ROWS[row].get("result", 0)
        else:
            setup, self.statement = ROWS[row]
            exec(setup, self.names)
        self.timer = timeit.Timer(self.statement, globals=self.names)

    def time(self, seconds):
        clock = timeit.default_timer
        calls = 1
        least = self.timer.timeit(1)
        while least * calls < 1e-3 and calls < 1 << 20:
            calls *= 4
            least = min(least, self.timer.timeit(calls) / calls)
        end = clock() + seconds
        while clock() < end:
            least = min(least, self.timer.timeit(calls) / calls)
        return least * 1e9

    def result(self):
        if isinstance(self.names.get("run"), training.Training):
            return training.losses(self.row, uniform, index).tolist()
        result = eval(self.statement, self.names)
        if isinstance(result, torch.jit.ScriptModule):
            result = eval("run(*x)", self.names)
        if isinstance(result, dict):
            result = next(iter(result.values()))
        if isinstance(result, tuple):
            result = result[self.which]
        if isinstance(result, list):
            result = result[-1]
        if isinstance(result, str):
            result = len(result)
        if not isinstance(result, torch.Tensor):
            result = torch.tensor(result)
        if result.is_complex():
            result = torch.view_as_real(result)
        flat = result.float().reshape(-1)
        return flat[:: -(-flat.numel() // 256)].tolist()


def three_calls(row):
    work = Work(row)
    for _ in range(3):
        eval(work.statement, work.names)
    return work


def info():
    config = torch.__config__.show()
    lines = [line.strip(" -") for line in config.splitlines()]
    wanted = ("CPU capability", "Intel(R) oneAPI", "Intel(R) MKL-DNN", "OpenMP")
    return {
        "version": torch.__version__,
        "build": [line.partition(" for ")[0].partition(" (")[0] for line in lines if line.startswith(wanted)],
        "blas": next((part.strip() for part in config.split(",") if "BLAS_INFO" in part), "").rpartition("BLAS_INFO=")[2],
        "malloc": os.environ.get("GLIBC_TUNABLES", "glibc's defaults"),
        "mode": "torch.inference_mode(), but for training",
    }


def answer(command, works):
    verb, *arguments = command.split("\t")
    if verb == "info":
        return json.dumps(info())
    row = arguments[0]
    if row not in ROWS:
        return "error no such row"
    if verb == "memory":
        torch.set_num_threads(int(arguments[1]))
        return json.dumps([training.peak_bytes(lambda: three_calls(row))])
    if row not in works:
        works.clear()
        works[row] = Work(row)
    if verb == "time":
        torch.set_num_threads(int(arguments[1]))
        return repr(works[row].time(float(arguments[2])))
    return json.dumps(works[row].result())


def main():
    works = {}
    with torch.inference_mode():
        for line in sys.stdin:
            try:
                print(answer(line.rstrip("\n"), works), flush=True)
            except Exception as error:
                print("error", " ".join(str(error).split()), flush=True)


if __name__ == "__main__":
    main()
