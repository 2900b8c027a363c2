#!/usr/bin/env python3
"""Records anew what PyTorch draws of float16 and bfloat16. Usage: record_draws.py tests/conformance

The recordings are of PyTorch 2.11; 2.13 makes these draws in float32 and rounds them. Written are the results of
uniform and normal draws of 16-bit floats in facts/rng.safetensors, ops/ and leaf/, in place; all else stays. Needs PyTorch 2.13.
"""

import json
import pathlib
import struct
import sys

import torch

from recorded_cases import read_cases

DRAWS = {"aten::uniform", "aten::uniform_", "aten::normal_", "aten::normal.Tensor_Tensor", "aten::normal.Tensor_float",
         "aten::normal.float_Tensor", "aten::rand", "aten::rand_like", "aten::randn", "aten::randn_like"}
OF_SIZE = {"rand": lambda t: t.uniform_(), "randn": lambda t: t.normal_(), "uniform_": torch.Tensor.uniform_,
           "normal_": torch.Tensor.normal_}


class File:
    """A case file whose tensors may be replaced by others of their size."""

    def __init__(self, path):
        self.path, raw = path, path.read_bytes()
        size = 8 + struct.unpack("<Q", raw[:8])[0]
        self.head, self.data = raw[:size], bytearray(raw[size:])
        self.header = json.loads(raw[8:size])
        self.cases = json.loads(self.header["__metadata__"]["cases"])
        self.changed = 0

    def put(self, value, tensor):
        begin, end = self.header[value["t"]]["data_offsets"]
        new = bytes(tensor.contiguous().flatten().view(torch.uint8).tolist())
        assert len(new) == end - begin, self.path
        self.changed += self.data[begin:end] != new
        self.data[begin:end] = new

    def close(self):
        if self.changed:
            self.path.write_bytes(self.head + bytes(self.data))
            print(self.path.name, self.changed)


def of_16_bits(value):
    return isinstance(value, torch.Tensor) and value.dtype in (torch.float16, torch.bfloat16)


def operator(name):
    namespace, rest = name.split("::")
    base, _, overload = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")


def record_calls(path):
    file = File(path)
    for text, case in zip(file.cases, read_cases(path)):
        if case.get("op") not in DRAWS or not of_16_bits(case["out"]) or case.get("seed") is None:
            continue
        torch.manual_seed(case["seed"])
        drawn = operator(case["op"])(*case["args"], **case.get("kwargs", {}))
        file.put(text["out"], drawn)
        for mutated in text.get("mutated", {}).values():
            file.put(mutated, drawn)
    file.close()


def record_facts(path):
    file = File(path)
    for case in file.cases:
        name, arguments = case["expr"].rstrip(")").split("(", 1)
        arguments = arguments.split(", ")
        if name not in OF_SIZE or not arguments[1].endswith("float16"):
            continue
        torch.manual_seed(case["seed"])
        for call in case["calls"]:
            drawn = torch.empty(int(arguments[0]), dtype=getattr(torch, arguments[1]))
            file.put(call, OF_SIZE[name](drawn, *map(float, arguments[2:])))
    file.close()


def main():
    root = pathlib.Path(sys.argv[1])
    record_facts(root / "facts" / "rng.safetensors")
    for folder in ("ops", "leaf"):
        for path in sorted((root / folder).glob("*.safetensors")):
            record_calls(path)


main()
