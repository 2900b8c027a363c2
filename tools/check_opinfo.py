#!/usr/bin/env python3
"""Runs the samples of PyTorch's own tests (OpInfo) in PyTorch and in Sconce, from Python, and compares.

    tools/check_opinfo.py [NAME...]        operators whose names contain a word; all without one

For an interpreter that has PyTorch 2.13, numpy, expecttest and hypothesis, with build/release/python in PYTHONPATH. Each sample
is called by the name of the function, as a user would: torch.add, torch.linalg.svd, torch.nn.functional.relu. Gradients of the
first result with respect to all float inputs are compared, too. The last lines say how many samples agree, and which names do
not exist here. For use before a release: no part of `make test`."""

import argparse
import collections
import math
import sys
import types
import warnings

import sconce  # before torch, so that an import after it is not all that is tried
import torch
from torch.testing._internal.common_methods_invocations import op_db

DTYPES = [torch.float32, torch.float64, torch.int64, torch.complex64]
TOLERANCE = {torch.float64: (1e-7, 1e-7), torch.float32: (1e-4, 1e-4), torch.complex64: (1e-4, 1e-4), torch.complex128: (1e-7, 1e-7),
             torch.float16: (1e-2, 1e-2), torch.bfloat16: (2e-2, 2e-2)}
# Results that are random, uninitialised, or one of several right ones.
NOT_UNIQUE = ("rand", "empty", "dropout", "bernoulli", "normal", "multinomial", "exponential", "cauchy", "geometric", "uniform", "svd", "eig", "qr",
              "lu", "lobpcg", "ormqr", "householder", "ldl", "pca", "lowrank", "resize", "as_strided_scatter", "argsort", "sort", "topk",
              "rrelu", "gumbel")
# Names that are not here, by the reason.
WHY_MISSING = {"programs that a GPU compiles at run time": ("jiterator_",),
               "functions over masked tensors, a prototype in PyTorch": ("masked.",),
               "not in the operator table": ("_segment_reduce", "hash_tensor", "nn.functional.linear_cross_entropy", "torch.ops.",
                                             "nn.functional.triplet_margin_with_distance_loss", "torch._scaled_mm", "_"),
               "not under this name: torch.ops.aten has the operators": ("sparse.",)}


