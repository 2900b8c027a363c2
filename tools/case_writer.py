"""Writes case files: values as JSON, tensors beside them, in the format of tests/conformance."""

import ctypes
import enum
import json
import math
import struct

import torch

DTYPES = {"bool": "BOOL", "uint8": "U8", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "float16": "F16",
          "bfloat16": "BF16", "float32": "F32", "float64": "F64", "complex64": "C64", "complex128": "C128",
          "uint16": "U16", "uint32": "U32", "uint64": "U64", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2"}


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
        if isinstance(v, torch.memory_format):
            return {"memory_format": str(v).removeprefix("torch.")}
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
        header, data = {"__metadata__": {"cases": json.dumps(cases)}}, bytearray()
        for name, tensor in self.tensors.items():
            raw = ctypes.string_at(tensor.data_ptr(), tensor.nbytes)
            header[name] = {"dtype": DTYPES[str(tensor.dtype).removeprefix("torch.")], "shape": list(tensor.shape),
                            "data_offsets": [len(data), len(data) + len(raw)]}
            data += raw
        text = json.dumps(header).encode()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def tensors(value):
    """Every tensor in a value."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from tensors(v)
    elif isinstance(value, dict):
        yield from tensors(list(value.values()))
