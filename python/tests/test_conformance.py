"""Every recorded call of an operator, made from Python: by the name of its function, which chooses the overload, and by the
overload itself. Both must give the recorded dtypes and sizes, and the same bits; their values are compared with PyTorch's by
sconce-conformance.

    python3 python/tests/test_conformance.py tests/conformance/ops tests/conformance/leaf
"""

import pathlib
import sys

import sconce
from cases import CaseFile
from sconce import _sconce


def flat(value):
    if isinstance(value, (list, tuple)):
        return [part for item in value for part in flat(item)]
    return [value]


def describe(value):
    return (value.dtype, tuple(value.shape)) if isinstance(value, sconce.Tensor) else type(value)


def bits(value):
    if not isinstance(value, sconce.Tensor):
        return repr(value)
    if value.layout is not sconce.strided or value.is_meta:
        return describe(value)
    return value.detach().contiguous().reshape(-1).view(sconce.uint8).tolist() if value.numel() else []


def run(file, case, how):
    args = [file.value(a) for a in case["args"]]
    kwargs = {name: file.value(a) for name, a in case["kwargs"].items()}
    sconce.manual_seed(case.get("seed", 0))
    return how(*args, **kwargs)


def uninitialised(name):
    return any(word in name for word in ("empty", "resize", "set_", "new_empty"))


def check(file, case):
    """Nothing when all is well, else what is wrong; None for what Python has no function for."""
    name, _, overload = case["op"].removeprefix("aten::").partition(".")
    packet = getattr(sconce.ops.aten, name)
    # The recording sometimes names another overload than PyTorch took (indices in a tensor, for tensor_split.indices).
    exact = packet if name == "tensor_split" else getattr(packet, overload or "default")
    try:
        function = _sconce._function(name)  # sconce.NAME, unless a function of Python stands before the operator
    except AttributeError:
        return None
    wanted = [describe(v) for v in flat(file.value(case["out"]))]
    by_overload = flat(run(file, case, exact))
    by_name = flat(run(file, case, function))
    for what, got in (("overload", by_overload), ("name", by_name)):
        shown = [describe(v) for v in got]
        if shown != wanted and not (wanted == [type(None)] and not shown):
            return f"by {what}: {shown}, expected {wanted}"
    if not uninitialised(name) and [bits(v) for v in by_overload] != [bits(v) for v in by_name]:
        return "other bits by name than by overload"
    return ""


def main(folders):
    passed, absent, failed = 0, 0, []
    for folder in folders:
        for path in sorted(pathlib.Path(folder).glob("*.safetensors")):
            file = CaseFile(path)
            for index, case in enumerate(file.cases):
                try:
                    problem = check(file, case)
                except Exception as error:  # whatever a call raises is its result
                    problem = f"{type(error).__name__}: {error}"
                if problem is None:
                    absent += 1
                elif problem:
                    failed.append(f"{folder}/{path.name}#{index} {case['op']}: {problem}")
                else:
                    passed += 1
    for line in failed:
        print(line)
    print(f"{passed} passed, {len(failed)} failed, {absent} without a function")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
