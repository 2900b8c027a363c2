"""Reads the case files under tests/conformance, for checks that run under PyTorch."""
import collections
import json
import struct

import torch


def read_cases(path, enums=None):
    """Yields the cases of a .safetensors file as dicts of values. `enums` makes members: enums(class name, member name)."""
    raw = path.read_bytes()
    n = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + n])
    types = {"F32": torch.float32, "F64": torch.float64, "I64": torch.int64, "I32": torch.int32, "BOOL": torch.bool,
             "F16": torch.float16, "BF16": torch.bfloat16, "U8": torch.uint8, "I16": torch.int16, "I8": torch.int8,
             "C64": torch.complex64, "C128": torch.complex128, "U16": torch.uint16, "U32": torch.uint32,
             "U64": torch.uint64, "F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2}

    def tensor(j):
        e = header[j["t"]]
        a, b = e["data_offsets"]
        data = bytearray(raw[8 + n + a:8 + n + b])
        t = torch.frombuffer(data, dtype=types[e["dtype"]]) if data else torch.empty(0, dtype=types[e["dtype"]])
        t = t.clone().reshape(e["shape"])
        if "strides" in j:
            s = torch.empty_strided(e["shape"], j["strides"], dtype=t.dtype)
            return t if 0 in j["strides"] else s.copy_(t)
        return t

    def value(j):
        if isinstance(j, list):
            return [value(x) for x in j]
        if not isinstance(j, dict):
            return j
        if "t" in j:
            return tensor(j)
        if "tuple" in j:
            return tuple(value(x) for x in j["tuple"])
        if "f" in j:
            return float(j["f"])
        if "dict" in j:
            return {value(k): value(v) for k, v in j["dict"]}
        if "c" in j:
            return complex(*j["c"])
        if "enum" in j and enums:
            return enums(*j["enum"])
        if "namedtuple" in j:
            name, fields, items = j["namedtuple"]
            return collections.namedtuple(name, fields)(*[value(x) for x in items])
        if "dtype" in j:
            return getattr(torch, j["dtype"])
        if "device" in j:
            return torch.device(j["device"])
        return j
    for case in json.loads(header["__metadata__"]["cases"]):
        yield {k: {n: value(x) for n, x in v.items()} if k in ("kwargs", "input_kwargs") else value(v)
               for k, v in case.items()}
