"""Records what PyTorch makes of programs of our own. Usage: record_scripts.py PROGRAMS.py OUT

PROGRAMS.py holds programs one after the other; each is a text of its own:

    # ---- name
    def name(x: int) -> int: ...
    # >>> 1
    # >>> -5

`# ---- name` begins a program whose function, or module class, of that name is called once for each line of arguments behind
`# >>>`. Everything that it needs stands in its text; typing's names, torch, math, nn, F and Tensor are there. `# ---- !name`
is a program that PyTorch refuses: its text goes to CompilationUnit. Written are OUT/scripts/<name>.safetensors (graph, calls,
results or errors) and OUT/errors/<file>.safetensors (refusals), in the format of tests/conformance. A call that draws random
numbers gets the same seed on both sides. Needs the environment that `make bench` makes.
"""

import enum
import json
import math
import pathlib
import re
import sys
import struct
import tempfile
import types
import typing

import torch

SEED = 7
DTYPES = {"bool": "BOOL", "uint8": "U8", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "float16": "F16",
          "bfloat16": "BF16", "float32": "F32", "float64": "F64", "complex64": "C64", "complex128": "C128"}


class Writer:
    """Values to the JSON of case files; tensors go aside."""

    def __init__(self):
        self.tensors = {}

    def value(self, v):
        if isinstance(v, torch.Tensor):
            name = f"t{len(self.tensors)}"
            self.tensors[name] = v.detach().clone().contiguous()
            return {"t": name} if v.is_contiguous() else {"t": name, "strides": list(v.stride())}
        if isinstance(v, enum.Enum):
            return {"enum": [type(v).__name__, v.name]}
        if isinstance(v, bool) or v is None or isinstance(v, (int, str)):
            return v
        if isinstance(v, float):
            return v if math.isfinite(v) else {"f": "nan" if v != v else "inf" if v > 0 else "-inf"}
        if isinstance(v, complex):
            return {"c": [v.real, v.imag]}
        if isinstance(v, torch.device):
            return {"device": str(v)}
        if isinstance(v, torch.dtype):
            return {"dtype": str(v).removeprefix("torch.")}
        if isinstance(v, tuple) and hasattr(v, "_fields"):
            return {"namedtuple": [type(v).__name__, list(v._fields), [self.value(e) for e in v]]}
        if isinstance(v, tuple):
            return {"tuple": [self.value(e) for e in v]}
        if isinstance(v, list):
            return [self.value(e) for e in v]
        if isinstance(v, dict):
            return {"dict": [[self.value(k), self.value(e)] for k, e in v.items()]}
        raise TypeError(f"a {type(v).__name__} cannot be recorded")

    def save(self, path, cases):
        header, data = {"__metadata__": {"cases": json.dumps(cases)}}, b""
        for name, tensor in self.tensors.items():
            raw = bytes(tensor.reshape(-1).view(torch.uint8).tolist()) if tensor.numel() else b""
            header[name] = {"dtype": DTYPES[str(tensor.dtype).removeprefix("torch.")], "shape": list(tensor.shape),
                            "data_offsets": [len(data), len(data) + len(raw)]}
            data += raw
        text = json.dumps(header).encode()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def namespace():
    names = {k: getattr(typing, k) for k in ("Any", "Dict", "List", "NamedTuple", "Optional", "Tuple", "Union", "Final")}
    return names | {"torch": torch, "math": math, "nn": torch.nn, "F": torch.nn.functional, "Tensor": torch.Tensor,
                    "enum": enum, "Enum": enum.Enum, "typing": typing}


def programs(text):
    for part in re.split(r"^# ---- ", text, flags=re.M)[1:]:
        name, body = part.split("\n", 1)
        calls = re.findall(r"^# >>> ?(.*)\n", body, flags=re.M)
        yield name.strip(), re.sub(r"^# >>>.*\n", "", body, flags=re.M).rstrip() + "\n", calls


def record(name, source, calls, folder, out):
    path = folder / f"{name}.py"
    path.write_text(source)
    # A module of its own: PyTorch looks the text of classes up there.
    module = sys.modules[name] = types.ModuleType(name)
    names = module.__dict__
    names.update(namespace(), __name__=name, __file__=str(path))
    exec(compile(source, str(path), "exec"), names)
    torch.manual_seed(SEED)
    thing = names[name]
    if isinstance(thing, type) and issubclass(thing, torch.nn.Module):
        thing = thing()
    scripted = torch.jit.script(thing)
    writer = Writer()

    def clean(text):  # without the folder, which is another one in every run
        return str(text).replace(f"{folder}/", "")

    cases = [{"name": name, "source": source, "graph": clean(scripted.graph), "seed": SEED, "program": name}]
    for call in calls:
        arguments = list(eval(f"({call},)" if call.strip() else "()", dict(names)))
        case = {"inputs": [writer.value(a) for a in arguments], "seed": SEED}
        torch.manual_seed(SEED)
        try:
            case["out"] = writer.value(scripted(*arguments))
        except Exception as error:
            case["error"] = clean(error)
        cases.append(case)
    writer.save(out / "scripts" / f"{name}.safetensors", cases)


def main():
    source, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    refusals, recorded, failed = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for name, text, calls in programs(source.read_text()):
            if name.startswith("!"):
                try:
                    torch.jit.CompilationUnit(text)
                    refusals.append({"name": name[1:], "source": text, "error": None})
                except Exception as error:
                    refusals.append({"name": name[1:], "source": text, "error": str(error)})
                continue
            try:
                record(name, text, calls, pathlib.Path(folder), out)
                recorded += 1
            except Exception as error:
                failed += 1
                print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
    if refusals:
        Writer().save(out / "errors" / f"{source.stem}.safetensors", refusals)
    print(f"{recorded} programs and {len(refusals)} refusals recorded, {failed} programs could not be scripted")


main()
