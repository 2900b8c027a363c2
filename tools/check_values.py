#!/usr/bin/env python3
"""Calls operators with special values in PyTorch and in Sconce, and compares results, gradients and second gradients.

    tools/check_values.py [--calls 60] [--seed 0] [NAME...]      operators whose names contain a word; all without one

For an interpreter with PyTorch 2.13 and numpy, with build/release/python in PYTHONPATH. The recorded calls of
tests/conformance are the seeds. A mutation shrinks dimensions (to 0, too), changes dtypes, writes special values (NaN,
infinities, zeros of both signs, denormals, ties, extreme integers), changes numbers and memory layouts (permuted, with gaps,
at an offset, expanded, channels last), and gives bools other bytes than 1. A line for each operator and kind of difference
names the smallest call: `accepts` is a call that PyTorch refuses, `refuses` one that it takes. Each file of recordings runs in
a process of its own, since PyTorch crashes for some calls. PyTorch leaves many of the differences open (orders of infinities
in sums): a reader decides. For use before a release: no part of `make test`."""

import argparse
import collections
import json
import math
import os
import pathlib
import random
import signal
import sys
import time
import warnings

import numpy
import sconce
import torch
from recorded_cases import read_cases

ROOT = pathlib.Path(__file__).resolve().parents[1]
FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex64, torch.complex128)
DTYPES = (*FLOATS, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)
SPECIAL = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, 1e-40, 600.0, 1e-6)
RANDOM = ("rand", "empty", "dropout", "bernoulli", "normal", "multinomial", "exponential", "cauchy", "geometric", "uniform", "lowrank",
          "rrelu", "gumbel", "poisson", "binomial", "dirichlet", "_standard_gamma", "resize", "set_", "new_", "lobpcg", "sparse", "quantize")
# Of several right results only the sizes and dtypes are compared.
FREE = ("svd", "eig", "qr", "lu", "ormqr", "householder", "ldl", "argsort", "topk", "geqrf", "lstsq")
# Arguments whose integers are places: their values stay.
PLACES = ("index", "indices", "target", "targets", "offsets", "input_lengths", "target_lengths", "lengths", "batch_sizes", "offset2bag",
          "tensor_indices_or_sections", "bag_size", "maximum_indices", "max_indices", "pivots", "LU_pivots", "repeats", "sorter", "tau")
TOLERANCE = {torch.float64: 1e-6, torch.complex128: 1e-6, torch.float16: 2e-2, torch.bfloat16: 6e-2}


def mapped(value, f):
    if isinstance(value, torch.Tensor):
        return f(value)
    if isinstance(value, (list, tuple)):
        return [mapped(v, f) for v in value]
    return {name: mapped(v, f) for name, v in value.items()} if isinstance(value, dict) else value


def flat(value):
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else None
    return [value] if items is None else [part for item in items for part in flat(item)]


def tensors(value, kind=torch.Tensor):
    return [part for part in flat(value) if isinstance(part, kind)]


