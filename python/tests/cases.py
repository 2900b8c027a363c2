"""Recorded cases in Python: reads the case files of tests/conformance (their forms: sconce/testing/conformance/case_value.h)."""

import json
import math
import pathlib
import struct

import sconce

DTYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32", "I16": "int16",
          "I8": "int8", "U8": "uint8", "BOOL": "bool", "C64": "complex64", "C128": "complex128"}


class CaseFile:
    def __init__(self, path):
        data = pathlib.Path(path).read_bytes()
        (size,) = struct.unpack("<Q", data[:8])
        self.entries = json.loads(data[8:8 + size])
        self.bytes = data[8 + size:]
        self.cases = json.loads(self.entries.pop("__metadata__")["cases"])

    def tensor(self, name, strides=None):
        entry = self.entries[name]
        begin, end = entry["data_offsets"]
        dtype = getattr(sconce, DTYPES[entry["dtype"]])
        raw = sconce.tensor(list(self.bytes[begin:end]), dtype=sconce.uint8)
        flat = raw.view(dtype) if end > begin else sconce.empty(0, dtype=dtype)
        tensor = flat.reshape(entry["shape"])
        if strides is None:
            return tensor.clone()
        extent = 1 + sum((n - 1) * s for n, s in zip(entry["shape"], strides)) if tensor.numel() else 0
        placed = sconce.zeros(extent, dtype=dtype).as_strided(entry["shape"], strides)
        # Elements may overlap, in expanded views: then they are equal.
        if tensor.numel():
            placed.copy_(tensor) if 0 not in strides else _fill(placed, tensor)
        return placed

    def value(self, form):
        if isinstance(form, list):
            return [self.value(item) for item in form]
        if not isinstance(form, dict):
            return form
        kind = next(iter(form))
        what = form[kind]
        if kind == "t":
            return self.tensor(what, form.get("strides"))
        if kind == "f":
            return float(what)
        if kind == "c":
            return complex(*(self.value(part) for part in what))
        if kind in ("dtype", "memory_format", "layout"):
            return getattr(sconce, what)
        if kind == "device":
            return sconce.device(what)
        if kind == "tuple":
            return tuple(self.value(item) for item in what)
        if kind == "sparse":
            raise NotImplementedError("sparse")
        raise ValueError(f"unknown form {kind}")


def _fill(placed, tensor):
    """Writes elements one by one, since copy_ refuses memory that overlaps."""
    flat = placed.as_strided([1 + sum((n - 1) * s for n, s in zip(placed.shape, placed.stride()))], [1])

    def walk(prefix, at):
        d = len(prefix)
        if d == placed.dim():
            flat[at] = tensor[tuple(prefix)] if prefix else tensor
            return
        for i in range(placed.shape[d]):
            walk([*prefix, i], at + i * placed.stride(d))

    walk([], 0)


def flat(value):
    """What is in nested lists and tuples."""
    if isinstance(value, (list, tuple)):
        return [part for item in value for part in flat(item)]
    return [value]


# Those of sconce/testing/compare/compare.h for accumulated results: relative, absolute, of the largest element.
TOLERANCES = {sconce.float64: (1e-7, 1e-7, 1e-7), sconce.float32: (1.3e-6, 1e-5, 1e-4), sconce.bfloat16: (1.6e-2, 1e-5, 1.6e-2),
              sconce.float16: (1e-3, 1e-5, 1e-3), sconce.complex128: (1e-7, 1e-7, 1e-7), sconce.complex64: (1.3e-6, 1e-5, 1e-4)}


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


def run_cases(folders, check, name, excused=()):
    """Runs check(file, case), which says what is wrong, over all cases; the exit status. `name`: of a case, in the report; `excused`:
    cases that are left out, as folder/file#number."""
    passed, failed = 0, []
    for folder in folders:
        for path in sorted(pathlib.Path(folder).glob("*.safetensors")):
            file = CaseFile(path)
            for index, case in enumerate(file.cases):
                if f"{path.parent.name}/{path.name}#{index}" in excused:
                    continue
                try:
                    problem = check(file, case)
                except Exception as error:  # whatever a call raises is its result
                    problem = f"{type(error).__name__}: {error}"
                if problem is None:
                    continue
                if problem:
                    failed.append(f"{folder}/{path.name}#{index} {case[name]}: {problem}")
                else:
                    passed += 1
    for line in failed:
        print(line)
    print(f"{passed} passed, {len(failed)} failed")
    return 1 if failed or not passed else 0
