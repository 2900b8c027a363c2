"""Every recorded call of an operator, made from Python: by the name of its function, which chooses the overload, and by the
overload itself. Both must give the recorded dtypes and sizes, and the same bits; their values are compared with PyTorch's by
sconce-conformance. Operators of other namespaces than aten have no function: sconce.ops.NAMESPACE.NAME stands for it. What PyTorch
refuses must raise its class of exception, with its words (a RuntimeError for an AssertionError).

    python3 python/tests/test_conformance.py tests/conformance/ops tests/conformance/leaf tests/conformance/prims
"""

import sys

import sconce
from cases import flat, run_cases
from sconce import _sconce


def describe(value):
    return (value.dtype, tuple(value.shape)) if isinstance(value, sconce.Tensor) else type(value)


def bits(value):
    if not isinstance(value, sconce.Tensor):
        return repr(value)
    if value.layout is not sconce.strided or value.is_meta:
        return describe(value)
    return value.detach().resolve_conj().resolve_neg().contiguous().reshape(-1).view(sconce.uint8).tolist() if value.numel() else []


def run(file, case, how):
    args = [file.value(a) for a in case["args"]]
    kwargs = {name: file.value(a) for name, a in case["kwargs"].items()}
    sconce.manual_seed(case.get("seed", 0))
    return how(*args, **kwargs)


def uninitialised(name):
    return "empty" in name or name.startswith("resize")


def check_refusal(file, case, how):
    wanted = case["raises"]
    try:
        run(file, case, how)
    except Exception as e:
        kind = "RuntimeError" if wanted["type"] == "AssertionError" else wanted["type"]
        fits = type(e).__name__ == kind and str(e).startswith(wanted["message"])
        return "" if fits else f"raises {type(e).__name__}: {e}, expected {kind}: {wanted['message']}"
    return f"accepted, expected {wanted['type']}: {wanted['message']}"


def check(file, case):
    """Nothing when all is well, else what is wrong."""
    namespace, _, qualified = case["op"].rpartition("::")
    name, _, overload = qualified.partition(".")
    packet = getattr(getattr(sconce.ops, namespace or "aten"), name)
    # The recording sometimes names another overload than PyTorch took (indices in a tensor, for tensor_split.indices).
    exact = packet if name == "tensor_split" else getattr(packet, overload or "default")
    # sconce.NAME, unless a function of Python stands before the operator
    function = _sconce._function(name) if namespace in ("", "aten") else packet
    if "raises" in case:
        return check_refusal(file, case, exact) or check_refusal(file, case, function)
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


if __name__ == "__main__":
    sys.exit(run_cases(sys.argv[1:], check, "op"))