def memory(t):
    bytes_ = torch.empty(0, dtype=torch.uint8).set_(t.untyped_storage(), 0, (t.untyped_storage().nbytes(),), (1,))
    return bytes_[:bytes_.numel() // t.element_size() * t.element_size()].numpy().copy()


def copied(t):
    """A tensor with the same bytes, strides and offset."""
    return torch.empty(0, dtype=t.dtype).set_(torch.from_numpy(memory(t)).untyped_storage(), t.storage_offset(), t.shape, t.stride())


def there(value):
    """A value of PyTorch as one of Sconce, with the same bytes, strides and offsets."""
    if isinstance(value, torch.Tensor):
        dtype = getattr(sconce, str(value.dtype)[6:])
        data = memory(value.detach())
        made = sconce.from_numpy(data).view(dtype) if data.size else sconce.empty(0, dtype=dtype)
        return made.as_strided(list(value.shape), list(value.stride()), value.storage_offset())
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return getattr(sconce, str(value)[6:])
    if isinstance(value, torch.device):
        return sconce.device(str(value))
    if isinstance(value, (list, tuple)):
        return type(value)(there(v) for v in value)
    return {name: there(v) for name, v in value.items()} if isinstance(value, dict) else value


class Mutation:
    """A random change of a recorded call's arguments."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def one_of(self, *choices):
        return self.random.choice(choices)

    def shrunk(self, call):
        sizes = sorted({size for t in tensors(call) for size in t.shape if size})
        if not sizes:
            return call
        size, length = self.random.choice(sizes), self.one_of(0, 1, 1, 2)

        def cut(t):
            for d in range(t.dim()):
                t = t.narrow(d, 0, min(length, size)) if t.shape[d] == size else t
            return t.clone()
        return mapped(call, cut)

    def converted(self, t, dtype):
        if dtype is torch.bool:
            return t != 0
        return (t.real if t.dtype.is_complex and not dtype.is_complex else t).to(dtype)

    def valued(self, t, mode):
        t = t.detach().clone()
        values = t.reshape(-1)
        for i in range(values.numel()):
            if t.dtype is torch.bool:
                values[i] = self.random.random() < 0.5
            elif t.dtype in FLOATS and (mode != "mixed" or self.random.random() < 0.3):
                values[i] = self.one_of(*SPECIAL) if mode == "mixed" else self.one_of(*mode)
            elif t.dtype not in FLOATS and (mode != "mixed" or self.random.random() < 0.3):
                info = torch.iinfo(t.dtype)
                values[i] = self.one_of(0, 1, info.min, info.max, 2, 3) if mode == "mixed" else self.one_of(0, 1, 2)
        return values.reshape(t.shape)

    def laid_out(self, t, how):
        if t.dim() == 0 or how == "dense":
            return t
        if how == "permuted":
            order = self.random.sample(range(t.dim()), t.dim())
            return t.permute(order).contiguous().permute([order.index(d) for d in range(t.dim())])
        if how == "gaps":
            return torch.zeros([*t.shape[:-1], 2 * t.shape[-1]], dtype=t.dtype)[..., ::2].copy_(t)
        if how == "offset":
            return torch.zeros(t.numel() + 3, dtype=t.dtype)[1:1 + t.numel()].view(t.shape).copy_(t)
        if how == "expanded":
            d = self.random.randrange(t.dim())
            return t.narrow(d, 0, 1).expand(t.shape) if t.shape[d] else t
        return t.contiguous(memory_format=torch.channels_last) if t.dim() == 4 else t

    def bytes_varied(self, t):
        if t.dtype is not torch.bool or t.numel() == 0:
            return t
        given = t.contiguous().clone().reshape(-1).view(torch.uint8)
        factors = torch.tensor([self.one_of(1, 2, 128, 255) for _ in range(given.numel())], dtype=torch.uint8)
        return (given * factors).view(torch.bool).reshape(t.shape)

    def __call__(self, schema, case):
        named = dict(zip([a.name for a in schema.arguments], case["args"])) | case["kwargs"]
        for _ in range(self.one_of(0, 0, 1, 2)):
            named = self.shrunk(named)
        if self.random.random() < 0.1:
            named = mapped(named, lambda t: t.reshape(-1)[0].clone() if t.numel() else t)
        main, dtype = next((t.dtype for t in tensors(named)), None), self.random.choice(DTYPES)
        chance, only = self.random.random(), self.random.choice(list(named) or [""])
        mode = self.random.choice(["mixed", "mixed", (-1.0, 0.0, 1.0, 2.0), (0.0,), (math.nan,), (math.inf, -math.inf, 0.0, 1.0), None])
        layout = self.one_of("dense", "dense", "permuted", "gaps", "offset", "dense" if schema.is_mutable else "expanded", "channels last")
        for name, value in named.items():
            if name in PLACES:
                continue
            if chance < 0.3 or (chance < 0.4 and name == only):
                value = mapped(value, lambda t: self.converted(t, dtype) if t.dtype == main or chance >= 0.3 else t)
            if mode:
                value = mapped(value, lambda t: self.valued(t, mode))
            named[name] = mapped(value, lambda t: self.bytes_varied(self.laid_out(t, layout)))
        for a in schema.arguments:
            if a.name in named and str(a.type) in ("float", "number", "Optional[number]", "Optional[float]") and self.random.random() < 0.1:
                named[a.name] = self.one_of(0.0, 1.0, -1.0, 2.0, 0.5, math.inf, math.nan, *((2, -3, True, 1 + 2j) if "number" in str(a.type) else ()))
        return named


def numbers(t):
    t = t.detach()
    if isinstance(t, torch.Tensor):
        t = torch.zeros(t.shape, dtype=t.dtype) if t._is_zerotensor() else t.resolve_conj().resolve_neg()
    name = str(t.dtype).split(".")[1]
    module = torch if isinstance(t, torch.Tensor) else sconce
    t = t.to(module.float32) if name in ("float16", "bfloat16") else t.to(module.uint8) if name == "bool" else t
    return t.contiguous().numpy()


def difference(got, wanted, values=True):
    """A kind of difference and what differs, or nothing."""
    if isinstance(wanted, (list, tuple)):
        if len(got) != len(wanted):
            return "results", f"{len(got)}, expected {len(wanted)}"
        return next((d for d in (difference(g, w, values) for g, w in zip(got, wanted)) if d), None)
    if not isinstance(wanted, torch.Tensor) or wanted.layout is not torch.strided:
        return None
    if str(got.dtype)[6:] != str(wanted.dtype)[6:] and str(got.dtype).split(".")[1] != str(wanted.dtype).split(".")[1]:
        return "dtype", f"{got.dtype}, expected {wanted.dtype}"
    if tuple(got.shape) != tuple(wanted.shape):
        return "sizes", f"{tuple(got.shape)}, expected {tuple(wanted.shape)}"
    if not values or wanted.numel() == 0:
        return None
    a, b = numbers(got), numbers(wanted)
    with numpy.errstate(all="ignore"):
        wrong = a != b
        if a.dtype.kind in "fc":
            finite = numpy.isfinite(b)
            largest = numpy.abs(b[finite]).max() if finite.any() else 0
            near = numpy.abs(a - b) <= TOLERANCE.get(wanted.dtype, 2e-3) * (numpy.abs(b) + 1e-2 * largest) + 1e-37
            wrong &= ~(numpy.isnan(a) & numpy.isnan(b)) & ~near & ~((a.dtype.kind == "c") & ~numpy.isfinite(a) & ~finite)
        if not wrong.any():
            return None
        at = tuple(int(d[0]) for d in numpy.nonzero(wrong)) if a.ndim else ()
        kind = "value" if numpy.isfinite(a[at]) and numpy.isfinite(b[at]) else "nan or infinity"
        return kind, f"at {at} {a[at]}, expected {b[at]}"


def both(label, ours, theirs):
    """Results of both, or the difference between their refusals; None when both refuse."""
    results, errors = [], []
    for function in (ours, theirs):
        try:
            results.append(function())
            errors.append(None)
        except Exception as error:
            results.append(None)
            errors.append(f"{type(error).__name__}: {str(error)[:120]}")
    if errors[0] and errors[1]:
        return None, None
    found = (label + "refuses", errors[0]) if errors[0] else (label + "accepts", errors[1]) if errors[1] else None
    return results, found


def compare(op, named, chance):
    """What differs in a call, its gradients, and theirs."""
    schema = op[0]._schema
    mine, theirs = there(named), mapped(named, copied)
    leaves, our_leaves = [], []
    if not schema.is_mutable:
        for a, b in zip(flat(theirs), flat(mine)):
            if isinstance(a, torch.Tensor) and a.dtype in FLOATS:
                leaves.append(a.requires_grad_())
                our_leaves.append(b.requires_grad_())
    results, found = both("", lambda: op[1](**mine), lambda: op[0](**theirs))
    if found or results is None:
        return found
    unique = not any(word in str(op[0]) for word in FREE)
    if found := difference(results[0], results[1], unique):
        return found
    if schema.is_mutable and (found := difference(tensors(mine, sconce.Tensor), tensors(theirs))):
        return "written " + found[0], found[1]
    ours, wanted = tensors(results[0], sconce.Tensor), tensors(results[1])
    for label in ("gradient: ", "second gradient: ") if unique and leaves else ():
        picked = [i for i, t in enumerate(wanted) if t is not None and t.requires_grad and ours[i] is not None and ours[i].requires_grad]
        if not picked:
            return None
        weights = [torch.full_like(wanted[i].detach(), chance.choice((1.0, -1.0, 0.5, 2.0))) for i in picked]
        options = {"allow_unused": True, "create_graph": True}
        pair = both(label, lambda: sconce.autograd.grad([ours[i] for i in picked], our_leaves, [there(w) for w in weights], **options),
                    lambda: torch.autograd.grad([wanted[i] for i in picked], leaves, weights, **options))
        if pair[1] or pair[0] is None:
            return pair[1]
        ours, wanted = pair[0]
        for a, b in zip(ours, wanted):
            if a is not None and b is not None and (found := difference(a, b)):
                return label + found[0], found[1]
            if (a is None) != (b is None) and (numbers(b if a is None else a) != 0).any():
                return label + "none", f"{'none' if a is None else 'there'}, expected the other"
    return None


def check(path, words, calls, seed):
    """The smallest call for each operator and kind of difference."""
    cases, found = collections.defaultdict(list), {}
    for case in read_cases(path):
        if "args" in case and not any(word in case["op"] for word in RANDOM) and sum(t.numel() for t in tensors(case["args"])) < 3000:
            cases[case["op"]].append(case)
    for name, group in cases.items():
        if words and not any(word in name for word in words):
            continue
        namespace, base = name.split("::")
        base, _, overload = base.partition(".")
        try:
            op = [getattr(getattr(getattr(module.ops, namespace), base), overload or "default") for module in (torch, sconce)]
        except AttributeError:
            continue
        mutate, end = Mutation(f"{name} {seed}"), time.time() + calls / 10
        for _ in range(calls):
            if time.time() > end:
                break
            try:
                named = mutate(op[0]._schema, mutate.random.choice(group))
            except (RuntimeError, IndexError):
                continue  # no such conversion or layout
            if problem := compare(op, named, mutate.random):
                size = sum(t.numel() for t in tensors(named))
                shown = {n: (v.tolist(), str(v.dtype), v.stride()) if isinstance(v, torch.Tensor) else v for n, v in named.items()}
                if problem[0] not in found.setdefault(name, {}) or size < found[name][problem[0]][0]:
                    found[name][problem[0]] = size, problem[1], str(shown)[:400]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--calls", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    for path in sorted(p for folder in ("ops", "leaf") for p in (ROOT / "tests/conformance" / folder).glob("*.safetensors")):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            signal.alarm(600)
            with os.fdopen(writer, "w") as out:
                json.dump(check(path, given.names, given.calls, given.seed), out)
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as answer:
            text = answer.read()
        os.waitpid(child, 0)
        for name, kinds in json.loads(text or "{}").items():
            for kind, (_, what, call) in kinds.items():
                print(f"{name.removeprefix('aten::')}: {kind}: {what}\n    {call}")
        if not text:
            print(f"{path.name}: one of the two crashed", file=sys.stderr)


if __name__ == "__main__":
    main()