def there(value):
    """A value of PyTorch as one of Sconce."""
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided or value.is_quantized:
            raise NotImplementedError("layout")
        plain = value.detach()
        flat = torch.as_strided(plain, (plain.untyped_storage().nbytes() // plain.element_size(),), (1,), 0).resolve_conj().resolve_neg()
        if flat.dtype is torch.bfloat16:
            memory = sconce.from_numpy(flat.view(torch.int16).numpy().copy()).view(sconce.bfloat16)
        else:
            memory = sconce.from_numpy(flat.numpy().copy())
        if plain.is_conj() or plain.is_neg():
            plain = plain.resolve_conj().resolve_neg().contiguous()
            return sconce.from_numpy(plain.numpy().copy())
        made = memory.as_strided(list(plain.shape), list(plain.stride()), plain.storage_offset())
        return made.clone() if made.is_contiguous() else made
    if isinstance(value, torch.dtype):
        return getattr(sconce, str(value).removeprefix("torch."))
    if isinstance(value, (torch.layout, torch.memory_format)):
        return getattr(sconce, str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return sconce.device(str(value))
    if isinstance(value, torch.Size):
        return tuple(value)
    if isinstance(value, (list, tuple)):
        return type(value)(there(v) for v in value) if not hasattr(value, "_fields") else tuple(there(v) for v in value)
    if isinstance(value, dict):
        return {name: there(v) for name, v in value.items()}
    return value


def flat(value):
    if isinstance(value, (list, tuple)):
        return [part for item in value for part in flat(item)]
    return [value]


def close(a, b, rtol, atol):
    if a == b or (a != a and b != b):
        return True
    if isinstance(a, complex) or isinstance(b, complex):
        a, b = complex(a), complex(b)
        return close(a.real, b.real, rtol, atol + rtol * abs(b)) and close(a.imag, b.imag, rtol, atol + rtol * abs(b))
    return not (math.isinf(a) or math.isinf(b)) and abs(a - b) <= atol + rtol * abs(b)


def difference(got, wanted, values):
    if not isinstance(wanted, torch.Tensor):
        if isinstance(wanted, (bool, int, float, complex)) and values:
            return "" if close(got, wanted, 1e-5, 1e-5) else f"{got}, expected {wanted}"
        return ""
    if not isinstance(got, sconce.Tensor):
        return f"{type(got).__name__}, expected a tensor"
    if str(got.dtype) != str(wanted.dtype) or tuple(got.shape) != tuple(wanted.shape):
        return f"{got.dtype} {tuple(got.shape)}, expected {wanted.dtype} {tuple(wanted.shape)}"
    if not values or wanted.layout is not torch.strided:
        return ""
    rtol, atol = TOLERANCE.get(wanted.dtype, (0, 0))
    wanted = wanted.detach().resolve_conj().resolve_neg().reshape(-1).tolist()
    largest = max((abs(v) for v in wanted if isinstance(v, (int, float, complex)) and math.isfinite(abs(v))), default=0)
    for x, y in zip(got.detach().reshape(-1).tolist(), wanted):
        if not close(x, y, rtol, atol + rtol * largest):
            return f"{x}, expected {y}"
    return ""


def function_of(op):
    """The function of the operator's name; where PyTorch's tests call it through one of their own, that one, over Sconce."""
    if isinstance(op.op, types.FunctionType) and op.op.__module__.startswith("torch.testing"):
        ours = {**op.op.__globals__, "torch": sconce, "F": sconce.nn.functional}
        return types.FunctionType(op.op.__code__, ours, op.op.__name__, op.op.__defaults__, op.op.__closure__)
    if op.name.startswith("__"):  # operators of Python: x.__radd__(y)
        return getattr(sconce.Tensor, op.name)
    found = sconce
    for part in op.name.split("."):
        found = getattr(found, part)
    return found if callable(found) else getattr(sconce.Tensor, op.name)  # torch.cdouble is a dtype, x.cdouble() a method


def check(op, function, sample, dtype):
    """What differs in a result or a gradient, or nothing; None when PyTorch itself refuses the sample."""
    inputs = [sample.input, *sample.args]
    unique = not any(word in op.name for word in NOT_UNIQUE)
    torch.manual_seed(0)
    try:
        ours = [there(v) for v in inputs]
        named = {name: there(v) for name, v in sample.kwargs.items()}
        wanted = op(sample.input, *sample.args, **sample.kwargs)
    except NotImplementedError:
        return None
    except Exception:
        return None
    grads = dtype.is_floating_point and unique and op.supports_autograd
    leaves, theirs = [], []
    if grads:
        for mine, their in zip(flat(ours), flat(inputs)):
            if isinstance(their, torch.Tensor) and their.requires_grad and their.is_leaf:
                leaves.append(mine.requires_grad_())
                theirs.append(their)
    sconce.manual_seed(0)
    got = function(*ours, **named)
    for mine, their in zip(flat(got), flat(wanted)):
        if problem := difference(mine, their, unique):
            return problem
    if len(flat(got)) != len(flat(wanted)):
        return f"{len(flat(got))} results, expected {len(flat(wanted))}"
    first = next((v for v in flat(wanted) if isinstance(v, torch.Tensor) and v.requires_grad and v.dtype.is_floating_point), None)
    if not leaves or first is None:
        return ""
    mine = flat(got)[[v is first for v in flat(wanted)].index(True)]
    expected = torch.autograd.grad(first.sum(), theirs, allow_unused=True)
    found = sconce.autograd.grad(mine.sum(), leaves, allow_unused=True)
    for a, b in zip(found, expected):
        if (a is None) != (b is None):
            if (a if b is None else b).abs().sum().item() != 0:
                return "a gradient is missing"
        elif b is not None and (problem := difference(a, b, True)):
            return f"gradient: {problem}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--samples", type=int, default=30, help="the most samples of one operator and dtype")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    passed, refused, missing, failures = 0, 0, [], collections.Counter()
    for op in op_db:
        if options.names and not any(word in op.name for word in options.names):
            continue
        try:
            function = function_of(op)
        except AttributeError:
            missing.append(op.name)
            continue
        for dtype in DTYPES:
            if dtype not in op.supported_dtypes("cpu"):
                continue
            try:
                samples = list(op.sample_inputs("cpu", dtype, requires_grad=dtype.is_floating_point and op.supports_autograd))
            except Exception:
                continue
            for index, sample in enumerate(samples[:options.samples]):
                try:
                    problem = check(op, function, sample, dtype)
                except Exception as error:
                    problem = f"{type(error).__name__}: {error}"
                if problem is None:
                    refused += 1
                elif problem:
                    failures[op.name] += 1
                    if failures[op.name] <= 2:
                        print(f"{op.name} {dtype} #{index}: {problem}".replace("\n", " ")[:300], flush=True)
                else:
                    passed += 1
    total = passed + sum(failures.values())
    print(f"{passed} of {total} samples agree ({100 * passed / max(total, 1):.2f} %); {refused} not compared")
    print("by operator:", dict(failures.most_common()))
    print(f"{len(set(missing))} names do not exist here:")
    for reason, words in WHY_MISSING.items():
        names = sorted({name for name in missing if any(name.startswith(word) for word in words)})
        missing = [name for name in missing if name not in names]
        if names:
            print(f"    {reason}:", *names)
    if missing:
        print("    without a reason known:", *sorted(set(missing)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
